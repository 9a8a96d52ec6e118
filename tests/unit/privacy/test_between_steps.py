"""Two steps read together: how far edges move the answers, what is charged when, and what may be read."""

import itertools
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from core.errors import NotAccepted, PlanExceeded
from core.graphs.graph import Cell, EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods.base import PublicFacts
from core.methods.keyframe import KeyframeParams
from core.methods.keyframe.budget import NODES_SINCE, make_plan
from core.privacy.accounting.events import NANO, Pure
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import SET_ASIDE, SINCE_BEFORE, Allotment, PrivacyPlan
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.reads.between_steps import EDGES, NODES, kept_edges, kept_nodes
from core.privacy.session.private_graph import Before, PrivateGraph
from core.privacy.units import Unit
from tests.support.groups import in_part

READS = {"kept_edges": EDGES, "kept_nodes": NODES}
HUGE = 1000 * NANO


def schema_of(steps: int, nodes: int = 4, **declared) -> GraphSchema:
    relation = EdgeType(temporal=True, **declared)
    return GraphSchema(
        node_types=(NodeType(count=nodes),), edge_types=(relation,), time=TimeGrid(count=steps)
    )


def graph_of(*snapshots, nodes: int = 4, **declared) -> Graph:
    ends = np.array([pair for each in snapshots for pair in each], dtype=np.int64).reshape(-1, 2)
    table = EdgeTable(*ends.T, np.repeat(np.arange(len(snapshots)), [len(each) for each in snapshots]))
    schema = schema_of(len(snapshots), nodes, **declared)
    return Graph.build(schema, {"node": NodeTable(nodes)}, {"edge": table})


def session(graph: Graph, granted: int, before: Before | None = None, unit=Unit.W_EVENT) -> PrivateGraph:
    steps = graph.schema.steps
    cells = tuple(Allotment("edge", step, Pure(granted, "test"), "test") for step in range(steps))
    plan = PrivacyPlan("test", unit, 2 if unit is Unit.W_EVENT else None, steps, cells)
    return PrivateGraph(graph, Meter(plan, MemoryRecorder()), before=before)


def every_graph(nodes: int, directed: bool = False) -> list[Cell]:
    pairs = list((itertools.permutations if directed else itertools.combinations)(range(nodes), 2))
    found = []
    for held in itertools.product([0, 1], repeat=len(pairs)):
        ends = np.array([p for p, there in zip(pairs, held, strict=True) if there], np.int64).reshape(-1, 2)
        relation = EdgeType(temporal=True, directed=directed)
        found.append(Cell(relation, 0, nodes, nodes, ends[:, 0], ends[:, 1]))
    return found


def only(cell: Cell, rows: np.ndarray) -> Cell:
    return replace(cell, source=cell.source[rows], target=cell.target[rows])


def answers(nodes: int) -> dict[str, np.ndarray]:
    """Every answer, by the number of the graph of either step; a number's bits are its edges."""
    graphs = every_graph(nodes)
    two = [[(kept_edges(a, b), kept_nodes(a, b, nodes)) for b in graphs] for a in graphs]
    return dict(zip(READS, np.moveaxis(np.array(two), 2, 0), strict=True))


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("nodes", [2, 3, 4])
def test_an_edge_of_one_step_moves_an_answer_as_far_as_is_said(read, nodes):
    """Over all pairs of graphs and all edges; two edges, one of each step, move it twice as far and do."""
    found, graphs = answers(nodes)[read], np.arange(2 ** (nodes * (nodes - 1) // 2))
    bits = [0, *(1 << bit for bit in range(nodes * (nodes - 1) // 2))]
    moved = {(a, b): np.abs(found - found[np.ix_(graphs ^ a, graphs ^ b)]).max() for a in bits for b in bits}
    assert max(far for (a, b), far in moved.items() if not (a and b)) == READS[read]
    assert max(moved.values()) <= 2 * READS[read]
    assert max(moved.values()) == 2 * READS[read] or nodes < 4


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("read", READS)
def test_a_pair_in_both_steps_costs_no_more_than_the_curves_of_two_halves(monkeypatch, read, directed):
    """Over all pairs of graphs: all that a pair has in either is left out. Rényi accounts add up cells."""
    drawn: list[tuple[int, int]] = []

    def seen(values: np.ndarray, l1_sensitivity: int, nano_epsilon: int) -> np.ndarray:
        drawn.append((l1_sensitivity, nano_epsilon))
        return values

    monkeypatch.setattr(mechanisms, "discrete_laplace", seen)
    half, orders, nodes = NANO // 5, (2, 4, 16), 3 if directed else 4
    private = session(graph_of([(0, 1)], [(0, 1)], directed=directed), half, unit=Unit.PAIR)
    private.aside.pay("edge", 0, nano_epsilon=half, purpose="aside")
    getattr(private.between("edge", 1), read)(nano_epsilon=half, purpose="kept")
    ((sensitivity, nano),) = drawn
    graphs = every_graph(nodes, directed)
    without = [only(each, (each.source > 1) | (each.target > 1)) for each in graphs]
    count = kept_edges if read == "kept_edges" else partial(kept_nodes, nodes=nodes)
    several = list(itertools.product(range(len(graphs)), repeat=2))
    moved = max(abs(count(graphs[a], graphs[b]) - count(without[a], without[b])) for a, b in several)
    assert moved == (2 if read == "kept_nodes" or directed else 1) <= sensitivity
    spent, at = private._meter.plan.spend("renyi", orders), np.arange(-2_000, 2_000)
    for order in orders:
        one, other = (-np.abs(at - shift) * nano / NANO / sensitivity for shift in (0, moved))
        divergence = (logsumexp(order * one + (1 - order) * other) - logsumexp(one)) / (order - 1)
        assert divergence <= spent[f"rdp/{order}"] / NANO, order


@pytest.mark.parametrize("read", READS)
def test_the_loss_of_every_sequence_is_what_its_steps_were_charged(read):
    """All sequences of three nodes' graphs over three steps, with any edge of each step changed or none."""
    found, graphs = answers(3)[read], np.arange(8)
    for changed in itertools.product([0, 1, 2, 4], repeat=3):
        c = [int(each > 0) for each in changed]
        loss = 0.0
        for at in (1, 2):
            a, b = changed[at - 1], changed[at]
            here = np.abs(found - found[np.ix_(graphs ^ a, graphs ^ b)])
            loss = loss + (here[:, :, None] if at == 1 else here[None, :, :]) / READS[read]
        charged = c[0] + 2 * c[1] + c[2]  # each step for the read that it begins and the one it ends
        assert np.max(loss) <= charged


def tick_plan(step: int, window: int, first_frame: int, nodes: int) -> PrivacyPlan:
    facts = PublicFacts(schema_of(1, nodes), Unit.W_EVENT, window, NANO, 0, ("edge",), step)
    return make_plan("keyframe", KeyframeParams(first_frame=first_frame), facts)


@pytest.mark.parametrize("nodes", [20, 5_000])
@pytest.mark.parametrize("window", range(1, 7))
def test_no_window_loses_more_than_epsilon_whatever_steps_are_missing(window, nodes):
    """By the plans of single ticks: what neighbours lose, and what the account is charged, in every window.

    Steps are sent or not in every way; a read is made where the step before was sent.
    """
    horizon = 2 * window + 2
    plans = [tick_plan(step, window, 1, nodes) for step in range(horizon)]
    amounts = [plan.spend("basic")[f"step/{step}"] for step, plan in enumerate(plans)]
    by_purpose = [{each.purpose: each.event.nano_epsilon for each in plan.allotments} for plan in plans]
    rng = np.random.default_rng(3)
    ways = (
        list(itertools.product([True, False], repeat=horizon))
        if horizon <= 8
        else rng.random((250, horizon)) < 0.7
    )
    fullest = 0
    for sent in ways:
        for start in range(1 - window, horizon):
            inside = [s for s in range(max(start, 0), min(start + window, horizon)) if sent[s]]
            charged = sum(amounts[step] for step in inside)
            alone = sum(
                nano
                for step in inside
                for purpose, nano in by_purpose[step].items()
                if purpose not in (SET_ASIDE, SINCE_BEFORE, NODES_SINCE)
            )
            both = 0
            for step in range(1, horizon):
                half = by_purpose[step].get(SINCE_BEFORE, 0) + by_purpose[step].get(NODES_SINCE, 0)
                if half and sent[step] and sent[step - 1]:
                    assert by_purpose[step - 1][SET_ASIDE] >= half
                    both += half * ((step in inside) + (step - 1 in inside))
            assert alone + both <= charged <= NANO
            fullest = max(fullest, alone + both)
    assert fullest > 0.99 * NANO


def test_a_step_pays_its_half_and_the_one_before_has_paid_the_other():
    private = session(graph_of([(0, 1), (1, 2)], [(0, 1), (2, 3)]), HUGE)
    reads = private.between("edge", 1)
    with pytest.raises(PlanExceeded, match="too little aside"):
        reads.kept_edges(nano_epsilon=HUGE // 2, purpose="kept")
    assert not private._meter.transcript, "nothing was charged for what may not be read"
    private.aside.pay("edge", 0, nano_epsilon=HUGE, purpose="aside")
    assert reads.kept_edges(nano_epsilon=HUGE // 2, purpose="kept") == 1
    assert reads.kept_nodes(nano_epsilon=HUGE // 2, purpose="kept") == 3
    assert [(each.step, each.event.nano_epsilon) for each in private._meter.transcript] == [
        (0, HUGE),
        (1, HUGE // 2),
        (1, HUGE // 2),
    ]
    kept = {each.query: each for each in private._meter.measurements}
    assert {name: (each.step, *each.values, each.scale) for name, each in kept.items()} == {
        "kept_edges": (1, 1, Fraction(2 * NANO, HUGE)),
        "kept_nodes": (1, 3, Fraction(4 * NANO, HUGE)),
    }
    with pytest.raises(PlanExceeded, match="too little aside"):
        reads.kept_edges(nano_epsilon=1, purpose="once more")


def test_nobody_sets_more_aside_than_the_plan_allots():
    private = session(graph_of([(0, 1)], [(0, 1)]), NANO)
    with pytest.raises(PlanExceeded):
        private.aside.pay("edge", 0, nano_epsilon=NANO + 1, purpose="aside")
    assert private.aside.left(0) == {}


def test_a_live_snapshot_is_read_with_the_one_before_it():
    before = Before(graph_of([(0, 1), (1, 2)]), {"edge": HUGE})
    private = session(graph_of([(0, 1), (2, 3)]), HUGE, before)
    assert private.between("edge", 0).kept_edges(nano_epsilon=HUGE, purpose="kept") == 1
    assert private.aside.left(-1) == {}
    assert session(graph_of([(0, 1)]), HUGE).between("edge", 0) is None
    few = session(graph_of([(0, 1)]), HUGE, Before(graph_of([(0, 1)]), {"edge": 1}))
    with pytest.raises(PlanExceeded):
        few.between("edge", 0).kept_edges(nano_epsilon=2, purpose="kept")


def test_a_snapshot_that_set_nothing_aside_is_not_read_again():
    """As one was published whose plan was of a version that did not look back: the next one goes on."""
    unpaid = session(graph_of([(0, 1)]), HUGE, Before(graph_of([(0, 1)]), {}))
    assert unpaid.between("edge", 0) is None


def test_two_node_types_have_no_such_reads():
    schema = GraphSchema(
        node_types=(NodeType(name="left", count=2), NodeType(name="right", count=2)),
        edge_types=(EdgeType(source="left", target="right", temporal=True),),
        time=TimeGrid(count=2),
    )
    table = EdgeTable(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))
    graph = Graph.build(schema, {"left": NodeTable(2), "right": NodeTable(2)}, {"edge": table})
    with pytest.raises(NotAccepted, match="inside one node type"):
        session(graph, NANO).between("edge", 1)


@pytest.mark.parametrize("read", READS)
@in_part(("unit", "directed", "times"), [(Unit.W_EVENT, False, 1), (Unit.PAIR, True, 2)], 1)
def test_the_noise_has_the_scale_of_what_is_charged(read, unit, directed, times):
    """A pair that may be linked both ways has two edges in a step, and twice the noise."""
    runs, half = 3_000, NANO // 5
    for _ in range(3):
        private = session(graph_of([(0, 1)], [(0, 1)], directed=directed), runs * half, unit=unit)
        private.aside.pay("edge", 0, nano_epsilon=runs * half, purpose="aside")
        reads = private.between("edge", 1)
        noisy = [getattr(reads, read)(nano_epsilon=half, purpose="kept") - READS[read] for _ in range(runs)]
        scale = READS[read] * times / 0.2
        edges = np.array([-np.inf, *np.arange(-3, 4) * scale + 0.5, np.inf])
        law = np.diff(stats.dlaplace(1 / scale).cdf(np.floor(edges)))
        counts = np.histogram(noisy, edges)[0]
        if stats.chisquare(counts, law / law.sum() * runs).pvalue > 1e-3:
            return
    pytest.fail("the noise is of another law")
