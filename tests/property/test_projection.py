"""What a node can change of a projected graph: all graphs on five nodes, all replacements of one node."""

from __future__ import annotations

import itertools
import os
from functools import cache

import numpy as np
import pytest

from core.errors import InvalidInput
from core.graphs.schema import EdgeType
from core.privacy.mechanisms import projection
from core.privacy.mechanisms.projection import items_of, kept_in_order, kept_items
from core.privacy.mechanisms.siphash import fresh_key
from core.privacy.queries import Shape

NODES = 5
PAIRS = np.array(list(itertools.combinations(range(NODES), 2)))
GRAPHS = [np.flatnonzero([code >> i & 1 for i in range(len(PAIRS))]) for code in range(2 ** len(PAIRS))]
SHAPE = Shape(EdgeType(), NODES, NODES)
LABELS = np.array([0, 0, 0, 1, 1])
SAME = LABELS[PAIRS[:, 0]] == LABELS[PAIRS[:, 1]]
KEYS = tuple(fresh_key() for _ in range(4))
"""Fresh in every run: the claims hold for every order."""


@cache
def families() -> np.ndarray:
    """All graphs in families (families, members): of one node's edges any, of the others' the same."""
    codes = np.arange(len(GRAPHS))
    rows = []
    for node in range(NODES):
        touching = sum(1 << i for i, pair in enumerate(PAIRS) if node in pair)
        rest = codes & ~touching
        rows.extend(codes[rest == each] for each in np.unique(rest))
    return np.array(rows)


@cache
def kept_sets(theta: int, key: bytes, part: str) -> np.ndarray:
    """The kept pairs of every graph, bool (graphs, pairs); ``part`` says which pairs are edges at all."""
    among = {"all": np.ones(len(PAIRS), bool), "inside": SAME, "across": ~SAME}[part]
    found = np.zeros((len(GRAPHS), len(PAIRS)), bool)
    for code, edges in enumerate(GRAPHS):
        edges = edges[among[edges]]
        source, target = PAIRS[edges].T
        found[code, edges[kept_items(items_of(source, target), NODES, (theta,), (0, 0), key)]] = True
    return found


def degrees(kept: np.ndarray) -> np.ndarray:
    ends = np.zeros((len(PAIRS), NODES), dtype=np.int64)
    ends[np.arange(len(PAIRS)), PAIRS[:, 0]] = 1
    ends[np.arange(len(PAIRS)), PAIRS[:, 1]] = 1
    return kept @ ends


def farthest(values: np.ndarray) -> int:
    """The largest L1 distance between two neighbours; ``values`` (graphs, size)."""
    members = values[families()].astype(np.int64)
    return int(np.abs(members[:, :, None] - members[:, None]).sum(axis=-1).max())


def asked(theta: int, key: bytes) -> dict[str, tuple[int, np.ndarray]]:
    """Every query that a projected graph offers: its declared sensitivity, and its answers of all graphs."""
    whole = degrees(kept_sets(theta, key, "all"))
    inside, across = (degrees(kept_sets(theta, key, part)) for part in ("inside", "across"))
    coarse = np.array([1, 3])
    queries = {
        "edges": (projection.edge_count(theta), whole),
        "tails": (projection.kept_tail_counts(SHAPE, theta, np.arange(1, NODES)), whole),
        "some tails": (projection.kept_tail_counts(SHAPE, theta, coarse), whole),
        "ends": (projection.group_ends(NODES, theta, LABELS, 2), whole),
        "inside": (projection.inside_counts(NODES, theta, LABELS, 2), inside),
        "across": (projection.edge_count(theta), across),
        "ends across": (projection.group_ends(NODES, theta, LABELS, 2), across),
    }
    return {
        name: (bound, np.array([measure(row) for row in rows]))
        for name, ((bound, measure), rows) in queries.items()
    }


@pytest.mark.parametrize("theta", [1, 2, 3])
def test_no_replacement_of_a_node_moves_a_query_by_more_than_its_sensitivity(theta):
    tight = dict.fromkeys(asked(theta, KEYS[0]), 0.0)
    for key in KEYS:
        for name, (bound, values) in asked(theta, key).items():
            most = farthest(values)
            assert most <= bound, (name, theta, key.hex())
            tight[name] = max(tight[name], most / bound)
        assert farthest(degrees(kept_sets(theta, key, "all"))) <= 2 * theta
    if theta == 1:
        assert tight["edges"] == tight["tails"] == tight["inside"] == 1  # not merely a loose bound


def test_the_kept_edges_themselves_move_farther():
    """The trap: a table of blocks is not protected at theta, nor are kept edges at 2 theta."""
    blocks = np.zeros((len(PAIRS), 3), dtype=np.int64)
    blocks[np.arange(len(PAIRS)), LABELS[PAIRS].sum(axis=1)] = 1
    kept = [kept_sets(1, key, "all") for key in (*KEYS, *(fresh_key() for _ in range(4)))]
    assert max(farthest(each @ blocks) for each in kept) > 1
    assert max(farthest(each) for each in kept) > 2


def test_long_chains_of_changes_stay_within_the_lemma():
    rng = np.random.default_rng(int.from_bytes(os.urandom(8), "little"))
    for _ in range(200):
        nodes, theta = int(rng.integers(6, 40)), int(rng.integers(1, 6))
        low, high = np.triu_indices(nodes, 1)
        present = rng.random(len(low)) < rng.random()
        other = present.copy()
        touching = low == 0
        other[touching] = rng.random(touching.sum()) < rng.random()
        key, found = fresh_key(), []
        for mask in (present, other):
            source, target = low[mask], high[mask]
            kept = kept_items(items_of(source, target), nodes, (theta,), (0, 0), key)
            ends = np.concatenate([source[kept], target[kept]])
            found.append(np.bincount(ends, minlength=nodes))
        first, second = found
        assert max(first.max(), second.max()) <= theta
        assert np.abs(first - second)[1:].sum() <= first[0] + second[0]


def test_the_order_is_the_pairs_own_and_not_the_graphs():
    low, high = np.triu_indices(30, 1)
    pairs = projection.items_of(low, high)
    rank = projection._ranks(*pairs, projection.keyed(KEYS[0]))
    some = np.random.default_rng(0).random(len(low)) < 0.3
    again = projection._ranks(*pairs.only(some), projection.keyed(KEYS[0]))
    assert (rank[some] == again).all()
    assert len(np.unique(rank)) == len(rank)
    assert (rank != projection._ranks(*pairs, projection.keyed(KEYS[1]))).all()
    later = projection.items_of(low, high, np.ones(len(low)))
    assert (rank != projection._ranks(*later, projection.keyed(KEYS[0]))).all()


def test_edges_are_kept_while_both_ends_have_room():
    source, target = np.array([0, 0, 0, 1]), np.array([1, 2, 3, 2])
    one, three = np.full(4, 1), np.full(4, 3)
    assert kept_in_order(source, target, np.arange(4), one).tolist() == [True, False, False, False]
    assert kept_in_order(source, target, np.array([3, 2, 1, 0]), one).tolist() == [False, False, True, True]
    assert kept_in_order(source, target, np.arange(4), three).all()


@pytest.mark.parametrize("theta", [0, -1, 2**19 + 1, 1.0, True])
def test_theta_has_limits(theta):
    with pytest.raises(InvalidInput):
        projection.check_theta(theta)
