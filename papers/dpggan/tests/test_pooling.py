"""What graphs of a collection learn from one another, out of noisy values alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from core.graphs.graph import EdgeTable, Graph
from core.graphs.schema import Collection, CollectionGraph, GraphSchema
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.meter import MemoryRecorder, Meter, require_metered
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from papers import dpggan
from papers.dpggan.pooling import FEWEST_GRAPHS, NoisyGraph, hints, mixture, pooled_counts

NODES = 20


def degrees_of(rng: np.random.Generator, mean: float, nodes: int = NODES) -> np.ndarray:
    """Very unequal degrees of an even sum."""
    drawn = np.minimum(rng.negative_binomial(1, 1 / (1 + mean), nodes), nodes - 1)
    drawn[0] += drawn.sum() % 2
    return drawn


def told(degrees: np.ndarray, rng: np.random.Generator, scale: float) -> NoisyGraph:
    noisy = degrees + np.rint(rng.laplace(0, 2 * scale, len(degrees))).astype(np.int64)
    count = int(degrees.sum()) // 2 + round(rng.laplace(0, scale))
    return NoisyGraph(min(max(count, 0), len(degrees) * (len(degrees) - 1) // 2), noisy, scale, 2 * scale)


def collection(means: Sequence[float], scale: float) -> tuple[np.ndarray, list[NoisyGraph]]:
    """True numbers of edges, and what noise leaves of the graphs."""
    rng = np.random.default_rng(11)
    true = [degrees_of(rng, mean) for mean in means]
    return np.array([each.sum() // 2 for each in true]), [told(each, rng, scale) for each in true]


def test_alike_graphs_of_wide_noise_learn_from_one_another():
    true, noisy = collection([3.0] * 60, scale=20.0)
    own = np.array([graph.edges for graph in noisy])
    assert np.abs(pooled_counts(noisy) - true).mean() < 0.5 * np.abs(own - true).mean()


def test_graphs_that_differ_stay_apart():
    true, noisy = collection([1.0, 12.0] * 30, scale=3.0)
    found = pooled_counts(noisy)
    assert np.abs(found[::2] - true[::2]).mean() < 5
    assert np.abs(found[1::2] - true[1::2]).mean() < 5


def test_next_to_no_noise_leaves_everything_as_it_is():
    true, noisy = collection([2.0, 5.0] * 10, scale=1e-3)
    assert (pooled_counts(noisy) == true).all()


def test_few_graphs_are_left_alone():
    _, noisy = collection([3.0] * (FEWEST_GRAPHS - 1), scale=5.0)
    found = hints(noisy)
    assert [hint.edges for hint in found] == [graph.edges for graph in noisy]
    assert all(hint.shapes is None for hint in found)


def test_graphs_without_pairs_are_left_out():
    _, noisy = collection([3.0] * FEWEST_GRAPHS, scale=5.0)
    single = NoisyGraph(0, np.array([3]), 5.0, 10.0)
    found = hints([single, *noisy, single])
    assert (found[0].edges, found[-1].edges) == (0, 0)
    assert [hint.edges for hint in found[1:-1]] == pooled_counts(noisy).tolist()


def test_weights_go_to_the_laws_that_explain_the_graphs():
    fits = np.full((50, 3), -5.0)
    fits[:40, 1], fits[40:, 2] = 0.0, 0.0
    weights = mixture(fits)
    assert weights.sum() == pytest.approx(1)
    assert weights == pytest.approx([0.01, 0.79, 0.2], abs=0.02)


def test_very_unequal_degrees_are_told_from_alike_ones_by_all_graphs_together():
    _, noisy = collection([4.0] * 60, scale=4.0)
    shapes = hints(noisy)[0].shapes
    assert shapes is not None
    by_shape = shapes.reshape(2, -1).sum(axis=0)  # with and without isolated nodes
    assert by_shape[:4].sum() > 0.9  # up to shape 2, where a geometric law has 1


def test_dpggan_pools_in_a_collection_and_pays_the_same():
    graphs = tuple(CollectionGraph(id=str(i), nodes=NODES) for i in range(40))
    schema = GraphSchema(collection=Collection(graphs=graphs))
    rng = np.random.default_rng(5)
    u, v = np.triu_indices(NODES, 1)
    chosen = [rng.permutation(len(u))[:30] for _ in graphs]
    edges = {g.type_name: EdgeTable(u[own], v[own]) for g, own in zip(graphs, chosen, strict=True)}
    graph = Graph.build(schema, {}, edges)
    facts = PublicFacts(schema, Unit.EDGE, None, 10**8, 0, tuple(edges))
    errors, plans = [], []
    for pooled in (False, True):
        params = dpggan.GENERATOR.Params.varied(pooled=pooled)
        plan = dpggan.GENERATOR.plan(params, facts)
        off = []
        for _ in range(8):
            meter = Meter(plan, MemoryRecorder())
            model = dpggan.GENERATOR.fit(PrivateGraph(graph, meter), plan, params, no_progress)
            require_metered(meter.transcript)
            counts = [float(model.cells[name, None]["degrees"].sum()) / 2 for name in edges]
            off.append(np.abs(np.array(counts) - 30).mean())
        errors.append(float(np.mean(off)))
        plans.append(plan.digest())
    assert plans[0] == plans[1]
    # Noise of scale 50 on each count, cut to 0..190: about 35 by itself, and 10 together, over eight fits.
    assert errors[1] < 0.6 * errors[0]
