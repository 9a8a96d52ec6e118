"""The mixing of protected node attributes, measured on two neighbours: by a row, and by an edge.

A star whose centre's value is another, and a star with one edge more, of first priority; the star once more,
at three steps. A copy that charges for a cap and counts every edge must be caught, and so must one whose cap
is of each step by itself, and of a directed relation one that caps only what a node points to. Half the noise
of these reads: ``test_every_read``.
"""

import numpy as np
import pyarrow as pa
import pytest

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType, TimeGrid
from core.privacy.accounting.audit import audit_epsilon, repeated
from core.privacy.accounting.events import Pure
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan, rows_of
from core.privacy.reads import node_values
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.support.auditing import SOUND, caught, in_both_forms

EPSILON, NANO, NODES = 1.0, 10**9, 12
PARTY = Attribute(name="party", protection="protected", categories=("a", "b"))
SCHEMA = GraphSchema(node_types=(NodeType(count=NODES, attributes=(PARTY,)),), edge_types=(EdgeType(),))
PLAN = PrivacyPlan(
    "audit",
    Unit.EDGE,
    None,
    1,
    tuple(Allotment(cell, None, Pure(NANO, "audit"), "audit") for cell in ("edge", rows_of("node"))),
)


def star(centre: str, leaves: int) -> Graph:
    column = pa.array([centre, *["a"] * (NODES - 1)])
    table = EdgeTable(np.zeros(leaves, np.int64), np.arange(1, leaves + 1))
    return Graph.build(SCHEMA, {"node": NodeTable(NODES, None, {"party": column})}, {"edge": table})


ROWS = star("a", NODES - 1), star("b", NODES - 1)
EDGES = star("a", 1), star("a", 0)


def measured(pair: tuple[Graph, Graph], cap: int, plan: PrivacyPlan = PLAN):
    def mixing(graph: Graph) -> np.ndarray:
        reads = PrivateGraph(graph, Meter(plan, MemoryRecorder())).node_values("node")
        asked = {"groups": np.array([0, 1]), "cap": cap, "purpose": "audit"}
        found = reads.mixing("edge", "party", edge_nano_epsilon=NANO, row_nano_epsilon=NANO, **asked)
        return found[np.triu_indices(2)]

    def bound(runs: int, confidence: float) -> float:
        return audit_epsilon(repeated(mixing), *pair, runs=runs, confidence=confidence).lower_bound

    return bound


STEPS = 3
TIMED = GraphSchema(
    node_types=SCHEMA.node_types, edge_types=(EdgeType(temporal=True),), time=TimeGrid(count=STEPS)
)
OF_STEPS = PrivacyPlan(
    "audit",
    Unit.EVENT,
    None,
    STEPS,
    (
        *(Allotment("edge", step, Pure(NANO, "audit"), "audit") for step in range(STEPS)),
        Allotment(rows_of("node"), None, Pure(NANO, "audit"), "audit"),
    ),
)


def in_time(of: Graph) -> Graph:
    """The same edges at every step."""
    (table,) = of.edges.values()
    ends = (np.tile(each, STEPS) for each in (table.source, table.target))
    steps = np.repeat(np.arange(STEPS), table.count)
    return Graph.build(TIMED, of.nodes, {"edge": EdgeTable(*ends, steps)})


@pytest.mark.slow
@pytest.mark.parametrize("pair", [ROWS, EDGES], ids=["row", "edge"])
def test_the_charged_epsilon_holds_in_time(pair: tuple[Graph, Graph]):
    more, fewer = (in_time(each) for each in pair)
    if pair is EDGES:  # one event alone, at the first step
        more = more.only({"edge": np.array([0])})
    assert measured((more, fewer), 2, OF_STEPS)(1000, SOUND) <= EPSILON


@pytest.mark.slow
def test_a_cap_of_each_step_by_itself_is_caught(monkeypatch: pytest.MonkeyPatch):
    capped = node_values.capped

    def by_step(source: np.ndarray, target: np.ndarray, cap: int, priority: np.ndarray) -> np.ndarray:
        size = len(source) // STEPS
        parts = [slice(step * size, (step + 1) * size) for step in range(STEPS)]
        return np.concatenate([capped(source[each], target[each], cap, priority[each]) for each in parts])

    monkeypatch.setattr(node_values, "capped", by_step)
    assert caught(measured((in_time(ROWS[0]), in_time(ROWS[1])), 1, OF_STEPS), EPSILON, 1000)


@pytest.mark.parametrize(("pair", "cap"), [(ROWS, 1), (ROWS, 4), (EDGES, 1)], ids=["row", "cap 4", "edge"])
def test_the_charged_epsilon_holds(pair: tuple[Graph, Graph], cap: int):
    assert measured(pair, cap)(1000, SOUND) <= EPSILON


@in_both_forms
def test_a_pair_that_is_not_capped_is_caught(monkeypatch: pytest.MonkeyPatch, part: int):
    monkeypatch.setattr(node_values, "capped", lambda source, *_: np.ones(len(source), dtype=bool))
    assert caught(measured(ROWS, 1), EPSILON, 1000, part)


ONE_WAY = GraphSchema(node_types=SCHEMA.node_types, edge_types=(EdgeType(directed=True),))


def pointing(of: Graph) -> Graph:
    """The same edges from the leaves to the centre, and one back."""
    (table,) = of.edges.values()
    ends = EdgeTable(np.append(table.target, 0), np.append(table.source, NODES - 1))
    return Graph.build(ONE_WAY, of.nodes, {"edge": ends})


def directed_row(cap: int):
    return measured((pointing(ROWS[0]), pointing(ROWS[1])), cap)


@pytest.mark.slow
def test_the_charged_epsilon_holds_of_a_directed_relation():
    assert directed_row(1)(1000, SOUND) <= EPSILON


@pytest.mark.slow
def test_a_cap_of_sources_alone_is_caught(monkeypatch: pytest.MonkeyPatch):
    capped = node_values.capped

    def by_source(source: np.ndarray, target: np.ndarray, cap: int, priority: np.ndarray) -> np.ndarray:
        return capped(source, NODES + np.arange(len(target)), cap, priority)

    monkeypatch.setattr(node_values, "capped", by_source)
    assert caught(directed_row(1), EPSILON, 1000)
