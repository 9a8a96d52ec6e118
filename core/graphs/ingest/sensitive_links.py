"""An uploaded list of sensitive links to indices. Every row is a link of the graph, or a finding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from core.graphs import formats
from core.graphs.graph import Graph
from core.graphs.ingest.relations import EdgeCollector, EdgeRows
from core.graphs.ingest.universe import indices
from core.graphs.schema import GRAPH_ID, EdgeType
from core.graphs.stored.whole import read_graph
from core.graphs.uploads.batches import Batch, ReadRequest
from core.graphs.uploads.files import IngestLimits, Progress, UploadedFile
from core.graphs.uploads.findings import Findings, reject, shown
from core.graphs.uploads.rows import Fault, Kinds, Resolved, at_most, drain, type_codes
from core.graphs.views.sensitive import Pairs, SensitiveLinks, write_sensitive

FILE = "sensitive links"
"""How findings name the file."""


def checked_list(
    file: UploadedFile, graph: Graph, limits: IngestLimits, progress: Progress
) -> SensitiveLinks:
    """Read the uploaded links as indices into ``graph``; repeats are merged. Nodes go by their own names.

    Columns: source, target, then type where there are several relations; in a collection graph_id, source and
    target. A row that names no link of a protected relation without time is a finding: nothing is dropped or
    mended. Without a row no link is sensitive. Raises :class:`core.errors.IngestRejected` with findings,
    UnknownFormat, InvalidInput for options. O(r log m) time for r rows.
    """
    reader = _Reader(graph)
    size = file.path.stat().st_size
    bounded = at_most(
        limits.max_rows, FILE, "the list", "rows", lambda done: progress("check", min(done, size), size)
    )
    batches = _batches(file, graph, limits)
    drain(batches, reader.resolve, reader.keep, Findings(FILE, limits.max_findings), bounded)
    return SensitiveLinks.of(graph, reader.pairs())


def write_checked(
    file: UploadedFile,
    graph_folder: Path,
    out: Path,
    limits: IngestLimits,
    progress: Progress,
    list_id: str | None = None,
) -> dict[str, int]:
    """Write the checked list of the stored graph. It goes to ``out``; counted are the links of each relation
    on it.

    Raises as :func:`checked_list`.
    """
    links = checked_list(file, read_graph(graph_folder, protected_values=False), limits, progress)
    out.mkdir(parents=True, exist_ok=True)
    write_sensitive(replace(links, list_id=list_id), out)
    return {name: len(source) for name, (source, _) in links.pairs.items()}


def _batches(file: UploadedFile, graph: Graph, limits: IngestLimits) -> Iterator[Batch]:
    chosen = formats.reader(file.format)
    if chosen.carries_nodes:
        reject(FILE, f"a {file.format} file lists nodes too; send the links as csv, tsv or parquet")
    options = formats.options_of(chosen, file.options)
    collection = graph.schema.collection is not None
    graph_id = (GRAPH_ID,) if collection else ()
    kind = ("type",) if len(graph.schema.edge_types) > 1 and not collection else ()
    request = _Request(
        file.path,
        "edges",
        options,
        wanted=(GRAPH_ID, "source", "target") if collection else ("source", "target", "type"),
        required=(*graph_id, "source", "target", *kind),
        integer_ids=all(table.ids is None for table in graph.nodes.values()),
        limits=limits,
    )
    edges = chosen.read(request).edges
    if edges is None:
        reject(FILE, "the file holds no links; upload a list with the columns source and target")
    return edges


@dataclass(frozen=True)
class _Request(ReadRequest):
    @property
    def file(self) -> str:
        return FILE


class _Reader:
    """Rows of the list as links of the graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._kinds = Kinds.of(graph.schema, "link")
        self._lookup = EdgeCollector(graph.schema, indices(graph.schema, graph.nodes), "leave it out")
        self._links: dict[str, np.ndarray] = {}
        self._kept: dict[str, list[Pairs]] = {}

    def resolve(self, table: pa.Table) -> Resolved[list[EdgeRows]]:
        """Sort the rows by relation, with the faults of the rows."""
        faults: list[Fault] = []
        codes = type_codes(table, self._kinds, faults)
        for code, relation in enumerate(self._graph.schema.edge_types):
            rows = np.flatnonzero(codes == code)
            if len(rows) and (reason := _closed(relation)):
                faults.append(Fault(rows, self._kinds.column, partial(_said, reason)))
        if faults:
            return Resolved([], table.num_rows, faults)
        resolved = self._lookup.resolve(table)
        for part in resolved.content:
            missing = self._missing(part)
            if len(missing):
                faults.append(Fault(missing, "target", partial(_no_link, part.edge_type.name)))
        return Resolved(resolved.content, resolved.rows, [*resolved.faults, *faults])

    def keep(self, content: list[EdgeRows]) -> None:
        """Put the rows on the list."""
        for part in content:
            self._kept.setdefault(part.edge_type.name, []).append((part.source, part.target))

    def pairs(self) -> dict[str, Pairs]:
        """Join (source, target) of every relation that has some."""
        return {
            name: (np.concatenate([s for s, _ in parts]), np.concatenate([t for _, t in parts]))
            for name, parts in self._kept.items()
        }

    def _missing(self, part: EdgeRows) -> np.ndarray:
        """Find the rows whose ends are known nodes without a link between them."""
        relation = part.edge_type
        columns = self._graph.nodes[relation.target].count
        if relation.name not in self._links:
            table = self._graph.edges[relation.name]
            # Ascending, as the search below needs it: edges without time are sorted by source, then target.
            self._links[relation.name] = table.source.astype(np.int64) * columns + table.target
        source, target = part.source.astype(np.int64), part.target.astype(np.int64)
        known = (source >= 0) & (target >= 0)
        if relation.homogeneous and not relation.directed:
            source, target = np.minimum(source, target), np.maximum(source, target)
        links, keys = self._links[relation.name], source * columns + target
        place = np.searchsorted(links, keys)
        linked = np.zeros(len(keys), dtype=bool)
        inside = place < len(links)
        linked[inside] = links[place[inside]] == keys[inside]
        return part.rows[known & ~linked]


def _closed(relation: EdgeType) -> str | None:
    if relation.public:
        return f"{relation.name!r} is public: its links cannot be sensitive; leave the line out"
    if relation.temporal:
        return f"{relation.name!r} carries time; sensitive links are of relations without; leave the line out"
    return None


def _said(text: str, _: object) -> str:
    return text


def _no_link(name: str, value: object) -> str:
    return f"the source has no link to {shown(value)} in {name!r}; mend a name, or leave the line out"
