"""Statistics of a synthetic graph alone: the shape of ``public.statistics``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from core.reports.base import Count, ReportModel, Share


class Scalars(ReportModel):
    """Structural metrics of one relation in one step, or their means over steps; null where undefined."""

    edges: Annotated[float, Field(ge=0)] | None = Field(description="Number of edges.")
    density: Share | None = Field(description="Edges divided by possible edges.")
    triangles: Annotated[float, Field(ge=0)] | None = Field(description="Number of triangles.")
    transitivity: Share | None = Field(description="3 triangles / connected triples.")
    mean_local_clustering: Share | None = Field(description="Mean over all nodes; 0 below degree 2.")
    assortativity: Annotated[float, Field(ge=-1.000001, le=1.000001)] | None = Field(
        description="Correlation of the degrees at both ends of an edge."
    )
    modularity: Annotated[float, Field(ge=-1, le=1)] | None = Field(
        description="Modularity of the Louvain partition, resolution 1."
    )
    communities: Annotated[float, Field(ge=0)] | None = Field(description="Communities that hold an edge.")
    components: Annotated[float, Field(ge=0)] | None = Field(
        description="Connected components, isolated nodes included."
    )
    largest_component: Annotated[float, Field(ge=0)] | None = Field(description="Nodes in the largest one.")
    largest_component_share: Share | None = Field(description="The same, divided by all nodes.")


class StepScalars(Scalars):
    """The metrics of one step; ``step`` is null for a relation without time."""

    step: Count | None


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
    means: Scalars
    degrees: Annotated[tuple[DegreeSummary, ...], Field(max_length=2)]


class PublicStatistics(ReportModel):
    """Statistics of the synthetic graph; a function of the released files and of nothing else."""

    nodes: dict[str, Count] = Field(description="Nodes of each type (public by declaration).")
    steps: Count | None = Field(description="Snapshots of the time grid; null for a static graph.")
    steps_evaluated: Count = Field(description="Snapshots read; evenly spaced where the grid is longer.")
    edge_types: Annotated[tuple[EdgeTypeStatistics, ...], Field(max_length=256)]
