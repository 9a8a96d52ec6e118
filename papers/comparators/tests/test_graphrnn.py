"""GraphRNN on rings of cliques: orders, what is learned of triangles, collections, and stored models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from core.graphs.graph import EdgeTable, Graph
from core.graphs.schema import Collection, CollectionGraph, EdgeType, GraphSchema, NodeType
from core.methods import registry
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from papers.comparators.graphrnn.model import RowsModel
from papers.comparators.graphrnn.network import Network, earlier, neighbours_of, reach_of, rows_of

METHOD = registry.get("graphrnn")
CLIQUES, SIZE = 4, 4
NODES = CLIQUES * SIZE


def ring() -> np.ndarray:
    """CLIQUES cliques of SIZE nodes, each joined to the next by one edge."""
    low, high = np.triu_indices(SIZE, 1)
    first = SIZE * np.arange(CLIQUES)[:, None]
    inside = np.stack([(first + low).ravel(), (first + high).ravel()], 1)
    joined = np.stack([first[:, 0], (first[:, 0] + SIZE + 1) % NODES], 1)
    return np.sort(np.concatenate([inside, joined]), axis=1)


def graph(pairs: np.ndarray, nodes: int = NODES) -> Graph:
    schema = GraphSchema(node_types=(NodeType(count=nodes),), edge_types=(EdgeType(),))
    return Graph.build(schema, {}, {"edge": EdgeTable(*pairs.T)})


def fitted(original: Graph, **params: Any) -> RowsModel:
    chosen = METHOD.Params.model_validate(params)
    names = tuple(each.name for each in original.schema.edge_types)
    plan = METHOD.plan(chosen, PublicFacts(original.schema, Unit.EDGE, None, 10**9, 0, names))
    model = METHOD.fit(PrivateGraph(original, Meter(plan, MemoryRecorder())), plan, chosen, no_progress)
    assert isinstance(model, RowsModel)
    return model


def triangles(drawn: Graph) -> float:
    table = drawn.edges["edge"]
    matrix = np.zeros((NODES, NODES))
    matrix[table.source, table.target] = matrix[table.target, table.source] = 1
    return float(np.trace(matrix @ matrix @ matrix) / 6)


def test_an_order_holds_every_edge_once_and_goes_breadth_first():
    path = np.stack([np.arange(NODES - 1), np.arange(1, NODES)], 1)
    for pairs, furthest in ((ring(), 12), (path, 2)):
        found = earlier(neighbours_of(pairs, NODES), np.random.default_rng(1))
        assert len(set(found)) == len(pairs)
        assert all(1 <= back <= at < NODES for at, back in found)
        assert max(back for _, back in found) <= furthest
    near = neighbours_of(path, NODES)
    assert reach_of([near], np.random.default_rng(1)) == 2
    assert rows_of(near, 1, np.random.default_rng(1)).sum() < NODES - 1  # what is further back is left out


def test_a_row_is_told_by_rows_and_entries_before_it_alone():
    torch.manual_seed(0)
    network, rows = Network(3), torch.rand(1, 5, 3).round()
    other = rows.clone()
    other[0, 2, 1] = 1 - other[0, 2, 1]
    asked = torch.arange(5)
    changed = (network.logits(rows, asked) != network.logits(other, asked)).tolist()
    assert changed[0] == changed[1] == [False] * 3
    assert changed[2] == [False, False, True]
    assert all(map(any, changed[3:]))


def test_it_learns_cliques(monkeypatch: pytest.MonkeyPatch):
    """CLIQUES of SIZE nodes apart have 24 edges and 16 triangles; untrained rows have as many edges."""
    monkeypatch.setattr("papers.comparators.graphrnn.model.noise_generator", lambda: public_generator(5))
    low, high = np.divmod(ring()[:, 0], SIZE), np.divmod(ring()[:, 1], SIZE)
    apart = graph(ring()[low[0] == high[0]])
    found = {}
    for steps in (1, 300):
        model = fitted(apart, steps=steps)
        drawn = [model.sample(public_generator(seed), no_progress) for seed in range(4)]
        found[steps] = np.mean([triangles(each) for each in drawn])
        assert 15 < np.mean([each.edges["edge"].count for each in drawn]) < 33
    assert found[300] > 11 > 9 > found[1]
    curve = model.training().curves["rows"]
    assert curve[-1] < 0.8 * curve[0]


def test_graphs_of_a_collection_share_one_network_and_none_needs_an_edge():
    sizes = {"a": NODES, "b": 1, "c": 3}
    members = tuple(CollectionGraph(id=name, nodes=size) for name, size in sizes.items())
    schema = GraphSchema(collection=Collection(graphs=members))
    empty = np.empty((0, 2), dtype=np.int64)
    tables = {each.type_name: EdgeTable(*(ring() if each.id == "a" else empty).T) for each in members}
    model = fitted(Graph.build(schema, {}, tables), steps=5)
    assert {name.split(".")[0] for name in model.weights} == {"0"}
    assert len(model.sample(public_generator(1), no_progress).edges) == 3
    for nodes in (1, 2):
        assert (
            fitted(graph(empty, nodes), steps=2).sample(public_generator(1), no_progress).edges["edge"].count
            <= 1
        )


def test_a_stored_model_draws_the_same_graph(tmp_path: Path):
    model = fitted(graph(ring()), steps=5)
    model.save(tmp_path)
    again = METHOD.load(tmp_path)
    kept = again.sample(public_generator(1), no_progress)
    assert model.sample(public_generator(1), no_progress).equals(kept)
    assert again.training() == model.training()
