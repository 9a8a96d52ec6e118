"""What the catalogue forms share. They have addresses, the publisher's own words, and the release in plain
words."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from core.reports.model import PublicPart
from core.reports.text import plain

EDGES, NODES = "edges.parquet", "nodes.parquet"
NODE_COLUMNS = {
    "id": ("string", "Name of the node; a fresh pseudonym unless node ids were declared public."),
    "type": ("string", "Type of the node."),
}
EDGE_COLUMNS = {
    "source": ("string", "Node that the edge starts at."),
    "target": ("string", "Node that the edge ends at."),
    "type": ("string", "Relation of the edge."),
    "step": ("int32", "Snapshot of the edge, counted from 0; null for a relation without time."),
}
PART = "edges-*.parquet"
"""The files that hold the edges of a graph in parts."""
PART_COLUMNS = {
    "source": (
        "int32 or int64",
        "Place of the node that the edge starts at, among the nodes of its type in nodes.parquet, from 0; of "
        "an undirected edge inside one type that of the smaller end.",
    ),
    "target": ("int32 or int64", "Place of the node that it ends at, counted so too, or of the larger end."),
}
PARTS_COLUMNS = PART_COLUMNS | {name: EDGE_COLUMNS[name] for name in ("type", "step")}
"""Of a graph of several relations or snapshots, each of which has files of its own."""

Line = Annotated[str, Field(min_length=1, max_length=300)]


class Publication(BaseModel):
    """What only the publisher can say of a release. What is not said is left out of every form."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Line | None = Field(default=None, description="Title of the release in a catalogue.")
    publisher: Line | None = Field(default=None, description="Organisation that publishes the release.")
    publisher_type: Literal["Government", "Industry", "Nonprofit"] | None = Field(
        default=None, description="Kind of organisation, as the deployments registry has them."
    )
    license: Annotated[str, Field(pattern=r"^https?://[^\s<>\"]+$", max_length=300)] | None = Field(
        default=None, description="Address of the licence."
    )
    intended_use: Annotated[str, Field(min_length=1, max_length=2000)] | None = Field(
        default=None, description="What the release is meant for."
    )
    region: Line | None = Field(default=None, description="Region that the data describe.")
    author: Line | None = Field(default=None, description="Who fills in the deployments registry's entry.")


@dataclass(frozen=True)
class Context:
    """Where and when a release is published. It has where the service is, when the release was made (a day,
    in UTC), and what its publisher says."""

    base_url: str
    released_on: date
    publication: Publication = field(default_factory=Publication)

    def job_url(self, public: PublicPart) -> str:
        """Make the address of the release's job."""
        return f"{self.base_url.rstrip('/')}/v1/jobs/{public.provenance.job_id}"

    def file_url(self, public: PublicPart, name: str) -> str:
        """Make the address of one released file."""
        return f"{self.job_url(public)}/artifacts/{name}"

    def dataset_url(self, public: PublicPart) -> str:
        """Make the address of the sensitive dataset's entry. Its content is never served."""
        return f"{self.base_url.rstrip('/')}/v1/datasets/{public.provenance.dataset_id}"


def title(public: PublicPart, context: Context) -> str:
    """Return the publisher's title, or one made of method and job."""
    return plain(context.publication.title or f"Synthetic graph {public.provenance.job_id}")


def shape(public: PublicPart) -> str:
    """Describe the released graph in one sentence: nodes, relations, snapshots."""
    statistics = public.statistics
    nodes = ", ".join(f"{count} {name}" for name, count in statistics.nodes.items())
    relations = ", ".join(
        f"{kind.name} ({kind.source} to {kind.target}, {kind.edges} edges)" for kind in statistics.edge_types
    )
    steps = f", over {statistics.steps} snapshots" if statistics.steps is not None else ""
    return plain(f"Nodes: {nodes}. Relations: {relations}{steps}.")


def description(public: PublicPart) -> str:
    """Say what was released and under which guarantee, in plain words."""
    made = f"A synthetic graph made by {public.provenance.method_title}. {shape(public)}"
    return plain(f"{made} {public.guarantee.statement}")


def limits(public: PublicPart) -> list[str]:
    """Say what the guarantee does not cover, a sentence or two each."""
    return [
        plain(f"{notice.edge_type}: {notice.text}" if notice.edge_type else notice.text)
        for notice in public.caveats
    ]


def keywords(public: PublicPart) -> list[str]:
    """List fixed words and what the graph is."""
    words = ["synthetic data", "graph"]
    if public.guarantee.kind not in ("none", "unread"):
        words.append("differential privacy")
    if public.statistics.steps is not None:
        words.append("temporal graph")
    if len(public.statistics.nodes) > 1 or len(public.statistics.edge_types) > 1:
        words.append("heterogeneous graph")
    return words


def edge_files(public: PublicPart) -> tuple[str, dict[str, tuple[str, str]]]:
    """Return what the files of edges are called, and their columns."""
    whole = any(file.name == EDGES for file in public.provenance.artifacts)
    return (EDGES, EDGE_COLUMNS) if whole else (PART, part_columns(public))


def part_columns(public: PublicPart) -> dict[str, tuple[str, str]]:
    """Return the columns of the files of a graph in parts."""
    several = len(public.statistics.edge_types) > 1 or (public.statistics.steps or 1) > 1
    return PARTS_COLUMNS if several else PART_COLUMNS


def edges_of(public: PublicPart) -> int:
    """Count the rows of the released edge table."""
    return sum(kind.edges for kind in public.statistics.edge_types)
