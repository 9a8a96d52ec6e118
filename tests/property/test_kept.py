"""What a node can change of items kept under caps by side and by class: all graphs on few nodes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numba
import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import pdist

from core.errors import InvalidInput, NotAccepted
from core.graphs.schema import EdgeType
from core.privacy.mechanisms import projection
from core.privacy.mechanisms.projection import Items, kept_items, mutual_pairs
from core.privacy.mechanisms.siphash import fresh_key, keyed
from core.privacy.queries import Shape

STEPS = 2
SIZES = [4, pytest.param(5, marks=pytest.mark.slow)]


@numba.njit
def kept_of_all(
    graphs: int, one: np.ndarray, other: np.ndarray, bits: np.ndarray, caps: np.ndarray
) -> np.ndarray:
    """The numbers of what is kept of every graph of items in their order, by the release's own kernel."""
    found = np.zeros(graphs, np.int64)
    for code in range(graphs):
        rows = np.flatnonzero(bits & code)
        kept = projection._kept(one[rows], other[rows], np.arange(rows.size), caps)
        found[code] = bits[rows][kept].sum()
    return found


@dataclass(frozen=True)
class World:
    """All graphs of some items: bit i of a graph's number says whether it has item i.

    ``classes``: of the items; ``apart``: an item is one of another class instead (a value), never both.
    """

    nodes: int
    items: Items
    classes: np.ndarray
    apart: bool = False

    @property
    def graphs(self) -> int:
        return 1 << len(self.classes)

    def allowed(self) -> np.ndarray:
        """Which graphs there can be, bool (graphs,)."""
        codes, half = np.arange(self.graphs), len(self.classes) // 2
        return (codes >> half & codes) == 0 if self.apart else np.ones(self.graphs, bool)

    def families(self) -> list[np.ndarray]:
        """All graphs in families: of one node's items any, of the others' the same."""
        found, codes = [], np.flatnonzero(self.allowed())
        for node in range(self.nodes):
            touching = (self.items.source == node) | (self.items.target == node)
            rest = codes & ~int((touching << np.arange(len(touching))).sum())
            order = np.argsort(rest, kind="stable")
            cuts = np.flatnonzero(np.diff(rest[order])) + 1
            found.extend(np.split(codes[order], cuts))
        return found

    def kept(
        self, caps: tuple[int, ...], copies: tuple[int | np.ndarray, int | np.ndarray], key: bytes
    ) -> np.ndarray:
        """The number of the graph that is kept of each by :func:`kept_items`, in one keyed order for all."""
        order = np.argsort(projection._ranks(*self.items, keyed(key)), kind="stable")
        one, other = copies[0] * self.nodes + self.items.source, copies[1] * self.nodes + self.items.target
        of_ends = np.repeat(np.asarray(caps, np.int64), self.nodes)
        found = kept_of_all(self.graphs, one[order], other[order], 1 << order, of_ends)
        return np.where(self.allowed(), found, 0)

    def told(self, codes: np.ndarray, measure: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """What ``measure(rows)`` says of the graphs of these numbers, by their items; (graphs, size)."""
        numbers, place = np.unique(codes, return_inverse=True)
        bits = np.arange(len(self.classes))
        return np.array([measure(np.flatnonzero(code >> bits & 1)) for code in numbers])[place]

    def farthest(self, answers: np.ndarray) -> int:
        """The largest L1 distance between two neighbours."""
        return max(int(pdist(answers[family], "cityblock").max(initial=0)) for family in self.families())


def directed(nodes: int) -> World:
    """Every arc."""
    source, target = np.nonzero(~np.eye(nodes, dtype=bool))
    return World(nodes, projection.items_of(source, target), np.zeros(len(source), np.int64))


def classed(nodes: int, *, values: bool) -> World:
    """Every pair in every class: a step, so that it may be in both, or a value, so that it has one."""
    low, high = np.triu_indices(nodes, 1)
    classes = np.repeat(np.arange(STEPS), len(low))
    source, target = np.tile(low, STEPS), np.tile(high, STEPS)
    step = np.zeros_like(classes) if values else classes
    return World(nodes, projection.items_of(source, target, step), classes, values)


def degrees_of(world: World, thetas: tuple[int, ...], key: bytes) -> np.ndarray:
    """The kept degrees of every copy, of every graph: one of an undirected graph, two of a directed one."""
    last = len(thetas) - 1

    def measure(rows: np.ndarray) -> np.ndarray:
        ends = np.concatenate([world.items.source[rows], last * world.nodes + world.items.target[rows]])
        return np.bincount(ends, minlength=world.nodes * len(thetas))

    return world.told(world.kept(thetas, (0, last), key), measure)


def measured(degrees: np.ndarray, measure: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """What a read says of the degrees of every graph."""
    rows, place = np.unique(degrees, axis=0, return_inverse=True)
    return np.array([measure(row) for row in rows])[place.ravel()]


def shape(nodes: int) -> Shape:
    return Shape(EdgeType(directed=True), nodes, nodes)


@pytest.mark.parametrize("caps", [(1,), (2, 1), (1, 2, 1, 1)])
def test_what_is_kept_of_a_graph_hangs_on_its_items_places_in_one_order(caps: tuple[int, ...]):
    """Any of a world's graphs: what the tests below count is what a release keeps."""
    world, key, rng = classed(5, values=False), fresh_key(), np.random.default_rng(3)
    copies = rng.integers(0, len(caps), (2, len(world.classes)))
    kept = world.kept(caps, (copies[0], copies[1]), key)
    for code in rng.integers(0, world.graphs, 300):
        rows = np.flatnonzero(code >> np.arange(len(world.classes)) & 1)
        ends = copies[0][rows], copies[1][rows]
        own = kept_items(world.items.only(rows), 5, caps, ends, key)
        assert kept[code] == (1 << rows[own]).sum()


def test_mutual_pairs_are_those_of_both_arcs():
    world, rng = directed(5), np.random.default_rng(3)
    for _ in range(300):
        rows = np.flatnonzero(rng.random(20) < rng.random())
        found = mutual_pairs(world.items.only(rows))
        arcs = set(zip(world.items.source[rows], world.items.target[rows], strict=True))
        assert set(zip(found.source, found.target, strict=True)) == {
            (u, v) for u, v in arcs if u < v and (v, u) in arcs
        }


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("nodes", SIZES)
@pytest.mark.parametrize("thetas", [(1, 1), (2, 1), (1, 2)])
def test_no_replacement_moves_a_double_cover_by_more_than_its_sensitivities(nodes, thetas):
    world = directed(nodes)
    degrees = degrees_of(world, thetas, fresh_key())
    thresholds = np.arange(1, nodes), np.arange(1, nodes)
    assert world.farthest(degrees) <= 2 * sum(thetas)
    for bound, measure in (
        projection.arc_count(thetas),
        projection.both_tail_counts(shape(nodes), thetas, thresholds),
    ):
        assert world.farthest(measured(degrees, measure)) == bound


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("nodes", SIZES)
@pytest.mark.parametrize("theta", [1, 2])
def test_no_replacement_moves_mutual_pairs_by_more_than_their_sensitivities(nodes, theta):
    world, (low, high) = directed(nodes), np.triu_indices(nodes, 1)
    pairs, codes = World(nodes, projection.items_of(low, high), np.zeros(len(low), np.int64)), 0
    arcs = {ends: bit for bit, ends in enumerate(zip(world.items.source, world.items.target, strict=True))}
    for bit, (u, v) in enumerate(zip(low, high, strict=True)):
        both = np.arange(world.graphs) >> arcs[u, v] & np.arange(world.graphs) >> arcs[v, u] & 1
        codes = codes + (both << bit)
    degrees = degrees_of(pairs, (theta,), fresh_key())[codes]
    bound, measure = projection.edge_count(theta)
    assert world.farthest(measured(degrees, measure)) == bound
    assert world.farthest(degrees) <= 2 * theta


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("nodes", SIZES)
@pytest.mark.parametrize("values", [False, True], ids=["steps", "values"])
@pytest.mark.parametrize("thetas", [(1, 1), (2, 1)])
def test_no_replacement_moves_numbers_by_class_by_more_than_the_sum_of_thetas(nodes, values, thetas):
    world, key = classed(nodes, values=values), fresh_key()
    bound, measure = projection.class_counts(thetas, None)

    kept = world.kept(thetas, (world.classes, world.classes), key)
    counts = world.told(kept, lambda rows: measure(world.classes[rows]))
    assert world.farthest(counts) == bound == sum(thetas)


def test_under_a_declared_bound_numbers_by_class_move_by_twice_the_bound_at_most():
    """All graphs in which nobody has more than two items, at thetas that alone would allow six."""
    world, key, thetas = classed(4, values=False), fresh_key(), (3, 3)
    bound, measure = projection.class_counts(thetas, 2)
    whole, kept = degrees_of(world, (6,), key), world.kept(thetas, (world.classes,) * 2, key)
    answers = world.told(kept, lambda rows: measure(world.classes[rows]))
    few = whole.max(axis=1) <= 2
    far = [answers[family[few[family]]] for family in world.families()]
    assert max(int(np.abs(own[:, None] - own).sum(axis=-1).max()) for own in far if len(own)) == bound == 4


PAIRS_OF = {
    "inside and across": (np.array([[0, 2], [2, 1]]), (1, 1, 1)),
    "inside at more": (np.array([[0, 2], [2, 1]]), (2, 2, 1)),
    "unlike thetas": (np.array([[0, 2], [2, 1]]), (2, 1, 1)),
    "each pair": (np.array([[0, 1, 2], [1, 3, 4], [2, 4, 5]]), (1, 1, 1, 1, 1, 1)),
    "one class": (np.array([[0, 0], [0, 0]]), (2,)),
}


def rows_and_edges(nodes: int, groups: int, pairs: np.ndarray, thetas: tuple[int, ...]) -> np.ndarray:
    """What is counted of every graph, by the group of each person, -1 for none; (groups + 1 of each person,
    graphs, classes)."""
    low, high = np.triu_indices(nodes, 1)
    items, key = projection.items_of(low, high), fresh_key()
    graphs = [np.flatnonzero(code >> np.arange(len(low)) & 1) for code in range(1 << len(low))]
    found = np.zeros((*[groups + 1] * nodes, len(graphs), len(thetas)), np.int16)
    _, measure = projection.pair_counts(pairs, thetas, None)
    for groups_of in np.ndindex(*[groups + 1] * nodes):
        own = np.array(groups_of) - 1
        held = (own[low] >= 0) & (own[high] >= 0)
        classes = np.where(held, pairs[own[low], own[high]], -1)
        for code, rows in enumerate(graphs):
            there = rows[held[rows]]
            of = classes[there]
            kept = kept_items(items.only(there), nodes, thetas, (of, of), key)
            found[(*groups_of, code)] = measure(of[kept])
    return found


def farthest_person(found: np.ndarray, nodes: int) -> int:
    """The largest L1 distance where one person's group and edges are others."""
    low, high = np.triu_indices(nodes, 1)
    codes, worst = np.arange(found.shape[nodes]), 0
    for node in range(nodes):
        touching = int((((low == node) | (high == node)) << np.arange(len(low))).sum())
        of_node = np.moveaxis(found, node, nodes - 1)  # the groups of others first, then its own
        for rest in np.unique(codes & ~touching):
            own = of_node[..., (codes & ~touching) == rest, :]
            family = own.reshape(-1, own.shape[nodes - 1] * own.shape[nodes], own.shape[-1])
            apart = np.abs(family[:, :, None] - family[:, None]).sum(axis=-1)
            worst = max(worst, int(apart.max()))
    return worst


@pytest.mark.parametrize("case", PAIRS_OF)
def test_no_other_person_moves_numbers_by_protected_pairs_by_more_than_their_sensitivity(case):
    """All graphs of all rows, some of them without a value."""
    pairs, thetas = PAIRS_OF[case]
    nodes = 3 if len(thetas) > 4 else 4
    found = rows_and_edges(nodes, len(pairs), pairs, thetas)
    bound, _ = projection.pair_counts(pairs, thetas, None)
    farthest = farthest_person(found, nodes)
    assert farthest <= bound
    if case in ("inside and across", "one class"):
        assert farthest == bound  # and one of them by as much


def test_protected_pairs_move_by_the_classes_that_two_rows_may_be_in():
    inside = np.array([[0, 2], [2, 1]])
    assert projection.pair_counts(inside, (3, 3, 1), None)[0] == 7
    assert projection.pair_counts(inside, (3, 3, 1), 2)[0] == 4
    every = np.array([[0, 1, 2], [1, 3, 4], [2, 4, 5]])
    assert projection.pair_counts(every, (1, 2, 4, 8, 16, 32), None)[0] == 62  # the second row and the third
    with pytest.raises(InvalidInput):
        projection.pair_counts(np.array([[0, 1], [2, 0]]), (1, 1, 1), None)
    with pytest.raises(InvalidInput):
        projection.pair_counts(np.array([[0, 1], [1, 2]]), (1, 1), None)
    with pytest.raises(NotAccepted):
        projection.pair_counts(inside, (2**19, 2**19, 2**19), None)


def test_long_chains_of_changes_stay_within_the_sensitivity_of_protected_pairs():
    rng = np.random.default_rng(int.from_bytes(os.urandom(8), "little"))
    for _ in range(200):
        nodes, groups = int(rng.integers(4, 25)), int(rng.integers(1, 5))
        pairs = rng.integers(0, int(rng.integers(1, 6)), (groups, groups))
        pairs = np.triu(pairs) + np.triu(pairs, 1).T
        thetas = tuple(int(each) for each in rng.integers(1, 4, int(pairs.max()) + 1))
        bound, measure = projection.pair_counts(pairs, thetas, None)
        source, target = np.nonzero(~np.eye(nodes, dtype=bool))
        present = rng.random(len(source)) < rng.random()
        other, touching = present.copy(), (source == 0) | (target == 0)
        other[touching] = rng.random(touching.sum()) < rng.random()
        own = rng.integers(-1, groups, nodes)
        again, key, found = own.copy(), fresh_key(), []
        again[0] = rng.integers(-1, groups)
        for mask, labels in ((present, own), (other, again)):
            mask = mask & (labels[source] >= 0) & (labels[target] >= 0)
            of = pairs[labels[source[mask]], labels[target[mask]]]
            items = projection.items_of(source[mask], target[mask])
            found.append(measure(of[kept_items(items, nodes, thetas, (of, of), key)]))
        assert np.abs(found[0] - found[1]).sum() <= bound


def test_a_table_of_one_projection_by_class_moves_farther():
    """The trap: classes that share a person's cap."""
    world, worst = classed(5, values=True), 0
    rng = np.random.default_rng(int.from_bytes(os.urandom(8), "little"))
    families = world.families()
    for _ in range(40):
        key = fresh_key()
        for family in rng.choice(len(families), 8, replace=False):
            codes = families[family]
            rows = [np.flatnonzero(code >> np.arange(len(world.classes)) & 1) for code in codes]
            kept = [row[kept_items(world.items.only(row), 5, (1,), (0, 0), key)] for row in rows]
            own = np.array([np.bincount(world.classes[row], minlength=STEPS) for row in kept])
            worst = max(worst, int(np.abs(own[:, None] - own).sum(axis=-1).max()))
    assert worst > 1


def test_long_chains_of_changes_stay_within_the_lemma():
    rng = np.random.default_rng(int.from_bytes(os.urandom(8), "little"))
    for _ in range(100):
        nodes, classes = int(rng.integers(5, 30)), int(rng.integers(1, 4))
        caps = tuple(int(each) for each in rng.integers(1, 5, 2 * classes))
        source, target = np.nonzero(~np.eye(nodes, dtype=bool))
        present = rng.random(len(source)) < rng.random()
        other, touching = present.copy(), (source == 0) | (target == 0)
        other[touching] = rng.random(touching.sum()) < rng.random()
        of, again = rng.integers(0, classes, (2, len(source)))
        again[~touching] = of[~touching]
        key, found = fresh_key(), []
        for mask, own in ((present, of), (other, again)):
            items, own = projection.items_of(source[mask], target[mask]), own[mask]
            kept = kept_items(items, nodes, caps, (2 * own, 2 * own + 1), key)
            ends = [2 * own * nodes + items.source, (2 * own + 1) * nodes + items.target]
            degrees = np.bincount(np.concatenate([end[kept] for end in ends]), minlength=len(caps) * nodes)
            found.append(degrees.reshape(len(caps), nodes))
        assert all((each <= np.array(caps)[:, None]).all() for each in found)
        apart = np.abs(found[0] - found[1])
        assert apart[:, 1:].sum() <= (found[0] + found[1])[:, 0].sum()
        assert apart.sum() <= 2 * sum(caps)


def test_each_of_two_competing_arcs_is_kept_in_half_of_all_orders():
    """Keys are fresh and orders even: a binomial number of times, within five standard deviations."""
    arcs, runs = projection.items_of(np.array([0, 0]), np.array([1, 2])), 4_000
    first = sum(bool(kept_items(arcs, 3, (1, 1), (0, 1), fresh_key())[0]) for _ in range(runs))
    low, high = stats.binom.interval(1 - 1e-6, runs, 0.5)
    assert low <= first <= high


def test_sides_and_steps_have_their_own_room():
    arcs = projection.items_of(np.array([0, 1, 2]), np.array([1, 2, 0]))
    assert kept_items(arcs, 3, (1, 1), (0, 1), fresh_key()).all()
    assert kept_items(arcs, 3, (1,), (0, 0), fresh_key()).sum() == 1
    events = projection.items_of(np.zeros(3), np.ones(3), np.arange(3))
    assert kept_items(events, 2, (1, 1, 1), (events.step, events.step), fresh_key()).all()
    assert kept_items(events, 2, (2,), (0, 0), fresh_key()).sum() == 2


def test_mutual_pairs_are_linked_both_ways_in_one_step():
    source, target = np.array([0, 1, 1, 2, 2]), np.array([1, 0, 2, 1, 0])
    assert [
        tuple(map(int, each)) for each in zip(*mutual_pairs(projection.items_of(source, target)), strict=True)
    ] == [
        (0, 1, 0),
        (1, 2, 0),
    ]
    apart = projection.items_of(source, target, np.array([0, 1, 0, 0, 0]))
    assert [tuple(map(int, each)) for each in zip(*mutual_pairs(apart), strict=True)] == [(1, 2, 0)]
    assert not len(mutual_pairs(projection.items_of(source[:0], target[:0])).source)


def test_sums_of_thetas_have_limits():
    with pytest.raises(NotAccepted):
        projection.class_counts([2**19] * 3, None)
    assert projection.class_counts([2**19] * 3, 5)[0] == 10
    with pytest.raises(NotAccepted):
        projection.both_tail_counts(shape(4), (2**19, 1), (np.array([1]), np.array([1])))
    with pytest.raises(InvalidInput):
        projection.both_tail_counts(shape(4), (1, 1), (np.array([0]), np.array([1])))
