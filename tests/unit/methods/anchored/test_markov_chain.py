"""The swap chain: its long-run law against every graph with the degrees; all its forms walk alike."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare

from core.graphs.schema import EdgeType
from core.methods._shared.slots import evidence, markov_chain
from core.methods._shared.slots import occupied as slots
from core.methods._shared.slots.markov_chain import rewired
from core.privacy.accounting.events import NANO
from core.privacy.mechanisms import lazy_response
from core.privacy.mechanisms.randomised_response import Flips, _slots
from core.privacy.queries import Shape
from tests.support.groups import in_part

BIPARTITE = Shape(EdgeType(source="a", target="b"), 4, 5)
DIRECTED = Shape(EdgeType(directed=True), 4, 4)
UNDIRECTED = Shape(EdgeType(), 6, 6)
START = {  # edges of one graph; every other with these degrees is found by trying all
    BIPARTITE: [(0, 0), (0, 1), (1, 1), (2, 3), (3, 4), (3, 2)],
    DIRECTED: [(0, 1), (1, 2), (2, 0), (3, 0), (1, 3)],
    UNDIRECTED: [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 3)],
}
TAKEN = {BIPARTITE: [(1, 0), (2, 4)], DIRECTED: [(0, 3)], UNDIRECTED: [(0, 2), (1, 5)]}
FLIPS = Flips.symmetric(NANO)
SAMPLES, PROPOSALS = 2_500, 150


def keys_of(shape, pairs):
    return np.sort(np.array([u * shape.target_count + v for u, v in pairs], dtype=np.int64))


def slots_of(shape):
    source, target = _slots(np.arange(shape.slots), shape)
    return np.sort(source * shape.target_count + target)


def degrees(shape, keys):
    source, target = np.divmod(keys, shape.target_count)
    if shape.undirected:
        return np.bincount(np.concatenate([source, target]), minlength=shape.source_count).tolist()
    return [
        np.bincount(source, minlength=shape.source_count).tolist(),
        np.bincount(target, minlength=shape.target_count).tolist(),
    ]


def every_graph(shape, start, taken):
    """All sets of free slots with the degrees of ``start``."""
    free = np.setdiff1d(slots_of(shape), taken)
    wanted = degrees(shape, start)
    sets = itertools.combinations(free.tolist(), len(start))
    return [each for each in sets if degrees(shape, np.array(each)) == wanted]


def columns_of(shape, seed=3):
    """Evidence of which every third slot is marked, at random."""
    slots = slots_of(shape)
    marked = slots[np.random.default_rng(seed).random(len(slots)) < 0.35]
    return {"y": marked, "flips": evidence.flips_column(FLIPS)}


def seen_and_law(shape, columns, *, taken=None, score=None, ratio=None, weight=1.0):
    """How often the chain was at each graph, and how often its posterior says."""
    start = keys_of(shape, START[shape])
    graphs = every_graph(shape, start, np.empty(0) if taken is None else taken)
    place = {graph: i for i, graph in enumerate(graphs)}
    ratio = evidence.log_likelihood_ratio(FLIPS) if ratio is None else ratio
    marks = np.array([np.isin(graph, columns.get("y", [])).sum() for graph in graphs])
    odds = ratio * marks.astype(float)
    if score is not None:
        table = score[0] @ score[1].T
        odds += [sum(table[divmod(key, shape.target_count)] for key in graph) for graph in graphs]
    rng, seen, keys = np.random.default_rng(5), np.zeros(len(graphs), dtype=int), start
    for _ in range(SAMPLES):
        keys = rewired(keys, columns, shape, PROPOSALS, rng, taken=taken, score=score, weight=weight)
        seen[place[tuple(keys.tolist())]] += 1
    law = np.exp(odds - odds.max())
    return seen, law / law.sum() * SAMPLES


def marked_of_every_graph(shape):
    graphs = every_graph(shape, keys_of(shape, START[shape]), np.empty(0))
    return [np.isin(graph, columns_of(shape)["y"]).sum() for graph in graphs]


def fits(seen, law):
    """The p-value of the chi-square test, rare graphs put together."""
    order = np.argsort(law)
    groups = np.cumsum(law[order]) // 20
    _, group = np.unique(groups, return_inverse=True)
    return chisquare(np.bincount(group, seen[order]), np.bincount(group, law[order])).pvalue


@pytest.mark.parametrize("with_taken", [False, True], ids=["free", "taken"])
@in_part("shape", [BIPARTITE, DIRECTED, UNDIRECTED], 1, ids=["bipartite", "directed", "undirected"])
def test_the_long_run_law_is_the_posterior(shape, with_taken):
    taken = keys_of(shape, TAKEN[shape]) if with_taken else None
    seen, law = seen_and_law(shape, columns_of(shape), taken=taken)
    assert len(law) > 3
    assert fits(seen, law) > 1e-4


@pytest.mark.parametrize(
    "shape", [BIPARTITE, DIRECTED, UNDIRECTED], ids=["bipartite", "directed", "undirected"]
)
def test_without_evidence_every_graph_is_as_likely(shape):
    seen, law = seen_and_law(shape, {})
    assert law.min() == law.max()
    assert fits(seen, law) > 1e-4


def test_a_wrong_ratio_would_be_noticed():
    """The test above can fail: against the law of eps instead of 2 eps a bit, the same walk does."""
    seen, law = seen_and_law(BIPARTITE, columns_of(BIPARTITE), ratio=evidence.log_likelihood_ratio(FLIPS) / 2)
    assert fits(seen, law) < 1e-9


@pytest.mark.parametrize("shape", [BIPARTITE, UNDIRECTED], ids=["bipartite", "undirected"])
def test_a_score_is_added_to_the_log_odds(shape):
    rng = np.random.default_rng(0)
    score = (rng.normal(size=(shape.source_count, 2)), rng.normal(size=(shape.target_count, 2)) / 2)
    seen, law = seen_and_law(shape, columns_of(shape), score=score)
    assert fits(seen, law) > 1e-4
    weights = np.exp([evidence.log_likelihood_ratio(FLIPS) * k for k in marked_of_every_graph(shape)])
    assert fits(seen, weights / weights.sum() * SAMPLES) < 1e-9


def test_a_weight_multiplies_the_log_likelihood():
    ratio = evidence.log_likelihood_ratio(FLIPS)
    seen, law = seen_and_law(BIPARTITE, columns_of(BIPARTITE), ratio=ratio / 2, weight=0.5)
    assert fits(seen, law) > 1e-4


def test_a_directed_triangle_is_turned():
    """No swap of two edges leads from one direction to the other."""
    shape = Shape(EdgeType(directed=True), 3, 3)
    one, other = keys_of(shape, [(0, 1), (1, 2), (2, 0)]), keys_of(shape, [(1, 0), (2, 1), (0, 2)])
    rng = np.random.default_rng(1)
    found = {tuple(rewired(one, {}, shape, 500, rng).tolist()) for _ in range(30)}
    assert found == {tuple(one.tolist()), tuple(other.tolist())}


def test_the_ratio_is_that_of_the_two_likelihoods():
    assert evidence.log_likelihood_ratio(Flips.symmetric(3 * NANO)) == pytest.approx(6)
    flips = Flips(2**64 // 10, 2**64 // 4)  # P(y=1 | edge) = .75, P(y=1 | none) = .1
    assert evidence.log_likelihood_ratio(flips) == pytest.approx(np.log(0.75 / 0.1) - np.log(0.25 / 0.9))
    assert evidence.log_likelihood_of_absence(flips) == pytest.approx(np.log(0.25 / 0.9))


def larger(shape, edges, seed):
    slots = slots_of(shape)
    return np.sort(np.random.default_rng(seed).choice(slots, edges, replace=False))


LARGER = [
    Shape(EdgeType(source="a", target="b"), 50, 80),
    Shape(EdgeType(directed=True), 60, 60),
    Shape(EdgeType(), 70, 70),
]


@pytest.mark.parametrize("shape", LARGER, ids=["bipartite", "directed", "undirected"])
def test_degrees_stay_and_taken_slots_stay_free(shape):
    keys, taken = larger(shape, 300, 1), larger(shape, 400, 2)
    taken = np.setdiff1d(taken, keys)
    columns = {"y": larger(shape, 500, 3), "flips": evidence.flips_column(FLIPS)}
    found = rewired(keys, columns, shape, 60_000, np.random.default_rng(4), taken=taken)
    again = rewired(keys, columns, shape, 60_000, np.random.default_rng(4), taken=taken)
    assert (found == again).all()
    assert degrees(shape, found) == degrees(shape, keys)
    assert (np.diff(found) > 0).all()
    assert np.isin(found, slots_of(shape)).all()
    assert not np.isin(found, taken).any()
    assert np.isin(found, columns["y"]).sum() > 2 * np.isin(keys, columns["y"]).sum()


@pytest.mark.parametrize(
    "per_key", [pytest.param(20, id="table", marks=pytest.mark.audits), pytest.param(200, id="map")]
)
def test_how_slots_are_held_does_not_follow_from_the_number_of_true_edges(monkeypatch, per_key):
    """Neither whether a table is made, nor how large it is, nor how full: room for 1600 keys was paid."""
    shape = Shape(EdgeType(source="a", target="b"), 40, 40)
    keys, made = np.arange(0, 1600, 80), []
    monkeypatch.setattr(markov_chain, "MAP_SLOTS", 0)
    monkeypatch.setattr(markov_chain, "MAP_SLOTS_PER_KEY", per_key)

    def noting(make):
        return lambda number: made.append((make.__name__, number)) or make(number)

    monkeypatch.setattr(slots, "map_of", noting(slots.map_of))
    monkeypatch.setattr(slots, "table_for", noting(slots.table_for))
    tell = slots.tell
    monkeypatch.setattr(slots, "tell", lambda *told: made.append(len(told[2])) or tell(*told))
    for edges in (0, 1, 1023, 1600):
        ends = np.divmod(np.arange(edges), 40)
        response = lazy_response.respond(*ends, shape, None, FLIPS, 1600)
        lazy = {
            "edge": response.edge,
            "prf_key": response.prf_key,
            "flips": evidence.flips_column(response.flips),
        }
        rewired(keys, lazy, shape, 10, np.random.default_rng(1))
    assert len(made) == 16
    assert made == made[:4] * 4
    assert made[0][0] == ("map_of" if per_key == 200 else "table_for")


@pytest.mark.parametrize("lazy", [False, True], ids=["materialised", "lazy"])
@pytest.mark.audits
@pytest.mark.parametrize("shape", LARGER, ids=["bipartite", "directed", "undirected"])
def test_a_map_and_sets_walk_alike(shape, lazy, monkeypatch):
    keys, taken = larger(shape, 300, 1), np.setdiff1d(larger(shape, 100, 2), larger(shape, 300, 1))
    columns = {"y": larger(shape, 500, 3), "flips": evidence.flips_column(FLIPS)}
    if lazy:
        source, target = np.divmod(larger(shape, 200, 5), shape.target_count)
        response = lazy_response.respond(source, target, shape, 2, FLIPS, 500)
        columns = {"edge": response.edge, "prf_key": response.prf_key, "flips": columns["flips"]}
    by_map = rewired(keys, columns, shape, 30_000, np.random.default_rng(4), taken=taken)
    monkeypatch.setattr(markov_chain, "MAP_SLOTS", 0)
    monkeypatch.setattr(markov_chain, "MAP_SLOTS_PER_KEY", 0)
    by_sets = rewired(keys, columns, shape, 30_000, np.random.default_rng(4), taken=taken)
    assert (by_map == by_sets).all()


@pytest.mark.parametrize("shape", LARGER, ids=["bipartite", "directed", "undirected"])
def test_lazy_and_materialised_evidence_of_the_same_answers_walk_alike(shape):
    source, target = np.divmod(larger(shape, 300, 5), shape.target_count)
    response = lazy_response.respond(source, target, shape, 2, FLIPS, 500)
    lazy = {
        "edge": response.edge,
        "prf_key": response.prf_key,
        "flips": evidence.flips_column(response.flips),
    }
    slots = slots_of(shape)
    ends = np.divmod(slots, shape.target_count)
    said = lazy_response.bits(response.edge, response.prf_key, FLIPS, *ends, shape)
    whole = {"y": slots[said], "flips": lazy["flips"]}
    keys = larger(shape, 300, 1)
    one = rewired(keys, lazy, shape, 30_000, np.random.default_rng(4))
    other = rewired(keys, whole, shape, 30_000, np.random.default_rng(4))
    assert (one == other).all()


def test_empty_columns_are_no_evidence():
    """As stored models have them, whose cells all have the same columns."""
    shape, nothing = LARGER[0], np.empty(0, dtype=np.int64)
    keys = larger(shape, 300, 1)
    empty = {"y": nothing, "edge": nothing, "prf_key": nothing.astype(np.uint64)}
    full = {"y": larger(shape, 500, 3), "flips": evidence.flips_column(FLIPS)}
    for given in ({}, full):
        alone = rewired(keys, given, shape, 9_000, np.random.default_rng(4))
        beside = rewired(keys, {**empty, "flips": nothing, **given}, shape, 9_000, np.random.default_rng(4))
        assert (alone == beside).all()


@pytest.mark.parametrize("pairs", [[], [(0, 1)]])
def test_cells_without_two_edges_stay(pairs):
    keys = keys_of(BIPARTITE, pairs)
    assert (
        rewired(keys, columns_of(BIPARTITE), BIPARTITE, 100, np.random.default_rng(0)).tolist()
        == keys.tolist()
    )
