"""The state between ticks of a live stream, as files.

A folder holds ``state.json`` (scalars and filters of every relation), ``nodes.parquet`` (score, class, chance
and activity of every node, relation after relation) and ``edges.parquet`` (what was published of the step).
Outputs already paid for, nothing else. States of format 1, written before the number of edges could jump and
degrees became relative ones, and of format 2, before anything stayed, are taken over when they are read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.methods.keyframe.counts import EdgeCount, Phase
from core.methods.keyframe.few import LAWS
from core.methods.keyframe.filters import Bank
from core.methods.keyframe.stays import Share, Stays
from core.methods.keyframe.step import SMALLEST_EDGES, SPREAD, Memory, Nodes

FORMAT, ANEW, BEFORE = 3, 2, 1
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
            "chance": np.concatenate([memory.stays.chance for memory in self.memory.values()]),
            "active": np.concatenate([memory.stays.active for memory in self.memory.values()]),
        }
        pq.write_table(pa.table(table), folder / "nodes.parquet", compression="zstd")
        keys = np.concatenate([memory.keys for memory in self.memory.values()])
        pq.write_table(pa.table({"key": keys}), folder / "edges.parquet", compression="zstd")
        text = {
            "format": FORMAT,
            "relations": {name: _to_json(memory) for name, memory in self.memory.items()},
        }
        (folder / "state.json").write_text(json.dumps(text) + "\n", encoding="utf-8")


def load_state(folder: Path) -> dict[str, Memory]:
    """Read what :meth:`KeyframeState.save` wrote. ValueError where its files contradict one another."""
    text = json.loads((folder / "state.json").read_text(encoding="utf-8"))
    if (found := text.get("format")) not in (BEFORE, ANEW, FORMAT):
        raise ValueError("not a stored state of keyframe in a format that can be read")
    rows = text["relations"].values()
    ends = _ends(row["nodes"] for row in rows)
    columns = _split(folder / "nodes.parquet", ends)
    read = _from_before if found == BEFORE else _from_json
    memory = {
        name: read(row, score, label)
        for (name, row), score, label in zip(
            text["relations"].items(), columns["score"], columns["label"], strict=True
        )
    }
    if found != FORMAT:
        return memory
    keys = _split(folder / "edges.parquet", _ends(row["keys"] for row in rows))["key"]
    parts = zip(memory.items(), rows, columns["chance"], columns["active"], keys, strict=True)
    return {
        name: replace(
            one, stays=Stays(Share(*row["edges_stay"]), Share(*row["nodes_stay"]), chance, active), keys=own
        )
        for (name, one), row, chance, active, own in parts
    }


def _ends(sizes: Iterable[int]) -> np.ndarray:
    return np.cumsum(list(sizes))


def _split(path: Path, ends: np.ndarray) -> dict[str, list[np.ndarray]]:
    """Read a table's columns, each cut at ``ends``. ValueError where it has another number of rows."""
    table = pq.read_table(path)
    if ends[-1] != len(table):
        raise ValueError("a stored state holds another number of rows than it says")
    return {name: np.split(table.column(name).to_numpy(), ends[:-1]) for name in table.column_names}


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
        "keys": len(memory.keys),
        "edges_stay": [memory.stays.edges.value, memory.stays.edges.variance],
        "nodes_stay": [memory.stays.nodes.value, memory.stays.nodes.variance],
        "law": nodes.law.tolist(),
    } | ({"phases": [[phase, *known] for phase, known in memory.phases.items()]} if memory.phases else {})


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
        law=np.array(row.get("law", np.zeros(LAWS))),
    )
    phases = {phase: Phase(*known) for phase, *known in row.get("phases", ())}
    return Memory(row["step"], row["edges"], count, _bank(row["tail"]), nodes, phases=phases)


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
