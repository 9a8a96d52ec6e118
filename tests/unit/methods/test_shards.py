"""Graphs drawn in shards: the law of pairs, the same edges however they are cut, the same bytes each time."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from core.graphs.schema.partable import Slots
from core.graphs.stored.parts import checked_part, read_part
from core.methods._shared.blocks.whole import Blocks
from core.methods._shared.shards import kernels, law
from core.methods._shared.shards.draw import strips, write_shard
from core.methods._shared.shards.law import load_law, sided_law, strip_law

KEY = bytes(range(32))
WEIGHTS = np.array([3, 1, 0, 2, 5, 1, 4, 2])
LABELS = np.array([0, 1, 0, 0, 1, 2, 1, 0])
BLOCKS = Blocks(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([2, 4, 3]))


def of(weights=WEIGHTS, labels=LABELS, blocks=BLOCKS, strip_edges=4, key=KEY, seed=0):
    return strip_law(weights, labels, blocks, key, np.random.default_rng(seed), strip_edges)


def drawn(made, numbers=None):
    """All pairs, as an (edges, 2) array."""
    found = [np.stack(ends, axis=1) for ends in strips(made, numbers or range(made.strips))]
    return np.concatenate([np.empty((0, 2), dtype=np.int64), *found])


def large(nodes=3000, groups=3, strip_edges=4000, seed=1):
    rng = np.random.default_rng(seed)
    weights = np.rint(2 + 10 * rng.pareto(2.5, nodes)).astype(np.int64)
    weights[7] = 900
    labels = rng.integers(0, groups, nodes)
    row, column = np.triu_indices(groups)
    blocks = Blocks(row, column, rng.integers(3000, 6000, len(row)))
    return weights, labels, blocks, of(weights, labels, blocks, strip_edges)


def means(weights, labels, blocks):
    """The mean number of draws of every pair, by the definition."""
    nodes = len(weights)
    found = np.zeros((nodes, nodes))
    for i, j, edges in zip(blocks.row, blocks.column, blocks.edges, strict=True):
        pairs = [
            (u, v)
            for u in range(nodes)
            for v in range(u + 1, nodes)
            if sorted((labels[u], labels[v])) == [i, j]
        ]
        total = sum(weights[u] * weights[v] for u, v in pairs)
        for u, v in pairs:
            found[u, v] = edges * weights[u] * weights[v] / total
    return found


def test_pairs_are_independent_and_have_the_chance_that_the_law_says():
    wanted = 1 - np.exp(-means(WEIGHTS, LABELS, BLOCKS)[np.triu_indices(8, 1)])
    seen = []
    for trial in range(1500):
        made = of(key=trial.to_bytes(32, "little"), seed=trial, strip_edges=1 + 2 * (trial % 5))
        graph = np.zeros((8, 8))
        graph[tuple(drawn(made).T)] = 1
        seen.append(graph[np.triu_indices(8, 1)])
    seen = np.array(seen)
    chance = seen.mean(axis=0)
    assert not chance[wanted == 0].any()
    some = wanted > 0
    off = (chance - wanted)[some] / np.sqrt(wanted * (1 - wanted) / len(seen))[some]
    assert np.abs(off).max() < 4
    assert (off**2).sum() < some.sum() + 5 * np.sqrt(2 * some.sum())
    together = np.corrcoef(seen[:, some].T)[np.triu_indices(some.sum(), 1)]
    assert np.abs(together).max() * np.sqrt(len(seen)) < 5


OUT, INTO = np.array([3, 1, 0, 2, 5]), np.array([2, 0, 4, 1, 1, 3])


@pytest.mark.parametrize("loops", [True, False], ids=["between", "directed"])
def test_pairs_of_two_sides_are_independent_and_have_the_chance_that_the_law_says(loops):
    into = INTO if loops else INTO[:5]
    mean = np.outer(OUT, into).astype(float)
    if not loops:
        np.fill_diagonal(mean, 0)
    wanted = 1 - np.exp(-9 * mean / mean.sum()).ravel()
    seen, counts = [], []
    for trial in range(1500):
        rng, key = np.random.default_rng(trial), trial.to_bytes(32, "little")
        made = sided_law(OUT, into, 9, key, rng, 1 + 2 * (trial % 5), loops=loops)
        pairs, graph = drawn(made), np.zeros(mean.shape)
        assert len(np.unique(pairs, axis=0)) == len(pairs)
        assert (np.diff(pairs[:, 0] * len(into) + pairs[:, 1]) > 0).all()
        graph[tuple(pairs.T)] = 1
        seen.append(graph.ravel())
        counts.append(made.strips)
    chance, some = np.mean(seen, axis=0), wanted > 0
    assert (min(counts), max(counts)) == (1, 4)
    assert not chance[~some].any()
    off = (chance - wanted)[some] / np.sqrt(wanted * (1 - wanted) / len(seen))[some]
    assert np.abs(off).max() < 4
    assert (off**2).sum() < some.sum() + 5 * np.sqrt(2 * some.sum())
    together = np.corrcoef(np.array(seen)[:, some].T)[np.triu_indices(some.sum(), 1)]
    assert np.abs(together).max() * np.sqrt(len(seen)) < 5


@pytest.mark.parametrize("loops", [True, False])
def test_a_law_of_two_sides_is_stored_cut_and_drawn_again_as_it_is(tmp_path, loops):
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 9, 300), rng.integers(0, 9, 300 if not loops else 70)
    made = sided_law(*weights, 4000, KEY, rng, 500, loops=loops)
    made.save(tmp_path)
    again = load_law(tmp_path)
    assert (again.targets, again.loops, again.strips, made.strips) == (len(weights[1]), loops, 8, 8)
    whole = drawn(made)
    assert np.array_equal(np.concatenate([drawn(again, made.shard(k, 3)) for k in range(3)]), whole)
    assert abs(made.edges - 4000) < 400
    of_strips = [len(drawn(made, [number])) for number in range(made.strips)]
    assert max(of_strips) < 2 * min(of_strips)
    parts = [write_shard(again, k, 3, tmp_path) for k in range(3)]
    slots = Slots(300, len(weights[1]), mirrored=False, loops=loops)
    assert sum(len(s) for part in parts for s, _ in checked_part(tmp_path, part, slots)) == len(whole)


@pytest.mark.parametrize(("out", "into"), [([0, 0], [1, 2]), ([1, 2], [0]), ([], []), ([5], [5])])
def test_a_law_of_two_sides_may_have_no_pairs(out, into):
    rng = np.random.default_rng(1)
    apart = len(out) != len(into)
    made = sided_law(np.array(out, int), np.array(into, int), 4, KEY, rng, loops=apart)
    assert len(drawn(made)) == 0


def test_one_strip_and_many_have_one_law():
    weights, labels, blocks, _ = large(nodes=400)
    totals = {}
    for strip_edges in (10**6, 2000):
        each = [
            drawn(of(weights, labels, blocks, strip_edges, seed=s, key=bytes([s]) * 32)) for s in range(24)
        ]
        totals[strip_edges] = np.array([np.bincount(e.ravel(), minlength=400) for e in each])
    one, many = totals.values()
    error = np.sqrt((one.var(axis=0, ddof=1) + many.var(axis=0, ddof=1)) / 24 + 1e-9)
    z = (one.mean(axis=0) - many.mean(axis=0)) / error
    assert np.abs(z).max() < 6
    assert abs((z**2).mean() - 1) < 0.4


def test_degrees_and_blocks_are_those_of_the_fit():
    weights, labels, blocks, made = large()
    edges = drawn(made)
    assert len(np.unique(edges[:, 0] * 3000 + edges[:, 1])) == len(edges)
    assert (edges[:, 0] < edges[:, 1]).all()
    expected = 1 - np.exp(-means_of(weights, labels, blocks))
    np.fill_diagonal(expected, 0)
    degrees = np.bincount(edges.ravel(), minlength=3000)
    z = (degrees - expected.sum(axis=1)) / np.sqrt((expected * (1 - expected)).sum(axis=1))
    assert np.abs(z).max() < 5
    assert abs((z**2).mean() - 1) < 0.15
    assert abs(len(edges) - expected.sum() / 2) < 5 * np.sqrt(expected.sum() / 2)


def means_of(weights, labels, blocks):
    """As ``means``, in arrays; both halves."""
    rates = law._rates(weights, labels, blocks, int(labels.max()) + 1)
    return rates[labels][:, labels] * np.outer(weights, weights)


def test_rates_are_those_of_the_definition():
    upper = np.triu(means_of(WEIGHTS, LABELS, BLOCKS), 1)
    assert np.allclose(upper, means(WEIGHTS, LABELS, BLOCKS))


@pytest.mark.parametrize("shards", [1, 2, 3, 5])
def test_the_edges_do_not_depend_on_the_number_of_shards(shards):
    made = large()[3]
    assert made.strips > 5
    found = [drawn(made, made.shard(number, shards)) for number in range(shards)]
    assert np.array_equal(np.concatenate(found), drawn(made))


def test_a_shard_that_is_drawn_again_has_the_same_bytes(tmp_path):
    made = large()[3]
    made.save(tmp_path / "law")
    again = load_law(tmp_path / "law")
    found = []
    for number, each in enumerate((made, again, made)):
        folder = tmp_path / str(number)
        folder.mkdir()
        found.append(write_shard(each, 1, 3, folder))
    assert found[0] == found[1] == found[2]
    path = tmp_path / "0" / found[0].name
    assert hashlib.sha256(path.read_bytes()).hexdigest() == found[0].sha256
    held = np.concatenate([np.stack(ends, axis=1) for ends in read_part(path)])
    assert np.array_equal(held, drawn(made, made.shard(1, 3)))
    assert found[0].rows == len(held)
    assert found[0].first_source == held[0, 0]


def test_a_strip_has_not_too_many_nodes(monkeypatch):
    monkeypatch.setattr(law, "MOST_TALLIES", 300)
    weights, labels, blocks, _ = large(nodes=1000)
    made = of(weights, labels, blocks, 10**9)
    assert made.strips == 10
    assert np.diff(made.bounds).max() == 100  # three labels
    assert len(drawn(made)) > 10_000


def test_strips_are_named_by_the_key():
    made = large()[3]
    other = replace(made, key=bytes(32))
    assert len(np.intersect1d(*(e[:, 0] * 3000 + e[:, 1] for e in (drawn(made), drawn(other))))) < 0.2 * len(
        drawn(made)
    )


@pytest.mark.parametrize(("number", "shards"), [(-1, 2), (2, 2), (0, 0), (0, 10**6)])
def test_a_shard_that_there_is_not_is_refused(number, shards):
    with pytest.raises(ValueError, match="shards"):
        large(nodes=300)[3].shard(number, shards)


@pytest.mark.parametrize(
    ("weights", "labels", "edges"),
    [([0, 0, 0], [0, 0, 0], 2), ([5], [0], 3), ([4, 0, 0], [0, 0, 0], 2), ([1, 1], [0, 0], 0)],
)
def test_where_no_pair_has_weight_there_are_no_edges(weights, labels, edges):
    blocks = Blocks(np.zeros(1, dtype=int), np.zeros(1, dtype=int), np.array([edges]))
    assert not len(drawn(of(np.array(weights), np.array(labels), blocks)))


def test_a_key_has_its_length():
    with pytest.raises(ValueError, match="32 bytes"):
        of(key=b"short")


def test_a_word_that_would_favour_some_numbers_is_replaced():
    """With a span of 3 * 2^62, words whose product's lower half is below 2^64 mod span are rejected."""
    span = 3 * 2**62
    words = np.array([0, 4, 9, 3], dtype=np.uint64)  # the count of spares comes last: the first is 4
    assert kernels._below(words, 0, span) == 9 * span >> 64  # 0 and 4 are rejected
    assert words[-1] == 1
