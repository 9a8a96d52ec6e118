"""The defence against attackers who know it: what it measures, whom it compares with, what it takes away."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.evaluation.attacks.knowing import described
from core.evaluation.attacks.targets import draw_targets
from core.evaluation.view import UndirectedView
from core.graphs.graph import NodeTable
from core.graphs.schema import NodeType
from core.learning.devices import one_thread, seeded
from core.methods.base import no_progress
from core.privacy.entropy import public_generator
from papers._shared.defences.visible import Visible
from papers.ppgsl import fit
from papers.ppgsl.benchmarks.frontier import told
from papers.ppgsl.informed import Traces, alike, nearest, traces_of
from papers.ppgsl.params import PpgslParams
from papers.ppgsl.surrogate import Identity
from papers.ppgsl.tests.test_learning import CPU, QUICK, toy

NODES, HUBS = 300, 60


@pytest.fixture(autouse=True)
def alone():
    with one_thread(CPU):
        yield


def with_hubs() -> Visible:
    """A core of well-linked nodes and a sparse rest, every eighth link sensitive: degrees tell links."""
    rng = public_generator(5)
    chance = np.where(np.arange(NODES) < HUBS, 1.0, 0.12)
    u, v = np.triu_indices(NODES, 1)
    keys = (u * NODES + v)[rng.random(len(u)) < 0.4 * chance[u] * chance[v]]
    secret = rng.permutation(keys)[: len(keys) // 8]
    kind = NodeType(count=NODES)
    return Visible(NODES, np.setdiff1d(keys, secret), np.sort(secret), kind, NodeTable(NODES))


def best_told(given: Visible, keys: np.ndarray) -> float:
    """AUC, either way round, of trees that learned from the sensitive links themselves, in percent."""
    whole, view = (
        UndirectedView.of_pairs(NODES, *np.divmod(each, NODES))
        for each in (np.union1d(given.links, given.sensitive), keys)
    )
    ends = np.divmod(given.sensitive, NODES)
    targets = draw_targets(whole, 2 * len(given.sensitive), 1, "uniform", ends)
    found = told(described(view, None, targets.source, targets.target, 1), targets, 1)
    return max(found, 100 - found)


def test_whoever_was_told_of_other_sensitive_links_finds_fewer():
    """Than in the graph as it is, and after the form that is defended against its surrogate alone."""
    given, found = with_hubs(), {}
    for against in ("surrogate", "informed"):
        params = QUICK.model_copy(update={"against": against, "alpha": 0.2, "steps": 80})
        keys = fit.learned_weights(given, params, public_generator(2), no_progress).keys
        assert not np.isin(keys, given.sensitive).any()
        found[against] = best_told(given, keys)
    assert found["informed"] < min(best_told(given, given.links), found["surrogate"]) - 5


def measured(traces: Traces, sensitive: torch.Tensor) -> torch.Tensor:
    pattern, weights, _ = toy()
    with seeded(3, CPU):
        return traces.told(pattern, weights, traces.rows, sensitive)


def test_nothing_is_told_where_sensitive_pairs_are_as_the_others():
    pairs = torch.tensor([[0, 1, 2], [3, 4, 5]])
    rows = torch.arange(24.0).reshape(6, 4).sin()
    assert measured(Traces(pairs.flip(1), rows), pairs) == pytest.approx(0, abs=1e-6)
    assert measured(Traces(torch.tensor([[0, 0, 1], [1, 4, 5]]), rows), pairs) > 0.01
    assert measured(Traces(pairs[:, :0], rows), pairs) == 0
    assert measured(Traces(pairs, rows), pairs[:, :0]) == 0


def test_weights_are_moved_by_what_is_told():
    pattern, weights, _ = toy()
    held = weights.clone().requires_grad_(True)
    traces = Traces(torch.tensor([[2], [5]]), torch.randn(6, 4))
    traces.told(pattern, held, torch.randn(6, 4), torch.tensor([[0], [2]])).backward()
    assert (held.grad.abs() > 0).sum() > 4


def test_the_nearest_are_taken_each_once():
    rng = public_generator(1)
    offered, wanted = rng.random(400), rng.random(150)
    chosen = nearest(offered, wanted)
    assert len(np.unique(chosen)) == 150
    assert np.abs(offered[chosen] - wanted).max() < 0.1
    among = rng.permutation(400)[:150]
    assert np.array_equal(nearest(offered, offered[among]), among)
    assert sorted(nearest(offered[:3], wanted[:3])) == [0, 1, 2]


def test_reference_pairs_are_no_links_and_as_alike_as_the_sensitive_ones():
    given = with_hubs()
    group = torch.arange(NODES) % 10
    features = torch.eye(10)[group] + 0.1 * torch.rand(NODES, 10)
    same = group[given.sensitive // NODES] == group[given.sensitive % NODES]
    alikes = given.sensitive[same.numpy()]
    picked = Visible(NODES, given.links, alikes, given.kind, given.table)
    with seeded(1, CPU):
        traces = traces_of(picked, features, 10, CPU, public_generator(1))
    keys = (traces.reference[0] * NODES + traces.reference[1]).numpy()
    assert len(np.unique(keys)) == len(alikes)
    assert not np.isin(keys, np.union1d(given.links, alikes)).any()
    assert (group[traces.reference[0]] == group[traces.reference[1]]).float().mean() > 0.95
    wanted = alike(traces.rows, torch.from_numpy(np.stack(np.divmod(alikes, NODES))))
    assert float(alike(traces.rows, traces.reference).mean()) == pytest.approx(float(wanted.mean()), abs=0.05)


def test_a_graph_with_hardly_a_free_pair_is_taken_too():
    keys = np.array([1, 2, 3, 6, 7, 11])  # all pairs of four nodes
    table, kind = NodeTable(4), NodeType(count=4)
    for links, sensitive in ((keys[:3], keys[3:]), (keys[:2], keys[3:])):
        given = Visible(4, links, sensitive, kind, table)
        with seeded(1, CPU):
            traces = traces_of(given, Identity(), 4, CPU, public_generator(1))
        assert traces.reference.shape[1] in (0, 3)
        params = QUICK.model_copy(update={"against": "informed"})
        assert fit.learned_weights(given, params, public_generator(1), no_progress) is not None


def test_an_empty_list_changes_nothing():
    given = with_hubs()
    none = Visible(NODES, given.links, given.sensitive[:0], given.kind, given.table)
    params = PpgslParams(against="informed", steps=10, interval=5, surrogate_steps=3)
    found = fit.learned_weights(none, params, public_generator(2), no_progress)
    assert np.array_equal(found.keys, given.links)
