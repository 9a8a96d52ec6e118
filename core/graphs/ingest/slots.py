"""Findings about edges whose rows break the schema. Together they make a sum out of bounds, or too many
records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from core.graphs.columns.canonical import Merged
from core.graphs.ingest.relations import EdgeCollector, EdgeRows, pair_keys, steps_of
from core.graphs.schema import EdgeType, GraphSchema
from core.graphs.uploads.batches import Batch
from core.graphs.uploads.findings import Findings

Slot = tuple[int, int]
"""A pair's key, and its step: 0 without time."""


def rows_again(
    edge_type: EdgeType, collector: EdgeCollector, batches: Iterable[Batch] | None
) -> Iterator[tuple[EdgeRows, np.ndarray, dict[str, int]]]:
    """Read the rows of one type once more, with their lines."""
    for batch in batches or ():
        for part in batch.carefully():
            for rows in collector.resolve(part.table).content:
                if rows.edge_type is edge_type:
                    yield rows, part.lines[rows.rows], dict(part.fields)


def reject_slots(
    schema: GraphSchema,
    edge_type: EdgeType,
    merged: Merged,
    again: Iterator[tuple[EdgeRows, np.ndarray, dict[str, int]]],
    findings: Findings,
) -> None:
    """Refuse rows of the faulty edges. Rows are read ``again``: each edge's first row of a sum, or the first
    one beyond the cap. Raises IngestRejected.
    """
    table, values = merged.edges, merged.edges.values
    assert values is not None
    fault = merged.faults[0]
    keys = pair_keys(edge_type, table.source[fault.edges], table.target[fault.edges])
    steps = np.zeros(len(keys), dtype=np.int32) if table.step is None else table.step[fault.edges]
    slots = dict(zip(zip(keys.tolist(), steps.tolist(), strict=True), fault.edges.tolist(), strict=True))
    seen: dict[Slot, int] = dict.fromkeys(slots, 0)
    wanted = 1 if fault.attribute is not None else (edge_type.records_per_slot or 0) + 1
    for rows, lines, fields in again:
        own = pair_keys(edge_type, rows.source, rows.target)
        chosen = np.flatnonzero(np.isin(own, keys))
        # Loops are dropped, and are rows of no edge.
        if edge_type.homogeneous:
            chosen = chosen[rows.source[chosen] != rows.target[chosen]]
        own_steps = None if rows.time is None else steps_of(schema, rows.time[chosen])
        for place, row in enumerate(chosen.tolist()):
            slot = (int(own[row]), 0 if own_steps is None else int(own_steps[place]))
            if slot not in seen:
                continue
            seen[slot] += 1
            if seen[slot] == wanted:
                column = None if fault.attribute is None else fields.get(fault.attribute)
                message = _message(edge_type, fault.attribute)
                findings.add(int(lines[row]), column, message)
        if findings.full:
            break
    findings.raise_if_any()


def _message(edge_type: EdgeType, attribute: str | None) -> str:
    where = "edge and step" if edge_type.temporal else "edge"
    if attribute is None:
        most = edge_type.records_per_slot
        return (
            f"{edge_type.name!r} has at most {most} rows of one {where}, but this is one more; leave it out, "
            "or declare a higher records_per_slot, or by overflow which are kept"
        )
    declared = next(each for each in edge_type.attributes if each.name == attribute)
    low, high = declared.range
    return (
        f"the rows of this {where} add up to a {attribute!r} outside {low:g} to {high:g}; mend them, declare "
        "wider bounds, or clip"
    )
