"""Graphs in which a person is a node: people and things, people and people, generated ones of any size."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks import static_graphs
from benchmarks.load import numbers
from benchmarks.typed_graphs import SHAPES, load_dataset, shaped
from benchmarks.typed_metrics import Reading
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, AttributeKind, EdgeType, GraphSchema, NodeType, Protection, TimeGrid
from papers.hetesdg.benchmarks import data as hetesdg_data

THINGS: dict[str, tuple[str, Reading]] = {
    "ml-100k": ("u", Reading("u-m-timed", ("~u-o-static", "u-m-timed", "m-g-static"))),
    "amazon": ("user", Reading("item-user", ())),
    "bitcoin-otc": ("rater", Reading("rates", ())),
    "taobao": ("user", Reading("user-item", ())),
}
"""People and things: the protected type, and what is looked at closely."""

PEOPLE: dict[str, tuple[str, str | None]] = {
    "cora": ("edges.csv", "labels.csv"),
    "lastfm": ("lastfm_asia_edges.csv", "lastfm_asia_target.csv"),
    "digg": ("", None),
    "facebook": ("", None),
}
"""People and people: the list of edges and that of public groups, where there are groups."""

DIRECTED: dict[str, tuple[str, int, int | None]] = {
    "otc": ("bitcoin-otc/soc-sign-bitcoinotc.csv", 0, None),
    "polblogs": ("polblogs/edges.csv", 0, None),
    "collegemsg": ("CollegeMsg/CollegeMsg.txt", 0, None),
    "digg-replies": ("munmun-digg-reply/munmun_digg_reply.txt", 1, None),
    "collegemsg-8-steps": ("CollegeMsg/CollegeMsg.txt", 0, 8),
}
"""Who is linked to whom, one way: the list of edges, the lines before it, and steps of like numbers of events
(the time stands in the third column), or none."""

FOLDERS = {"cora": "cora", "lastfm": "lastfm_asia"}
TAOBAO_EDGES = 3_000_000


def load(name: str, data: Path, bound: int | None = None) -> Graph:
    """One of ``THINGS``, ``PEOPLE`` or ``DIRECTED``, or ``generated-NODES-BOUND``.

    ``bound``: the degree bound declared.
    """
    if name in THINGS:
        return _with_things(name, data)
    if name.startswith("generated-"):
        nodes, most = (int(part) for part in name.split("-")[1:])
        return person_graph(bounded_graph(nodes, most), bound)
    if name in DIRECTED:
        return person_graph(one_way(name, data), bound)
    if name in FOLDERS:
        edges, labels = PEOPLE[name]
        return with_groups(data / FOLDERS[name] / edges, data / FOLDERS[name] / str(labels), bound)
    return person_graph(static_graphs.load(name, data), bound)


def person_graph(graph: Graph, bound: int | None) -> Graph:
    """The same graph, its one node type protected."""
    (kind,) = graph.schema.node_types
    marked = kind.model_copy(update={"protected": True, "degree_bound": bound})
    schema = graph.schema.model_copy(update={"node_types": (marked,)})
    return Graph.build(schema, graph.nodes, graph.edges)


def one_way(name: str, data: Path) -> Graph:
    """One of ``DIRECTED``: loops and repeats in a step are dropped, node numbers shuffled."""
    path, skipped, steps = DIRECTED[name]
    rows = numbers(data / path, (0, 1) if steps is None else (0, 1, 2), skipped).astype(np.int64)
    names, place = np.unique(rows[:, :2], return_inverse=True)
    ends = np.random.default_rng(0).permutation(len(names))[place.reshape(-1, 2)]
    step = None
    if steps is not None:
        step = np.searchsorted(np.quantile(rows[:, 2], np.arange(1, steps) / steps), rows[:, 2])
    schema = GraphSchema(
        node_types=(NodeType(count=len(names)),),
        edge_types=(EdgeType(directed=True, temporal=steps is not None),),
        time=None if steps is None else TimeGrid(count=steps),
    )
    table = EdgeTable(ends[:, 0], ends[:, 1], step)
    return Graph.build(schema, {"node": NodeTable(len(names))}, {"edge": table})


def edge_wise(graph: Graph) -> Graph:
    """The same graph as units that hide edges take it: no type is protected, no degree bounded."""
    kinds = tuple(
        kind.model_copy(update={"protected": False, "degree_bound": None}) for kind in graph.schema.node_types
    )
    return Graph(graph.schema.model_copy(update={"node_types": kinds}), graph.nodes, graph.edges)


def declared_bound(name: str, data: Path) -> int:
    """The power of two above the largest degree: what somebody might declare."""
    graph = load(name, data)
    person = graph.schema.protected_type
    assert person is not None
    degree = np.zeros(graph.nodes[person.name].count, dtype=np.int64)
    for kind in graph.schema.edge_types:
        if kind.public:
            continue
        table = graph.edges[kind.name]
        for end, of in ((kind.source, table.source), (kind.target, table.target)):
            if end == person.name:
                degree += np.bincount(of, minlength=len(degree))
    return 1 << int(degree.max() - 1).bit_length()


def _with_things(name: str, data: Path) -> Graph:
    person = THINGS[name][0]
    if name == "ml-100k":
        return protecting(load_dataset(name, data), person)
    if name == "amazon":
        return protecting(hetesdg_data.load(name, data), person)
    if name == "taobao":
        return protecting(shaped(replace(SHAPES[name], edges=TAOBAO_EDGES)), person)
    return _raters(data)


def protecting(graph: Graph, person: str) -> Graph:
    """The same graph with this type protected; relations that do not touch it are public."""
    kinds = tuple(
        kind.model_copy(update={"protected": kind.name == person}) for kind in graph.schema.node_types
    )
    relations = tuple(
        kind.model_copy(update={"public": person not in (kind.source, kind.target)})
        for kind in graph.schema.edge_types
    )
    schema = graph.schema.model_copy(update={"node_types": kinds, "edge_types": relations})
    return Graph.build(GraphSchema.model_validate(schema.model_dump()), graph.nodes, graph.edges)


def _raters(data: Path) -> Graph:
    """Bitcoin-otc as raters and rated: who trades stands on both sides, as two nodes."""
    rows = numbers(data / "bitcoin-otc/soc-sign-bitcoinotc.csv", (0, 1)).astype(np.int64)
    names, place = np.unique(rows, return_inverse=True)
    rng, place = np.random.default_rng(0), place.reshape(rows.shape)
    source, target = (rng.permutation(len(names))[place[:, side]] for side in (0, 1))
    schema = GraphSchema(
        node_types=(
            NodeType(name="rater", count=len(names), protected=True),
            NodeType(name="rated", count=len(names)),
        ),
        edge_types=(EdgeType(name="rates", source="rater", target="rated"),),
    )
    nodes = {kind.name: NodeTable(len(names)) for kind in schema.node_types}
    return Graph.build(schema, nodes, {"rates": EdgeTable(source, target)})


def with_groups(edges: Path, labels: Path, bound: int | None = None) -> Graph:
    """People with a public group each; node numbers are shuffled."""
    ends = numbers(edges, (0, 1)).astype(np.int64)
    rows = numbers(labels, (0, 1)).astype(np.int64)
    names, place = np.unique(rows[:, 0]), np.random.default_rng(0)
    number = place.permutation(len(names))
    group = np.empty(len(names), dtype=np.int64)
    group[number[np.searchsorted(names, rows[:, 0])]] = rows[:, 1]
    attribute = Attribute(name="group", kind=AttributeKind.CATEGORY, protection=Protection.PUBLIC, label=True)
    kind = NodeType(count=len(names), attributes=(attribute,), protected=True, degree_bound=bound)
    schema = GraphSchema(node_types=(kind,), edge_types=(EdgeType(),))
    ends = number[np.searchsorted(names, ends)]
    column = pa.array([f"group {g}" for g in group])
    nodes = {"node": NodeTable(len(names), None, {"group": column})}
    return Graph.build(schema, nodes, {"edge": EdgeTable(ends[:, 0], ends[:, 1])})


def groups_of(graph: Graph) -> np.ndarray | None:
    """Every node's public group, int64; None where there is none."""
    (kind,) = graph.schema.node_types
    if not any(attribute.name == "group" for attribute in kind.attributes):
        return None
    column = pa.array(graph.nodes[kind.name].attributes["group"]).dictionary_encode()
    return column.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def bounded_graph(nodes: int, bound: int, mean: float = 8.0, seed: int = 1) -> Graph:
    """A graph with a power-law tail of degrees and no node above ``bound``; the same for the same seed.

    Ends meet at random by weight; edges of a node beyond its bound are dropped at random. O(edges log edges).
    """
    rng = np.random.default_rng(seed)
    weight = np.minimum((1 - rng.random(nodes)) ** (-1 / 1.5), 0.7 * bound)
    cumulative = np.cumsum(weight)
    count = int(mean * nodes / 2)
    source, target = (np.searchsorted(cumulative, rng.random(count) * cumulative[-1]) for _ in range(2))
    keys = np.minimum(source, target) * np.int64(nodes) + np.maximum(source, target)
    keys = rng.permutation(np.unique(keys[source != target]))
    ends = np.stack([keys // nodes, keys % nodes])
    for side in (0, 1, 0, 1):
        ends = ends[:, _within(ends, side, nodes, bound)]
    table = EdgeTable(*rng.permutation(nodes)[ends])
    schema = GraphSchema(node_types=(NodeType(count=nodes),), edge_types=(EdgeType(),))
    return Graph.build(schema, {"node": NodeTable(nodes)}, {"edge": table})


def _within(ends: np.ndarray, side: int, nodes: int, bound: int) -> np.ndarray:
    """Keep of every node's edges on one side as many as the bound leaves beside those on the other."""
    order = np.argsort(ends[side], kind="stable")
    counts = np.bincount(ends[side], minlength=nodes)
    rank = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    room = bound - np.bincount(ends[1 - side], minlength=nodes)
    kept = np.empty(len(order), dtype=bool)
    kept[order] = rank < np.maximum(room, 0)[ends[side][order]]
    return kept
