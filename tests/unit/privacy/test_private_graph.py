import numpy as np
import pytest

from core.errors import InvalidInput, MeterClosed, NotAccepted, PlanExceeded
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.privacy.accounting.events import NANO, GaussianEvent, Pure, Unprotected
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, GuaranteeKind, PrivacyPlan
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit

N = 6
GRID = TimeGrid(count=3)
PAIRS = [(0, 1), (0, 2), (1, 2), (3, 4), (2, 3)]
HUGE = 900 * NANO  # noise that is zero but for one draw in e^900


def build(edge_type=None, **schema):
    edge_type = edge_type or EdgeType()
    types = {edge_type.source, edge_type.target}
    full = GraphSchema(
        node_types=tuple(NodeType(name=t, count=N) for t in sorted(types)), edge_types=(edge_type,), **schema
    )
    source, target = np.array(PAIRS).T
    step = np.array([0, 0, 1, 1, 1]) if edge_type.temporal else None
    tables = {edge_type.name: EdgeTable(source, target, step)}
    return Graph.build(full, {t: NodeTable(N) for t in types}, tables)


def open_session(graph, *rows, unit=Unit.EDGE, window=None, recorder=None):
    allotments = tuple(Allotment(kind, step, event, "p") for kind, step, event in rows)
    plan = PrivacyPlan("test", unit, window, graph.schema.steps, allotments)
    return PrivateGraph(graph, Meter(plan, recorder or MemoryRecorder()))


def static(nano=HUGE, edge_type=None):
    return open_session(build(edge_type), ("edge", None, Pure(nano, "any")))


class Watched:
    """A graph that notes when its cells are read, and a recorder that notes when it is written."""

    def __init__(self, graph, fail=False):
        self.graph, self.schema, self.nodes, self.fail = graph, graph.schema, graph.nodes, fail
        self.seen = []

    def cell(self, edge_type, step):
        self.seen.append("read")
        return self.graph.cell(edge_type, step)

    def record(self, entry):
        if self.fail:
            raise OSError("no space left")
        self.seen.append("record")


def operations():
    labels, order = np.array([0, 0, 0, 1, 1, 1]), np.arange(N)
    return {
        "laplace": lambda c: c.laplace("degrees", nano_epsilon=5, purpose="p"),
        "exponential": lambda c: c.exponential_labels(
            nano_epsilon=5, labels=labels, order=order, purpose="p"
        ),
        "lazy response": lambda c: c.lazy_response(nano_epsilon=5, purpose="p", room=0),
        "gaussian": lambda c: c.gaussian("degrees", noise_multiplier=3, purpose="p"),
        "triangles": lambda c: c.triangle_count(nano_epsilon=5, purpose="p"),
        "products": lambda c: c.degree_product_sum(noisy_degrees=labels, nano_epsilon=5, purpose="p"),
    }


@pytest.mark.parametrize("name", list(operations()))
def test_recorded_first_and_read_afterwards(name):
    watched = Watched(build())
    rows = [("edge", None, Pure(5, "x")), ("edge", None, GaussianEvent(3))]
    operations()[name](open_session(watched, *rows, recorder=watched).cell("edge", None))
    assert watched.seen == ["record", "read"]


@pytest.mark.parametrize("name", list(operations()))
def test_nothing_is_read_when_the_record_or_the_plan_fails(name):
    rows = [("edge", None, Pure(5, "x")), ("edge", None, GaussianEvent(3))]
    for watched, allowed, error in (
        (Watched(build(), fail=True), rows, OSError),
        (Watched(build()), [("edge", None, Pure(4, "x")), ("edge", None, GaussianEvent(4))], PlanExceeded),
    ):
        cell = open_session(watched, *allowed, recorder=watched).cell("edge", None)
        with pytest.raises(error):
            operations()[name](cell)
        assert watched.seen == []


def test_a_group_reads_nothing_before_a_branch_has_paid():
    watched = Watched(build())
    cell = open_session(watched, ("edge", None, Pure(9, "x")), recorder=watched).cell("edge", None)
    with cell.parallel(nano_epsilon=9, labels=np.zeros(N, dtype=int)) as (inside, _):
        assert watched.seen == ["record"]
        inside.laplace("edge_count", nano_epsilon=1, purpose="p")
    assert watched.seen == ["record", "record", "read"]


def test_queries_answer_about_the_right_cell():
    session = static()
    degrees = session.cell("edge", None).laplace("degrees", nano_epsilon=HUGE, purpose="p")
    assert degrees.tolist() == [2, 2, 3, 2, 1, 0]
    assert degrees.dtype == np.int64
    timed = open_session(
        build(EdgeType(temporal=True), time=GRID),
        *(("edge", t, Pure(HUGE, "x")) for t in range(3)),
        unit=Unit.EVENT,
    )
    counts = [
        int(timed.cell("edge", t).laplace("edge_count", nano_epsilon=HUGE, purpose="p")[0]) for t in range(3)
    ]
    assert counts == [2, 3, 0]


def test_gaussian_is_metered_as_such():
    graph = build()
    plan = PrivacyPlan(
        "test", Unit.EDGE, None, 1, (Allotment("edge", None, GaussianEvent(0.05), "p"),), delta_atto=10**12
    )
    session = PrivateGraph(graph, Meter(plan, MemoryRecorder()))
    counted = session.cell("edge", None).gaussian("edge_count", noise_multiplier=0.05, purpose="p")
    assert counted.tolist() == [5]
    with pytest.raises(PlanExceeded):
        session.cell("edge", None).gaussian("edge_count", noise_multiplier=0.05, purpose="p")


def test_parallel_splits_by_label_and_charges_once():
    session = static()
    labels = np.array([0, 0, 0, 1, 1, 1])
    with session.cell("edge", None).parallel(nano_epsilon=HUGE, labels=labels) as (inside, between):
        assert inside.laplace("edge_count", nano_epsilon=HUGE, purpose="in").tolist() == [4]
        matrix = between.laplace("group_matrix", nano_epsilon=HUGE, purpose="out", labels=labels)
        assert matrix.tolist() == [0, 1, 0]
    plan, transcript = session._meter.plan, session._meter.transcript
    assert [e.group for e in transcript] == [None, 0, 0]
    assert guarantee_of(plan, transcript, 0).nano_epsilon == HUGE


def test_branches_end_with_the_block_and_with_their_cap():
    session = static(10)
    with session.cell("edge", None).parallel(nano_epsilon=10, labels=np.zeros(N, dtype=int)) as (
        inside,
        between,
    ):
        inside.laplace("edge_count", nano_epsilon=10, purpose="p")
    for branch in (inside, between):
        with pytest.raises(MeterClosed):
            branch.laplace("edge_count", nano_epsilon=1, purpose="p")
    session = static(10)
    with (
        pytest.raises(PlanExceeded),
        session.cell("edge", None).parallel(nano_epsilon=10, labels=np.zeros(N, dtype=int)) as (
            inside,
            between,
        ),
    ):
        between.laplace("edge_count", nano_epsilon=11, purpose="p")


def test_nested_groups_split_further():
    session = static()
    outer, inner = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 0, 0, 1])
    with (
        session.cell("edge", None).parallel(nano_epsilon=HUGE, labels=outer) as (inside, _),
        inside.parallel(nano_epsilon=HUGE, labels=inner) as (deep, across),
    ):
        assert deep.laplace("edge_count", nano_epsilon=HUGE, purpose="p").tolist() == [2]
        assert across.laplace("edge_count", nano_epsilon=HUGE, purpose="p").tolist() == [2]
    assert guarantee_of(session._meter.plan, session._meter.transcript, 0).epsilon == 900


def test_groups_are_refused_under_unit_pair():
    session = open_session(
        build(EdgeType(temporal=True), time=GRID), ("edge", 0, Pure(10, "x")), unit=Unit.PAIR
    )
    with (
        pytest.raises(NotAccepted),
        session.cell("edge", 0).parallel(nano_epsilon=5, labels=np.zeros(N, dtype=int)),
    ):
        pass
    assert session._meter.transcript == ()


def test_a_pair_may_be_linked_both_ways():
    """Under unit pair, a directed cell holds two edges of one pair: the noise doubles."""
    spreads = {}
    for unit in (Unit.EVENT, Unit.PAIR):
        session = open_session(
            build(EdgeType(temporal=True, directed=True), time=GRID), ("edge", 0, Pure(HUGE, "x")), unit=unit
        )
        cell = session.cell("edge", 0)
        draws = [
            cell.laplace("group_matrix", nano_epsilon=NANO // 10, purpose="p", labels=np.arange(N))
            for _ in range(400)
        ]
        spreads[unit] = np.abs(np.concatenate(draws)).mean()
    assert 1.8 < spreads[Unit.PAIR] / spreads[Unit.EVENT] < 2.2


def test_communities_need_an_undirected_relation():
    for edge_type in (EdgeType(directed=True), EdgeType(source="a", target="b")):
        session = static(10, edge_type)
        with pytest.raises(NotAccepted):
            session.cell("edge", None).exponential_labels(
                nano_epsilon=5, labels=np.zeros(N, dtype=int), order=np.arange(N), purpose="p"
            )
        assert session._meter.transcript == ()


def test_communities_follow_the_edges():
    session = static(80 * NANO)
    labels = session.cell("edge", None).exponential_labels(
        nano_epsilon=80 * NANO,
        labels=np.array([0, 0, 1, 1, 1, 0]),
        order=np.array([2, 0, 1, 4, 3, 5]),
        purpose="p",
    )
    assert labels[0] == labels[1] == labels[2]


def test_unprotected_is_recorded_and_hands_out_the_graph():
    session = open_session(build(), ("*", None, Unprotected("paper")))
    assert session.unprotected("paper").edges["edge"].count == 5
    guarantee = guarantee_of(session._meter.plan, session._meter.transcript, 0)
    assert guarantee.kind is GuaranteeKind.NONE
    with pytest.raises(PlanExceeded):
        static(10).unprotected("paper")


@pytest.mark.parametrize(("edge_type", "step"), [("friend", None), ("edge", 0), ("edge", -1)])
def test_unknown_cells_are_refused(edge_type, step):
    with pytest.raises(InvalidInput):
        static().cell(edge_type, step)


def test_units_fit_the_schema():
    with pytest.raises(NotAccepted):
        open_session(build(), ("edge", None, Pure(5, "x")), unit=Unit.EVENT)
    with pytest.raises(NotAccepted):
        open_session(build(EdgeType(temporal=True), time=GRID), ("edge", None, Pure(5, "x")))
    plan = PrivacyPlan("test", Unit.EDGE, None, 2, (Allotment("edge", None, Pure(5, "x"), "p"),))
    with pytest.raises(InvalidInput):
        PrivateGraph(build(), Meter(plan, MemoryRecorder()))


def test_wrong_public_arguments_cost_nothing():
    session = static(10)
    for arguments in ({"labels": np.zeros(3, dtype=int)}, {"labels": np.zeros(N)}, {}):
        with pytest.raises(InvalidInput):
            session.cell("edge", None).laplace("group_matrix", nano_epsilon=5, purpose="p", **arguments)
    with pytest.raises(InvalidInput):
        session.cell("edge", None).laplace("edge_count", nano_epsilon=0, purpose="p")
    assert session._meter.transcript == ()
