"""Edges that stay where they are, counted by an engine. Its rules and findings are those of an upload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from core.errors import InvalidInput
from core.graphs.counted.port import Engine, Found
from core.graphs.counted.reference import Reference, References, sources_of
from core.graphs.counted.stored import write_counts
from core.graphs.graph import NodeTable
from core.graphs.ingest.universe import NodeIndex
from core.graphs.schema import EdgeType, GraphSchema
from core.graphs.schema.partable import cells_of, require_referable
from core.graphs.uploads.files import IngestLimits, IngestReport
from core.graphs.uploads.findings import reject

TOLD = ("rows", "loops_dropped", "duplicates_merged", "edges")
ENDS = ("source", "target")
CHANGED = "what is referred to changed while it was counted; refer to a table's snapshot, or to files at rest"


def count_reference(
    engine: Engine,
    source: Reference | References,
    schema: GraphSchema,
    nodes: Mapping[str, NodeTable],
    labellings: Mapping[str, Sequence[tuple[np.ndarray, int]]],
    out: Path,
    limits: IngestLimits,
    *,
    fingerprint_key: bytes,
) -> IngestReport:
    """Count the edges where they lie. The counts stand in ``out``, beside the universe and the schema.

    ``labellings``: of each node type. The same rows give the same counts, findings and fingerprint as in
    parts. Raises IngestRejected, and ValueError where the engine miscounts.
    """
    require_referable(schema)
    cells, sources = cells_of(schema), sources_of(source, schema)
    # Looked at before and after: what is referred to may change while it is counted.
    before = [engine.pinned(each) for each in sources]
    found: list[Found] = []
    for (relation, step), each in zip(cells, sources, strict=True):
        kinds = relation.source, relation.target
        found.append(one := engine.found(each, (nodes[kinds[0]], nodes[kinds[1]])))
        if sum(seen.rows for seen in found) > limits.max_rows:
            reject("edges", f"there are more than {limits.max_rows} rows; {limits.mend_rows}")
        if one.strangers:
            table = nodes[kinds[one.side]]
            index = NodeIndex(schema.node_type(kinds[one.side]), table.count, table.ids)
            why = index.explain(ENDS[one.side] if len(cells) > 1 else "end", one.stranger, 0)
            rows = (
                f"{one.strangers} rows" if len(cells) == 1 else f"{one.strangers} rows{_of(relation, step)}"
            )
            reject("edges", f"{rows} end outside the universe, among them: {why}")
    edges = engine.canonical(schema, nodes, sources, [each.rows for each in found])
    kept = [sum(part.rows for part in cell.parts) for cell in edges.cells]
    for (relation, step), count in zip(cells, kept, strict=True):
        if relation.edge_bound is not None and count > relation.edge_bound:
            where = "" if step is None else f" in snapshot {step}"
            reject(
                "edges",
                f"{relation.name!r} is declared to have at most {relation.edge_bound} edges, but has more"
                f"{where}; refer to what was declared, or declare a higher edge_bound",
            )
    write_counts(edges, schema, nodes, labellings, out)
    digest = edges.fingerprint(fingerprint_key)
    if [engine.pinned(each) for each in sources] != before:
        raise InvalidInput(CHANGED)
    counts: dict[str, dict[str, int]] = {}
    for (relation, _), seen, count in zip(cells, found, kept, strict=True):
        own = counts.setdefault(relation.name, dict.fromkeys(TOLD, 0))
        loops = seen.loops if relation.homogeneous else 0
        for name, more in zip(TOLD, (seen.rows, loops, seen.rows - loops - count, count), strict=True):
            own[name] += more
    return IngestReport(
        schema=schema,
        rows_read=sum(own["rows"] for own in counts.values()),
        loops_dropped=sum(own["loops_dropped"] for own in counts.values()),
        duplicates_merged=sum(own["duplicates_merged"] for own in counts.values()),
        nodes={name: each.count for name, each in nodes.items()},
        edges=counts,
        edges_per_step={
            each.name: tuple(count for cell, count in zip(cells, kept, strict=True) if cell[0] == each)
            for each in schema.edge_types
            if each.temporal
        },
        fingerprint=digest,
        bytes_read=0,
        bytes_stored=sum(path.stat().st_size for path in out.iterdir()),
        pinned=", ".join(before),
    )


def _of(relation: EdgeType, step: int | None) -> str:
    return f" of {relation.name!r}" + ("" if step is None else f" in snapshot {step}")
