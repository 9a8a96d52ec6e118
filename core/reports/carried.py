"""What synthetic edges and nodes carry. It stands bin by bin, with what was paid for. For everybody.

Figures are counts in the released files, and the release's own paid numbers with their intervals.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from graphveil.models.reports import Count, ReportModel, Share

MAX_BINS = 256
"""Of more bins those are told that are most frequent in the release."""
MAX_SIDE = 64
MAX_CARRIED = 1024

Label = Annotated[str, Field(max_length=256)]
Labels = Annotated[tuple[Label, ...], Field(max_length=MAX_BINS)]
Grid = Annotated[
    tuple[Annotated[tuple[Count, ...], Field(max_length=MAX_BINS)], ...], Field(max_length=MAX_BINS)
]
PaidGrid = Annotated[
    tuple[Annotated[tuple[int, ...], Field(max_length=MAX_BINS)], ...], Field(max_length=MAX_BINS)
]


class CarriedTable(ReportModel):
    """Edges, or their records, counted by two things: by period and value, or by what both ends carry; or the
    numbers of nodes' vectors, by place and bin."""

    edge_type: str | None = Field(default=None, description="The relation; null: of nodes.")
    rows: Labels = Field(description="Periods of snapshots; values of the one end; or places of a vector.")
    columns: Labels = Field(description="Values; or those of the other end.")
    column_attribute: str | None = Field(
        default=None,
        description="Of a relation between two node types: the target's attribute, named with its type.",
    )
    released: Grid = Field(description="Edges, or numbers, of the release; row by row.")
    paid: PaidGrid | None = Field(default=None, description="The same as it was paid for, with noise.")
    within: Count | None = Field(default=None, description="How near each paid number is to the truth.")
    most_edges_of_a_node: Count | None = Field(
        default=None,
        description="Paid numbers count edges among the first so many of both ends; between two node types "
        "of their source; null: all.",
    )
    most_edges_of_a_target: Count | None = Field(
        default=None, description="Of a relation between two node types: and among so many of their target."
    )


class Carried(ReportModel):
    """One attribute of a relation's edges, over all snapshots, or of a type's nodes."""

    of: str = Field(description="The relation, or the node type.")
    what: Literal["edges", "nodes"]
    attribute: str
    kind: str
    bins: Labels = Field(description="Categories, or where values lie.")
    released: Annotated[tuple[Count, ...], Field(max_length=MAX_BINS)] = Field(
        description="Edges (records, where each is kept), or nodes, of the release with a value of each bin; "
        "of a vector the numbers of all its places."
    )
    paid: Annotated[tuple[int, ...], Field(max_length=MAX_BINS)] | None = Field(
        default=None, description="The same as it was paid for, with noise; null: not published."
    )
    within: Count | None = Field(default=None, description="How near each paid number is to the truth.")
    confidence: Share | None = Field(default=None, description="How likely each is within it, by itself.")
    left_out: Count = Field(default=0, description="Bins beyond those told.")
    by_step: CarriedTable | None = Field(default=None, description="Of a relation with time.")
    by_place: CarriedTable | None = Field(
        default=None,
        description="Of a vector: its numbers outside of the bin of 0, which is not paid for. Of more places "
        "than 64 those side by side are counted together.",
    )
    mixing: Annotated[tuple[CarriedTable, ...], Field(max_length=MAX_SIDE)] = Field(
        default=(),
        description="Of nodes: which values the relations inside their type join; and of sources of one to "
        "another type, which of its first attribute.",
    )
