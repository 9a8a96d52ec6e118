"""Held-out links are gone in both directions, or all there, and both splits ask the same pairs."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.link_splits import HELD_OUT, Split, split_links, without
from core.graphs.graph import EdgeTable, Graph
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid


def typed(*kinds: EdgeType, links: dict[str, list[tuple[int, int]]]) -> Graph:
    node_types = (NodeType(name="paper", count=40), NodeType(name="author", count=50))
    schema = GraphSchema(node_types=node_types, edge_types=kinds)
    tables = {name: EdgeTable(*np.array(pairs, dtype=np.int64).T) for name, pairs in links.items()}
    return Graph.build(schema, {}, tables)


def pairs(graph: Graph, relation: str) -> set[tuple[int, int]]:
    table = graph.edges[relation]
    return set(zip(table.source.tolist(), table.target.tolist(), strict=True))


WRITES = EdgeType(name="written", source="paper", target="author")
REVERSE = EdgeType(name="writes", source="author", target="paper")
CITES = EdgeType(name="cites", source="paper", target="paper", directed=True)


@pytest.fixture
def both_ways() -> Graph:
    """A relation that is stored in both directions, and another one between the same papers."""
    rng = np.random.default_rng(1)
    keys = rng.choice(40 * 50, 200, replace=False)
    links = [(int(key) // 50, int(key) % 50) for key in keys]
    cites = [(a, (a + 3) % 40) for a in range(40)]
    return typed(
        WRITES,
        REVERSE,
        CITES,
        links={"written": links, "writes": [(v, u) for u, v in links], "cites": cites},
    )


def test_test_links_and_their_reverses_are_gone(both_ways):
    found = split_links(both_ways, "written", Split.LEAK_FREE, 3)
    held = set(zip(found.source[found.label].tolist(), found.target[found.label].tolist(), strict=True))
    assert len(held) == HELD_OUT * 200
    assert pairs(found.seen, "written") == pairs(both_ways, "written") - held
    assert pairs(found.seen, "writes") == {(v, u) for u, v in pairs(found.seen, "written")}
    assert pairs(found.seen, "cites") == pairs(both_ways, "cites")


def test_the_leaky_split_asks_the_same_pairs_and_hides_nothing(both_ways):
    clean, leaky = (split_links(both_ways, "written", split, 3) for split in Split)
    assert leaky.split is Split.LEAKY
    assert leaky.seen is both_ways
    for field in ("source", "target", "label"):
        assert np.array_equal(getattr(clean, field), getattr(leaky, field))
    other = split_links(both_ways, "written", Split.LEAKY, 4)
    assert not np.array_equal(other.source, leaky.source)


def test_pairs_without_a_link_are_none_of_the_graph(both_ways):
    found = split_links(both_ways, "written", Split.LEAK_FREE, 3)
    wrong = set(zip(found.source[~found.label].tolist(), found.target[~found.label].tolist(), strict=True))
    assert len(wrong) == found.label.sum()
    assert not wrong & pairs(both_ways, "written")


def test_a_directed_relation_within_one_type_loses_both_directions():
    links = [(a, (a + 1) % 40) for a in range(40)] + [((a + 1) % 40, a) for a in range(40)]
    graph = typed(CITES, links={"cites": links})
    found = split_links(graph, "cites", Split.LEAK_FREE, 1)
    held = set(zip(found.source[found.label].tolist(), found.target[found.label].tolist(), strict=True))
    left = pairs(found.seen, "cites")
    assert len(held) == 8  # of the 40 undirected links
    assert len(left) == 80 - 16
    assert not left & (held | {(v, u) for u, v in held})


def test_an_undirected_relation_is_found_in_any_orientation():
    kind = EdgeType(name="knows", source="paper", target="paper")
    graph = typed(kind, links={"knows": [(1, 2), (3, 4), (5, 6)]})
    assert pairs(without(graph, "knows", np.array([2, 4]), np.array([1, 3])), "knows") == {(5, 6)}


def test_auc_is_of_one_score_a_pair(both_ways):
    found = split_links(both_ways, "written", Split.LEAKY, 3)
    assert found.auc(found.label.astype(float))["value"] == 1
    assert found.auc(np.zeros(len(found.label)))["value"] == 0.5
    for wrong in (np.zeros(3), np.full(len(found.label), np.nan)):
        with pytest.raises(ValueError, match="score"):
            found.auc(wrong)


def test_what_cannot_be_split_says_so():
    timed = GraphSchema(
        node_types=(NodeType(name="paper", count=40),),
        edge_types=(EdgeType(name="cites", source="paper", target="paper", temporal=True),),
        time=TimeGrid(count=2),
    )
    table = EdgeTable(np.array([0]), np.array([1]), np.array([1], dtype=np.int32))
    with pytest.raises(ValueError, match="time"):
        split_links(Graph.build(timed, {}, {"cites": table}), "cites", Split.LEAKY, 1)
    with pytest.raises(ValueError, match="too few"):
        split_links(typed(CITES, links={"cites": [(0, 1)]}), "cites", Split.LEAKY, 1)
