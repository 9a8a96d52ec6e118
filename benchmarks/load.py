"""Edge lists for benchmarks: plain ones with shuffled node numbers and optional windows, and typed ones."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.graphs import static_graph
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid


def numbers(path: Path, columns: Sequence[int], skipped: int = 0) -> np.ndarray:
    """The rows that begin with a digit, float64: headers and comments are left out, a ``.gz`` is unpacked.

    ``skipped``: how many of them are left out too.
    """
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        lines = [line for line in file if line.lstrip()[:1].isdigit()][skipped:]
    delimiter = "," if "," in lines[0] else None
    return np.loadtxt(lines, usecols=columns, delimiter=delimiter, ndmin=2)


def _shuffled(
    ends: np.ndarray, rng: np.random.Generator, others: np.ndarray | None = None
) -> tuple[int, np.ndarray]:
    """Number of nodes, and the ends renumbered at random: file order often gives communities away."""
    names = np.unique(ends if others is None else np.concatenate([ends.ravel(), others]))
    return len(names), rng.permutation(len(names)).astype(np.int32)[np.searchsorted(names, ends)]


def load_static(path: Path, seed: int = 0, universe: Path | None = None, skipped: int = 0) -> Graph:
    """The simple undirected graph of an edge list, node numbers shuffled by ``seed``.

    ``universe``: a file whose first column has every node; None: the nodes of the edge list are all.
    """
    ends = numbers(path, (0, 1), skipped).astype(np.int64)
    others = None if universe is None else numbers(universe, (0,)).astype(np.int64).ravel()
    nodes, ends = _shuffled(ends, np.random.default_rng(seed), others)
    return static_graph(nodes, EdgeTable(ends[:, 0], ends[:, 1]))


def load_stream(path: Path, width_seconds: int, seed: int = 0) -> Graph:
    """Snapshots of ``source target time`` rows in windows of ``width_seconds``.

    The universe is every node of the file and the grid spans its times: conventions of a benchmark; a release
    declares both.
    """
    rows = numbers(path, (0, 1, 2)).astype(np.int64)
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


def load_typed(*paths: Path) -> list[Graph]:
    """One typed temporal graph a file, all over one schema and one universe: names and relations of any file.

    Gzipped rows ``source target source_type target_type time``; time 0: untimed. A name has one node,
    whatever types its rows give it (see :func:`name_types`); relations are directed as stored. Nodes are
    numbered in the order of their names.
    """
    files = []
    for path in paths:
        with gzip.open(path, "rt") as lines:
            files.append(np.array([line.split() for line in lines]))
    kind_of: dict[str, str] = {}
    for rows in reversed(files):  # the first file decides; the others add names
        kind_of |= name_types(rows)
    names = np.array(sorted(kind_of))
    kinds = np.array([kind_of[name] for name in names])
    types = {str(kind): names[kinds == kind] for kind in np.unique(kinds)}
    tables = [_relations(rows, names, kinds, types) for rows in files]
    edge_types = tuple(
        EdgeType(name=name, source=source, target=target, directed=True, temporal=timed != "static")
        for name in sorted(set().union(*tables))
        for source, target, timed in [name.split("-")]
    )
    grid = TimeGrid(start=1, count=max(int(rows[:, 4].astype(int).max()) for rows in files))
    node_types = tuple(NodeType(name=kind, count=len(ids)) for kind, ids in types.items())
    schema = GraphSchema(node_types=node_types, edge_types=edge_types, time=grid)
    nodes = {kind: NodeTable(len(ids)) for kind, ids in types.items()}
    return [Graph.build(schema, nodes, found) for found in tables]


def name_types(rows: np.ndarray) -> dict[str, str]:
    """One type a name: the type of its first row in the step of its last row.

    This is how the published figures read the DBLP file, which lists 1 162 names under two types. Where types
    do not clash the rule has nothing to decide.
    """
    in_step: dict[tuple[str, str], str] = {}
    found = {}
    for source, target, source_type, target_type, time in rows.tolist():
        found[source] = in_step.setdefault((source, time), source_type)
        found[target] = in_step.setdefault((target, time), target_type)
    return found


def _relations(
    rows: np.ndarray, names: np.ndarray, kinds: np.ndarray, types: dict[str, np.ndarray]
) -> dict[str, EdgeTable]:
    times = rows[:, 4].astype(int)
    source, target = (kinds[np.searchsorted(names, rows[:, side])] for side in (0, 1))
    relation = np.stack([source, target, np.where(times > 0, "timed", "static")], axis=1)
    tables = {}
    for kind in np.unique(relation, axis=0):
        chosen = (relation == kind).all(axis=1)
        tables["-".join(kind)] = EdgeTable(
            np.searchsorted(types[kind[0]], rows[chosen, 0]),
            np.searchsorted(types[kind[1]], rows[chosen, 1]),
            times[chosen] - 1 if kind[2] == "timed" else None,
        )
    return tables
