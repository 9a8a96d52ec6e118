"""What all parts of a report share: frozen, closed models and their number formats."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

NANO = 10**9
ATTO = 10**18

DecimalString = Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+)?$", max_length=64)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0)]
SuiteName = Literal["quick", "standard", "full"]
Share = Annotated[float, Field(ge=0, le=1)]
Item = TypeVar("Item")


class ReportModel(BaseModel):
    """A frozen part of a report: unknown fields, NaN and infinities are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def decimal_string(amount: int, unit: int) -> str:
    """Write ``amount / unit`` as an exact plain decimal: ``decimal_string(1_500_000_000, NANO) == "1.5"``."""
    text = format(Decimal(amount) / Decimal(unit), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def evenly(items: Sequence[Item], most: int) -> tuple[Item, ...]:
    """Choose all of them, or ``most`` that lie evenly among them, the first and the last included."""
    if len(items) <= most:
        return tuple(items)
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
