"""The unit node: what its plans may list, and what its sessions refuse."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import InvalidInput, NotAccepted
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.privacy.accounting.accountant import Accountant
from core.privacy.accounting.events import (
    NANO,
    Composed,
    GaussianEvent,
    PoissonSampled,
    Pure,
    Repeated,
    Unprotected,
)
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import WHOLE_GRAPH, Allotment, PrivacyPlan, rows_of
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import EDGE_WISE, Unit, edges_of_unit

DELTA = 10**12


def schema(*, protected: bool = True, time: bool = False) -> GraphSchema:
    kinds = NodeType(name="person", count=4, protected=protected), NodeType(name="thing", count=4)
    relation = EdgeType(name="buys", source="person", target="thing", temporal=time)
    return GraphSchema(node_types=kinds, edge_types=(relation,), time=TimeGrid(count=2) if time else None)


def session(of: GraphSchema, plan: PrivacyPlan) -> PrivateGraph:
    steps = np.array([0, 1]) if of.temporal else None
    edges = {"buys": EdgeTable(np.array([0, 1]), np.array([2, 3]), steps)}
    tables = {each.name: NodeTable(4) for each in of.node_types}
    return PrivateGraph(Graph.build(of, tables, edges), Meter(plan, MemoryRecorder()))


def plan(*events, name: str = WHOLE_GRAPH, steps: int = 1, **terms) -> PrivacyPlan:
    rows = tuple(Allotment(name, None, event, "read") for event in events)
    return PrivacyPlan("test", Unit.NODE, None, steps, rows, **terms)


def test_reads_of_the_whole_graph_add_up_under_both_filters():
    both = plan(Pure(3 * NANO, "x"), Pure(4 * NANO, "y"), steps=2)
    assert both.cost().nano_epsilon == 7 * NANO
    assert both.cost().per_step is None
    assert both.spend("basic") == {"epsilon": 7 * NANO, "delta": 0}
    one, two = (plan(*[GaussianEvent(5)] * k).spend("renyi", [2, 8]) for k in (1, 2))
    assert all(0 <= 2 * one[order] - two[order] <= 1 for order in one)
    assert PrivacyPlan.from_json(both.to_json()) == both


@pytest.mark.parametrize("accountant", list(Accountant))
def test_gaussian_reads_cost_the_same_as_those_of_one_cell_under_edge(accountant):
    events = [GaussianEvent(5), GaussianEvent(8)]
    rows = tuple(Allotment("a", None, event, "read") for event in events)
    under_edge = PrivacyPlan("test", Unit.EDGE, None, 1, rows, DELTA, accountant=accountant)
    under_node = plan(*events, delta_atto=DELTA, accountant=accountant)
    assert under_node.cost().nano_epsilon <= under_edge.cost().nano_epsilon * 1.0001


def test_rows_of_persons_add_to_their_edges():
    rows = (
        Allotment(WHOLE_GRAPH, None, Pure(NANO, "x"), "edges"),
        Allotment(rows_of("person"), None, Pure(NANO, "x"), "rows"),
    )
    assert PrivacyPlan("test", Unit.NODE, None, 1, rows).cost().nano_epsilon == 2 * NANO


def test_a_plan_names_no_cell_under_node_and_the_whole_graph_under_no_other():
    with pytest.raises(InvalidInput, match="names the whole graph"):
        plan(Pure(NANO, "x"), name="buys")
    for unit in EDGE_WISE - {Unit.W_EVENT}:
        with pytest.raises(InvalidInput, match="only unit node"):
            PrivacyPlan("test", unit, None, 1, (Allotment(WHOLE_GRAPH, None, Pure(NANO, "x"), "read"),))
    with pytest.raises(InvalidInput, match="names the whole graph"):
        Allotment("buys", None, Unprotected("why"), "read")


@pytest.mark.parametrize(
    "wrap", [lambda e: e, lambda e: Repeated(e, 3), lambda e: Composed((Pure(1, "x"), e))]
)
def test_sampling_amplifies_nothing_where_a_unit_is_replaced(wrap):
    with pytest.raises(InvalidInput, match="adding and removing only"):
        plan(wrap(PoissonSampled(0.5, GaussianEvent(2))), delta_atto=DELTA)


@pytest.mark.parametrize("time", [False, True])
def test_reads_that_hide_single_edges_are_refused_before_anything_is_charged(time):
    of = schema(time=time)
    graph = session(of, plan(Pure(NANO, "x"), steps=of.steps))
    step = 0 if time else None
    for read in (
        lambda: graph.cell("buys", step),
        lambda: graph.dp_sgd(
            None, cells=[("buys", step)], module=None, optimiser=None, clip=1, divisor=1, purpose="p"
        ),
        lambda: graph.aggregate(
            np.ones((4, 1)), cells=[("buys", step)], side="source", noise_multiplier=1, purpose="p"
        ),
    ):
        with pytest.raises(NotAccepted, match="all edges of a node"):
            read()
    assert graph._meter.transcript == ()
    assert not graph._meter.closed


def test_a_session_needs_persons_to_protect_and_no_other_unit_takes_them():
    with pytest.raises(NotAccepted, match="declared protected") as refused:
        session(schema(protected=False), plan(Pure(NANO, "x")))
    assert refused.value.members["field"] == "schema.node_types"
    edge = PrivacyPlan("test", Unit.EDGE, None, 1, (Allotment("buys", None, Pure(NANO, "x"), "read"),))
    with pytest.raises(NotAccepted, match="use the unit node"):
        session(schema(), edge)


def test_no_count_of_edges_follows_from_the_unit():
    with pytest.raises(NotAccepted, match="any number of edges"):
        edges_of_unit(Unit.NODE, EdgeType())


def test_the_promise_speaks_of_replaced_edges():
    of = schema()
    graph, promised = session(of, plan(Pure(NANO, "x"))), plan(Pure(NANO, "x"))
    graph._meter.charge(WHOLE_GRAPH, None, Pure(NANO, "x"), "read")
    text = guarantee_of(promised, graph._meter.transcript, 0).statement
    assert "all edges of any one node of the protected type" in text
    assert "replaced by any others" in text
    assert "P[S] <= e^1 P'[S]" in text
    assert "Changes at two such nodes are two such changes: P[S] <= e^2 P'[S]" in text
