"""True answers beside paid ones: with next to no noise both are the same, whatever was asked."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from core.evaluation.paid import exact
from core.graphs.graph import EdgeTable, EdgeValues, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.privacy.accounting.events import NANO, Pure
from core.privacy.accounting.measurements import Measurement
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan, rows_of
from core.privacy.reads.edge_values import EdgeValueReads
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit

NODES, STEPS = 40, 3
EXACT = 900 * NANO
"""An epsilon at which the noise is 0, but for one draw in 10^300."""
THIRDS = np.arange(NODES) % 3


def valued(directed: bool) -> Graph:
    """People of two parties, some of none, who rate one another in three steps."""
    rng = np.random.default_rng(5)
    stars = EdgeAttribute(name="stars", kind="integer", bounds=(1, 3), aggregate="max")
    relation = EdgeType(name="rates", directed=directed, temporal=True, attributes=(stars,))
    still = EdgeType(name="knows")
    party = Attribute(name="party", protection="protected", categories=("left", "right"))
    age = Attribute(name="age", kind="number", protection="protected", bounds=(0, 90), cuts=(30, 60))
    kinds = (NodeType(count=NODES, attributes=(party, age)),)
    schema = GraphSchema(node_types=kinds, edge_types=(relation, still), time=TimeGrid(count=STEPS))
    slots = rng.choice(NODES * (NODES - 1) // 2 * STEPS, 200, replace=False)
    rows, columns = np.triu_indices(NODES, 1)
    source, target = rows[slots // STEPS], columns[slots // STEPS]
    rated = EdgeTable(
        source, target, slots % STEPS, EdgeValues({"stars": rng.integers(1, 4, 200).astype("i4")})
    )
    pairs = rng.choice(len(rows), 90, replace=False)
    table = NodeTable(
        NODES,
        None,
        {
            "party": pa.array([(None, "left", "right")[node % 3] for node in range(NODES)]),
            "age": rng.random(NODES) * 90,
        },
    )
    return Graph.build(
        schema, {"node": table}, {"rates": rated, "knows": EdgeTable(rows[pairs], columns[pairs])}
    )


def static(graph: Graph) -> Graph:
    """The same without the relation that has time."""
    schema = GraphSchema(node_types=graph.schema.node_types, edge_types=(EdgeType(name="knows"),))
    return Graph.build(schema, graph.nodes, {"knows": graph.edges["knows"]})


def paid(graph: Graph, ask: Callable[[PrivateGraph], object]) -> list[Measurement]:
    """What was paid for in a session of its own, which may spend what it likes."""
    timed = graph.schema.temporal
    names = [each.name for each in graph.schema.edge_types]
    cells = [(name, step) for name in names for step in graph.schema.steps_of(name)]
    cells += [] if timed else [(rows_of("node"), None)]
    granted = tuple(Allotment(*cell, Pure(EXACT, "laplace"), "reads") for cell in cells)
    unit, steps = (Unit.EVENT, STEPS) if timed else (Unit.EDGE, 1)
    meter = Meter(PrivacyPlan("x", unit, None, steps, granted), MemoryRecorder())
    ask(PrivateGraph(graph, meter))
    return list(meter.measurements)


def agree(graph: Graph, *asked: Callable[[PrivateGraph], object]) -> None:
    for ask in asked:
        found = paid(graph, ask)
        assert found
        for each in found:
            truth = exact(graph, each)
            assert truth is not None
            assert each.values is not None
            assert truth.tolist() == each.values.tolist(), each.query
            assert truth.any()


COST: dict[str, Any] = {"nano_epsilon": EXACT, "purpose": "x"}


def test_counts_of_edges() -> None:
    def divided(private: PrivateGraph) -> None:
        with private.cell("knows", None).parallel(nano_epsilon=EXACT, labels=THIRDS) as branches:
            for branch in branches:
                branch.laplace("edge_count", **COST)

    agree(
        valued(False),
        *(lambda g, step=step: g.cell("rates", step).laplace("edge_count", **COST) for step in range(STEPS)),
        lambda g: g.cell("knows", None).laplace("degrees", **COST),
        lambda g: g.cell("knows", None).laplace("group_matrix", labels=THIRDS, **COST),
        divided,
    )


def test_what_two_steps_both_have() -> None:
    def both(private: PrivateGraph) -> None:
        private.aside.pay("rates", 0, nano_epsilon=EXACT, purpose="x")
        reads = private.between("rates", 1)
        assert reads is not None
        reads.kept_edges(nano_epsilon=EXACT // 2, purpose="x")
        reads.kept_nodes(nano_epsilon=EXACT // 2, purpose="x")

    agree(valued(False), both)


@pytest.mark.parametrize("directed", [False, True])
def test_what_edges_carry(directed: bool) -> None:
    labels, scores = np.array([0, 0, 1]), np.array([-2, 0, 5])
    ends = THIRDS, THIRDS // 2 if directed else THIRDS

    def reads(private: PrivateGraph) -> EdgeValueReads:
        return private.edge_values("rates", "stars")

    sides = ("source", "target") if directed else ("both",)
    agree(
        valued(directed),
        lambda g: reads(g).histogram(**COST),
        lambda g: reads(g).by_step(periods=np.array([0, 1, 1]), labels=labels, **COST),
        *(lambda g, side=side: reads(g).by_node(side=side, labels=labels, **COST) for side in sides),
        *(lambda g, side=side: reads(g).node_sums(side=side, scores=scores, **COST) for side in sides),
        lambda g: reads(g).by_classes(sources=ends[0], targets=ends[1], labels=labels, **COST),
    )


BUDGETS = {"edge_nano_epsilon": EXACT, "row_nano_epsilon": EXACT, "purpose": "x"}


def test_tables_of_nodes_and_of_both_ends() -> None:
    nobody, pairs = np.zeros(NODES, dtype=np.int64), np.arange(2)
    agree(
        static(valued(False)),
        lambda g: g.node_values("node").table(["party"], classes=THIRDS // 2, **COST),
        lambda g: g.node_values("node").table(["party", "age"], classes=nobody, **COST),
        lambda g: g.node_values("node").mixing("knows", "party", groups=pairs, cap=20, **BUDGETS),
    )


def test_what_the_graph_does_not_say_has_no_answer() -> None:
    still, timed = static(valued(False)), valued(False)
    pairs = np.arange(2)
    (capped,) = paid(
        still, lambda g: g.node_values("node").mixing("knows", "party", groups=pairs, cap=1, **BUDGETS)
    )
    assert exact(still, capped) is None  # which edges count was drawn
    alone = Measurement("rates", 0, "kept_edges", {}, (), Fraction(1), 1, np.array([3]), "x")
    assert exact(timed, alone) is None  # the step before a snapshot is another graph
    (carried,) = paid(timed, lambda g: g.edge_values("rates", "stars").histogram(**COST))
    bare = {**timed.edges, "rates": timed.edges["rates"].bare()}
    assert exact(Graph(timed.schema, timed.nodes, bare), carried) is None
