"""A defence's input, output and common parameters.

What it is shown of a relation and gives back, and the parameters that every defence has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import Field

from core.methods.base import Parameters, Training

if TYPE_CHECKING:
    import numpy as np

    from core.graphs.graph import NodeTable
    from core.graphs.schema import NodeType

REASON = (
    "A defence reads the raw graph and its sensitive links; it adds no noise that an epsilon could count."
)


class DefenceParams(Parameters):
    """What every defence may be told."""

    sensitive_share: float = Field(
        default=0.1,
        gt=0,
        lt=1,
        description=(
            "Share of each relation's links that is drawn at random and taken for sensitive, for evaluation: "
            "on datasets marked public whose curators have named none."
        ),
    )


@dataclass(frozen=True)
class Visible:
    """One relation as pairs of nodes ``low < high``.

    They are int64 keys ``low * nodes + high``, sorted.

    ``links``: those that are not sensitive; ``sensitive``: the others. Directions are dropped; they are given
    back to the links that are kept. ``kind`` and ``table``: the nodes, for public attributes.
    """

    nodes: int
    links: np.ndarray
    sensitive: np.ndarray = field(repr=False)
    kind: NodeType
    table: NodeTable


@dataclass(frozen=True)
class Altered:
    """A defence's output for one relation.

    It is pairs, int64 keys, sorted, and their weights in (0, 1]. A weight is the probability that the pair is
    a link of a sample. ``training`` tells how they were learned.
    """

    keys: np.ndarray
    weights: np.ndarray
    training: Training = field(default_factory=Training)


def merged(trainings: Mapping[str, Training]) -> Training:
    """Merge the accounts of several relations' trainings. Curves and notes are named after them."""
    if len(trainings) == 1:
        return next(iter(trainings.values()))
    curves = {
        f"{name}: {key}": values for name, told in trainings.items() for key, values in told.curves.items()
    }
    notes = tuple(f"{name}: {note}" for name, told in trainings.items() for note in told.notes)
    return Training(curves, notes)
