"""What a method says that it will read, before it has a graph, is what its fits then read."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from core.graphs.graph import EdgeTable, EdgeValues, Graph
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.graphs.schema.value_bins import bins_of
from core.methods import registry
from core.methods.base import PublicFacts, no_reads
from core.privacy.accounting.plan import SINCE_BEFORE
from core.privacy.units import Unit
from core.reports.precision import planned, precisions, within
from core.reports.statistics import PublicStatistics
from tests.support.generating import NANO, fit, graph_of, random_pairs

NODES, EPSILON = 40, 2.0
STATIC = graph_of(random_pairs(NODES, 0.2), NODES)
SPARSE = graph_of(random_pairs(NODES, 0.02), NODES)
STREAM = graph_of(random_pairs(NODES, 0.2), NODES, steps=4)
SIDED = graph_of(random_pairs(NODES, 0.2), NODES, other=NODES)


def carrying(of: Graph) -> Graph:
    """Give every edge of the graph two attributes: one of numbers, one of categories."""
    (relation,), table = of.schema.edge_types, of.edges["edge"]
    kinds = (
        EdgeAttribute(name="stars", kind="integer", bounds=(1, 5), aggregate="max"),
        EdgeAttribute(name="sort", kind="category", categories=("a", "b"), aggregate="max"),
    )
    schema = of.schema.model_copy(update={"edge_types": (relation.model_copy(update={"attributes": kinds}),)})
    zeros = np.zeros(table.count)
    values = EdgeValues({each.name: bins_of(each).values(zeros.astype(np.int64), zeros) for each in kinds})
    carried = EdgeTable(table.source, table.target, table.step, values)
    return Graph.build(schema, of.nodes, {"edge": carried})


NOTHING = PublicStatistics(nodes={}, steps=None, steps_evaluated=1, metrics={}, edge_types=())
CASES = [
    ("dcsbm", STATIC, {}),
    ("dcsbm", SPARSE, {}),
    ("dcsbm", STATIC, {"groups": 4, "count_share": 0, "tail_share": 0}),
    ("dcsbm", STREAM, {}),
    ("degree_triangle", STATIC, {}),
    ("degree_triangle", STATIC, {"tail_share": 0}),
    ("dgg", STATIC, {}),
    ("psgraph", STATIC, {}),
    ("psgraph", SPARSE, {}),
    ("psgraph", STREAM, {"preset": "paper"}),
    ("psgraph", STREAM, {"partition": "single"}),
    ("keyframe", STREAM, {}),
    ("dcsbm", carrying(STATIC), {"attribute_share": 0.3}),
    ("dcsbm", carrying(STREAM), {"attribute_share": 0.3}),
    ("lapgraph", STATIC, {}),
    ("tmf", STREAM, {}),
    ("edgerand", STATIC, {}),
    ("thepuff_perturb", STREAM, {}),
    ("dp_dk", STATIC, {"order": 1}),
    ("dp_dk", STREAM, {"order": 2}),
    ("der", STATIC, {}),
    ("der", STATIC, {"order": "given"}),
    ("ldpgen", STATIC, {"reports": 3}),
    ("privhrg", STATIC, {"steps_per_leaf": 1}),
    ("anchored", STATIC, {}),
    ("anchored", STREAM, {}),
    ("anchored", SIDED, {}),
]


def planning(name: str, graph: Graph, unit: Unit, params: dict[str, object]):
    """The planned reads of a method on such a graph, from public facts alone."""
    generator = registry.get(name)
    assert generator.planned_reads is not no_reads
    window = 2 if unit is Unit.W_EVENT else None
    facts = PublicFacts(graph.schema, unit, window, int(EPSILON * NANO), 0, ("edge",))
    chosen = generator.Params.varied(**params)
    plan = generator.plan(chosen, facts)
    nodes = {kind.name: kind.count or 0 for kind in graph.schema.node_types}
    return plan, list(generator.planned_reads(chosen, plan, graph.schema, nodes))


@pytest.mark.parametrize(("name", "graph", "params"), CASES)
def test_every_fit_makes_the_reads_it_planned_and_pays_no_less(name: str, graph: Graph, params: dict) -> None:
    unit = Unit.W_EVENT if graph.schema.temporal else Unit.EDGE
    _, reads = planning(name, graph, unit, params)
    assert reads
    window = 2 if unit is Unit.W_EVENT else None
    _, meter = fit(registry.get(name), graph, EPSILON, unit=unit, window=window, **params)
    paid: dict[str, Counter[int | None]] = {}
    for entry in meter.transcript:
        if "/" in getattr(entry.event, "mechanism", ""):
            query = entry.event.mechanism.split("/")[1]
            of_query = paid.setdefault(query, Counter())
            of_query[entry.step] = max(of_query[entry.step], entry.event.nano_epsilon)
    for read in reads:
        least = max(read.nano_epsilon)
        assert sum(each >= least for each in paid[read.query].values()) >= read.cells, read
    margins = {"value_histogram", "values_by_step", "values_by_classes"}
    assert {read.query for read in reads} >= set(paid) & {"edge_count", "degrees", *margins}


@pytest.mark.parametrize(
    ("unit", "window"),
    [
        (Unit.W_EVENT, 1),
        (Unit.W_EVENT, 2),
        (Unit.W_EVENT, 3),
        (Unit.W_EVENT, 9),
        (Unit.EVENT, None),
        (Unit.PAIR, None),
    ],
)
@pytest.mark.parametrize("kept", [0.0, 0.07])
@pytest.mark.parametrize("nodes", [NODES, 400])
def test_a_stream_asks_what_its_plan_tells_and_nothing_else(
    unit: Unit, window: int | None, kept: float, nodes: int
) -> None:
    of = graph_of(random_pairs(nodes, 4 / nodes), nodes, steps=7)
    generator = registry.get("keyframe")
    facts = PublicFacts(of.schema, unit, window, int(EPSILON * NANO), 0, ("edge",))
    chosen = generator.Params.varied(kept_share=kept)
    told: Counter[tuple[str, int]] = Counter()
    for read in generator.planned_reads(chosen, generator.plan(chosen, facts), of.schema, {"node": nodes}):
        told[read.query, read.nano_epsilon[0]] += read.cells
    _, meter = fit(generator, of, EPSILON, unit=unit, window=window, kept_share=kept)
    charged = [entry.event for entry in meter.transcript]
    asked = Counter(
        (each.mechanism.split("/")[1], each.nano_epsilon) for each in charged if "/" in each.mechanism
    )
    assert asked == told
    kinds = {query for query, _ in told}
    assert ("kept_edges" in kinds) == bool(kept)
    assert "kept_nodes" not in kinds or nodes > NODES or unit is Unit.EVENT


def test_the_first_step_of_a_plan_promises_nothing_of_the_one_before_it() -> None:
    generator = registry.get("keyframe")
    facts = PublicFacts(
        graph_of([(0, 1)], 400, steps=1).schema, Unit.W_EVENT, 2, int(EPSILON * NANO), 0, ("edge",), tick=3
    )
    plan = generator.plan(generator.Params(), facts)
    assert plan.first_step == 3
    assert any(each.purpose == SINCE_BEFORE for each in plan.allotments)
    queries = {each.query for each in generator.planned_reads(generator.Params(), plan, facts.schema, {})}
    assert queries == {"edge_count", "tail_counts"}


@pytest.mark.parametrize("name", ["dcsbm", "degree_triangle", "dgg", "psgraph", "anchored"])
def test_a_figure_is_as_exact_as_was_predicted(name: str) -> None:
    plan, reads = planning(name, STATIC, Unit.EDGE, {})
    told = {each.query: each for each in planned(Unit.EDGE, STATIC.schema, plan, reads)}
    assert {"edge_count", "degrees"} <= set(told)
    _, meter = fit(registry.get(name), STATIC, EPSILON)
    bound = {
        each.query: each.within for each in precisions(Unit.EDGE, STATIC.schema, meter.transcript, NOTHING)
    }
    assert bound["edge_count"] <= told["edge_count"].within
    if name != "psgraph":  # its first look at degrees only orders the nodes, and is the least exact
        assert bound["degrees"] <= told["degrees"].within


def test_a_sum_of_parts_is_bounded_by_all_of_them() -> None:
    plan, reads = planning("psgraph", STATIC, Unit.EDGE, {})
    (parts,) = (each for each in reads if each.query == "degrees")
    assert len(parts.nano_epsilon) == 2
    (line,) = (each for each in planned(Unit.EDGE, STATIC.schema, plan, [parts]))
    alone = [
        planned(Unit.EDGE, STATIC.schema, plan, [type(parts)("edge", "degrees", (cost,))])[0]
        for cost in parts.nano_epsilon
    ]
    assert line.within > max(each.within for each in alone)
    assert line.deviation == pytest.approx(sum(each.deviation**2 for each in alone) ** 0.5)


def test_a_wider_unit_is_told_wider_bounds() -> None:
    edge, pair = (
        planned(unit, STREAM.schema, *planning("dcsbm", STREAM, unit, {})) for unit in (Unit.EVENT, Unit.PAIR)
    )
    assert [each.query for each in edge] == [each.query for each in pair]
    assert all(one.within < other.within for one, other in zip(edge, pair, strict=True))
    assert {each.snapshots for each in edge} == {4}


def test_what_nodes_and_edges_carry_is_left_out_of_what_edges_pay() -> None:
    label = Attribute(name="team", protection="protected", categories=("a", "b"))
    schema = GraphSchema(
        node_types=(NodeType(count=NODES, attributes=(label,)),),
        edge_types=(EdgeType(name="edge"),),
    )
    generator = registry.get("dcsbm")
    facts = PublicFacts(schema, Unit.EDGE, None, NANO, 0, ("edge",))
    costs = []
    for given in (0.0, 0.5):
        chosen = generator.Params(node_attribute_share=given)
        plan = generator.plan(chosen, facts)
        reads = generator.planned_reads(chosen, plan, schema, {"node": NODES})
        assert {each.edge_type for each in reads} == {"edge", *(["rows:node"] if given else [])}
        costs.append([each.nano_epsilon[0] for each in reads if each.edge_type == "edge"])
    (rows,) = (each for each in reads if each.edge_type == "rows:node")
    (line,) = planned(Unit.EDGE, schema, plan, [rows])
    assert (line.query, line.within) == ("node_values", within(Fraction(2 * NANO, int(0.3 * NANO)), 0.95))
    assert costs[1] == [each // 2 for each in costs[0]]


@pytest.mark.parametrize(
    ("name", "params"), [("edgerand", {"form": "symmetric"}), ("thepuff_perturb", {"variant": "paper"})]
)
def test_a_method_that_pays_for_no_count_tells_of_none(name: str, params: dict) -> None:
    plan, reads = planning(name, STATIC, Unit.EDGE, params)
    assert reads == []
    assert planned(Unit.EDGE, STATIC.schema, plan, reads) == ()
