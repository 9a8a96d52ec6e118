"""Reads of protected node attributes: sensitivities by brute force over tiny graphs, charges, noise's law."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from core.errors import InvalidInput, NotAccepted, PlanExceeded
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType, TimeGrid
from core.privacy.accounting.events import Pure
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan, rows_of
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.reads import node_values as module
from core.privacy.reads.node_values import NodeValueReads, capped, mixed, mixing_noise
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.support.auditing import laplace_divergence

NANO = 10**9
NODES = 4
PAIRS = list(itertools.combinations(range(NODES), 2))
MISSING, VALUES = -1, (-1, 0, 1)
CITY = Attribute(name="city", protection="protected", categories=("a", "b", "c"))
AGE = Attribute(name="age", kind="number", protection="protected", bounds=(0, 90), cuts=(18, 65))
SCHEMA = GraphSchema(
    node_types=(NodeType(count=NODES, attributes=(AGE, CITY)),), edge_types=(EdgeType(name="knows"),)
)


def graph_of(
    pairs: tuple[tuple[int, int], ...], cities: tuple[int, ...], ages: tuple[float, ...] = (10, 20, 70, 90)
) -> Graph:
    source, target = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    names = pa.array([None if city < 0 else "abc"[city] for city in cities], type=pa.string())
    table = NodeTable(NODES, None, {"city": names, "age": np.array(ages, dtype=np.float64)})
    return Graph.build(SCHEMA, {"node": table}, {"knows": EdgeTable(source, target)})


def opened(graph: Graph, edge: int = 10 * NANO, row: int = 10 * NANO) -> tuple[NodeValueReads, Meter]:
    granted = (
        Allotment("knows", None, Pure(edge, "test"), "test"),
        Allotment(rows_of("node"), None, Pure(row, "test"), "test"),
    )
    meter = Meter(PrivacyPlan("test", Unit.EDGE, None, 1, granted), MemoryRecorder())
    return PrivateGraph(graph, meter).node_values("node"), meter


def worst_moves(cap: int, priority: np.ndarray, cut: bool = True) -> tuple[int, int]:
    """The most that one edge more, and one row replaced, move the mixing matrix of any tiny graph."""
    slots = np.array(PAIRS)
    known: dict[tuple[tuple[bool, ...], tuple[int, ...]], np.ndarray] = {}
    for states in itertools.product((False, True), repeat=len(PAIRS)):
        kept = np.flatnonzero(states)
        for labels in itertools.product(VALUES, repeat=NODES):
            ends = slots[kept].T
            groups = np.array(labels)
            most = cap if cut else NODES
            known[states, labels] = mixed(ends[0], ends[1], groups, 2, most, priority[kept])
    edge = row = 0
    for (states, labels), before in known.items():
        for place, state in enumerate(states):
            if not state:
                after = known[(*states[:place], True, *states[place + 1 :]), labels]
                edge = max(edge, int(np.abs(after - before).sum()))
        for place in range(NODES):
            for value in VALUES:
                after = known[states, (*labels[:place], value, *labels[place + 1 :])]
                row = max(row, int(np.abs(after - before).sum()))
    return edge, row


@pytest.fixture(scope="module")
def moves() -> dict[int, tuple[int, int]]:
    orders = [np.arange(6), np.arange(6)[::-1], np.array([3, 0, 4, 1, 5, 2])]
    return {
        cap: tuple(np.max([worst_moves(cap, each) for each in orders], axis=0).tolist()) for cap in (1, 2)
    }


@pytest.mark.slow
@pytest.mark.parametrize("cap", [1, 2])
def test_no_neighbour_moves_mixing_by_more_than_is_claimed_and_some_by_as_much(cap: int, moves):
    edge, row = moves[cap]
    assert row == module.ROW_MOVES * cap
    assert edge <= module.EDGE_MOVES
    assert cap > 1 or edge == module.EDGE_MOVES


def test_an_edge_displaces_one_at_either_end_and_a_row_moves_what_the_cap_lets_count():
    # The new edge between 0 and 1 comes first: it counts, and those to 2 and to 3 do not any more.
    ends, priority = np.array([[0, 0, 1], [1, 2, 3]]), np.array([0, 1, 2])
    labels = np.array([0, 1, 0, 1])
    after = mixed(*ends, labels, 2, 1, priority)
    before = mixed(*ends[:, 1:], labels, 2, 1, priority[1:])
    assert np.abs(after - before).sum() == 3
    star = np.array([[0, 0, 0], [1, 2, 3]])
    ones, others = (mixed(*star, np.array([label, 0, 0, 0]), 2, 2, priority) for label in (0, 1))
    assert np.abs(ones - others).sum() == 4
    gone = mixed(*star, np.array([MISSING, 0, 0, 0]), 2, 2, priority)
    assert np.abs(ones - gone).sum() == 2


def test_a_cap_is_of_both_ends_and_equal_priorities_go_by_place():
    source, target = np.array([0, 0, 0, 1]), np.array([1, 2, 3, 2])
    assert capped(source, target, 2, np.array([5, 5, 5, 5])).tolist() == [True, True, False, True]
    assert capped(source, target, 1, np.array([3, 2, 1, 0])).tolist() == [False, False, True, True]
    assert capped(source, target, 3, np.zeros(4, np.int64)).all()
    assert capped(source[:0], target[:0], 1, np.zeros(0, np.int64)).shape == (0,)


def test_a_row_replaced_moves_a_table_by_two(monkeypatch: pytest.MonkeyPatch):
    claimed = []

    def seen(values: np.ndarray, l1_sensitivity: int, nano_epsilon: int) -> np.ndarray:
        claimed.append(l1_sensitivity)
        return values

    monkeypatch.setattr(mechanisms, "discrete_laplace", seen)

    def table(cities: tuple[int, ...], pairs: tuple[tuple[int, int], ...] = ()) -> np.ndarray:
        reads, _ = opened(graph_of(pairs, cities))
        classes = np.array([0, 0, 1, 1])
        return reads.table(["city", "age"], classes=classes, nano_epsilon=NANO, purpose="test")

    before = table((0, 1, 2, MISSING))
    assert before.shape == (2, 3, 3)
    assert before[0, 0, 0] == before[0, 1, 1] == before[1, 2, 2] == 1
    assert before.sum() == 3
    worst = 0
    for node, city in itertools.product(range(NODES), VALUES):
        cities = [0, 1, 2, MISSING]
        cities[node] = city
        worst = max(worst, int(np.abs(table(tuple(cities)) - before).sum()))
    assert worst == module.ROW_MOVES == set(claimed).pop()
    assert (table((0, 1, 2, MISSING), ((0, 1),)) == before).all()


@pytest.mark.parametrize("cap", [1, 3, 40])
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("budgets", [(NANO, NANO), (NANO // 7, NANO), (NANO, NANO // 7), (3, 10**9 + 1)])
def test_noise_costs_neither_side_more_than_it_has_and_one_of_them_all(
    cap: int, budgets: tuple[int, int], times: int
):
    edge, row = budgets
    noise = mixing_noise(cap, edge, row, times)
    scale = Fraction(noise.moved, noise.nano_epsilon)
    assert Fraction(module.EDGE_MOVES * times) / scale <= noise.edge <= edge
    assert Fraction(module.ROW_MOVES * cap) / scale <= noise.row <= row
    assert noise.edge == edge or noise.row == row


def test_both_cells_are_charged_before_anything_is_read_and_never_more_than_they_have():
    reads, meter = opened(graph_of(((0, 1), (1, 2)), (0, 0, 1, 2)), edge=NANO, row=NANO)
    asked = {"groups": np.array([0, 1, 1]), "cap": 2, "purpose": "test"}
    found = reads.mixing("knows", "city", edge_nano_epsilon=NANO, row_nano_epsilon=NANO, **asked)
    assert found.shape == (2, 2)
    assert found[1, 0] == 0
    spent = {entry.edge_type: entry.event.nano_epsilon for entry in meter.transcript}
    assert spent == {"knows": 3 * NANO // 4, "rows:node": NANO}
    with pytest.raises(PlanExceeded):
        reads.table(["city"], classes=np.zeros(NODES, np.int64), nano_epsilon=1, purpose="test")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"attribute": "height"}, "attribute"),
        ({"cap": 0}, "cap"),
        ({"cap": module.MOST_CAP + 1}, "cap"),
        ({"groups": np.array([0, 1])}, "groups"),
    ],
)
def test_what_cannot_be_asked_is_refused_and_nothing_is_charged(change: dict, field: str):
    reads, meter = opened(graph_of((), (0, 0, 1, 2)))
    asked = {"attribute": "city", "groups": np.array([0, 1, 1]), "cap": 2} | change
    with pytest.raises(InvalidInput) as refused:
        reads.mixing("knows", edge_nano_epsilon=NANO, row_nano_epsilon=NANO, purpose="test", **asked)
    assert refused.value.members["field"] == field
    assert not meter.transcript


def slots_of(form: str) -> tuple[list[tuple[int, int]], bool]:
    """Among three nodes, the ends of every edge that there may be: of two steps, or in both directions."""
    pairs = list(itertools.combinations(range(3), 2))
    return (pairs + pairs, False) if form == "in time" else (list(itertools.permutations(range(3), 2)), True)


def moves_of_units(form: str, cap: int, priority: np.ndarray, cut: bool = True) -> tuple[int, int, int]:
    """The most that a row, one edge, and two edges more move the mixing of any tiny graph of that form."""
    slots, directed = slots_of(form)
    ends, most = np.array(slots), cap if cut else 9
    known = {}
    for states in itertools.product((False, True), repeat=len(slots)):
        kept = np.flatnonzero(states)
        for labels in itertools.product(VALUES, repeat=3):
            known[states, labels] = mixed(*ends[kept].T, np.array(labels), 2, most, priority[kept], directed)
    row, edges = 0, [0, 0]
    for (states, labels), before in known.items():
        for place, value in itertools.product(range(3), VALUES):
            after = known[states, (*labels[:place], value, *labels[place + 1 :])]
            row = max(row, int(np.abs(after - before).sum()))
        for number in (1, 2):
            for places in itertools.combinations(np.flatnonzero(np.logical_not(states)), number):
                more = tuple(state or place in places for place, state in enumerate(states))
                moved = int(np.abs(known[more, labels] - before).sum())
                edges[number - 1] = max(edges[number - 1], moved)
    return row, edges[0], edges[1]


@pytest.mark.slow
@pytest.mark.parametrize("cap", [1, 2])
@pytest.mark.parametrize("form", ["in time", "directed"])
def test_in_time_and_directed_no_unit_moves_mixing_by_more_than_is_claimed(form: str, cap: int):
    orders = [np.arange(6), np.arange(6)[::-1], np.array([3, 0, 4, 1, 5, 2])]
    row, one, two = np.max([moves_of_units(form, cap, each) for each in orders], axis=0)
    assert row == module.ROW_MOVES * cap
    assert one <= module.EDGE_MOVES
    assert two <= 2 * module.EDGE_MOVES
    assert moves_of_units(form, cap, orders[0], cut=False)[0] > module.ROW_MOVES * cap


def test_an_edge_at_another_step_or_the_other_way_counts_against_the_same_cap():
    labels, order = np.array([0, 1, 1]), np.array([0, 1, 2])
    twice = np.array([[0, 0, 1], [1, 1, 2]])
    assert mixed(*twice, labels, 2, 1, order).sum() == 1
    assert mixed(*twice, labels, 2, 2, order).tolist() == [[0, 2], [0, 0]]
    back = np.array([[0, 1, 1], [1, 0, 2]])
    assert mixed(*back, labels, 2, 3, order, True).tolist() == [[0, 1], [1, 1]]
    assert mixed(*back, labels, 2, 1, order, True).tolist() == [[0, 1], [0, 0]]


def timed(directed: bool) -> Graph:
    """An edge from 0 to 1 at each of three steps, and one back."""
    relation = EdgeType(name="knows", temporal=True, directed=directed)
    schema = SCHEMA.model_copy(update={"edge_types": (relation,), "time": TimeGrid(count=3)})
    names = pa.array(["a", "b", "c", None], type=pa.string())
    ends = EdgeTable(np.array([0, 0, 0, 1]), np.array([1, 1, 1, 0]), np.array([0, 1, 2, 2]))
    return Graph.build(
        schema, {"node": NodeTable(NODES, None, {"city": names, "age": np.zeros(4)})}, {"knows": ends}
    )


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("unit", [Unit.EVENT, Unit.W_EVENT, Unit.PAIR])
def test_every_step_is_charged_for_mixing_or_of_a_pair_the_first_for_all_and_twice_where_it_has_two_ways(
    unit: Unit, directed: bool, monkeypatch: pytest.MonkeyPatch
):
    noise = []

    def seen(values: np.ndarray, moved: int, nano_epsilon: int) -> np.ndarray:
        noise.append(Fraction(moved, nano_epsilon))
        return values

    monkeypatch.setattr(mechanisms, "discrete_laplace", seen)
    granted = [Allotment("knows", step, Pure(NANO, "test"), "test") for step in range(3)]
    granted.append(Allotment(rows_of("node"), None, Pure(NANO, "test"), "test"))
    window = 2 if unit is Unit.W_EVENT else None
    meter = Meter(PrivacyPlan("test", unit, window, 3, tuple(granted)), MemoryRecorder())
    reads = PrivateGraph(timed(directed), meter).node_values("node")
    asked = {"groups": np.array([0, 1, 1]), "cap": 9, "purpose": "test"}
    found = reads.mixing("knows", "city", edge_nano_epsilon=NANO // 9, row_nano_epsilon=NANO, **asked)
    assert found.tolist() == ([[0, 3], [1, 0]] if directed else [[0, 3], [0, 0]])
    times = (2 if directed else 1) * 3 if unit is Unit.PAIR else 1
    steps = [0] if unit is Unit.PAIR else [0, 1, 2]
    spent = {(entry.edge_type, entry.step): entry.event.nano_epsilon for entry in meter.transcript}
    assert set(spent) == {*(("knows", step) for step in steps), (rows_of("node"), None)}
    for step in steps:
        assert module.EDGE_MOVES * times / noise[0] <= spent["knows", step] <= NANO // 9
    assert module.ROW_MOVES * 9 / noise[0] <= spent[rows_of("node"), None] <= NANO


@pytest.mark.parametrize("order", [2, 8])
def test_what_a_pair_pays_for_mixing_covers_its_edges_of_all_steps_at_every_order(order: int):
    """All of them may move one entry, by 3 each: were a step charged at a time, curves would be too low."""
    granted = [Allotment("knows", 0, Pure(NANO, "test"), "test")]
    granted.append(Allotment(rows_of("node"), None, Pure(100 * NANO, "test"), "test"))
    meter = Meter(PrivacyPlan("test", Unit.PAIR, None, 3, tuple(granted)), MemoryRecorder())
    reads = PrivateGraph(timed(False), meter).node_values("node")
    asked = {"groups": np.array([0, 1, 1]), "cap": 1, "purpose": "test"}
    reads.mixing("knows", "city", edge_nano_epsilon=NANO, row_nano_epsilon=100 * NANO, **asked)
    (kept,) = meter.measurements
    spent = [Allotment(e.edge_type, e.step, e.event, e.purpose) for e in meter.transcript]
    edges = PrivacyPlan("test", Unit.PAIR, None, 3, tuple(e for e in spent if e.edge_type == "knows"))
    told = edges.spend("renyi", [order])[f"rdp/{order}"]
    moved = module.EDGE_MOVES * 3
    assert laplace_divergence(moved, float(kept.scale), order) <= told / NANO


def test_under_unit_node_rows_of_things_are_not_read_and_persons_meetings_are_not_either():
    person = NodeType(name="person", count=NODES, attributes=(CITY,), protected=True)
    thing = NodeType(name="thing", count=NODES, attributes=(CITY,))
    knows = EdgeType(name="knows", source="person", target="person")
    schema = GraphSchema(node_types=(person, thing), edge_types=(knows,))
    graph = Graph.build(schema, {}, {})
    plan = PrivacyPlan("test", Unit.NODE, None, 1, (Allotment("*", None, Pure(1, "test"), "test"),))
    meter = Meter(plan, MemoryRecorder())
    with pytest.raises(NotAccepted) as refused:
        PrivateGraph(graph, meter).node_values("thing")
    assert refused.value.members["field"] == "unit"
    rows = PrivateGraph(graph, meter).node_values("person")
    with pytest.raises(NotAccepted) as refused:
        rows.mixing(
            "knows",
            "city",
            groups=np.arange(3),
            cap=1,
            edge_nano_epsilon=1,
            row_nano_epsilon=1,
            purpose="test",
        )
    assert refused.value.members["field"] == "unit"
    assert meter.transcript == ()


def test_noise_of_mixing_has_the_law_that_its_cap_asks_for():
    # 64 groups of one node each have 2,080 cells: the mean of |noise| is known to 3 %.
    names = tuple(f"c{i}" for i in range(64))
    city = Attribute(name="city", protection="protected", categories=names)
    schema = GraphSchema(
        node_types=(NodeType(count=64, attributes=(city,)),), edge_types=(EdgeType(name="knows"),)
    )
    graph = Graph.build(schema, {"node": NodeTable(64, None, {"city": pa.array(names)})}, {})
    reads, _ = opened(graph, row=NANO, edge=NANO)
    noisy = reads.mixing(
        "knows",
        "city",
        groups=np.arange(64),
        cap=10,
        edge_nano_epsilon=NANO,
        row_nano_epsilon=NANO,
        purpose="test",
    )
    own = noisy[np.triu_indices(64)]
    q = np.exp(-1 / 20)
    assert abs(np.abs(own).mean() / (2 * q / (1 - q**2)) - 1) < 0.12
    assert abs(own.mean()) < 5 * 20 * np.sqrt(2 / len(own))
