"""A structure for each relation under one plan: what auto takes and carries, whole fits, and their proofs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from core.errors import InvalidInput, NotAccepted, UnknownMethod
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods import registry
from core.methods._shared.composition.params import ComposedParams, methods_of
from core.methods._shared.composition.parts import facts_of, parts_in, plan_of_part
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from core.publishing.settle import Settled, settle
from tests.support.groups import in_part
from tests.support.neighbours import compared, fit_of, toggled
from tests.support.schema_grid import EMBEDDING, LIVES, WINDOW, Shape, counts_of, graph_of, shapes

NANO = 10**9
ROOT = Path(__file__).parents[3]
EVERY = [shape for shape in shapes() if shape.unit is not Unit.NODE]
OF_PERSONS = [shape for shape in shapes() if shape.unit is Unit.NODE]
SOME = 16


def some(of: list[Shape], count: int, seed: int) -> np.ndarray:
    """Draw so many of the shapes, the same each time."""
    return np.random.default_rng(seed).choice(np.array(of, object), count, replace=False)


def settled(shape: Shape, **parameters: Any) -> tuple[PublicFacts, Settled]:
    facts = shape.facts()
    return facts, settle("auto", parameters, (), facts, counts_of(facts))


def test_auto_takes_every_schema_and_carries_all_that_it_declares():
    carried: Counter[Unit] = Counter()
    for shape in EVERY:
        facts, found = settled(shape)
        cost = found.plan.cost()
        assert (cost.nano_epsilon or 0) <= facts.nano_epsilon, shape
        assert cost.delta_atto <= facts.delta_atto, shape
        assert found.generator.synthesised(found.params) == shape.carries_all, shape
        carried[shape.unit] += 1
    assert carried == {Unit.EDGE: 480, Unit.EVENT: 480, Unit.W_EVENT: 480, Unit.PAIR: 480}


def test_under_unit_node_auto_takes_every_schema_and_carries_all_that_it_declares():
    """960 shapes: rows of persons and values of edges, with a declared bound and without, in every one."""
    for shape in OF_PERSONS:
        facts, found = settled(shape)
        cost = found.plan.cost()
        assert (cost.nano_epsilon or 0) <= facts.nano_epsilon, shape
        assert cost.delta_atto <= facts.delta_atto, shape
        assert found.generator.synthesised(found.params) == shape.carries_all, shape
    assert len(OF_PERSONS) == 960


@pytest.mark.parametrize("unit", list(Unit))
def test_a_vector_without_bounds_is_left_out_with_the_reason(unit: Unit):
    shape = Shape("ties", unit is not Unit.EDGE, "none", "a vector", unit, False, False)
    facts = shape.facts()
    bare = EMBEDDING.model_copy(update={"bounds": None, "cuts": (), "length": None})
    kinds = [each.model_copy(update={"attributes": (LIVES, bare)}) for each in facts.schema.node_types]
    facts = replace(facts, schema=facts.schema.model_copy(update={"node_types": tuple(kinds)}))
    found = settle("auto", {}, (), facts, counts_of(facts))
    assert "embedding is left out: no noise hides a value that may be any number" in found.chosen_because
    assert found.generator.carries_nodes(found.params)


def checked_release(shape: Shape, folder: Path) -> None:
    """Fit and draw the shape: every declared column is there, and the meter keeps to the plan."""
    facts, found = settled(shape)
    generator, params = found.generator, found.params
    meter = Meter(found.plan, MemoryRecorder())
    model = generator.fit(PrivateGraph(graph_of(facts), meter), found.plan, params, no_progress)
    assert guarantee_of(found.plan, meter.transcript, facts.delta_atto).epsilon <= 1
    drawn = model.sample(public_generator(5), no_progress)
    carried = generator.synthesised(params)
    for relation in facts.schema.edge_types:
        table = drawn.edges[relation.name]
        if not carried["values"]:
            assert table.values is None
            continue
        assert set(table.values.columns if table.values else ()) == {a.name for a in relation.attributes}
        for attribute in relation.attributes:
            column, (low, high) = table.values.columns[attribute.name], attribute.range
            assert np.all((low <= column) & (column <= high))
    for kind in facts.schema.node_types:
        declared = {a.name for a in kind.attributes if a.protection == "protected"}
        columns = drawn.nodes[kind.name].attributes
        assert set(columns) == (declared if carried["node_values"] else set())
        if "embedding" in columns:
            assert columns["embedding"].shape == (kind.count, 4)
            assert np.abs(columns["embedding"]).max() <= 8
    model.save(folder)
    again = generator.load(folder).sample(public_generator(5), no_progress)
    for name, table in drawn.edges.items():
        assert np.array_equal(table.source, again.edges[name].source)
        assert np.array_equal(table.target, again.edges[name].target)


@pytest.mark.parametrize("shape", [*some(EVERY, SOME, 11), *some(OF_PERSONS, SOME // 2, 13)])
def test_a_release_has_every_declared_column(shape: Shape, tmp_path: Path):
    checked_release(shape, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [*some(EVERY, 200, 12), *some(OF_PERSONS, 80, 14)])
def test_any_release_has_every_declared_column(shape: Shape, tmp_path: Path):
    checked_release(shape, tmp_path)


def two_relations(
    epsilon: float = 1.0, *, timed: bool = False, unit: Unit = Unit.EDGE, **of_edges: Any
) -> PublicFacts:
    """Ties between persons and what they read; persons have a town."""
    kinds = (
        NodeType(name="person", count=60, attributes=(LIVES,)),
        NodeType(name="book", count=40),
    )
    relations = (
        EdgeType(name="knows", source="person", target="person", temporal=timed, **of_edges),
        EdgeType(name="reads", source="person", target="book", temporal=timed),
    )
    time = TimeGrid(start=0, width=1, count=4) if timed else None
    schema = GraphSchema(node_types=kinds, edge_types=relations, time=time)
    window = 2 if unit is Unit.W_EVENT else None
    return PublicFacts(schema, unit, window, int(epsilon * NANO), 0, ("knows", "reads"))


def asked(method: Any, facts: PublicFacts, **parameters: Any) -> Settled:
    return settle(method, parameters, (), facts, counts_of(facts))


def structures(found: Settled) -> dict[str, str]:
    assert isinstance(found.params, ComposedParams)
    return {name: each.method for name, each in found.params.structures.items()}


def test_the_example_of_flights_carries_its_delays_with_nothing_named():
    """What ``make demo`` asks for: an epsilon, and no method."""
    example = ROOT / "examples" / "us-flights"
    schema = GraphSchema.model_validate_json((example / "schema.json").read_text())
    nodes = Counter(row.split(",")[1] for row in (example / "nodes.csv").read_text().splitlines()[1:])
    facts = PublicFacts(schema, Unit.EVENT, None, NANO, 0, ("flight",))
    found = settle("auto", {}, (), facts, {name: nodes[name] for name in ("airport", "state")})
    assert found.generator.synthesised(found.params)["values"]
    assert [each.name for each in found.released.edge_type("flight").attributes] == ["delay"]
    assert found.plan.cost().nano_epsilon == NANO


def test_a_map_names_the_structure_of_each_relation():
    facts = two_relations()
    named = asked({"knows": {"method": "dcsbm", "parameters": {"preset": "small"}}, "*": "auto"}, facts)
    assert structures(named) == {"knows": "dcsbm", "reads": "anchored"}
    assert named.params.structures["knows"].params.preset == "small"
    stored = named.params.model_dump(mode="json")
    assert methods_of("composed", stored, facts.edge_types) == ("anchored", "dcsbm")
    assert methods_of("composed", stored, ("knows", "likes")) == ("composed", "dcsbm")
    assert methods_of("composed", {"structures": {}}, ("knows",)) == ("composed",)
    # Named by itself, it is stored with the structure of every relation, and of no other.
    bare = asked("composed", facts).params
    assert {name: each.method for name, each in bare.structures.items()} == dict.fromkeys(
        ("knows", "reads"), "anchored"
    )
    with pytest.raises(NotAccepted, match="'likes' is no relation that is asked for"):
        asked("composed", facts, structures={"likes": {"method": "dcsbm"}})
    assert methods_of("dgg", {}, ("knows",)) == ("dgg",)
    # One method for all relations is that method, and no composition of one.
    alone = asked({"*": "anchored"}, facts, carry=False)
    assert alone.generator.name == "anchored"
    assert alone.plan.digest() == asked("anchored", facts).plan.digest()


def test_what_is_carried_can_be_left_out_or_weighed():
    facts = two_relations()
    assert asked("auto", facts).params.node_attribute_share == 0.1
    assert not _carried(*_made(asked("auto", facts, carry=False)))["node_values"]
    assert not _carried(*_made(asked("auto", facts, node_attribute_share=0)))["node_values"]
    assert asked("auto", facts, node_attribute_share=0.3).params.node_attribute_share == 0.3
    with pytest.raises(InvalidInput, match="preset is a method's"):
        asked("auto", facts, preset="small")


def _made(found: Settled) -> tuple[Any, Any]:
    return found.generator, found.params


@pytest.mark.parametrize(
    ("method", "error", "told"),
    [
        ({"likes": "dcsbm"}, NotAccepted, "no relation that is asked for; there are knows, reads"),
        ({"knows": "nothing"}, UnknownMethod, "no method named 'nothing'"),
        ({"knows": "composed"}, InvalidInput, "no part of another"),
        ({"knows": {"method": "dcsbm", "parameters": {"grops": 2}}}, InvalidInput, "grops"),
        ({"knows": {"name": "dcsbm"}}, InvalidInput, "give a method's name"),
        ({"knows": {"method": "auto", "parameters": {"preset": "small"}}}, InvalidInput, "name it in place"),
        ({"reads": "dcsbm"}, NotAccepted, "'reads': dcsbm takes relations between nodes of one type only"),
        ({"knows": "dgg"}, NotAccepted, "dgg does not draw edges by protected attributes"),
        (
            {"knows": {"method": "dcsbm", "parameters": {"attribute_share": 0.2}}},
            InvalidInput,
            "belongs to all",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_with_the_reason(method: Any, error: type[Exception], told: str):
    with pytest.raises(error, match=told):
        asked(method, two_relations(), node_attribute_share=0.1)


def test_a_policy_is_asked_for_every_structure():
    facts = two_relations()
    with pytest.raises(NotAccepted, match="does not allow dcsbm"):
        settle({"knows": "dcsbm"}, {}, (), facts, counts_of(facts), {"anchored"})
    assert settle("auto", {}, (), facts, counts_of(facts), {"anchored"}).generator.name == "anchored"


def test_timed_relations_share_one_schedule():
    facts = two_relations(timed=True, unit=Unit.W_EVENT)
    with pytest.raises(NotAccepted, match="divide a window differently"):
        asked({"knows": "keyframe", "reads": "anchored"}, facts, carry=False)
    even = structures(asked("auto", facts, carry=False))
    assert even["reads"] == "anchored"
    assert "keyframe" not in even.values()


def test_a_relation_has_the_epsilon_of_its_cells():
    pair = two_relations(timed=True, unit=Unit.PAIR)
    assert facts_of(pair, ("knows",)).nano_epsilon == NANO // 8 * 4
    window = two_relations(timed=True, unit=Unit.W_EVENT)
    assert facts_of(window, ("knows",)).nano_epsilon == NANO
    assert facts_of(two_relations(), ("reads",)).nano_epsilon == NANO
    one = replace(window, edge_types=("knows",))
    assert facts_of(one, ("knows",)) is one


def test_relations_of_a_live_stream_share_one_method():
    schema = GraphSchema(
        node_types=(NodeType(name="person", count=60),),
        edge_types=tuple(
            EdgeType(name=name, source="person", target="person", temporal=True) for name in ("a", "b")
        ),
        time=TimeGrid(start=0, width=1, count=1),
    )
    live = PublicFacts(schema, Unit.W_EVENT, 5, NANO, 0, ("a", "b"), 7)
    assert asked("auto", live).generator.name == "keyframe"
    with pytest.raises(NotAccepted, match="share one schedule, however long"):
        asked({"a": "keyframe", "b": "psgraph"}, live)


def live(shape: Shape) -> PublicFacts:
    """The facts of one snapshot of a live stream of that shape."""
    facts = shape.facts()
    schema = facts.schema.model_copy(update={"time": TimeGrid(start=0, width=10, count=1)})
    return replace(facts, schema=schema, tick=7)


LIVE = [each for each in EVERY if each.unit is Unit.W_EVENT and each.bounded and each.delta]


def test_live_streams_of_every_schema_carry_values_and_say_that_rows_are_left_out():
    for shape in LIVE:
        facts = live(shape)
        found = asked("auto", facts)
        assert (found.plan.cost().nano_epsilon or 0) * WINDOW <= facts.nano_epsilon, shape
        carried = found.generator.synthesised(found.params)
        assert carried == {"values": shape.values != "none", "node_values": False, "vectors": False}, shape
        rows = shape.rows in ("protected", "a vector")
        assert ("in a live stream none are released" in (found.chosen_because or "")) == rows, shape
        if rows:
            with pytest.raises(NotAccepted, match=r"same row in every step.*publish the finished graph"):
                asked("auto", facts, node_attribute_share=0.1)
    assert len(LIVE) == 120


@pytest.mark.parametrize("unit", [Unit.EVENT, Unit.PAIR])
def test_key_frames_stand_beside_even_steps_where_cells_are_alone(unit: Unit):
    facts = two_relations(timed=True, unit=unit)
    found = asked({"knows": "keyframe", "reads": "anchored"}, facts, carry=False)
    assert NANO - 20 <= (found.plan.cost().nano_epsilon or 0) <= NANO
    assert found.plan.cells.keys() == {(name, step) for name in facts.edge_types for step in range(4)}


def test_nodes_are_dealt_values_once_for_all_relations():
    facts = two_relations(60.0)
    rng = np.random.default_rng(3)
    town = rng.integers(0, 3, 60)
    same = town[:, None] == town[None, :]
    source, target = np.nonzero(np.triu(rng.random((60, 60)) < np.where(same, 0.5, 0.02), 1))
    reader, book = np.nonzero(rng.random((60, 40)) < np.where(town[:, None] == np.arange(40) % 3, 0.5, 0.02))
    persons = NodeTable(60, None, {"town": pa.array(np.array(["x", "y", "z"])[town].tolist())})
    edges = {"knows": EdgeTable(source, target), "reads": EdgeTable(reader, book)}
    graph = Graph.build(facts.schema, {"person": persons, "book": NodeTable(40)}, edges)
    named = {"knows": "dcsbm", "reads": {"method": "anchored", "parameters": {"evidence": "none"}}}
    found = asked(named, facts)
    meter = Meter(found.plan, MemoryRecorder())
    model = found.generator.fit(PrivateGraph(graph, meter), found.plan, found.params, no_progress)
    drawn = model.sample(public_generator(4), no_progress)
    drawn_town = np.array(drawn.nodes["person"].attributes["town"].to_pylist())
    knows = drawn.edges["knows"]
    alike = np.mean(drawn_town[knows.source] == drawn_town[knows.target])
    assert alike > 0.6  # by chance a third
    reads = [each for each in meter.measurements if each.query == "node_values"]
    assert len(reads) == 1


@pytest.mark.parametrize("relation", ["knows", "reads"])
def test_whole_fits_of_neighbours_differ_by_what_their_cell_paid_for(relation: str, tmp_path: Path):
    """An edge more or less in either relation moves answers of its own cell alone, within its grant."""
    kinds = (NodeType(name="person", count=4), NodeType(name="book", count=3))
    relations = (
        EdgeType(name="knows", source="person", target="person"),
        EdgeType(name="reads", source="person", target="book"),
    )
    schema = GraphSchema(node_types=kinds, edge_types=relations)
    facts = PublicFacts(schema, Unit.EDGE, None, 2 * NANO, 0, ("knows", "reads"))
    params = ComposedParams.model_validate(
        {"structures": {"knows": {"method": "dgg"}, "*": {"method": "tmf"}}}
    )
    edges = {
        "knows": EdgeTable(np.array([0, 1]), np.array([1, 2])),
        "reads": EdgeTable(np.array([0, 3]), np.array([2, 0])),
    }
    graph = Graph.build(schema, {"person": NodeTable(4), "book": NodeTable(3)}, edges)
    fitted = fit_of(registry.get("composed"), params, facts)
    for place, other in enumerate(toggled(graph, relation)):
        compared(fitted, graph, other, relation, tmp_path / str(place))


TOGETHER = [
    shape
    for shape in shapes()
    if shape.unit is Unit.NODE
    and shape.types == "ties and things"
    and not shape.timed
    and shape.rows == "none"
]


@in_part("shape", [each for each in TOGETHER if each.bounded or each.values == "none"], 4)
def test_persons_and_things_are_released_under_one_plan(shape: Shape, tmp_path: Path):
    found = settled(shape)[1]
    assert structures(found) == {"r0": "projection", "r1": "profiles"}
    assert found.plan.kind == ("approximate" if shape.delta else "pure")
    checked_release(shape, tmp_path)


def test_relations_of_persons_divide_epsilon_and_one_may_spend_a_delta():
    shape = next(each for each in TOGETHER if each.delta and each.values == "none")
    facts, found = settled(shape)
    own = [facts_of(facts, (name,)) for name in ("r0", "r1")]
    assert [each.nano_epsilon for each in own] == [int(NANO * 0.3), int(NANO * 0.7)]
    assert [each.beside_nano_epsilon for each in own] == [NANO - int(NANO * 0.3), NANO - int(NANO * 0.7)]
    parts = parts_in(found.params, facts.schema, found.plan)
    plans = [plan_of_part(found.plan, facts.schema, part) for part in parts]
    assert [plan.kind for plan in plans] == ["pure", "approximate"]
    assert sum(len(plan.allotments) for plan in plans) == len(found.plan.allotments)
    # Both are converted together, and cost no more than was asked for.
    assert plans[0].cost().nano_epsilon + plans[1].cost().nano_epsilon <= NANO
    assert (found.plan.cost().nano_epsilon or 0) <= NANO
    twice = {"r0": "profiles", "r1": {"method": "profiles", "parameters": {"degree_share": 0.2}}}
    things = Shape("two sorts of things", False, "none", "none", Unit.NODE, False, True).facts()
    with pytest.raises(NotAccepted, match="at most 1 of the structures may spend a delta"):
        asked(twice, things)
    alike = asked({"*": "profiles"}, things)
    assert alike.generator.name == "profiles"


def test_each_structure_pays_for_its_own_values_under_unit_node():
    facts = next(each for each in TOGETHER if each.values == "several" and each.bounded).facts()
    found = asked("auto", facts)
    assert {each.params.attribute_share for each in found.params.structures.values()} == {0.25}
    assert not any(
        asked("auto", facts, carry=False).plan.allotments[i].purpose.endswith("carry") for i in (0, 1)
    )
    with pytest.raises(NotAccepted, match="'r0' sets nothing aside for it"):
        asked(
            {"r0": {"method": "projection", "parameters": {"attribute_share": 0}}, "*": "auto"},
            facts,
            attribute_share=0.2,
        )
    params = found.params.model_copy(update={"attribute_share": 0.2})
    with pytest.raises(NotAccepted, match="each structure pays for what its edges carry"):
        found.generator.plan(params, facts)


def _carried(generator: Any, params: Any) -> dict[str, bool]:
    found: dict[str, bool] = generator.synthesised(params)
    return found
