"""The streamed labels read every edge as often as their proof says: fixed transcripts, small graphs.

With its noise fixed, the operation is a function of the graph. For a graph, a neighbour and a transcript of
noisy rows, the noise that gives this transcript differs between the two graphs; the density of noise falls by
at most exp(epsilon of the reading) for each step by which an entry moves. The sum over the entries that have
to move is therefore the privacy loss of this transcript, and it must be the price.
"""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.graphs.graph import Cell
from core.graphs.schema import EdgeType
from core.privacy.mechanisms import label_kernels, label_stream
from core.privacy.mechanisms.label_stream import LabelRule
from tests.support.groups import examples

EPSILON = 10


@dataclass
class Setting:
    """One visit's public part, and what the readings at each place in the order cost."""

    order: np.ndarray
    weights: np.ndarray
    core: int
    groups: int
    resolution: float = 1.0


def prices(setting):
    """Epsilon of every entry of the forward and of the backward rows, (n,) and (core,), as noise is drawn."""
    drawn = []

    def record(values, l1_sensitivity, nano_epsilon):
        drawn.append(np.full(values.size // setting.groups, nano_epsilon / l1_sensitivity))
        return values

    n = len(setting.order)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(label_stream.mechanisms, "discrete_laplace", record)
        rule = LabelRule(setting.groups, setting.core)
        nothing = np.empty(0, dtype=np.int32)
        cell = Cell(EdgeType(), None, n, n, nothing, nothing)
        label_stream.stream(cell, setting.order, setting.weights, rule, EPSILON)
    inside, rest, back = drawn
    return np.concatenate([inside, rest]), back


def rows_of(pairs, setting, noise, back_noise):
    """The kernel's labels, and its rows by place in the order."""
    ends = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    return label_kernels.run(
        *label_kernels.neighbours(ends[:, 0].copy(), ends[:, 1].copy(), len(setting.order)),
        setting.order,
        setting.weights,
        len(back_noise),
        setting.groups,
        setting.resolution,
        2,
        4.0,
        noise,
        back_noise,
    )


def moves(before, after, setting, noise, back_noise):
    """What has to be added to the noise, so that ``after`` gives the transcript of ``before``."""
    labels, forward, backward = rows_of(before, setting, noise, back_noise)
    core, n = len(back_noise), len(noise)
    other, back_other = noise.copy(), back_noise.copy()
    reading = [(0, i) for i in range(core)] + [(1, i) for i in range(core)] + [(0, i) for i in range(core, n)]
    for side, i in reading:
        mine, theirs = (forward, other) if side == 0 else (backward, back_other)
        now = rows_of(after, setting, other, back_other)
        theirs[i] += mine[i] - now[1 + side][i]
    again = rows_of(after, setting, other, back_other)
    for found, wanted in zip(again, (labels, forward, backward), strict=True):
        np.testing.assert_array_equal(found, wanted)
    return np.abs(other - noise), np.abs(back_other - back_noise)


def loss(before, after, setting, noise, back_noise):
    """The privacy loss of that transcript, and how many entries move."""
    forward, backward = moves(before, after, setting, noise, back_noise)
    price, back_price = prices(setting)
    # A broken visit that reads backward everywhere draws that noise everywhere as in the core.
    back_price = np.resize(back_price, len(backward))
    paid = (forward * price[:, None]).sum() + (backward * back_price[:, None]).sum()
    return paid, np.count_nonzero(forward) + np.count_nonzero(backward)


def both_in_core(edge, setting):
    return np.isin(edge, setting.order[: setting.core]).all()


def random_case(rng, n, core, groups=3):
    setting = Setting(
        rng.permutation(n), rng.uniform(0.5, 4, n), core, groups, float(rng.choice([0.0, 1.0, 2.0]))
    )
    return setting, rng.integers(-2, 3, (n, groups)), rng.integers(-2, 3, (core, groups))


@pytest.mark.parametrize(("n", "repeats"), [(2, 8), (3, 8), (4, 6)])
def test_every_small_graph_pays_exactly_epsilon(n, repeats):
    """Each graph, each edge more, each size of core."""
    slots = list(itertools.combinations(range(n), 2))
    rng = np.random.default_rng(11)
    seen = set()
    for bits in range(2 ** len(slots)):
        present = [slot for i, slot in enumerate(slots) if bits >> i & 1]
        for edge in set(slots) - set(present):
            for core in range(n + 1):
                for _ in range(max(1, repeats // (n + 1))):
                    setting, noise, back_noise = random_case(rng, n, core)
                    cost, entries = loss(present, [*present, edge], setting, noise, back_noise)
                    inner = both_in_core(edge, setting)
                    assert cost == EPSILON
                    assert entries == (2 if inner else 1)
                    seen.add(bool(inner))
    assert seen == {True, False}


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_larger_graphs_pay_exactly_epsilon(data):
    n = data.draw(st.integers(2, 12))
    slots = list(itertools.combinations(range(n), 2))
    after = data.draw(st.lists(st.sampled_from(slots), unique=True, min_size=1, max_size=40))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    core, groups = data.draw(st.integers(0, n)), data.draw(st.integers(1, 5))
    setting, noise, back_noise = random_case(rng, n, core, groups)
    cost, entries = loss(after[1:], after, setting, noise, back_noise)
    assert (cost, entries) == (EPSILON, 2 if both_in_core(after[0], setting) else 1)


def worst(read_twice=None):
    """The largest loss over neighbours of 4 nodes with a core of 2, every order of the nodes."""
    rng = np.random.default_rng(5)
    most = 0
    for order in itertools.permutations(range(4)):
        setting, noise, back_noise = random_case(rng, 4, 2)
        setting.order = np.array(order)
        if read_twice is not None:
            back_noise = rng.integers(-2, 3, (read_twice, 3))
        most = max(most, loss([], [(0, 1)], setting, noise, back_noise)[0])
    return most


def test_a_second_reading_of_the_rest_is_caught():
    assert worst() == worst(read_twice=2) == EPSILON
    assert worst(read_twice=4) > EPSILON


def test_a_second_reading_at_the_full_price_is_caught(monkeypatch):
    true = label_stream.split
    monkeypatch.setattr(label_stream, "split", lambda b, rule: (true(b, rule)[0], b))
    assert worst() > EPSILON


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_without_noise_rows_count_each_edge_once_and_core_edges_twice(data):
    n = data.draw(st.integers(1, 12))
    slots = list(itertools.combinations(range(n), 2))
    pairs = data.draw(st.lists(st.sampled_from(slots), unique=True, max_size=40)) if slots else []
    core, groups = data.draw(st.integers(0, n)), 4
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    setting = Setting(rng.permutation(n), rng.uniform(0.5, 4, n), core, groups)
    nothing = np.zeros((n, groups), dtype=np.int64)
    labels, forward, backward = rows_of(pairs, setting, nothing, nothing[:core])
    inner = sum(both_in_core(edge, setting) for edge in pairs)
    assert forward.sum() == len(pairs)
    assert backward.sum() == inner
    place = np.argsort(setting.order)
    for i in range(core, n):
        v = setting.order[i]
        near = [a + b - v for a, b in pairs if v in (a, b)]
        # Towards the rest core nodes have their last labels, which are the ones put out.
        earlier = [labels[u] for u in near if place[u] < i]
        np.testing.assert_array_equal(forward[i], np.bincount(earlier, minlength=groups))
    assert backward.shape == (core, groups)
