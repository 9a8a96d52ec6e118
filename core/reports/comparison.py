"""Comparisons with the original: the curator part. Functions of private data, never published."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from core.reports.base import Count, Notice, ReportModel, Share

Error = Annotated[float, Field(ge=0)] | None


class Compared(ReportModel):
    """One metric of both graphs; errors are null where either value is undefined."""

    original: float | None
    synthetic: float | None
    absolute_error: Error = Field(description="|original - synthetic|")
    relative_error: Error = Field(description="|original - synthetic| / (|original| + 1e-15)")


class ComparedScalars(ReportModel):
    """The structural metrics, side by side; meanings as in the public statistics."""

    edges: Compared
    density: Compared
    triangles: Compared
    transitivity: Compared
    mean_local_clustering: Compared
    assortativity: Compared
    modularity: Compared
    communities: Compared
    components: Compared
    largest_component: Compared
    largest_component_share: Compared


class Distances(ReportModel):
    """Distances between the original and the synthetic graph; null where undefined."""

    degree_total_variation: Annotated[float, Field(ge=0, le=1.000001)] | None = Field(
        description="Half the sum of |differences| of the degree distributions; 0 is equal."
    )
    degree_kolmogorov_smirnov: Annotated[float, Field(ge=0, le=1.000001)] | None = Field(
        description="Largest gap between the cumulative degree distributions; 0 is equal."
    )
    degree_kl_divergence: float | None = Field(
        description="sum p ln((p + 2.2e-16)/(q + 2.2e-16)), original against synthetic, in nats."
    )
    top_eigenvector_overlap: Share | None = Field(
        description="Share of the top 1 % of nodes by eigenvector centrality found in both; 1 is equal."
    )


class ComparedRow(ReportModel):
    """One step, or a mean over steps or relations (then ``step`` is null)."""

    step: Count | None
    scalars: ComparedScalars
    distances: Distances


class EdgeTypeComparison(ReportModel):
    """One protected relation, step by step."""

    name: str
    rows: Annotated[tuple[ComparedRow, ...], Field(max_length=4096)]
    means: ComparedRow


class Comparison(ReportModel):
    """Original against synthetic, per step, per relation and overall."""

    steps_evaluated: Count
    edge_types: Annotated[tuple[EdgeTypeComparison, ...], Field(max_length=256)]
    overall: ComparedRow | None = Field(description="Mean over relations; null when none was synthesised.")


class DegreeSignature(ReportModel):
    """How often a victim's known degree, or degree sequence, finds the victim's node in the release."""

    steps: Count
    per_step: Share = Field(description="THEPUFF, Eq. 23: mean over snapshots and nodes.")
    sequence: Share = Field(description="The same for an attacker who knows the degree in every snapshot.")
    reference_per_step: Share = Field(description="per_step, had the original been published.")
    reference_sequence: Share = Field(description="sequence, had the original been published.")
    per_type: dict[str, Share] = Field(description="per_step with victim and crowd of one node type.")


class Attacks(ReportModel):
    """Attacks on the release by someone who knows the original."""

    degree_signature: DegreeSignature


class CuratorPart(ReportModel):
    """For the dataset's curators only: every figure here is a function of the private graph."""

    comparison: Comparison
    attacks: Attacks
    warnings: Annotated[tuple[Notice, ...], Field(max_length=4096)] = ()
