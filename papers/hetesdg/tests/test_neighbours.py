"""All reads of a fit together, on a small typed graph and on every neighbour of it."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, AttributeKind, EdgeType, GraphSchema, NodeType, Protection
from core.methods.base import PublicFacts
from core.privacy import queries
from core.privacy.accounting.plan import rows_of
from core.privacy.units import Unit
from papers.hetesdg import GENERATOR
from papers.hetesdg.sound import topo
from papers.hetesdg.sound.pair_gradient import pair_gradient
from tests.support.neighbours import compared, fit_of, toggled

NANO, DELTA = 2 * 10**9, 10**13
CHANCE = "papers.hetesdg.sound.training"
BOTH = ("graph", "embedding")
PATHS = (("writes", "writes"), ("writes", "knows"), ("cites", "cites"), ("knows", "writes"))
SUMS = {"mechanism": "gaussian-sums", "release": ("embedding",), "second_hop": "on"}
OPTIONS = [
    {"release": BOTH, "split": "bilevel", "meta_paths": PATHS},
    {"release": BOTH, "split": "equal", "rows": True, "row_width": 2},
    {**SUMS, "meta_paths": PATHS},
    {"release": BOTH, "learn": "link-sgd", "steps": 2, "negatives": 2, "rate": 1.0, "clip": 0.01},
]


def typed() -> Graph:
    """Two node types with public and protected numbers; relations across, directed, and undirected."""
    rng = np.random.default_rng(3)
    kinds = (
        NodeType(name="paper", count=3, attributes=(_vector("words", Protection.PUBLIC),)),
        NodeType(name="author", count=4, attributes=(_vector("history", Protection.PROTECTED),)),
    )
    relations = (
        EdgeType(name="writes", source="author", target="paper"),
        EdgeType(name="cites", source="paper", target="paper", directed=True),
        EdgeType(name="knows", source="author", target="author"),
    )
    nodes = {
        "paper": NodeTable(3, None, {"words": rng.normal(size=(3, 2)).astype(np.float32)}),
        "author": NodeTable(4, None, {"history": 9 * rng.normal(size=(4, 2)).astype(np.float32)}),
    }
    edges = {
        "writes": EdgeTable(np.array([0, 0, 1, 3]), np.array([0, 1, 1, 2])),
        "cites": EdgeTable(np.array([0, 1]), np.array([1, 0])),
        "knows": EdgeTable(np.array([0, 0, 1]), np.array([1, 2, 2])),
    }
    return Graph.build(GraphSchema(node_types=kinds, edge_types=relations), nodes, edges)


def _vector(name: str, protection: Protection) -> Attribute:
    return Attribute(name=name, kind=AttributeKind.VECTOR, protection=protection)


def fitted(graph: Graph, options: dict):
    names = tuple(each.name for each in graph.schema.edge_types)
    approximate = options.keys() & {"mechanism", "learn", "rows"}
    facts = PublicFacts(graph.schema, Unit.EDGE, None, NANO, DELTA if approximate else 0, names)
    return fit_of(GENERATOR, GENERATOR.Params.varied(**options), facts)


@pytest.fixture(autouse=True)
def _one_draw_for_every_link(monkeypatch):
    """Latent noise has one law for every link; here it is one number, wherever a link stands in a batch."""
    noise = torch.linspace(-1.0, 1.0, 2 * topo.LATENT).reshape(2, topo.LATENT)

    def gradient(self, values, of_source, of_target, sign):
        return pair_gradient(values, (of_source, of_target), sign, noise, self.weights)

    monkeypatch.setattr(topo.Predictor, "gradient", gradient)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_an_edge_moves_all_answers_by_no_more_than_was_paid(options, tmp_path):
    graph = typed()
    for relation in graph.edges:
        for number, other in enumerate(toggled(graph, relation)):
            compared(fitted(graph, options), graph, other, relation, tmp_path / f"{relation}{number}", CHANCE)


@pytest.mark.parametrize("options", [{"release": BOTH}, {**SUMS}, {"release": ("features",)}], ids=str)
def test_a_row_moves_all_answers_by_no_more_than_was_paid(options, tmp_path):
    graph, options = typed(), {**options, "rows": True, "row_width": 3}
    for node in range(4):
        history = np.array(graph.nodes["author"].attributes["history"])
        history[node] = 0
        nodes = {**graph.nodes, "author": NodeTable(4, None, {"history": history})}
        other = Graph.build(graph.schema, nodes, graph.edges)
        compared(fitted(graph, options), graph, other, rows_of("author"), tmp_path / str(node), CHANCE)


def test_a_sensitivity_that_is_too_small_is_caught(monkeypatch, tmp_path):
    """An undirected link has two ends."""
    true = queries.QUERIES["group_degrees"]
    one_end = lambda shape, **asked: replace(true(shape, **asked), l1_sensitivity=1)  # noqa: E731
    monkeypatch.setitem(queries.QUERIES, "group_degrees", one_end)
    graph = typed()
    with pytest.raises(AssertionError):
        compared(fitted(graph, {}), graph, toggled(graph, "knows")[0], "knows", tmp_path, CHANCE)
