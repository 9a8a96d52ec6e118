"""What a metric is called, what it means, and from which suite on it is computed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, NamedTuple


class Suite(StrEnum):
    """How much is measured. Each suite contains the one before it; docs/evaluation.md states their costs."""

    QUICK = "quick"
    STANDARD = "standard"
    FULL = "full"

    def includes(self, other: Suite) -> bool:
        """Tell whether what ``other`` computes is computed by this suite too."""
        order = tuple(Suite)
        return order.index(other) <= order.index(self)


LEARNED_NEEDS = ("sklearn", "torch")
"""Libraries, as they are imported, that learned attacks and tasks use: the suite ``full`` alone has any."""


class Estimate(NamedTuple):
    """A sampled value and its standard error."""

    value: float | None
    standard_error: float | None


Value = float | int | None | Estimate
"""What a family returns for a metric: exact, undefined, or sampled."""


@dataclass(frozen=True)
class Metric:
    """One metric: ``definition`` states formula, conventions and source; ``better`` is for distances only.

    ``grows``: the power of the number of nodes that it goes with while degrees stay: 1 of a count of edges.
    ``same_nodes``: it needs both graphs to have the same nodes.
    """

    name: str
    title: str
    definition: str
    family: str
    suite: Suite = Suite.QUICK
    better: Literal["lower", "higher"] | None = None
    grows: int = 0
    same_nodes: bool = False

    def to_json(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "definition": self.definition,
            "family": self.family,
            "better": self.better,
        }


def of_suite(metrics: tuple[Metric, ...], suite: Suite) -> tuple[Metric, ...]:
    """Select the metrics that ``suite`` computes, in their order."""
    return tuple(metric for metric in metrics if suite.includes(metric.suite))
