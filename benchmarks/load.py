"""Edge lists for benchmarks: whitespace or comma separated, shuffled node numbers, optional windows."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.graphs import static_graph
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid


def _columns(path: Path, count: int) -> np.ndarray:
    with path.open() as file:
        head = next(line for line in file if not line.startswith("#"))
    delimiter = "," if "," in head else None
    return np.loadtxt(path, usecols=range(count), delimiter=delimiter, comments="#", dtype=np.int64, ndmin=2)


def _shuffled(ends: np.ndarray, rng: np.random.Generator) -> tuple[int, np.ndarray]:
    """Number of nodes, and the ends renumbered at random: file order often gives communities away."""
    names, place = np.unique(ends, return_inverse=True)
    return len(names), rng.permutation(len(names)).astype(np.int32)[place.reshape(ends.shape)]


def load_static(path: Path, seed: int = 0) -> Graph:
    """The simple undirected graph of an edge list, node numbers shuffled by ``seed``."""
    nodes, ends = _shuffled(_columns(path, 2), np.random.default_rng(seed))
    return static_graph(nodes, EdgeTable(ends[:, 0], ends[:, 1]))


def load_stream(path: Path, width_seconds: int, seed: int = 0) -> Graph:
    """Snapshots of ``source target time`` rows in windows of ``width_seconds``.

    The universe is every node of the file and the grid spans its times: conventions of a benchmark; a release
    declares both.
    """
    rows = _columns(path, 3)
    nodes, ends = _shuffled(rows[:, :2], np.random.default_rng(seed))
    start = int(rows[:, 2].min())
    step = (rows[:, 2] - start) // width_seconds
    schema = GraphSchema(
        node_types=(NodeType(count=nodes),),
        edge_types=(EdgeType(temporal=True),),
        time=TimeGrid(start=start, width=width_seconds, count=int(step.max()) + 1),
    )
    table = EdgeTable(ends[:, 0], ends[:, 1], step.astype(np.int32))
    return Graph.build(schema, {"node": NodeTable(nodes)}, {"edge": table})
