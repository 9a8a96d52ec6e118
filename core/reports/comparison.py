"""Comparisons with the original: what the curator part says of utility. Never published."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from core.graphs.schema import MAX_TYPES
from core.graphs.schema.edge_attributes import MAX_ATTRIBUTES
from core.reports.base import SuiteName
from core.reports.statistics import Drawing, MetricInfo, MetricName
from graphveil.models.reports import Count, ReportModel, Share

MAX_COLUMNS = 4096
"""Attributes of a node type, at most."""
Error = Annotated[float, Field(ge=0)] | None


class Compared(ReportModel):
    """One metric of both graphs; errors are null where either value is undefined."""

    original: float | None
    synthetic: float | None
    absolute_error: Error = Field(description="|original - synthetic|")
    relative_error: Error = Field(description="|original - synthetic| / (|original| + 1e-15)")
    original_standard_error: Error = Field(default=None, description="Of a sampled value; null: exact.")
    synthetic_standard_error: Error = Field(default=None, description="Of a sampled value; null: exact.")


class ComparedRow(ReportModel):
    """One step, or a mean over steps or relations (then ``step`` is null)."""

    step: Count | None
    scalars: dict[MetricName, Compared] = Field(description="One number per graph, side by side.")
    distances: dict[MetricName, float | None] = Field(description="One number per pair; null: undefined.")


class ComparedBin(ReportModel):
    """How many nodes have a degree from ``low`` to ``high`` in either graph; means over steps."""

    low: Count
    high: Count
    original: Annotated[float, Field(ge=0)]
    synthetic: Annotated[float, Field(ge=0)]


class ComparedDegrees(ReportModel):
    """Both degree distributions of one side."""

    side: Annotated[str, Field(description="degree; out, in; or source, target.")]
    bins: Annotated[tuple[ComparedBin, ...], Field(max_length=64)]


class ValuesComparison(ReportModel):
    """One attribute of a relation's edges, over all steps, with metrics of the family ``values``; or of its
    nodes, with those of ``node_values``."""

    name: str
    kind: str
    row: ComparedRow


class EdgeTypeComparison(ReportModel):
    """One protected relation, step by step."""

    name: str
    rows: Annotated[tuple[ComparedRow, ...], Field(max_length=4096)]
    means: ComparedRow
    degrees: Annotated[tuple[ComparedDegrees, ...], Field(max_length=2)] = ()
    values: Annotated[tuple[ValuesComparison, ...], Field(max_length=MAX_ATTRIBUTES)] = Field(
        default=(), description="What edges carry, where the release has it."
    )
    node_values: Annotated[tuple[ValuesComparison, ...], Field(max_length=MAX_COLUMNS)] = Field(
        default=(),
        description="Synthetic attributes of a relation's nodes, and how its edges go by them.",
    )


class NodeTypeComparison(ReportModel):
    """One node type, degrees counted over all relations; means over steps."""

    name: str
    distances: dict[MetricName, float | None]


class MetaPathShares(ReportModel):
    """How often one meta-path occurs among those of its length; means over steps."""

    path: Annotated[str, Field(description="Node types joined by '-', e.g. user-movie-genre.")]
    length: Annotated[int, Field(ge=2, le=4, description="Nodes on the path.")]
    original: Share | None
    synthetic: Share | None


class ComparisonOverTime(ReportModel):
    """What both graphs keep from step to step: protected relations with time together."""

    means: ComparedRow = Field(description="Of the whole grid; distances of its series and activity.")
    rows: Annotated[tuple[ComparedRow, ...], Field(max_length=4096)] = Field(
        description="The evaluated steps; what persists is said at the earlier of two steps."
    )


class WholeComparison(ReportModel):
    """All relations of a snapshot seen as one graph: for temporal and heterogeneous graphs."""

    rows: Annotated[tuple[ComparedRow, ...], Field(max_length=4096)]
    means: ComparedRow
    sequences: dict[MetricName, float | None] = Field(
        description="One number per pair of graphs over all snapshots (THEPUFF's six and their repairs)."
    )
    node_types: Annotated[tuple[NodeTypeComparison, ...], Field(max_length=MAX_TYPES)]
    meta_paths: Annotated[tuple[MetaPathShares, ...], Field(max_length=4096)]
    over_steps: ComparisonOverTime | None = Field(
        default=None, description="Null without protected relations with time, or in one step."
    )


class Anchors(ReportModel):
    """How far two graphs that nobody published are from the original: the ends of the utility scale."""

    draws: Annotated[int, Field(ge=1, description="Graphs of each kind that the rows are means over.")]
    uniform: ComparedRow = Field(
        description="Random edges, as many as the original has in every relation and step: scores 0."
    )
    resampled: ComparedRow = Field(
        description="The original with one edge in twenty drawn anew between ends of its degrees: scores 10."
    )


class Comparison(ReportModel):
    """Original against synthetic, per step, per relation and overall."""

    suite: SuiteName
    steps_evaluated: Count
    metrics: dict[MetricName, MetricInfo] = Field(description="What every metric named here means.")
    edge_types: Annotated[tuple[EdgeTypeComparison, ...], Field(max_length=MAX_TYPES)]
    overall: ComparedRow | None = Field(description="Mean over relations; null when none was synthesised.")
    whole: WholeComparison | None = Field(default=None, description="Null for one relation without time.")
    drawing: Drawing | None = Field(default=None, description="The original; null as for the release.")
    scaled: Annotated[float, Field(gt=0)] | None = Field(
        default=None,
        description="Of a release with so many times the original's nodes: the original's counts were "
        "multiplied by it, its density divided, and what needs the same nodes in both is left out.",
    )
    anchors: Anchors | None = Field(
        default=None, description="What the utility score is read against; null: not measured (before 3.0)."
    )
