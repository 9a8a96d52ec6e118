"""What goes into an ingest and comes out. There are uploaded files, limits, the report."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.graphs.reading.model import Reading
from core.graphs.schema import MAX_NODES, GraphSchema
from core.graphs.uploads.batches import ReadLimits
from core.graphs.uploads.findings import MAX_FINDINGS

if TYPE_CHECKING:
    from core.settings import Settings

Progress = Callable[[str, int, int], None]

VECTOR_SEPARATOR = ";"
"""Between the numbers of a vector attribute in a text file."""


THE_OPERATORS = "the limit is the operator's"
IN_PARTS = "register a dataset that is declared in_parts for as many"
"""What can be done about a limit of rows."""

MOST_EDGE_FILES = 999
_EDGE_FILE = re.compile(r"edges-([1-9][0-9]{0,2})-of-([1-9][0-9]{0,2})")


def place_of(part: str) -> tuple[int, int] | None:
    """Read which file of edges a part is. It is one of as many as ``edges-2-of-8`` says, or ``edges``; None:
    no such file."""
    if part == "edges":
        return 1, 1
    match = _EDGE_FILE.fullmatch(part)
    if match is None or int(match[1]) > int(match[2]):
        return None
    return int(match[1]), int(match[2])


@dataclass(frozen=True)
class UploadedFile:
    """One file of an upload. It has its format's name, and what the uploader declares about it.

    ``infer``: no person declared its columns, though there is a schema, so what is in them tells what they
    are. ``answered_later``: its questions wait for the person who confirms the proposal.
    """

    path: Path
    format: str
    options: Mapping[str, Any] = field(default_factory=dict)
    infer: bool = False
    answered_later: bool = False


@dataclass(frozen=True)
class IngestLimits(ReadLimits):
    """Bounds on one ingest, those on each file among them."""

    max_rows: int = 1_000_000_000
    mend_rows: str = THE_OPERATORS
    max_nodes: int = MAX_NODES
    max_id_bytes: int = 512
    max_vector_width: int = 65_536
    max_findings: int = MAX_FINDINGS

    @classmethod
    def of(cls, settings: Settings, *, in_parts: bool = False) -> IngestLimits:
        """Take the limits that the service's settings name. The others are as they stand here."""
        fewer = settings.max_edges_in_memory < settings.max_edges and not in_parts
        return cls(
            max_nodes=settings.max_nodes,
            max_rows=settings.max_edges_in_memory if fewer else settings.max_edges,
            mend_rows=IN_PARTS if fewer else THE_OPERATORS,
            max_findings=settings.max_findings,
            max_unpacking_ratio=settings.max_unpacking_ratio,
        )


@dataclass(frozen=True)
class IngestReport:
    """What was read and kept. Private: for the curators of the dataset only.

    ``edges`` holds for each edge type ``rows``, ``loops_dropped``, ``duplicates_merged`` and ``edges``;
    ``edges_per_step`` the edges of each step of the temporal types. ``fingerprint`` is None when no key was
    given. ``warnings`` and ``columns_ignored`` (of the edges) are empty unless the schema was proposed from
    the data. ``readings`` say how each delimited file was understood. ``pinned``: what a reference held when
    it was counted.
    """

    schema: GraphSchema
    rows_read: int
    loops_dropped: int
    duplicates_merged: int
    nodes: Mapping[str, int]
    edges: Mapping[str, Mapping[str, int]]
    edges_per_step: Mapping[str, tuple[int, ...]]
    fingerprint: str | None
    bytes_read: int
    bytes_stored: int
    warnings: tuple[str, ...] = ()
    columns_ignored: tuple[str, ...] = ()
    readings: Mapping[str, Reading] = field(default_factory=dict)
    pinned: str | None = None

    def to_json(self) -> dict[str, Any]:
        schema = self.schema.model_dump(mode="json")
        readings = {part: reading.as_json() for part, reading in self.readings.items()}
        return {**asdict(replace(self, readings={})), "schema": schema, "readings": readings}
