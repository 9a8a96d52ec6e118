"""What all parts of a report share. These are frozen, closed models and their number formats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from graphveil.models.reports import ReportModel

NANO = 10**9

DecimalString = Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+)?$", max_length=64)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
SuiteName = Literal["quick", "standard", "full"]
Item = TypeVar("Item")


def evenly(items: Sequence[Item], most: int) -> tuple[Item, ...]:
    """Choose at most ``most`` that lie evenly. The first and the last are among them; all are chosen where
    there are no more."""
    if len(items) <= most:
        return tuple(items)
    # By rounded places and not by a stride, so that the last is always among them.
    return tuple(items[round(k * (len(items) - 1) / (most - 1))] for k in range(most))


class Notice(ReportModel):
    """One thing a reader must know: a stable code, and the same in plain words."""

    code: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    text: str
    edge_type: str | None = Field(default=None, description="The relation it is about; null for all.")
    metric: str | None = Field(default=None, description="The metric it is about; null for all.")


EXPOSED = (
    "A job without a guarantee has opened a graph of this budget account. From then on no epsilon can be "
    "claimed for the dataset as a whole: what a single release promises holds for whoever has seen that one "
    "alone."
)
