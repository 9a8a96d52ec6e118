"""Alignment by degree on graphs whose degrees name their nodes, and on such as do not."""

from __future__ import annotations

import numpy as np

from core.evaluation.attacks import scoring
from core.evaluation.attacks.degree_alignment import DegreeAlignment, aligned
from core.evaluation.attacks.targets import draw_targets
from core.evaluation.view import UndirectedView
from core.privacy.entropy import public_generator
from tests.support.attacked_graphs import bipartite_view, rewired, view_of

HUBS = 60
LEAVES = 20 * np.arange(HUBS)


def hubs_with_leaves(core) -> UndirectedView:
    """Hub i has 20 i leaves of its own, so that its degree names it whatever links the hubs have."""
    owner = np.repeat(np.arange(HUBS), LEAVES)
    leaf = HUBS + np.arange(len(owner))
    pairs = np.concatenate([core[0], owner]), np.concatenate([core[1], leaf])
    return view_of(HUBS + len(owner), pairs)


def core_links():
    source, target = np.triu_indices(HUBS, 1)
    community = np.arange(HUBS) // 10
    share = np.where(community[source] == community[target], 0.9, 0.05)
    chosen = np.random.default_rng(4).random(len(source)) < share
    return source[chosen], target[chosen]


def test_where_degrees_name_the_nodes_the_original_gives_its_links_away_and_a_rewiring_does_not():
    core = core_links()
    truth = hubs_with_leaves(core)
    targets = draw_targets(truth, 10**6, 1, positives=core)
    attack = DegreeAlignment(truth.degrees)
    assert targets.negatives > 0.9 * targets.positives

    def area(release: UndirectedView) -> float:
        found = attack.score(release, targets.source, targets.target, 2)
        return scoring.score(found, targets.label)["auc"]["value"]

    assert area(truth) > 0.99
    # Over rewirings: one of 60 nodes alone strays by more than the allowance.
    areas = [area(hubs_with_leaves(rewired(core, seed))) for seed in range(10)]
    assert abs(np.mean(areas) - 0.5) < 0.05


def test_ranks_meet_and_equal_degrees_are_shuffled():
    rng = public_generator(1)
    assert aligned(np.array([5, 1, 9]), np.array([2, 30, 4]), rng).tolist() == [2, 0, 1]
    equal = np.full(50, 3)
    one, two = (aligned(equal, equal, public_generator(seed)) for seed in (1, 2))
    assert sorted(one) == sorted(two) == list(range(50))
    assert not np.array_equal(one, two)
    assert not np.array_equal(one, np.arange(50))  # row order gives nothing away


def test_sides_of_a_bipartite_relation_are_aligned_apart():
    # Person i of 20 belongs to groups 0..i: all degrees differ within a side.
    person, group = np.nonzero(np.tri(20, dtype=bool))
    view = bipartite_view(20, 20, (person, group))
    source, target = np.divmod(np.arange(400), 20)
    found = DegreeAlignment(view.degrees).score(view, source, target + 20, 3)
    assert np.array_equal(found >= 1, target <= source)
