"""The published assembler on walks that are known."""

import numpy as np
import pytest

from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.privacy.entropy import public_generator
from papers._shared.walks.layout import Layout
from papers.thepuff.algorithm4 import assembled_as_published

KINDS = NodeType(name="user", count=3), NodeType(name="film", count=4), NodeType(name="genre", count=2)
SCHEMA = GraphSchema(
    node_types=KINDS,
    edge_types=(
        EdgeType(name="sees", source="user", target="film", directed=True, temporal=True),
        EdgeType(name="has", source="film", target="genre", directed=True),
    ),
    time=TimeGrid(count=2),
)
LAYOUT = Layout.of(SCHEMA, {kind.name: kind.count for kind in KINDS}, ("sees", "has"))
U, F, G = 0, 3, 7


def drawn(walks, wanted: int, seed: int = 1):
    rows = np.array(walks, dtype=np.int64).reshape(len(walks), len(walks[0]) if walks else 4)
    steps, nodes = rows[:, 0], rows[:, 1:]
    return assembled_as_published(LAYOUT, steps, nodes, wanted, public_generator(seed))


def test_all_scored_pairs_come_where_enough_are_wanted():
    found = drawn([(0, U, F, G), (1, U + 2, F + 1, G + 1), (1, U, F, G)], 99)
    assert found["sees", 0].tolist() == [0]
    assert found["sees", 1].tolist() == [0, 2 * 4 + 1]
    assert found["has", None].tolist() == [0, 1 * 2 + 1]  # at both steps, and once


def test_no_more_edges_than_are_wanted():
    walks = [(t, U + u, F + f, G + f % 2) for t in (0, 1) for u in range(3) for f in range(4)]
    for wanted in (1, 5, 20):
        found = drawn(walks, wanted)
        assert sum(len(keys) for keys in found.values()) == wanted


def test_pairs_follow_their_counts():
    """One edge: the start by Eq. 16, the next node by Eq. 17; the walks have one pattern each way."""
    walks = [(0, U, F)] * 6 + [(0, F + 1, U + 1)] * 2 + [(0, U + 2, F + 2)] * 2 + [(0, F, U)] * 1
    counts = np.zeros(12)
    for seed in range(1500):
        (key,) = drawn(walks, 1, seed)["sees", 0].tolist()
        counts[key] += 1
    for key, share in ((0, 7 / 11), (5, 2 / 11), (10, 2 / 11)):
        assert abs(counts[key] - 1500 * share) < 5 * np.sqrt(1500 * share * (1 - share))


def test_an_instance_ends_where_it_finds_no_next_node():
    """The pattern user-film-genre, but the film has no genre at this step."""
    found = drawn([(0, U, F, U + 1), (1, U, F + 1, G)], 99)
    assert found["sees", 0].tolist() == [0, 4]
    assert found["sees", 1].tolist() == [1]
    assert found["has", None].tolist() == [2]


def test_what_the_schema_does_not_allow_is_left_out():
    found = drawn([(0, U, U + 1, F), (0, U, G, G + 1), (0, -1, -1, -1), (0, U, F, U)], 99)
    assert found["sees", 0].tolist() == [0, 4]
    assert not len(found["sees", 1])
    assert not len(found["has", None])


@pytest.mark.parametrize("walks", [[], [(0, -1, -1, -1)]])
def test_no_walks_no_edges(walks):
    assert not any(len(keys) for keys in drawn(walks, 5).values())


def test_nothing_wanted_nothing_made():
    assert not any(len(keys) for keys in drawn([(0, U, F, G)], 0).values())
