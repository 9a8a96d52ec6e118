"""Declared sensitivities against brute force: every small graph, every neighbour; random larger ones too."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.graphs.graph import Cell
from core.graphs.schema import EdgeType
from core.privacy.queries import QUERIES, Shape, ask
from tests.support.groups import examples

UNDIRECTED = EdgeType()
DIRECTED = EdgeType(directed=True)
BIPARTITE = EdgeType(source="a", target="b", directed=True)
NOT_ASKED_OF = {
    UNDIRECTED: {"degree_histogram"},
    DIRECTED: set(),
    BIPARTITE: {"tail_counts", "pair_classes"},
}
SLOTS = {
    UNDIRECTED: lambda n, k: list(itertools.combinations(range(n), 2)),
    DIRECTED: lambda n, k: list(itertools.permutations(range(n), 2)),
    BIPARTITE: lambda n, k: list(itertools.product(range(n), range(k))),
}


def cell(relation, n, k, pairs):
    source, target = (np.array([p[i] for p in pairs], dtype=np.int64) for i in (0, 1))
    return Cell(relation, None, n, k, source, target)


def questions(relation, n, k, draw_labels):
    """Every registered query on that relation, with every kind of argument it takes."""
    shape = Shape(relation, n, k)
    found = [ask("edge_count", shape, {})]
    sides = {UNDIRECTED: ["both"], DIRECTED: ["both", "source", "target"], BIPARTITE: ["source", "target"]}
    found += [ask("degrees", shape, {"side": side}) for side in sides[relation]]
    extra = {"target_labels": draw_labels(k)} if relation is BIPARTITE else {}
    found.append(ask("group_matrix", shape, {"labels": draw_labels(n), **extra}))
    found += [ask("sorted_degrees", shape, {"side": side}) for side in sides[relation]]
    if relation is not BIPARTITE:
        found.append(ask("tail_counts", shape, {"thresholds": np.array([1, 2, 4])}))
        table = np.add.outer(np.arange(6), np.arange(6)) % 4
        found.append(ask("pair_classes", shape, {"labels": draw_labels(n), "table": table}))
    if relation is UNDIRECTED:
        found.append(ask("group_degrees", shape, {"labels": draw_labels(n)}))
    else:
        asked = itertools.product(("source", "target"), (1, 3))
        found += [ask("degree_histogram", shape, {"side": side, "most": most}) for side, most in asked]
        for side, grouped in (("source", k), ("target", n)):
            found.append(ask("group_degrees", shape, {"labels": draw_labels(grouped), "side": side}))
    assert {q.name for q in found} == set(QUERIES) - NOT_ASKED_OF[relation], "no sensitivity test"
    return found


def changes(question, before, after):
    difference = question.measure(after).astype(int) - question.measure(before).astype(int)
    assert difference.shape == (question.size,)
    return int(np.abs(difference).sum()), int((difference**2).sum())


@pytest.mark.parametrize(
    ("relation", "n", "k"),
    [(UNDIRECTED, 4, 4), (UNDIRECTED, 5, 5), (DIRECTED, 3, 3), (BIPARTITE, 2, 3), (BIPARTITE, 3, 2)],
    ids=["undirected-4", "undirected-5", "directed-3", "bipartite-2-3", "bipartite-3-2"],
)
def test_every_small_graph(relation, n, k):
    slots = SLOTS[relation](n, k)
    rng = np.random.default_rng(3)
    asked = questions(relation, n, k, lambda size: rng.integers(0, 3, size))
    worst = dict.fromkeys(asked, (0, 0))
    for bits in range(2 ** len(slots)):
        present = [s for i, s in enumerate(slots) if bits >> i & 1]
        before = cell(relation, n, k, present)
        base = [q.measure(before).astype(int) for q in asked]
        for i, slot in enumerate(slots):
            if bits >> i & 1:
                continue
            after = cell(relation, n, k, [*present, slot])
            for question, value in zip(asked, base, strict=True):
                difference = question.measure(after).astype(int) - value
                l1, l2 = int(np.abs(difference).sum()), int((difference**2).sum())
                worst[question] = (max(worst[question][0], l1), max(worst[question][1], l2))
    for question, (l1, l2) in worst.items():
        assert (l1, l2) == (question.l1_sensitivity, question.l2_squared), question.name


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_random_neighbours(data):
    relation = data.draw(st.sampled_from([UNDIRECTED, DIRECTED, BIPARTITE]))
    n = data.draw(st.integers(2, 12))
    k = data.draw(st.integers(1, 9)) if relation is BIPARTITE else n
    slots = SLOTS[relation](n, k)
    present = data.draw(st.lists(st.sampled_from(slots), unique=True, max_size=40))
    slot = data.draw(st.sampled_from(slots))
    without = [p for p in present if p != slot]

    def labels(size):
        return np.array(data.draw(st.lists(st.integers(0, 5), min_size=size, max_size=size)))

    for question in questions(relation, n, k, labels):
        l1, l2 = changes(question, cell(relation, n, k, without), cell(relation, n, k, [*without, slot]))
        assert l1 <= question.l1_sensitivity
        assert l2 <= question.l2_squared
