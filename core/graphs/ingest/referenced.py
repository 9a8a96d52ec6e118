"""Edges that stay where they are, counted by an engine. Its rules and findings are those of an upload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import InvalidInput
from core.graphs.counted.port import Engine
from core.graphs.counted.reference import Reference
from core.graphs.counted.stored import write_counts
from core.graphs.graph import NodeTable
from core.graphs.ingest.universe import NodeIndex
from core.graphs.schema import GraphSchema
from core.graphs.schema.partable import only_relation
from core.graphs.uploads.files import IngestLimits, IngestReport
from core.graphs.uploads.findings import reject

CHANGED = "what is referred to changed while it was counted; refer to a table's snapshot, or to files at rest"


def count_reference(
    engine: Engine,
    source: Reference,
    schema: GraphSchema,
    nodes: Mapping[str, NodeTable],
    labellings: Sequence[tuple[np.ndarray, int]],
    out: Path,
    limits: IngestLimits,
    *,
    fingerprint_key: bytes,
) -> IngestReport:
    """Count the edges where they lie. The counts stand in ``out``, beside the universe and the schema.

    The same rows give the same counts, findings and fingerprint as in parts. Raises IngestRejected, and
    ValueError where the engine miscounts.
    """
    relation = only_relation(schema)
    table = nodes[relation.source]
    before = engine.pinned(source)
    found = engine.found(source, table)
    if found.rows > limits.max_rows:
        reject("edges", f"there are more than {limits.max_rows} rows; {limits.mend_rows}")
    if found.strangers:
        index = NodeIndex(schema.node_types[0], table.count, table.ids)
        why = index.explain("end", found.stranger, 0)
        reject("edges", f"{found.strangers} rows end outside the universe, among them: {why}")
    edges = engine.canonical(source, table, found.rows)
    kept = sum(part.rows for part in edges.parts)
    if relation.edge_bound is not None and kept > relation.edge_bound:
        reject(
            "edges",
            f"{relation.name!r} is declared to have at most {relation.edge_bound} edges, but has more; "
            "refer to what was declared, or declare a higher edge_bound",
        )
    write_counts(edges, table.count, labellings, out)
    digest = edges.fingerprint(fingerprint_key)
    if engine.pinned(source) != before:
        raise InvalidInput(CHANGED)
    merged = found.rows - found.loops - kept
    counts: dict[str, Any] = {"loops_dropped": found.loops, "duplicates_merged": merged}
    return IngestReport(
        schema=schema,
        rows_read=found.rows,
        **counts,
        nodes={name: each.count for name, each in nodes.items()},
        edges={relation.name: {"rows": found.rows, **counts, "edges": kept}},
        edges_per_step={},
        fingerprint=digest,
        bytes_read=0,
        bytes_stored=sum(path.stat().st_size for path in out.iterdir()),
        pinned=before,
    )
