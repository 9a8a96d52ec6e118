"""The state between snapshots of a stream.

It is outputs already paid for, nothing else. A folder holds ``state.json`` (the step, and one row a relation:
noisy counts, tails, variances, weights) and ``memory.parquet`` (labels and degree estimates, relation after
relation, in node order). Nothing in it grows with the stream.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from papers.psgraph.combined import Estimate
from papers.psgraph.step import Memory

FORMAT = 1
_COLUMNS = pa.schema([("label", pa.int32()), ("inside", pa.float64()), ("outside", pa.float64())])


@dataclass(frozen=True)
class PSGraphState:
    """The memory of every relation after stream step ``step``."""

    step: int
    relations: Mapping[str, Memory]

    def save(self, folder: Path) -> None:
        """Write the state to ``folder``. :func:`load_state` reads an equal one. O(n) bytes a relation."""
        folder.mkdir(parents=True, exist_ok=True)
        with pq.ParquetWriter(folder / "memory.parquet", _COLUMNS, compression="zstd") as writer:
            for memory in self.relations.values():
                columns = [memory.labels, memory.inside.values, memory.outside.values]
                arrays = [pa.array(c, type=f.type) for c, f in zip(columns, _COLUMNS, strict=True)]
                writer.write_table(pa.Table.from_arrays(arrays, schema=_COLUMNS))
        rows = [
            {
                "edge_type": name,
                "nodes": len(memory.labels),
                "edges": memory.edges,
                "partition_edges": memory.partition_edges,
                "inside": [memory.inside.variance, memory.inside.weight],
                "outside": [memory.outside.variance, memory.outside.weight],
                "tails": None if memory.tails is None else _row(memory.tails),
            }
            for name, memory in self.relations.items()
        ]
        text = json.dumps({"format": FORMAT, "step": self.step, "relations": rows}, indent=1)
        (folder / "state.json").write_text(text + "\n", encoding="utf-8")


def load_state(folder: Path) -> PSGraphState:
    """Read what :meth:`PSGraphState.save` wrote. ValueError where its files contradict one another."""
    text = json.loads((folder / "state.json").read_text(encoding="utf-8"))
    if text.get("format") != FORMAT:
        raise ValueError(f"a PSGraph state of format {text.get('format')!r} cannot be read")
    rows = text["relations"]
    columns = [column.to_numpy() for column in pq.read_table(folder / "memory.parquet").columns]
    ends = np.cumsum([row["nodes"] for row in rows])
    if not rows or ends[-1] != len(columns[0]):
        raise ValueError("a stored state holds another number of rows than it says")
    label, inside, outside = (np.split(column, ends[:-1]) for column in columns)
    return PSGraphState(
        text["step"],
        {
            row["edge_type"]: Memory(
                edges=row["edges"],
                partition_edges=row["partition_edges"],
                labels=label[number],
                inside=Estimate(inside[number], *row["inside"]),
                outside=Estimate(outside[number], *row["outside"]),
                tails=_estimate(row.get("tails")),
            )
            for number, row in enumerate(rows)
        },
    )


def _row(tails: Estimate) -> dict[str, Any]:
    return {"values": tails.values.tolist(), "variance": tails.variance, "weight": tails.weight}


def _estimate(row: dict[str, Any] | None) -> Estimate | None:
    """Read what :func:`_row` wrote; None for a step that bought none, or that an earlier version stored."""
    if row is None:
        return None
    return Estimate(np.array(row["values"], dtype=np.float64), row["variance"], row["weight"])
