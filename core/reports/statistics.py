"""Statistics of a synthetic graph alone: the shape of ``public.statistics``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from core.graphs.schema import MAX_TYPES
from graphveil.models.reports import Count, ReportModel, Share

MetricName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]


class MetricInfo(ReportModel):
    """What a metric is called and means."""

    title: str
    definition: str = Field(description="Formula, conventions and source.")
    family: str
    better: Literal["lower", "higher"] | None = Field(description="For distances: which way is closer.")


class StepScalars(ReportModel):
    """The metrics of one step; ``step`` is null for a relation without time."""

    step: Count | None
    scalars: dict[MetricName, float | None] = Field(description="Null where a metric is undefined.")


class DrawnNode(ReportModel):
    """Where a node stands in the unit square."""

    type: str
    x: Share
    y: Share


class Drawing(ReportModel):
    """A graph laid out for the eye: all its steps and relations together, or the part with most edges."""

    nodes: Annotated[tuple[DrawnNode, ...], Field(max_length=1024)]
    edges: Annotated[tuple[tuple[Count, Count], ...], Field(max_length=8192)] = Field(
        description="Pairs of positions in ``nodes``."
    )
    part_of: Count | None = Field(
        default=None,
        description="How many nodes the graph has, where only those with most edges and some of their edges "
        "are drawn.",
    )


class DegreeBin(ReportModel):
    """How many nodes have a degree from ``low`` to ``high``; a mean over steps, so not always whole."""

    low: Count
    high: Count
    nodes: Annotated[float, Field(ge=0)]


class DegreeSummary(ReportModel):
    """One side's degree distribution over all nodes; means over steps."""

    side: Annotated[str, Field(description="degree; out, in; or source, target.")]
    mean: Annotated[float, Field(ge=0)]
    variance: Annotated[float, Field(ge=0)]
    median: Annotated[float, Field(ge=0)]
    maximum: Annotated[float, Field(ge=0)]
    isolated: Annotated[float, Field(ge=0, description="Nodes without an edge.")]
    bins: Annotated[tuple[DegreeBin, ...], Field(max_length=64)]


class EdgeTypeStatistics(ReportModel):
    """One relation of the synthetic graph."""

    name: str
    source: str = Field(description="Node type of the source.")
    target: str = Field(description="Node type of the target.")
    directed: bool
    copied: bool = Field(description="True for a public relation, copied as it is.")
    edges: Count = Field(description="Edges over all steps.")
    rows: Annotated[tuple[StepScalars, ...], Field(max_length=4096)]
    means: dict[MetricName, float | None]
    degrees: Annotated[tuple[DegreeSummary, ...], Field(max_length=2)]


class StatisticsOverTime(ReportModel):
    """What the graph keeps from step to step: protected relations with time together."""

    means: dict[MetricName, float | None]
    rows: Annotated[tuple[StepScalars, ...], Field(max_length=4096)]


class PublicStatistics(ReportModel):
    """Statistics of the synthetic graph; a function of the released files and of nothing else."""

    nodes: dict[str, Count] = Field(description="Nodes of each type (public by declaration).")
    steps: Count | None = Field(description="Snapshots of the time grid; null for a static graph.")
    steps_evaluated: Count = Field(description="Snapshots read; evenly spaced where the grid is longer.")
    metrics: dict[MetricName, MetricInfo] = Field(description="What every metric named here means.")
    edge_types: Annotated[tuple[EdgeTypeStatistics, ...], Field(max_length=MAX_TYPES)]
    over_steps: StatisticsOverTime | None = Field(
        default=None, description="Null without protected relations with time, or in one step."
    )
    drawing: Drawing | None = Field(
        default=None, description="Null where there is no node, and for graphs in parts."
    )
