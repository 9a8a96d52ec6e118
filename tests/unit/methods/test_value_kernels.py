"""Kernels of values that have scores, against the weights written out edge by edge."""

from __future__ import annotations

import numpy as np
import pytest

from core.methods._shared.values.bins import SCORE
from core.methods._shared.values.kernels import chosen, expected_of
from core.methods._shared.values.scored import (
    CLASS,
    MEAN,
    TILT,
    VARIANCE,
    add_scores,
    chosen_by_score,
    moments_of,
    node_rows,
    tilts_for,
)

EDGES, SOURCES, TARGETS, PAIRS, PERIODS = 300, 7, 5, 6, 2
SCORES = np.array([-8, -3, -3, 0, 2, 8])


def made(timed: bool):
    """Edges, rows of nodes, and factors of pairs and periods; of three classes of sources, two of targets."""
    rng = np.random.default_rng(4)
    ends = [rng.integers(0, size, EDGES).astype(np.int32) for size in (SOURCES, TARGETS, 3)]
    rows = []
    for size, classes in ((SOURCES, 3), (TARGETS, 2)):
        rows.append(node_rows(rng.integers(0, classes, size)))
        rows[-1][:, TILT] = rng.normal(0, 0.3, size)
    of_pair, of_period = rng.random((PAIRS, len(SCORES))), rng.random((PERIODS, len(SCORES)))
    if not timed:
        ends[2], of_period = ends[2][:0], of_period[:1]
    return tuple(ends), tuple(rows), of_pair, of_period, np.array([0, 1, 1], dtype=np.int32)


def written_out(timed: bool) -> np.ndarray:
    """The share of every bin, for every edge."""
    ends, (sources, targets), of_pair, of_period, periods = made(timed)
    u, v = ends[0], ends[1]
    pair = (sources[u, CLASS] * 2 + targets[v, CLASS]).astype(int)
    period = periods[ends[2]] if timed else np.zeros(EDGES, dtype=int)
    ratio = np.exp(sources[u, TILT] + targets[v, TILT])
    weight = ratio[:, None] ** SCORES * of_pair[pair] * of_period[period]
    return weight / weight.sum(axis=1, keepdims=True)


def tables(timed: bool):
    _, _, of_pair, of_period, periods = made(timed)
    inside = (of_period[:, None] * of_pair[None]).reshape(-1, len(SCORES))
    by_score = np.zeros((len(inside), 2 * SCORE + 1))
    np.add.at(by_score.T, SCORES + SCORE, inside.T)
    return (2, periods, len(of_pair)), by_score, inside


@pytest.mark.parametrize("timed", [False, True])
def test_a_nodes_scores_are_the_means_over_its_edges(timed: bool):
    ends, rows, *_ = made(timed)
    where, by_score, _ = tables(timed)
    add_scores(ends, rows, where, moments_of(by_score, 3.0), 3.0)
    share = written_out(timed)
    mean = share @ SCORES
    for side, own in enumerate(rows):
        for column, of_edge, off in ((MEAN, mean, 1e-4), (VARIANCE, share @ SCORES**2 - mean**2, 0.03)):
            wanted = np.bincount(ends[side], weights=of_edge, minlength=len(own))
            assert own[:, column] == pytest.approx(wanted, rel=off, abs=off)


def test_a_tilt_gives_the_mean_that_it_was_found_for():
    by_score = np.random.default_rng(2).random(2 * SCORE + 1)
    means = np.array([-7.5, -2.0, 0.0, 0.1, 5.0])
    tilts = tilts_for(means, by_score, 1.5)
    scores = np.arange(-SCORE, SCORE + 1)
    weight = by_score * np.exp(tilts[:, None] * scores)
    assert (weight @ scores / weight.sum(axis=1)) == pytest.approx(means, abs=0.01)
    assert tilts_for(np.array([-9.0, 9.0]), by_score, 1.5).tolist() == [-1.5, 1.5]  # out of reach


def test_edges_whose_factors_are_all_zero_add_nothing():
    assert not moments_of(np.zeros((2, 2 * SCORE + 1)), 3.0).any()


def apart(ends, rows):
    """The same edges, each between two nodes of its own: none owes another's nodes anything."""
    own = np.arange(EDGES, dtype=np.int32)
    copies = []
    for side, each in enumerate(rows):
        copies.append(node_rows(each[ends[side], CLASS]))
        copies[-1][:, TILT] = each[ends[side], TILT]
    return (own, own, ends[2]), tuple(copies)


def none_owed(rows):
    for own in rows:
        own[:, MEAN] = 0.0
    return tuple(np.zeros((len(own), len(SCORES)), dtype=np.float32) for own in rows)


@pytest.mark.parametrize("timed", [False, True])
def test_bins_are_drawn_by_their_weights_whichever_kernel_draws(timed: bool):
    ends, rows, of_pair, of_period, periods = made(timed)
    where, by_score, inside = tables(timed)
    share, powers = written_out(timed), SCORES + SCORE
    ends, rows = apart(ends, rows)
    classes = [own[:, CLASS].astype(np.int32) for own in rows]
    factors = (*(np.exp(own[:, TILT:CLASS]) for own in rows), of_pair, of_period)
    found = np.zeros((2, EDGES, len(SCORES)))
    grid = (np.arange(400) + 0.5) / 400
    for uniform in grid:
        even, owed = np.full(EDGES, uniform), none_owed(rows)
        first = chosen_by_score(ends, rows, where, by_score, inside, powers, even)
        second = chosen(ends, (*classes, 2, periods), factors, powers, owed, even)
        for kind, bins in enumerate((first, second)):
            found[kind, np.arange(EDGES), bins] += 1 / len(grid)
    assert np.abs(found - share).max() < 2 / len(grid)


@pytest.mark.parametrize("by_scores", [False, True], ids=["bins", "scores"])
def test_nodes_have_nearly_what_is_expected_of_them_and_frequencies_are_not_moved(by_scores: bool):
    ends, rows, of_pair, of_period, periods = made(timed=True)
    where, by_score, inside = tables(timed=True)
    share, powers = written_out(timed=True), SCORES + SCORE
    classes = [own[:, CLASS].astype(np.int32) for own in rows]
    factors = (*(np.exp(own[:, TILT:CLASS]) for own in rows), of_pair, of_period)
    rng, runs = np.random.default_rng(6), 400
    counts, off, by_chance = np.zeros(share.shape), 0.0, 0.0
    for _ in range(runs):
        uniform, owed = rng.random(EDGES), none_owed(rows)
        if by_scores:
            bins = chosen_by_score(ends, rows, where, by_score, inside, powers, uniform)
        else:
            bins = chosen(ends, (*classes, 2, periods), factors, powers, owed, uniform)
        counts[np.arange(EDGES), bins] += 1 / runs
        alone = (uniform[:, None] > np.cumsum(share, axis=1)[:, :-1]).sum(axis=1)
        for side, size in enumerate((SOURCES, TARGETS)):
            expected = np.bincount(ends[side], weights=share @ SCORES, minlength=size)
            for drawn, mean in ((bins, "leaning"), (alone, "alone")):
                away = np.bincount(ends[side], weights=SCORES[drawn], minlength=size) - expected
                off += float((away**2).mean()) * (mean == "leaning")
                by_chance += float((away**2).mean()) * (mean == "alone")
            if by_scores:
                left = expected - np.bincount(ends[side], weights=SCORES[bins], minlength=size)
                assert rows[side][:, MEAN] == pytest.approx(left)
    assert off < 0.3 * by_chance
    assert np.abs(counts.mean(axis=0) - share.mean(axis=0)).max() < 0.005
    assert np.abs(counts - share).max() < 0.15  # of 400 draws: six standard errors


def test_pairs_and_periods_are_expected_from_all_edges_or_evenly_spaced_ones():
    ends, rows, of_pair, of_period, periods = made(timed=True)
    classes = [own[:, CLASS].astype(np.int32) for own in rows]
    factors = (*(np.exp(own[:, TILT:CLASS]) for own in rows), of_pair, of_period)
    share, where = written_out(timed=True), (*classes, 2, periods)
    for stride in (1, 7):
        found = expected_of(False, ends, where, factors, SCORES + SCORE, stride)
        kept, period = np.arange(0, EDGES, stride), periods[ends[2]]
        for each in range(PERIODS):
            assert found[each] == pytest.approx(share[kept][period[kept] == each].sum(axis=0))
    by_pair = expected_of(True, ends, where, factors, SCORES + SCORE, 1)
    assert by_pair.sum(axis=0) == pytest.approx(share.sum(axis=0))
