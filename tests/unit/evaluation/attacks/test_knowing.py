"""Attackers who know of a defence find what plain ones miss, and nothing where nothing is left."""

from __future__ import annotations

import numpy as np
import pytest

from core.evaluation.attacks import scoring
from core.evaluation.attacks.heuristics import Proximity
from core.evaluation.attacks.knowing import Informed, Shadow, privacy_figure, shadow_pairs
from core.evaluation.attacks.targets import LinkTargets, draw_targets
from core.evaluation.learning.features import Features
from core.evaluation.metric import Suite
from core.evaluation.view import UndirectedView
from tests.support.attacked_graphs import clustered, rewired, view_of

pytestmark = pytest.mark.papers

NODES = 400
COMMON = Proximity("common", "Common", "Counts.", "common", Suite.QUICK)


def defended(seed: int) -> tuple[Shadow, LinkTargets]:
    """A clustered graph whose hidden links have lost every common neighbour: told by that, for who knows."""
    whole = view_of(NODES, clustered())
    chosen = np.random.default_rng(seed).permutation(whole.edge_count)[: whole.edge_count // 20]
    hidden = whole.u[chosen], whole.v[chosen]
    targets = draw_targets(whole, 2 * len(chosen), seed, positives=hidden)
    matrix = whole.adjacency.tolil()
    for a, b in zip(*hidden, strict=True):
        matrix[a, b] = matrix[b, a] = 0
        for common in np.flatnonzero((matrix[[a]].toarray() * matrix[[b]].toarray()).ravel()):
            matrix[a, common] = matrix[common, a] = 0
    u, v = np.triu(matrix.toarray()).nonzero()
    return Shadow(whole, UndirectedView.of_pairs(NODES, u, v), hidden), targets


def auc(scorer, published: UndirectedView, targets: LinkTargets) -> float:
    scores = scorer.score(published, targets.source, targets.target, 3)
    assert scores.dtype == np.float64
    return scoring.score(scores, targets.label)["auc"]["value"]


@pytest.mark.audits
def test_who_has_seen_the_defence_finds_what_it_hides():
    shadow, _ = defended(1)
    victim, targets = defended(2)
    informed = Informed([shadow])
    assert auc(COMMON, victim.released, targets) < 0.5
    assert auc(informed, victim.released, targets) > 0.8
    again = Informed([shadow]).score(victim.released, targets.source, targets.target, 3)
    assert np.array_equal(again, informed.score(victim.released, targets.source, targets.target, 3))


@pytest.mark.audits
def test_nothing_is_learned_of_a_graph_that_keeps_degrees_alone():
    shadow, _ = defended(1)
    _, targets = defended(2)
    random = view_of(NODES, rewired(clustered()))
    # Some 90 targets a class: a standard error of 0.043.
    assert auc(Informed([shadow]), random, targets) == pytest.approx(0.5, abs=0.19)


@pytest.mark.audits
def test_features_are_used_where_they_are_known():
    shadow, _ = defended(1)
    victim, targets = defended(2)
    blocks = np.repeat(np.eye(25, dtype=np.float32), 16, axis=0)
    known = Features(blocks + np.random.default_rng(0).normal(0, 0.05, blocks.shape).astype(np.float32))
    taught = Shadow(shadow.held, shadow.released, shadow.hidden, known)
    random = view_of(NODES, rewired(clustered()))
    with_features = Informed([taught], known)
    assert auc(with_features, victim.released, targets) > 0.9
    assert auc(with_features, random, targets) > 0.6  # of features alone, whatever the structure says


def test_a_shadow_shows_hidden_links_beside_pairs_without_one():
    shadow, _ = defended(1)
    u, v, label = shadow_pairs(shadow, 1)
    assert label.sum() == len(shadow.hidden[0])
    assert set(zip(u[label], v[label], strict=True)) == set(zip(*shadow.hidden, strict=True))
    linked = set(zip(shadow.held.u.tolist(), shadow.held.v.tolist(), strict=True))
    assert not {(min(a, b), max(a, b)) for a, b in zip(u[~label], v[~label], strict=True)} & linked


def test_without_shadows_it_is_not_run():
    assert "no shadow" in Informed([]).applies(view_of(NODES, clustered()))
    shadow, _ = defended(1)
    assert Informed([shadow]).applies(shadow.released) is None


def test_the_figure_is_the_best_of_all_either_way_round():
    assert privacy_figure([0.5, 0.3, 0.6]) == 0.7
    assert privacy_figure([]) == 0.5
