"""Matching of degrees in bipartite, directed and undirected cells, and filling up to a count."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.graphs.schema import EdgeType
from core.methods._shared.relations.stubs import completed, matched
from core.privacy.entropy import public_generator
from core.privacy.queries import Shape
from tests.support.groups import examples

BIPARTITE = EdgeType(source="user", target="item")
DIRECTED = EdgeType(directed=True)
UNDIRECTED = EdgeType()


def shape_of(relation, sources, targets=None):
    return Shape(relation, sources, sources if targets is None else targets)


def degrees_of(keys, shape):
    source, target = np.divmod(keys, shape.target_count)
    if shape.undirected:
        return np.bincount(np.concatenate([source, target]), minlength=shape.source_count), None
    return (
        np.bincount(source, minlength=shape.source_count),
        np.bincount(target, minlength=shape.target_count),
    )


def assert_simple(keys, shape):
    assert keys.dtype == np.int64
    assert (np.diff(keys) > 0).all()
    source, target = np.divmod(keys, shape.target_count)
    assert ((source >= 0) & (source < shape.source_count)).all()
    if shape.undirected:
        assert (source < target).all()
    elif shape.edge_type.homogeneous:
        assert (source != target).all()


def random_cell(shape, share, seed=1):
    """Distinct keys at random, every slot with probability ``share``."""
    rng = np.random.default_rng(seed)
    source, target = np.nonzero(rng.random((shape.source_count, shape.target_count)) < share)
    if shape.undirected:
        kept = source < target
    elif shape.edge_type.homogeneous:
        kept = source != target
    else:
        kept = np.ones(len(source), dtype=bool)
    return source[kept] * shape.target_count + target[kept]


SHAPES = [
    pytest.param(shape_of(BIPARTITE, 40, 90), id="bipartite"),
    pytest.param(shape_of(BIPARTITE, 300, 3), id="few-targets"),
    pytest.param(shape_of(DIRECTED, 60), id="directed"),
    pytest.param(shape_of(UNDIRECTED, 60), id="undirected"),
]


@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 0.45, 0.8, 1.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_degrees_of_a_simple_cell_are_met(shape, share):
    """Nearly always exactly; a few ends may be stuck where the cell is close to full."""
    true = degrees_of(random_cell(shape, share), shape)
    keys = matched(*true, shape, public_generator(5))
    assert_simple(keys, shape)
    missed = sum(
        np.abs(a - b).sum() for a, b in zip(true, degrees_of(keys, shape), strict=True) if a is not None
    )
    assert missed <= 0.02 * true[0].sum()


@pytest.mark.parametrize("shape", SHAPES)
def test_taken_pairs_are_left_alone(shape):
    cell = random_cell(shape, 0.2)
    taken = np.setdiff1d(random_cell(shape, 0.4, seed=9), cell)
    true = degrees_of(cell, shape)
    keys = matched(*true, shape, public_generator(5), taken=taken)
    assert_simple(keys, shape)
    assert not np.isin(keys, taken).any()
    keys = completed(keys, *true, shape, len(cell), public_generator(6), taken=taken)
    assert_simple(keys, shape)
    assert not np.isin(keys, taken).any()
    assert len(keys) == len(cell)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_cell_is_filled_to_its_count_by_the_degrees_that_are_left(shape):
    cell = random_cell(shape, 0.3)
    true = degrees_of(cell, shape)
    part = np.sort(public_generator(1).permutation(cell)[: len(cell) // 2])
    keys = completed(part, *true, shape, len(cell), public_generator(2))
    assert_simple(keys, shape)
    assert len(keys) == len(cell)
    missed = sum(
        np.abs(a - b).sum() for a, b in zip(true, degrees_of(keys, shape), strict=True) if a is not None
    )
    assert missed <= 0.05 * len(cell)


@pytest.mark.parametrize("shape", SHAPES)
def test_all_slots_can_be_filled(shape):
    nothing = np.zeros(shape.source_count, dtype=np.int64)
    other = None if shape.undirected else np.zeros(shape.target_count, dtype=np.int64)
    empty = np.empty(0, dtype=np.int64)
    for wanted in (0, 1, shape.slots, shape.slots + 50):
        keys = completed(empty, nothing, other, shape, wanted, public_generator(3))
        assert_simple(keys, shape)
        assert len(keys) == min(wanted, shape.slots)
    taken = random_cell(shape, 0.5)
    keys = completed(empty, nothing, other, shape, shape.slots, public_generator(3), taken=taken)
    assert len(keys) == shape.slots - len(taken)
    assert not np.isin(keys, taken).any()


def test_too_many_edges_are_cut_at_random():
    shape = shape_of(BIPARTITE, 40, 90)
    cell = random_cell(shape, 0.3)
    keys = completed(cell, *degrees_of(cell, shape), shape, 100, public_generator(4))
    assert len(keys) == 100
    assert np.isin(keys, cell).all()
    assert (np.diff(keys) > 0).all()


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.integers(0, 20), min_size=1, max_size=12),
    st.lists(st.integers(0, 20), min_size=1, max_size=12),
    st.integers(0, 2**32 - 1),
)
def test_any_two_vectors_give_a_simple_cell_within_them(source, target, seed):
    """Sums differ, degrees exceed the other side: no repeat, no node above its degree while there is room."""
    shape = shape_of(BIPARTITE, len(source), len(target))
    held = np.minimum(source, len(target)), np.minimum(target, len(source))
    keys = matched(np.array(source), np.array(target), shape, np.random.default_rng(seed))
    assert_simple(keys, shape)
    found = degrees_of(keys, shape)
    if 2 * min(held[0].sum(), held[1].sum()) <= shape.slots:
        assert (found[0] <= held[0]).all()
        assert (found[1] <= held[1]).all()


def test_edges_in_excess_of_a_star_stay_out():
    shape = shape_of(BIPARTITE, 3, 1000)
    source, target = np.array([900, 0, 0]), np.full(1000, 1)
    keys = matched(source, target, shape, public_generator(0))
    np.testing.assert_array_equal(degrees_of(keys, shape)[0], source)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_state_gives_the_same_cell(shape):
    true = degrees_of(random_cell(shape, 0.2), shape)

    def once():
        rng = public_generator(7)
        keys = matched(*true, shape, rng)
        return completed(keys, *true, shape, len(keys) + 9, rng)

    np.testing.assert_array_equal(once(), once())


def test_hubs_meet_hubs_as_often_as_their_degrees_say():
    """Not only degrees: source 0 has a tenth of all edges, and target 0 half as many as there are sources."""
    shape = shape_of(BIPARTITE, 100, 1_000)
    source, target = np.full(100, 9), np.zeros(1_000, dtype=np.int64)
    source[0] = 109
    target[0] = 5
    target[1:996] = 1
    assert source.sum() == target.sum()
    met = np.mean([0 in matched(source, target, shape, public_generator(seed)) for seed in range(400)])
    # Five ends, each at source 0 with probability 0.109, or once at most.
    assert abs(met - (1 - (1 - 0.109) ** 5)) < 0.1


@pytest.mark.parametrize("relation", [BIPARTITE, DIRECTED])
@pytest.mark.parametrize("empty", ["source", "target"])
def test_a_cell_is_filled_where_one_side_has_no_degrees(relation, empty):
    """Then pairs are drawn evenly, and no key names a node that there is not."""
    shape = shape_of(relation, 12)
    sides = {"source": np.full(12, 2), "target": np.full(12, 2), empty: np.zeros(12, np.int64)}
    none = np.empty(0, dtype=np.int64)
    for seed in range(20):
        keys = completed(none, sides["source"], sides["target"], shape, 9, public_generator(seed))
        assert len(np.unique(keys)) == len(keys) == 9
        assert (keys // 12 < 12).all()
