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
from core.privacy import mechanisms
from core.privacy import node_values as module
from core.privacy.events import Pure
from core.privacy.meter import MemoryRecorder, Meter
from core.privacy.node_values import NodeValueReads, capped, mixed, mixing_noise
from core.privacy.plan import Allotment, PrivacyPlan, rows_of
from core.privacy.private_graph import PrivateGraph
from core.privacy.units import Unit

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
@pytest.mark.parametrize("budgets", [(NANO, NANO), (NANO // 7, NANO), (NANO, NANO // 7), (3, 10**9 + 1)])
def test_noise_costs_neither_side_more_than_it_has_and_one_of_them_all(cap: int, budgets: tuple[int, int]):
    edge, row = budgets
    noise = mixing_noise(cap, edge, row)
    scale = Fraction(noise.moved, noise.nano_epsilon)
    assert Fraction(module.EDGE_MOVES) / scale <= noise.edge <= edge
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


def test_rows_are_read_under_unit_edge_alone():
    timed = SCHEMA.model_copy(
        update={"edge_types": (EdgeType(name="knows", temporal=True),), "time": TimeGrid(count=1)}
    )
    none = np.empty(0, dtype=np.int64)
    graph = Graph.build(timed, {"node": NodeTable(NODES)}, {"knows": EdgeTable(none, none, none)})
    plan = PrivacyPlan("test", Unit.EVENT, None, 1, (Allotment("knows", 0, Pure(1, "test"), "test"),))
    with pytest.raises(NotAccepted) as refused:
        PrivateGraph(graph, Meter(plan, MemoryRecorder())).node_values("node")
    assert refused.value.members["field"] == "unit"


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
