"""Collections of odd shapes: one graph, graphs of one node, without edges, with all of them."""

import numpy as np
import pytest

from core.graphs.graph import EdgeTable, Graph
from core.graphs.schema import Collection, CollectionGraph, GraphSchema
from core.methods import degree_triangle
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from papers import dpggan
from tests.support.generating import NANO, random_pairs
from tests.support.heeded import heeded

DELTA = 10**13
LEARNED = {"learn": "link-sgd", "epochs": 1, "fit_steps": 1, "steps": 1}
METHODS = [
    pytest.param(degree_triangle.GENERATOR, {}, id="degree_triangle"),
    pytest.param(dpggan.GENERATOR, {}, id="frame"),
    pytest.param(dpggan.GENERATOR, LEARNED | {"joint": True, "inputs": "networks"}, id="networks, joint"),
    pytest.param(dpggan.GENERATOR, LEARNED | {"frame": False, "decoder": "mlp"}, id="mlp, no frame"),
]
SHAPES = {
    "one graph": ([9], 0.4),
    "one node": ([1], 0.4),
    "no edges": ([3, 4, 1, 2, 5, 6, 7, 8, 9, 10], 0.0),
    "all edges": ([4] * 10, 1.1),
    "two nodes": ([2] * 12, 0.5),
    "small and large": ([1, 2, 3, 40, 1, 7, 8, 9, 10], 0.3),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("generator", "params"), METHODS)
def test_every_graph_is_released_whatever_its_size(generator, params, shape, tmp_path):
    sizes, share = SHAPES[shape]
    graphs = tuple(CollectionGraph(id=str(number), nodes=size) for number, size in enumerate(sizes))
    pairs = {f"graph-{i}": random_pairs(size, share, seed=i) for i, size in enumerate(sizes)}
    edges = {name: EdgeTable(each[:, 0], each[:, 1]) for name, each in pairs.items()}
    graph = Graph.build(GraphSchema(collection=Collection(graphs=graphs)), {}, edges)
    delta = DELTA if params else 0
    for epsilon in (NANO // 10, 20 * NANO):
        facts = PublicFacts(graph.schema, Unit.EDGE, None, epsilon, delta, tuple(edges))
        chosen, plan = heeded(generator, facts, **params)
        meter = Meter(plan, MemoryRecorder())
        model = generator.fit(PrivateGraph(graph, meter), plan, chosen, no_progress)
        assert guarantee_of(plan, meter.transcript, delta).nano_epsilon <= epsilon
        model.save(tmp_path / str(epsilon))
        one, other = (
            each.sample(public_generator(3), no_progress)
            for each in (model, generator.load(tmp_path / str(epsilon)))
        )
        assert one.equals(other)
        assert {name: table.count for name, table in one.nodes.items()} == {
            name: table.count for name, table in graph.nodes.items()
        }
        assert all(
            one.edges[name].count <= size * (size - 1) // 2 for name, size in zip(edges, sizes, strict=True)
        )
    assert np.isfinite([value for curve in _curves(model) for value in curve]).all()


def _curves(model) -> list[tuple[float, ...]]:
    """What a model tells of its training; nothing where it has none."""
    return list(model.training().curves.values()) if hasattr(model, "training") else []
