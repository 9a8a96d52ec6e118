"""The likelihood ratio against SciPy's densities, and on releases by randomised response."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import bernoulli, multivariate_normal

from core.evaluation.attacks import scoring
from core.evaluation.attacks.heuristics import Adjacency
from core.evaluation.attacks.likelihood_ratio import Densities, LikelihoodRatio, features
from core.evaluation.attacks.targets import draw_targets
from core.evaluation.view import UndirectedView
from tests.support.attacked_graphs import bipartite_view, clustered, clustered_bipartite, rewired, view_of

N = 400


def responded(view: UndirectedView, keep: float, add: float, seed: int) -> UndirectedView:
    """Randomised response on every slot."""
    rng = np.random.default_rng(seed)
    present = np.zeros((N, N), dtype=bool)
    present[view.u, view.v] = True
    chance = np.where(present, keep, add)
    return view_of(N, np.nonzero(np.triu(rng.random((N, N)) < chance, 1)))


def area(attack, release, targets) -> float:
    found = attack.score(release, targets.source, targets.target, 3)
    return scoring.score(found, targets.label)["auc"]["value"]


def test_the_ratio_is_that_of_the_stated_densities():
    rng = np.random.default_rng(1)
    label = rng.random(4000) < 0.5
    x = rng.normal(size=(4000, 7)) + label[:, None]
    x[:, 0] = rng.random(4000) < np.where(label, 0.8, 0.1)
    learned = Densities.learned(x, label)
    assert learned.linked == pytest.approx([0.1, 0.8], abs=0.03)
    cell = (np.clip((x[:, 1:] - learned.centre) / learned.scale, -4, 4))[label & (x[:, 0] > 0)]
    assert learned.mean[1, 1] == pytest.approx(cell.mean(axis=0), abs=0.05)
    scaled = np.clip((x[:, 1:] - learned.centre) / learned.scale, -4, 4)
    seen = x[:, 0].astype(int)
    logs = np.zeros((2, len(x)))
    for c in (0, 1):
        for a in (0, 1):
            density = multivariate_normal(learned.mean[a, c], learned.covariance[a, c])
            logs[c, seen == a] = density.logpdf(scaled[seen == a])
        logs[c] += bernoulli(learned.linked[c]).logpmf(seen)
    assert learned.log_ratio(x) == pytest.approx(logs[1] - logs[0])


def test_a_constant_column_and_a_single_outlier_leave_the_ratio_finite():
    x = np.zeros((50, 7))
    x[3, 2] = 1e9
    ratio = Densities.learned(x, np.arange(50) < 25).log_ratio(x)
    assert np.isfinite(ratio).all()


def test_it_learns_from_shadows_what_a_noisy_release_says_beyond_its_links():
    truth = view_of(N, clustered())
    release = responded(truth, keep=0.5, add=0.02, seed=1)
    shadow = responded(release, keep=0.5, add=0.02, seed=2)
    targets = draw_targets(truth, 10**6, 5)
    found = area(LikelihoodRatio([(release, shadow)]), release, targets)
    assert found > area(Adjacency(), release, targets) + 0.03
    assert found > 0.75


def test_published_itself_it_gives_every_link_away_and_a_rewiring_tells_nothing():
    truth = view_of(N, clustered())
    targets = draw_targets(truth, 10**6, 5)
    assert area(LikelihoodRatio([(truth, truth)]), truth, targets) > 0.999
    other, again = (view_of(N, rewired(clustered(), seed)) for seed in (1, 2))
    assert abs(area(LikelihoodRatio([(other, again)]), other, targets) - 0.5) < 0.05


def test_it_says_why_it_is_not_run():
    truth = view_of(N, clustered())
    assert "No shadow" in LikelihoodRatio().applies(truth)
    few = view_of(N, (np.arange(5), np.arange(5) + 7))
    assert "fewer than 20" in LikelihoodRatio([(few, few)]).applies(truth)
    assert LikelihoodRatio([(few, few), (truth, truth)]).applies(truth) is None
    # A shadow that is too small is passed over, one without pairs to learn from gives no opinion.
    full = view_of(20, np.triu_indices(20, 1))
    pairs = np.array([0, 1]), np.array([2, 3])
    assert LikelihoodRatio([(full, full), (few, few)]).score(truth, *pairs, 1).tolist() == [0, 0]


def test_features_are_what_they_are_called():
    view = bipartite_view(240, 240, clustered_bipartite())
    source, target = np.arange(100), np.arange(240, 340)
    x = features(view, source, target)
    assert x.shape == (100, 7)
    assert x[:, 0].tolist() == Adjacency().score(view, source, target, 0).tolist()
    degrees = np.log1p(view.degrees)
    assert x[:, 4] == pytest.approx(degrees[source] + degrees[target])
    assert x[:, 5] == pytest.approx(np.abs(degrees[source] - degrees[target]))
    assert set(x[:, 6]) <= {0.0, 1.0}
