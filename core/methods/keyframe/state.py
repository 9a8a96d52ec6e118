"""The state between ticks of a live stream, as files.

A folder holds ``state.json`` (scalars and filters of every relation) and ``nodes.parquet`` (score and class
of every node, relation after relation). Outputs already paid for, nothing else.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.methods.keyframe.filters import Bank
from core.methods.keyframe.step import Memory, Nodes

FORMAT = 1
_BANK = ("level", "variance", "evidence")


@dataclass(frozen=True)
class KeyframeState:
    """``memory`` by relation."""

    memory: dict[str, Memory]

    def save(self, folder: Path) -> None:
        """Write the state to ``folder``. :func:`load_state` gives back an equal one."""
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
    """Read what :meth:`KeyframeState.save` wrote. ValueError where its files contradict one another."""
    text = json.loads((folder / "state.json").read_text(encoding="utf-8"))
    if text.get("format") != FORMAT:
        raise ValueError("not a stored state of keyframe in a format that can be read")
    table = pq.read_table(folder / "nodes.parquet")
    score, label = (table.column(name).to_numpy() for name in ("score", "label"))
    ends = np.cumsum([row["nodes"] for row in text["relations"].values()])
    if ends[-1] != len(score):
        raise ValueError("a stored state holds another number of rows than it says")
    parts = zip(np.split(score, ends[:-1]), np.split(label, ends[:-1]), strict=True)
    return {
        name: _from_json(row, *part)
        for (name, row), part in zip(text["relations"].items(), parts, strict=True)
    }


def _to_json(memory: Memory) -> dict[str, Any]:
    nodes = memory.nodes
    return {
        "step": memory.step,
        "edges": memory.edges,
        "count": {name: getattr(memory.count, name).tolist() for name in _BANK},
        "tail": {name: getattr(memory.tail, name).tolist() for name in _BANK},
        "nodes": len(nodes.score),
        "variance": nodes.variance,
        "ratio": nodes.ratio.tolist(),
        "ratio_variance": nodes.ratio_variance.tolist(),
        "frame_step": nodes.step,
        "frame_edges": nodes.edges,
    }


def _from_json(row: dict[str, Any], score: np.ndarray, label: np.ndarray) -> Memory:
    count, tail = (Bank(*(np.array(row[part][name]) for name in _BANK)) for part in ("count", "tail"))
    nodes = Nodes(
        score=score,
        variance=row["variance"],
        label=label,
        ratio=np.array(row["ratio"]),
        ratio_variance=np.array(row["ratio_variance"]),
        step=row["frame_step"],
        edges=row["frame_edges"],
    )
    return Memory(row["step"], row["edges"], count, tail, nodes)
