"""Directions of a relation: the free start, what is paid, and that planted tastes come back in the draws."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods._shared.slots.markov_chain import rewired
from core.methods.anchored import passes, spectral
from core.privacy.accounting.accountant import Accountant
from core.privacy.accounting.events import NANO, GaussianEvent, Pure
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.queries import Shape
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit

USERS, FILMS, STEPS, DELTA = 200, 120, 2, 10**12


def planted(seed=0, once=True):
    """Users and films of two tastes; three edges of four stay inside one. Pairs occur once over time."""
    rng = np.random.default_rng(seed)
    source = rng.integers(0, USERS, 9_000)
    target = rng.integers(0, FILMS // 2, 9_000) * 2
    other = rng.random(9_000) < 0.25
    target += (source + other) % 2
    _, kept = np.unique(source * FILMS + target, return_index=True)
    relation = EdgeType(name="likes", source="user", target="film", temporal=True, directed=True, once=once)
    schema = GraphSchema(
        node_types=(NodeType(name="user", count=USERS), NodeType(name="film", count=FILMS)),
        edge_types=(relation,),
        time=TimeGrid(count=STEPS),
    )
    nodes = {"user": NodeTable(USERS), "film": NodeTable(FILMS)}
    table = EdgeTable(source[kept], target[kept], np.arange(len(kept)) % STEPS)
    return Graph.build(schema, nodes, {"likes": table})


def same_taste(keys):
    source, target = np.divmod(keys, FILMS)
    return float(((source + target) % 2 == 0).mean())


def tables(graph):
    return [np.sort(cell.source.astype(np.int64) * FILMS + cell.target) for cell in graph.cells()]


def shuffled(keys, seed=1):
    """Another graph of the same degrees."""
    shape = Shape(EdgeType(source="user", target="film"), USERS, FILMS)
    return rewired(keys, {}, shape, 100 * len(keys), np.random.default_rng(seed))


def measured(graph, multiplier):
    cells = [("likes", step) for step in range(STEPS)]
    rows = tuple(Allotment(*key, passes.event(multiplier), "p") for key in cells)
    meter = Meter(PrivacyPlan("t", Unit.EVENT, None, STEPS, rows, DELTA), MemoryRecorder())
    true = np.concatenate(tables(graph))
    source, target = np.divmod(true, FILMS)
    degrees = np.bincount(source, minlength=USERS), np.bincount(target, minlength=FILMS)
    layer = (np.arange(FILMS)[:, None] % 2 == [0, 1]) ^ (np.random.default_rng(2).random((FILMS, 1)) < 0.3)
    features = spectral.start(degrees[1], [layer], np.random.default_rng(3))
    private = PrivateGraph(graph, meter)
    return spectral.measure(private, cells, features, degrees, multiplier), meter


def test_the_start_is_rows_of_length_one_at_most():
    rng = np.random.default_rng(0)
    popularity = rng.poisson(20, FILMS)
    for layers in ([], [rng.random((FILMS, 5)) < 0.3], [rng.random((FILMS, 2)), np.ones((FILMS, 1))]):
        rows = spectral.start(popularity, layers, rng)
        assert np.isfinite(rows).all()
        assert np.linalg.norm(rows, axis=1).max() <= 1 + 1e-12
        assert np.linalg.matrix_rank(rows) >= 2


def test_every_cell_pays_for_every_pass():
    found, meter = measured(planted(), Fraction(2))
    assert len(meter.transcript) == passes.PASSES * STEPS
    assert {entry.event for entry in meter.transcript} == {GaussianEvent(2)}
    for rows, count in ((found.source, USERS), (found.target, FILMS)):
        assert rows.shape[0] == count
        assert rows.shape[1] <= spectral.RANK
        assert np.linalg.norm(rows, axis=1).max() <= 1 + 1e-12


def test_the_noise_multiplier_is_the_least_that_the_plan_takes():
    besides = (Pure(NANO, "laplace"),)
    sigma = passes.noise_multiplier(3 * NANO, DELTA, Accountant.PRIVACY_LOSS, besides)

    def cost(multiplier):
        events = (*besides, passes.event(multiplier))
        rows = tuple(Allotment("likes", 0, event, "p") for event in events)
        plan = PrivacyPlan("t", Unit.EVENT, None, 1, rows, DELTA, accountant=Accountant.PRIVACY_LOSS)
        return plan.cost().nano_epsilon

    assert cost(sigma) <= 3 * NANO < cost(sigma - Fraction(1, 100))


@pytest.mark.parametrize("once", [True, False])
def test_draws_follow_the_planted_tastes(once):
    graph = planted(once=once)
    found, _ = measured(graph, Fraction(2))
    shape = Shape(graph.schema.edge_types[0], USERS, FILMS)
    base = [shuffled(keys, seed) for seed, keys in enumerate(tables(graph))]
    base[1] = np.setdiff1d(base[1], base[0])
    score = spectral.fitted_score(found, [(keys, {}) for keys in base], shape, np.random.default_rng(4))
    drawn = [rewired(keys, {}, shape, 60 * len(keys), np.random.default_rng(5), score=score) for keys in base]
    true, before, after = (np.mean([same_taste(k) for k in each]) for each in (tables(graph), base, drawn))
    assert before < 0.55
    assert true > 0.7
    assert after > before + 0.6 * (true - before)
    measured_now = spectral._products(found, drawn, shape)
    gap = np.abs(found.products - spectral._products(found, base, shape)).sum()
    assert np.abs(found.products - measured_now).sum() < 0.35 * gap


def test_noise_alone_leaves_tastes_alone():
    graph = planted()
    rows = np.sort(np.random.default_rng(9).choice(USERS * FILMS, 4_000, replace=False))
    source, target = np.divmod(rows, FILMS)
    table = EdgeTable(source, target, np.arange(len(rows)) % STEPS)
    graph = Graph.build(graph.schema, graph.nodes, {"likes": table})
    found, _ = measured(graph, Fraction(20))
    shape = Shape(graph.schema.edge_types[0], USERS, FILMS)
    base = tables(graph)
    score = spectral.fitted_score(found, [(keys, {}) for keys in base], shape, np.random.default_rng(4))
    drawn = [rewired(keys, {}, shape, 60 * len(keys), np.random.default_rng(5), score=score) for keys in base]
    assert abs(np.mean([same_taste(keys) for keys in drawn]) - 0.5) < 0.1
