"""What plans and reports share. Closed models, and how near a paid figure is to the truth."""

from __future__ import annotations

from typing import Annotated, Protocol

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
ROWS = "rows:"
"""The cells of protected attributes are named so, followed by the node type; no edge type has a colon."""


class ReportModel(BaseModel):
    """A frozen part of a report: unknown fields, NaN and infinities are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Precision(ReportModel):
    """How near a paid figure is to the truth: ``confidence`` likely, it is at most ``within`` off."""

    edge_type: str
    query: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    quantity: str = Field(description="What is counted, e.g. 'edges' or 'edges at a node'.")
    within: Annotated[int, Field(ge=0, description="In units of the quantity; of each figure by itself.")]
    confidence: Share
    deviation: float | None = Field(
        default=None, ge=0, description="The noise's standard deviation; null in reports that told none."
    )
    snapshots: Count | None = Field(
        description="In how many snapshots it was asked; the bound is the least exact one's. Null: no time, "
        "or of all snapshots together."
    )
    released: float | None = Field(
        default=None,
        description="The quantity's mean in the synthetic graph, where it is known.",
    )


class Asked(Protocol):
    """What was asked of one relation, or of the rows of one node type."""

    @property
    def edge_type(self) -> str: ...


def subject_of(asked: Asked) -> str:
    """Name the relation, or the requested rows' node type."""
    return asked.edge_type.removeprefix(ROWS)


def quantity_of(precision: Precision) -> str:
    """Say what is counted, and that it is a snapshot's."""
    return precision.quantity if precision.snapshots is None else f"{precision.quantity}, in a snapshot"
