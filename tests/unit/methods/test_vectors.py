"""Protected vectors of nodes in plans, fits and releases: what is paid, what a row moves, what comes out."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import (
    Attribute,
    Collection,
    CollectionGraph,
    EdgeType,
    GraphSchema,
    NodeType,
    TimeGrid,
)
from core.graphs.stored.whole import write_graph
from core.methods import registry
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.events import NANO, GaussianEvent, Pure
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import rows_of
from core.privacy.entropy import public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from core.publishing import bundle, release
from core.publishing.settle import Settled, settle
from tests.support.neighbours import compared, fit_of, toggled
from tests.support.publishing import public_of, spec

TOWN = Attribute(name="town", protection="protected", categories=("x", "y"))
DELTA = 10**12
NODES = 300
ROWS = rows_of("node")


def place(length: int = 6, **declared: Any) -> Attribute:
    given = {"bounds": (-2, 2), "length": length, **declared}
    return Attribute(name="place", kind="vector", protection="protected", **given)


def schema_of(
    *attributes: Attribute, nodes: int = NODES, protected: bool = False, steps: int = 0
) -> GraphSchema:
    kind = NodeType(count=nodes, attributes=attributes, protected=protected)
    time = TimeGrid(start=0, width=1, count=steps) if steps else None
    return GraphSchema(node_types=(kind,), edge_types=(EdgeType(temporal=bool(steps)),), time=time)


def facts_of(
    schema: GraphSchema, epsilon: float = 4, delta: int = DELTA, unit: Unit = Unit.EDGE
) -> PublicFacts:
    names = tuple(each.name for each in schema.edge_types)
    return PublicFacts(schema, unit, None, int(epsilon * NANO), delta, names)


def planned(schema: GraphSchema, **given: Any) -> Settled:
    return settle("auto", {}, (), facts_of(schema, **given), {each.name: 300 for each in schema.node_types})


def events(found: Settled) -> list[Any]:
    return [each.event for each in found.plan.allotments if each.edge_type == ROWS]


def graph_of(schema: GraphSchema, seed: int = 1) -> Graph:
    """Those of one town lie in one corner, of the other in the other."""
    rng = np.random.default_rng(seed)
    (kind,) = schema.node_types
    count = kind.count or 0
    town = rng.integers(0, 2, count)
    columns: dict[str, Any] = {"town": pa.array(np.array(["x", "y"])[town].tolist())}
    for each in kind.attributes:
        if each.length is not None:
            near = rng.normal(2 * town[:, None] - 1, 0.3, (count, each.length))
            columns[each.name] = np.clip(near, *(each.bounds or (0, 0))).astype(np.float32)
    source, target = np.nonzero(np.triu(rng.random((count, count)) < 8 / count, 1))
    declared = {each.name for each in kind.attributes}
    held = {name: column for name, column in columns.items() if name in declared}
    return Graph.build(schema, {"node": NodeTable(count, None, held)}, {"edge": EdgeTable(source, target)})


def test_a_delta_buys_gaussian_noise_where_that_is_less_and_all_costs_what_was_asked_for():
    wide = schema_of(TOWN, place(64))
    found = planned(wide)
    assert [type(each) for each in events(found)] == [Pure, GaussianEvent]
    cost = found.plan.cost()
    assert (cost.nano_epsilon, cost.delta_atto) <= (4 * NANO, DELTA)
    assert [type(each) for each in events(planned(wide, delta=0))] == [Pure]
    assert [type(each) for each in events(planned(schema_of(TOWN, place(1))))] == [Pure]
    sparse = schema_of(TOWN, place(64, nonzero=1))
    assert planned(sparse).plan.cost().delta_atto == 0  # nothing would be gained
    assert [type(each) for each in events(planned(schema_of(place(64))))] == [GaussianEvent]


def test_two_vectors_share_what_their_rows_may_spend():
    other = place(64).model_copy(update={"name": "other"})
    found = planned(schema_of(TOWN, place(64), other))
    assert [type(each) for each in events(found)] == [Pure, GaussianEvent, GaussianEvent]
    assert (found.plan.cost().nano_epsilon or 0) <= 4 * NANO


@pytest.mark.parametrize("unit", [Unit.EDGE, Unit.NODE])
@pytest.mark.parametrize("delta", [0, DELTA])
@pytest.mark.parametrize("plain", [True, False], ids=["beside a town", "alone"])
def test_vectors_come_out_as_they_are(unit: Unit, delta: int, plain: bool, tmp_path: Path):
    schema = schema_of(*((TOWN,) if plain else ()), place(cuts=(-1, 0, 1)), protected=unit is Unit.NODE)
    graph, facts = graph_of(schema), facts_of(schema, 40, delta, unit)
    found = settle("auto", {}, (), facts, {"node": NODES})
    meter = Meter(found.plan, MemoryRecorder())
    model = found.generator.fit(PrivateGraph(graph, meter), found.plan, found.params, no_progress)
    assert guarantee_of(found.plan, meter.transcript, delta).epsilon <= 40
    model.save(tmp_path)
    drawn = found.generator.load(tmp_path).sample(public_generator(2), no_progress).nodes["node"].attributes
    again = model.sample(public_generator(2), no_progress).nodes["node"].attributes
    assert np.array_equal(drawn["place"], again["place"])
    true = graph.nodes["node"].attributes["place"]
    assert drawn["place"].dtype == np.float32
    for number in range(6):
        own, theirs = (np.histogram(each[:, number], [-2, -1, 0, 1, 2])[0] for each in (drawn["place"], true))
        assert np.abs(own - theirs).sum() / NODES < 0.25
    if plain:
        left = np.array(drawn["town"].to_pylist()) == "x"
        assert drawn["place"][left].mean() < -0.5 < 0.5 < drawn["place"][~left].mean()


def test_numbers_that_are_mostly_0_stay_0_and_the_bound_on_them_is_not_declared_any_more(tmp_path: Path):
    words = place(20, bounds=(0, 1), cuts=(0.5,), nonzero=3)
    schema = schema_of(TOWN, words)
    rows = np.zeros((NODES, 20), np.float32)
    rows[:, :3] = 1
    graph = graph_of(schema_of(TOWN))
    held = {**graph.nodes["node"].attributes, "place": rows}
    graph = Graph.build(schema, {"node": NodeTable(NODES, None, held)}, graph.edges)
    job = published(graph, tmp_path, "dcsbm", {"node_attribute_share": 0.2}, epsilon=20)
    declared = GraphSchema.model_validate_json((job / "release" / "schema.json").read_bytes())
    (back,) = [each for each in declared.node_types[0].attributes if each.name == "place"]
    assert back == words.model_copy(update={"nonzero": None})
    drawn = (
        bundle.read_aligned(job / "release", job / "private" / "alignment.parquet").nodes["node"].attributes
    )
    numbers = np.asarray(drawn["place"])
    assert set(np.unique(numbers[numbers < 0.5])) == {0}
    assert (numbers[:, :3] >= 0.5).mean() > 0.95
    assert (numbers[:, 3:] >= 0.5).mean() < 0.02
    told = {each["code"]: each["text"] for each in public_of(tmp_path)["caveats"]}
    assert "town, place of node" in told["node_values_synthesised"]
    assert "attributes_left_out" not in told


def published(
    graph: Graph, folder: Path, method: str, params: dict[str, Any], epsilon: float, **more: Any
) -> Path:
    """A release of the graph in a folder of its own."""
    write_graph(graph, folder / "original")
    names = tuple(each.name for each in graph.schema.edge_types)
    given: dict[str, Any] = {
        "unit": Unit.EDGE,
        "edge_types": names,
        "formats": ("csv", "graphml", "node_link", "npz", "parquet"),
    }
    asked = spec(
        registry.get(method), graph.schema, nano_epsilon=int(epsilon * NANO), params=params, **given | more
    )
    generator, recorder = registry.get(method), MemoryRecorder()
    release.publish(generator, folder / "original", asked, folder / "job", recorder, lambda *_: None)
    return folder / "job"


def test_a_row_is_covered_at_an_epsilon_and_a_delta_and_the_release_says_so(tmp_path: Path):
    schema = schema_of(TOWN, place(64))
    asked = {"node_attribute_share": 0.2}
    published(graph_of(schema), tmp_path, "dcsbm", asked, 4, delta_atto=DELTA)
    part = public_of(tmp_path)
    assert part["guarantee"]["delta"] == "0.000001"
    said = part["guarantee"]["statement"]
    assert re.search(r"by any other row while all edges stay: P\[S\] <= e\^3\.99\d* P'\[S\] \+ 1e-6", said)
    assert "zeros" not in said
    told = {each["code"]: each["text"] for each in part["caveats"]}
    assert "and delta 0.000001" in told["node_values_synthesised"]


@pytest.mark.parametrize("row", [("x", (2, 2)), ("y", (-2, 2)), (None, (0, 0)), ("y", (2, np.nan))])
@pytest.mark.parametrize("plain", [True, False], ids=["beside a town", "alone"])
def test_whole_fits_on_another_row_differ_by_what_rows_paid_for(plain: bool, row: Any, tmp_path: Path):
    attributes = (*((TOWN,) if plain else ()), place(2, cuts=(-1, 1)))
    schema = schema_of(*attributes, nodes=4)
    asked = {"evidence": "none", "node_attribute_share": 0.2}
    facts = facts_of(schema)
    method = registry.get("anchored")
    params = method.Params.model_validate(asked)
    kinds = {type(each.event) for each in method.plan(params, facts).allotments if each.edge_type == ROWS}
    fitted = fit_of(method, params, facts)

    def built(own: Any) -> Graph:
        rows = [own, ("x", (-2, -2)), ("y", (0, 2)), ("x", (2, 0))]
        columns: dict[str, Any] = {"place": np.array([each[1] for each in rows], dtype=np.float32)}
        if plain:
            columns["town"] = pa.array([each[0] for each in rows], type=pa.string())
        edges = EdgeTable(np.array([0, 1]), np.array([1, 2]))
        return Graph.build(schema, {"node": NodeTable(4, None, columns)}, {"edge": edges})

    graph = built(("x", (-2, -2)))
    assert GaussianEvent in kinds or Pure in kinds
    compared(fitted, graph, built(row), ROWS, tmp_path / "row")
    for number, other in enumerate(itertools.islice(toggled(graph, "edge"), 3)):
        compared(fitted, graph, other, "edge", tmp_path / str(number))


def test_graphs_of_a_collection_share_one_law(tmp_path: Path):
    graphs = tuple(CollectionGraph(id=str(number), nodes=40) for number in range(3))
    schema = GraphSchema(collection=Collection(graphs=graphs, attributes=(TOWN, place(4))))
    rng, nodes, edges = np.random.default_rng(2), {}, {}
    for each in schema.node_types:
        rows = {
            "town": pa.array(["x", "y"] * 20),
            "place": np.tile([[-1.5], [1.5]], (20, 4)).astype(np.float32),
        }
        nodes[each.name] = NodeTable(40, None, rows)
        source, target = np.nonzero(np.triu(rng.random((40, 40)) < 0.2, 1))
        edges[each.name] = EdgeTable(source, target)
    graph = Graph.build(schema, nodes, edges)
    job = published(graph, tmp_path, "dcsbm", {"node_attribute_share": 0.2}, 20, formats=("csv",))
    declared = GraphSchema.model_validate_json((job / "release" / "schema.json").read_bytes())
    assert {each.name for each in declared.node_types[0].attributes} == {"town", "place"}
    back = bundle.read_aligned(job / "release", job / "private" / "alignment.parquet")
    for each in declared.node_types:
        held = back.nodes[each.name].attributes
        left = np.array(held["town"].to_pylist()) == "x"
        numbers = np.asarray(held["place"])
        assert numbers[left].mean() < -0.5 < 0.5 < numbers[~left].mean()


@pytest.mark.parametrize("unit", [Unit.EDGE, Unit.PAIR, Unit.W_EVENT])
def test_edges_keep_all_of_epsilon_where_no_values_are_linked(unit: Unit):
    """Vectors alone meet along no relation: nothing is set aside for who meets whom."""
    window = 1 if unit is Unit.W_EVENT else None
    alone = schema_of(place(8), steps=0 if unit is Unit.EDGE else 2)
    facts = replace(facts_of(alone, 1, 0, unit), window=window)
    found = settle("auto", {}, (), facts, {"node": NODES})
    rows = found.plan.only("protected node attributes")
    assert {(each.edge_type, each.event.nano_epsilon) for each in rows.allotments} == {  # type: ignore[union-attr]
        (ROWS, NANO if unit is Unit.EDGE else NANO // 10)
    }
    edges = found.plan.without("protected node attributes").cost().nano_epsilon
    assert edges == pytest.approx(NANO if unit is Unit.EDGE else 9 * NANO // 10, abs=2)
    assert found.plan.cost().nano_epsilon == pytest.approx(NANO, abs=2)


@pytest.mark.parametrize("unit", [Unit.PAIR, Unit.NODE])
@pytest.mark.parametrize("plain", [True, False], ids=["beside a town", "alone"])
def test_vectors_of_units_that_add_up_have_gaussian_noise_where_that_is_less(unit: Unit, plain: bool):
    timed, persons = unit is Unit.PAIR, unit is Unit.NODE
    wide = schema_of(*((TOWN,) if plain else ()), place(64), protected=persons, steps=2 * timed)
    found = planned(wide, unit=unit)
    own = [each.event for each in found.plan.allotments if each.purpose == "protected node attributes"]
    noises = [each for each in own if isinstance(each, GaussianEvent)]
    assert len(noises) == 1
    cost = found.plan.cost()
    assert 3.9 * NANO < (cost.nano_epsilon or 0) <= 4 * NANO
    assert cost.delta_atto == DELTA
    pure = planned(wide, unit=unit, delta=0).plan
    (laplace,) = [each.event for each in pure.allotments if each.purpose == "protected node attributes"][:1]
    part = (getattr(laplace, "nano_epsilon", 0) * (0.5 if plain else 1)) / NANO
    assert 128 * float(noises[0].noise_multiplier) ** 2 < 2 * (128 / part) ** 2 / 2  # less than half of it


@pytest.mark.parametrize("plain", [True, False], ids=["beside a town", "alone"])
def test_whole_fits_of_pairs_lie_within_what_rows_and_pairs_paid_for(plain: bool, tmp_path: Path):
    """Under Gaussian noise of a vector: another row, and everything between two nodes, all steps at once."""
    schema = schema_of(*((TOWN,) if plain else ()), place(32, cuts=(-1, 1)), nodes=4, steps=2)
    facts = facts_of(schema, unit=Unit.PAIR)
    method = registry.get("anchored")
    params = method.Params.model_validate({"evidence": "none", "node_attribute_share": 0.2})
    plan = method.plan(params, facts)
    assert any(isinstance(each.event, GaussianEvent) for each in plan.allotments)
    assert (plan.cost().nano_epsilon or 0) <= 4 * NANO
    fitted = fit_of(method, params, facts)

    def built(own: tuple[str | None, float], edges: list[tuple[int, int, int]]) -> Graph:
        rows = [own, ("x", -2.0), ("y", 0.0), ("x", 2.0)]
        columns: dict[str, Any] = {"place": np.array([[each[1]] * 32 for each in rows], dtype=np.float32)}
        if plain:
            columns["town"] = pa.array([each[0] for each in rows], type=pa.string())
        source, target, step = (np.array(each, dtype=np.int64) for each in zip(*edges, strict=True))
        return Graph.build(
            schema, {"node": NodeTable(4, None, columns)}, {"edge": EdgeTable(source, target, step)}
        )

    some = [(0, 1, 0), (1, 2, 0), (0, 1, 1), (2, 3, 1)]
    graph = built(("x", -2.0), some)
    for number, row in enumerate([("y", 2.0), (None, 0.0), ("x", float("nan"))]):
        compared(fitted, graph, built(row, some), ROWS, tmp_path / f"row {number}")
