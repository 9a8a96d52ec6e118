"""What plans also fits: no read is refused for its size or sensitivity once something was charged.

The limits stand in one room, so that they can be drawn as close as small graphs reach. On either side of each
limit a request is settled as a job is; what is settled is fitted, on a graph without edges and on one with
some; what is not says which field to mend, and nothing was charged.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core.errors import InvalidInput, NotAccepted
from core.graphs.graph import EdgeTable, EdgeValues, Graph
from core.graphs.schema import (
    EdgeType,
    GraphSchema,
    NodeType,
    TimeGrid,
)
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.methods import registry
from core.methods.base import PublicFacts, no_progress
from core.privacy import limits
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import GuaranteeKind, PrivacyPlan
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from core.publishing.settle import settle
from tests.contract.test_generators import NODES, facts, graph_of, schema_for

NANO = 10**9
WITH_GUARANTEE = [
    pytest.param(each, unit, id=f"{each.name}-{unit}", marks=[pytest.mark.slow] if each.name in SLOW else [])
    for SLOW in [{"thepuff"}]
    for each in registry.generators().values()
    if each.kinds != {GuaranteeKind.NONE}
    for unit in sorted(each.units)
]


def sizes(schema: GraphSchema) -> dict[str, int]:
    return {each.name: each.count or 0 for each in schema.node_types}


def fits(generator: Any, params: Any, plan: PrivacyPlan, graph: Graph) -> None:
    """Fit the graph as planned; a refusal fails the test."""
    meter = Meter(plan, MemoryRecorder())
    generator.fit(PrivateGraph(graph, meter), plan, params, no_progress)
    assert meter.transcript


def planned(name: str, asked: PublicFacts, params: dict[str, Any]) -> Any:
    """Settle the request as a job is; None where it is refused, which names a field."""
    try:
        return settle(name, params, [], asked, sizes(asked.schema))
    except InvalidInput as refusal:
        return None if refusal.members["field"] else refusal


@pytest.mark.parametrize(("generator", "unit"), WITH_GUARANTEE)
def test_a_plan_asks_how_many_values_its_reads_return(
    monkeypatch: pytest.MonkeyPatch, generator: Any, unit: Unit
) -> None:
    """As many values as nodes, one less and one more; and room for tables of groups."""
    for most in (NODES - 1, NODES, NODES + 1, NODES**2):
        monkeypatch.setattr(limits, "MAX_VALUES", most)
        settled = planned(generator.name, facts(generator, unit), {})
        assert settled is not None or most < NODES**2
        for shape in ("empty", "random") if settled is not None else ():
            fits(generator, settled.params, settled.plan, graph_of(unit, shape, generator))


READS_NODES = ("anchored", "dcsbm", "degree_triangle", "dgg", "keyframe", "profiles", "psgraph")


@pytest.mark.parametrize("name", READS_NODES)
def test_a_graph_of_more_nodes_than_a_read_returns_is_refused_at_its_true_size(name: str) -> None:
    """Nothing is made of so many nodes: sizes are public, and so is the refusal."""
    generator = registry.get(name)
    unit = sorted(generator.units)[0]
    schema = schema_for(unit, generator)
    counts = {each.name: limits.MAX_VALUES + 1 for each in schema.node_types}
    with pytest.raises(NotAccepted, match="values, of at most 67108864") as refused:
        settle(name, {}, [], facts(generator, unit, schema=schema), counts)
    assert refused.value.members["field"] == "schema.node_types"


def test_no_method_is_chosen_whose_reads_would_be_refused() -> None:
    asked = facts(registry.get("dcsbm"), Unit.EDGE)
    chosen = settle("auto", {}, [], asked, {"node": limits.MAX_VALUES + 1}).choice
    assert chosen is not None
    assert "values, of at most" in chosen.reason  # said of the method that comes first
    with pytest.raises(NotAccepted, match="values, of at most"):
        settle("auto", {}, [], asked, {"node": limits.MAX_COUNTED + 1}, in_parts=True)
    assert settle("auto", {}, [], asked, {"node": limits.MAX_COUNTED}, in_parts=True).plan


MOST_RECORDS = 4096
CARRYING = ("dcsbm", "edgerand", "degree_triangle", "anchored", "psgraph", "keyframe", "tmf", "dgg")

SMALL = [("dcsbm", False), ("edgerand", False)]
"""What is fitted in ``make test``: the first default, and the method that reads least."""
WAYS = [
    pytest.param(name, directed, marks=[] if (name, directed) in SMALL else pytest.mark.audits)
    for name in CARRYING
    for directed in ([True, False] if registry.get(name).accepts.directed else [False])
]


def carried(unit: Unit, records: int, directed: bool, ordered: bool) -> Graph:
    """A graph whose edges keep up to so many records, each with a number or a category."""
    kind = (
        {"kind": "integer", "bounds": (1, 40)} if ordered else {"kind": "category", "categories": ("a", "b")}
    )
    relation = EdgeType(
        temporal=unit.temporal,
        directed=directed,
        attributes=(EdgeAttribute(name="value", **kind),),
        multiplicity="each",
        records_per_slot=records,
    )
    time = TimeGrid(count=3) if unit.temporal else None
    schema = GraphSchema(node_types=(NodeType(count=NODES),), edge_types=(relation,), time=time)
    ends = np.stack([np.arange(NODES - 1), np.arange(1, NODES)], axis=1)
    step = np.arange(NODES - 1) % 3 if unit.temporal else None
    values = EdgeValues({"value": (np.arange(NODES - 1) % 2).astype(np.int32) + ordered})
    return Graph.build(schema, {}, {"edge": EdgeTable(ends[:, 0], ends[:, 1], step, values)})


@pytest.mark.parametrize(
    ("ordered", "everywhere"),
    [(False, False), *(pytest.param(each, True, marks=pytest.mark.audits) for each in (True, False))],
)
@pytest.mark.parametrize(("name", "directed"), WAYS)
def test_a_plan_asks_how_far_records_move_its_reads(
    monkeypatch: pytest.MonkeyPatch, name: str, directed: bool, ordered: bool, everywhere: bool
) -> None:
    """Around each number of records at which some read reaches the samplers' limit.

    In the small form only the lowest limit that is planned is fitted: there reads are closest to it.
    """
    generator = registry.get(name)
    # Its grid follows the true limit: under a smaller one noisy degrees alone could pass it.
    monkeypatch.setattr("core.privacy.mechanisms.product_sum.STEPS", 2**6)
    for unit in sorted(generator.units):
        refused, taken, graph = 0, 0, carried(unit, MOST_RECORDS, directed, ordered)
        for factor in (1, 2, 4, 8, 16, 32):
            for moved in (MOST_RECORDS * factor - 1, MOST_RECORDS * factor, MOST_RECORDS * factor + 1):
                monkeypatch.setattr(limits, "MAX_SENSITIVITY", moved)
                settled = planned(name, facts(generator, unit, schema=graph.schema), {"attribute_share": 0.3})
                refused, taken = refused + (settled is None), taken + (settled is not None)
                if settled is not None and (everywhere or taken == 1):
                    fits(generator, settled.params, settled.plan, graph)
        assert 0 < refused < 18


def test_records_beyond_the_samplers_are_refused_at_their_true_number() -> None:
    """16 of each record: a score of 8 at both ends. 65,536 records reach 2^20."""
    generator = registry.get("dcsbm")
    for records, taken in ((2**16, True), (2**16 + 1, False)):
        schema = carried(Unit.EDGE, records, False, True).schema
        settled = planned("dcsbm", facts(generator, Unit.EDGE, schema=schema), {"attribute_share": 0.3})
        assert (settled is not None) is taken


def persons(bound: int, records: int) -> Graph:
    """People of so many edges at most, each edge of so many records."""
    relation = EdgeType(
        attributes=(EdgeAttribute(name="value", kind="integer", bounds=(1, 5)),),
        multiplicity="each",
        records_per_slot=records,
    )
    kind = NodeType(count=NODES, protected=True, degree_bound=bound)
    schema = GraphSchema(node_types=(kind,), edge_types=(relation,))
    ends = np.arange(NODES // 2)
    values = EdgeValues({"value": np.ones(len(ends), dtype=np.int32)})
    return Graph.build(schema, {}, {"edge": EdgeTable(2 * ends, 2 * ends + 1, None, values)})


@pytest.mark.parametrize(
    ("bound", "records", "taken"),
    [(512, 1024, True), (512, 1025, False), (2**19, 1, True), (2**19 + 1, 1, False), (1_000_000, 1, False)],
)
def test_a_plan_asks_how_far_a_person_moves_what_edges_carry(bound: int, records: int, taken: bool) -> None:
    generator, graph = registry.get("projection"), persons(bound, records)
    asked = facts(generator, Unit.NODE, schema=graph.schema)
    settled = planned("projection", asked, {"attribute_share": 0.3})
    assert (settled is not None) is taken
    if settled is not None:
        fits(generator, settled.params, settled.plan, graph)


@pytest.mark.parametrize("name", ["edgerand", "thepuff_perturb", "tmf", "lapgraph"])
def test_a_noisy_count_beyond_what_one_call_makes_is_not_refused(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """How many edges are told follows from noise, so that no plan could ask: fewer are made."""
    from core.methods import tmf
    from core.methods._shared.flips import balanced
    from core.privacy.accounting import flips
    from core.privacy.mechanisms import largest_slots

    monkeypatch.setattr(flips, "MAX_ADDITIONS", 8)
    for room in (flips, balanced, tmf):
        monkeypatch.setattr(room, "MOST_ABOUT", 7)
    monkeypatch.setattr(largest_slots, "MAX_KEEP", 8)
    generator = registry.get(name)
    settled = planned(name, facts(generator, Unit.EDGE), {"form": "balanced"} if name == "edgerand" else {})
    assert settled is not None
    fits(generator, settled.params, settled.plan, graph_of(Unit.EDGE, "complete", generator))


def test_so_little_of_a_share_that_noise_has_no_grid_is_refused() -> None:
    generator = registry.get("profiles")
    asked = facts(generator, Unit.NODE, nano_epsilon=1_000_000)
    assert planned("profiles", asked, {"degree_share": 1e-300}) is None


def test_sums_of_clustering_are_refused_where_whole_numbers_end() -> None:
    generator = registry.get("dcsbm")
    asked = facts(generator, Unit.EDGE, nano_epsilon=1000)
    counts = {"node": 2**26}
    with pytest.raises(NotAccepted, match="too many nodes"):
        settle("dcsbm", {"clustering_share": 0.01}, [], asked, counts)


def test_tables_of_groups_fit_at_the_most_that_parameters_take() -> None:
    """What bounds a table is the parameters alone: they leave it room for any graph that may be read."""
    most = {"der": {}, "privgraph": {"super_node_size": 1}, "privhrg": {}}
    most |= {"psgraph": {"preset": "paper"}}
    for name, params in most.items():
        asked = facts(registry.get(name), Unit.EDGE)
        assert settle(name, params, [], asked, {"node": limits.MAX_VALUES}).plan
