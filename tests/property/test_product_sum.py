"""The product sum's sensitivity by brute force, and its value on random graphs."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.graphs.graph import Cell
from core.graphs.schema import EdgeType
from core.privacy.mechanisms.product_sum import LARGEST, STEPS, caps, degree_product_sum, unit_of
from core.privacy.queries import Shape
from tests.support.groups import examples


def cell(nodes, pairs):
    source, target = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return Cell(EdgeType(), None, nodes, nodes, source, target)


def asked(noisy):
    noisy = np.asarray(noisy)
    return degree_product_sum(Shape(EdgeType(), len(noisy), len(noisy)), noisy_degrees=noisy)


@pytest.mark.parametrize(
    "noisy",
    [
        [3, 2, 1, 0],
        [7, -9, -8, 2],
        [-5, -6, -7, -8],
        [9, 9, 1, -30],
        [40, 1, 0, -2],
        [0, 0, 0, 0, 0],
        [5, -5, 5, -5, 4],
        [4_000_000, 3_000_000, -3_000_000, 2],
        [2_000, 1_999, -1_999, 1_500],
    ],
)
def test_no_edge_moves_it_by_more_than_is_declared(noisy):
    """Every graph over the nodes and every edge more; the largest change is met or nearly so."""
    question, nodes, worst = asked(noisy), len(noisy), 0
    slots = list(itertools.combinations(range(nodes), 2))
    values = [
        int(question.measure(cell(nodes, [s for i, s in enumerate(slots) if bits >> i & 1]))[0])
        for bits in range(2 ** len(slots))
    ]
    for bits, value in enumerate(values):
        for i in range(len(slots)):
            if not bits >> i & 1:
                worst = max(worst, abs(values[bits | 1 << i] - value))
    assert worst <= question.l1_sensitivity <= STEPS
    high, low = caps(np.array(noisy))
    top = sorted(min(x, LARGEST) for x in noisy)[-2:]
    if top == [low, high]:  # the two nodes of largest degree may be linked: the bound is met
        assert worst == question.l1_sensitivity


@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_it_is_the_cut_sum_in_steps(data):
    nodes = data.draw(st.integers(2, 12))
    noisy = np.array(data.draw(st.lists(st.integers(-4_000, 4_000), min_size=nodes, max_size=nodes)))
    pairs = data.draw(st.lists(st.sampled_from(list(itertools.combinations(range(nodes), 2))), unique=True))
    second, first = sorted(noisy.tolist())[-2:]
    low = max(1, second)
    high = max(low, first)
    cut = [min(max(x, -low), high) for x in noisy.tolist()]
    exact = sum(cut[u] * cut[v] for u, v in pairs)
    unit = unit_of(noisy)
    assert (high, low) == caps(noisy)
    assert unit == -(-high * low // STEPS)
    assert asked(noisy).measure(cell(nodes, pairs)).tolist() == [exact // unit]
    assert asked(noisy).l1_sensitivity == -(-high * low // unit)


def test_a_cap_of_its_own_for_each_would_not_do():
    """With one cap for the smallest values too, two negative factors would pass the declared bound."""
    noisy = np.array([3, 2, -50, -60])
    assert abs(int(noisy[2] * noisy[3])) > asked(noisy).l1_sensitivity
    assert int(asked(noisy).measure(cell(4, [(2, 3)]))[0]) == 4
