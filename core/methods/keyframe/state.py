"""What one tick of a live stream hands to the next, as files.

A folder holds ``state.json`` (scalars and filters of every relation) and ``nodes.parquet`` (score and class
of every node, relation after relation). Outputs already paid for, nothing else. States of format 1, written
before the number of edges could jump and degrees became relative ones, are taken over when they are read.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.methods.keyframe.counts import EdgeCount
from core.methods.keyframe.filters import Bank
from core.methods.keyframe.step import SMALLEST_EDGES, SPREAD, Memory, Nodes

FORMAT, BEFORE = 2, 1
_BANK = ("level", "variance", "evidence")


@dataclass(frozen=True)
class KeyframeState:
    """``memory`` by relation."""

    memory: dict[str, Memory]

    def save(self, folder: Path) -> None:
        """Write the state to ``folder``; :func:`load_state` gives back an equal one."""
        folder.mkdir(parents=True, exist_ok=True)
        nodes = [memory.nodes for memory in self.memory.values()]
        table = {
            "score": np.concatenate([each.score for each in nodes]),
            "label": np.concatenate([each.label for each in nodes]),
        }
        pq.write_table(pa.table(table), folder / "nodes.parquet", compression="zstd")
        text = {
            "format": FORMAT,
            "relations": {name: _to_json(memory) for name, memory in self.memory.items()},
        }
        (folder / "state.json").write_text(json.dumps(text) + "\n", encoding="utf-8")


def load_state(folder: Path) -> dict[str, Memory]:
    """Read what :meth:`KeyframeState.save` wrote; ValueError where its files contradict one another."""
    text = json.loads((folder / "state.json").read_text(encoding="utf-8"))
    if (found := text.get("format")) not in (BEFORE, FORMAT):
        raise ValueError("not a stored state of keyframe in a format that can be read")
    table = pq.read_table(folder / "nodes.parquet")
    score, label = (table.column(name).to_numpy() for name in ("score", "label"))
    ends = np.cumsum([row["nodes"] for row in text["relations"].values()])
    if ends[-1] != len(score):
        raise ValueError("a stored state holds another number of rows than it says")
    read = _from_json if found == FORMAT else _from_before
    parts = zip(np.split(score, ends[:-1]), np.split(label, ends[:-1]), strict=True)
    return {
        name: read(row, *part) for (name, row), part in zip(text["relations"].items(), parts, strict=True)
    }


def _to_json(memory: Memory) -> dict[str, Any]:
    nodes, count = memory.nodes, memory.count
    return {
        "step": memory.step,
        "edges": memory.edges,
        "count": {
            "point": count.point.tolist(),
            "weight": count.weight.tolist(),
            "evidence": count.evidence.tolist(),
            "empty": count.empty,
            "seen": count.seen,
        },
        "tail": {name: getattr(memory.tail, name).tolist() for name in _BANK},
        "nodes": len(nodes.score),
        "variance": nodes.variance,
        "spread": nodes.spread,
        "spread_weight": nodes.spread_weight,
        "ratio": nodes.ratio.tolist(),
        "ratio_variance": nodes.ratio_variance.tolist(),
        "frame_step": nodes.step,
    }


def _bank(row: dict[str, Any]) -> Bank:
    return Bank(*(np.array(row[name]) for name in _BANK))


def _from_json(row: dict[str, Any], score: np.ndarray, label: np.ndarray) -> Memory:
    kept = row["count"]
    count = EdgeCount(
        np.array(kept["point"]),
        np.array(kept["weight"]),
        np.array(kept["evidence"]),
        kept["empty"],
        kept["seen"],
    )
    nodes = Nodes(
        score=score,
        variance=row["variance"],
        spread=row["spread"],
        spread_weight=row["spread_weight"],
        label=label,
        ratio=np.array(row["ratio"]),
        ratio_variance=np.array(row["ratio_variance"]),
        step=row["frame_step"],
    )
    return Memory(row["step"], row["edges"], count, _bank(row["tail"]), nodes)


def _from_before(row: dict[str, Any], score: np.ndarray, label: np.ndarray) -> Memory:
    """Read a relation of format 1, whose scores were degrees at ``frame_edges`` edges."""
    framed = row["frame_step"] is not None
    mean = 2 * max(row["frame_edges"], SMALLEST_EDGES) / max(len(score), 1) if framed else 1.0
    nodes = Nodes(
        score=score / mean,
        variance=row["variance"] / mean**2,
        spread=SPREAD,
        spread_weight=0.0,
        label=label,
        ratio=np.array(row["ratio"]),
        ratio_variance=np.array(row["ratio_variance"]),
        step=row["frame_step"],
    )
    count = EdgeCount.of_bank(_bank(row["count"]))
    return Memory(row["step"], row["edges"], count, _bank(row["tail"]), nodes)
