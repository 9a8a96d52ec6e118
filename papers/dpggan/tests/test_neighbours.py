"""All reads of a fit together, on a collection of small graphs and on every neighbour of it."""

import numpy as np
import pytest

from core.graphs.graph import EdgeTable, Graph
from core.graphs.schema import Collection, CollectionGraph, GraphSchema
from core.methods.base import PublicFacts
from core.privacy.mechanisms import gradients
from core.privacy.units import Unit
from papers import dpggan
from papers.dpggan.pooling import FEWEST_GRAPHS
from tests.support.generating import random_pairs
from tests.support.heeded import heeded
from tests.support.neighbours import compared, fit_of, toggled

NANO, DELTA = 3 * 10**9, 10**13
CHANCE = "papers.dpggan.fit"
LEARNED = {"learn": "link-sgd", "epochs": 2, "fit_steps": 2, "steps": 2}
OPTIONS = [
    {"product_nodes": 0},
    {"learn": "evidence", "frame": False},
    {**LEARNED, "inputs": "networks"},
    {**LEARNED, "joint": True},
    {**LEARNED, "joint": True, "decoder": "mlp", "clip": 0.01, "clip_decay": 0.9},
]


def small() -> Graph:
    """As many graphs as learn from one another, of 1 to 4 nodes; one has no edge, one has all."""
    sizes = [4, 4, 1, 2, *[3] * (FEWEST_GRAPHS - 2)]
    graphs = tuple(CollectionGraph(id=str(number), nodes=size) for number, size in enumerate(sizes))
    ends = {f"graph-{i}": random_pairs(size, 0.5, seed=i) for i, size in enumerate(sizes)}
    ends |= {"graph-3": random_pairs(2, 0.0), "graph-4": random_pairs(3, 1.1)}
    edges = {name: EdgeTable(pairs[:, 0], pairs[:, 1]) for name, pairs in ends.items()}
    return Graph.build(GraphSchema(collection=Collection(graphs=graphs)), {}, edges)


def fitted(graph: Graph, options: dict):
    names = tuple(each.name for each in graph.schema.edge_types)
    delta = DELTA if "inputs" in options or "joint" in options else 0
    facts = PublicFacts(graph.schema, Unit.EDGE, None, NANO, delta, names)
    return fit_of(dpggan.GENERATOR, heeded(dpggan.GENERATOR, facts, **options)[0], facts)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_an_edge_of_one_graph_moves_all_answers_by_no_more_than_it_paid(options, tmp_path):
    graph = small()
    for relation in ("graph-0", "graph-3", "graph-4"):
        for number, other in enumerate(toggled(graph, relation)):
            compared(fitted(graph, options), graph, other, relation, tmp_path / f"{relation}{number}", CHANCE)


def test_gradients_of_twice_the_length_are_caught(monkeypatch, tmp_path):
    true = gradients.DpSgdSession._on_grid
    monkeypatch.setattr(gradients.DpSgdSession, "_on_grid", lambda self, flat: 2 * true(self, flat))
    graph, options = small(), OPTIONS[-1]
    with pytest.raises(AssertionError):
        compared(fitted(graph, options), graph, toggled(graph, "graph-0")[0], "graph-0", tmp_path, CHANCE)


def test_an_answer_that_nobody_paid_for_is_caught(monkeypatch, tmp_path):
    """A frame that keeps a graph's true number of edges is another model for every neighbour."""
    from papers.dpggan import fit

    true = fit._read

    def peeking(graph, key, *rest):
        found = true(graph, key, *rest)
        return found | {"count": np.array([graph._graph.edges[key[0]].count])}

    monkeypatch.setattr(fit, "_read", peeking)
    graph = small()
    with pytest.raises(AssertionError):
        compared(fitted(graph, {}), graph, toggled(graph, "graph-0")[0], "graph-0", tmp_path, CHANCE)
