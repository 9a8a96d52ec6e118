"""Whole fits that pay for directions: their plan, what they read, what a model keeps and what draws show."""

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld.common import DifferentialPrivacyParameters

from core import errors
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods.anchored import GENERATOR, AnchoredParams, allotted, directions
from core.methods.anchored.allotted import granted
from core.methods.anchored.passes import DIRECTIONS
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.events import GaussianEvent, Pure
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter, require_metered
from core.privacy.accounting.plan import GuaranteeKind
from core.privacy.entropy import public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit

NANO, DELTA = 10**9, 10**12
SIZES = {"user": 200, "film": 120, "genre": 2}
STEPS = 2
SEES = EdgeType(name="sees", source="user", target="film", temporal=True, once=True)
HAS = EdgeType(name="has", source="film", target="genre", functional=True)
OF = EdgeType(name="of", source="genre", target="film")
KNOWS = EdgeType(name="knows", source="user", target="user", temporal=True)
LIVES = EdgeType(name="lives", source="user", target="genre", temporal=True, functional=True)
SPECTRAL = AnchoredParams(spectral=True)


def schema_of(*relations, sizes=SIZES):
    kinds = tuple(NodeType(name=name, count=size) for name, size in sizes.items())
    time = TimeGrid(count=STEPS) if any(each.temporal for each in relations) else None
    return GraphSchema(node_types=kinds, edge_types=relations, time=time)


def facts(schema, epsilon=4.0, unit=Unit.EVENT, window=None, delta=DELTA):
    names = tuple(each.name for each in schema.edge_types)
    return PublicFacts(schema, unit, window, round(epsilon * NANO), delta, names)


def planted(*relations) -> Graph:
    """Users see films of one of two tastes, three times of four; a film's genre tells its taste."""
    rng = np.random.default_rng(0)
    source, target = rng.integers(0, SIZES["user"], 9_000), rng.integers(0, SIZES["film"] // 2, 9_000) * 2
    target += (source + (rng.random(9_000) < 0.25)) % 2
    _, kept = np.unique(source * SIZES["film"] + target, return_index=True)
    films = np.arange(SIZES["film"])
    tables = {
        "sees": EdgeTable(source[kept], target[kept], np.arange(len(kept)) % STEPS),
        "has": EdgeTable(films, films % 2),
        "of": EdgeTable(films % 2, films),
        "knows": EdgeTable(np.arange(50), np.arange(50) + 50, np.arange(50) % STEPS),
        "lives": EdgeTable(np.arange(50), np.arange(50) % 2, np.arange(50) % STEPS),
    }
    chosen = {each.name: tables[each.name] for each in relations}
    return Graph.build(schema_of(*relations), {name: NodeTable(size) for name, size in SIZES.items()}, chosen)


def fitted(graph, epsilon=4.0, **params):
    chosen = AnchoredParams(spectral=True, **params)
    plan = GENERATOR.plan(chosen, facts(graph.schema, epsilon))
    meter = Meter(plan, MemoryRecorder())
    model = GENERATOR.fit(PrivateGraph(graph, meter), plan, chosen, no_progress)
    require_metered(meter.transcript)
    found = guarantee_of(plan, meter.transcript, DELTA)
    assert found.kind is GuaranteeKind.APPROXIMATE
    assert found.epsilon <= epsilon
    return model, meter


def same_taste(graph) -> float:
    table = graph.edges["sees"]
    return float(((table.source + table.target) % 2 == 0).mean())


def drawn(model, seed=1) -> Graph:
    return model.sample(public_generator(seed), no_progress)


def test_the_plan_pays_for_directions_out_of_the_cell():
    plan = GENERATOR.plan(SPECTRAL, facts(schema_of(SEES, HAS, KNOWS, LIVES)))
    found = granted(plan)
    assert found["sees"].steps == (0, 1)
    assert found["sees"].nano_epsilon == 4 * NANO - int(4 * NANO * allotted.SHARE)
    assert found["sees"].directions is not None
    for name in ("has", "knows", "lives"):
        assert found[name].nano_epsilon == 4 * NANO
        assert found[name].directions is None
    assert {each.edge_type for each in plan.allotments if each.purpose == DIRECTIONS} == {"sees"}
    cost = plan.cost()
    assert cost.kind is GuaranteeKind.APPROXIMATE
    assert 3.99 * NANO < cost.nano_epsilon <= 4 * NANO
    assert cost.delta_atto == DELTA


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_another_accountant_finds_no_more(epsilon):
    """Privacy loss distributions of a cell's own events: closer than Renyi orders, and never above them."""
    found = granted(GENERATOR.plan(SPECTRAL, facts(schema_of(SEES), epsilon)))["sees"]
    assert found.directions is not None
    grid = {"value_discretization_interval": 1e-4}
    rest = DifferentialPrivacyParameters(found.nano_epsilon / NANO, 0.0)
    passes = pld.from_gaussian_mechanism(float(found.directions), **grid).self_compose(4)
    loss = passes.compose(pld.from_privacy_parameters(rest, **grid))
    assert 0.5 * epsilon < loss.get_epsilon_for_delta(DELTA / 1e18) <= epsilon


def test_without_them_a_plan_is_pure_whatever_the_delta():
    plan = GENERATOR.plan(AnchoredParams(), facts(schema_of(SEES, HAS)))
    assert all(isinstance(each.event, Pure) for each in plan.allotments)
    assert plan.cost().delta_atto == 0


@pytest.mark.parametrize(
    ("schema", "changes", "field"),
    [
        (schema_of(SEES), {"delta": 0}, "delta"),
        (schema_of(SEES), {"unit": Unit.PAIR}, "unit"),
        (schema_of(SEES), {"unit": Unit.W_EVENT, "window": 2}, "unit"),
        (schema_of(HAS), {"unit": Unit.EDGE}, "unit"),
        (schema_of(KNOWS, LIVES, HAS), {}, "spectral"),
        (schema_of(SEES, sizes=SIZES | {"film": allotted.MOST_NODES + 1}), {}, "spectral"),
    ],
)
def test_what_has_no_directions_is_refused(schema, changes, field):
    with pytest.raises(errors.NotAccepted) as found:
        GENERATOR.plan(SPECTRAL, facts(schema, **changes))
    assert found.value.members["field"] == field


def test_a_universe_from_a_node_list_is_checked_before_anything_is_read():
    graph = planted(SEES)
    kinds = tuple(kind.model_copy(update={"count": None}) for kind in graph.schema.node_types)
    schema = graph.schema.model_copy(update={"node_types": kinds})
    nodes = dict(graph.nodes) | {"film": NodeTable(allotted.MOST_NODES + 1)}
    large = Graph.build(schema, nodes, dict(graph.edges))
    plan = GENERATOR.plan(SPECTRAL, facts(schema))
    meter = Meter(plan, MemoryRecorder())
    with pytest.raises(errors.NotAccepted):
        GENERATOR.fit(PrivateGraph(large, meter), plan, SPECTRAL, no_progress)
    assert not meter.transcript


def test_every_step_pays_for_every_pass():
    _, meter = fitted(planted(SEES, HAS))
    passes = [entry for entry in meter.transcript if isinstance(entry.event, GaussianEvent)]
    assert len(passes) == 4 * STEPS
    assert {entry.edge_type for entry in passes} == {"sees"}


@pytest.mark.parametrize("layer", [HAS, OF], ids=["from-films", "to-films"])
@pytest.mark.parametrize("evidence", ["auto", "lazy"])
def test_draws_follow_the_tastes_that_degrees_do_not_tell(layer, evidence):
    graph = planted(SEES, layer)
    model, _ = fitted(graph, 6.0, evidence=evidence)
    synthetic = drawn(model)
    assert same_taste(graph) > 0.7
    assert same_taste(synthetic) > 0.67
    table = synthetic.edges["sees"]
    pairs = table.source.astype(np.int64) * SIZES["film"] + table.target
    assert len(np.unique(pairs)) == len(pairs) > 0
    model.cells["sees", 0]["score_source"][:] = 0.0
    assert same_taste(drawn(model)) < 0.66  # what evidence alone tells


@pytest.mark.parametrize("evidence", [pytest.param("none", marks=pytest.mark.audits), "materialised", "lazy"])
def test_a_stored_model_draws_the_same_graphs(tmp_path, evidence):
    model, _ = fitted(planted(SEES, HAS, KNOWS, LIVES), evidence=evidence)
    model.save(tmp_path / "model")
    loaded = GENERATOR.load(tmp_path / "model")
    assert drawn(model, 4).equals(drawn(loaded, 4))
    assert not drawn(model, 4).equals(drawn(loaded, 5))
    held = {key for key, columns in loaded.cells.items() if len(columns["score_source"])}
    assert held == {("sees", 0)}


def test_an_empty_graph_has_directions_too():
    empty = Graph.build(schema_of(SEES, HAS), {name: NodeTable(size) for name, size in SIZES.items()}, {})
    model, _ = fitted(empty)
    assert drawn(model).edges["sees"].count < 2_000


def test_layers_with_many_classes_are_put_down_to_few_numbers():
    """Films of one class start alike, whatever the number of classes."""
    sizes = {"user": 30, "film": 40, "class": directions.MOST_COLUMNS + 1}
    kept = EdgeType(name="is", source="film", target="class", functional=True)
    schema = schema_of(SEES.model_copy(update={"once": False}), kept, sizes=sizes)
    films = np.arange(40)
    tables = {"is": EdgeTable(films, films % 4)}
    graph = Graph.build(schema, {name: NodeTable(size) for name, size in sizes.items()}, tables)
    plan = GENERATOR.plan(AnchoredParams(), facts(schema, 60.0))
    private = PrivateGraph(graph, Meter(plan, MemoryRecorder()))
    model = GENERATOR.fit(private, plan, AnchoredParams(), no_progress)
    rng = np.random.default_rng(0)
    (layer,) = directions._layers(private, "film", model.cells, AnchoredParams(), rng)
    assert layer.shape == (40, 8)
    assert len(np.unique(layer.round(9), axis=0)) == 4


def test_a_layer_inside_the_targets_type_is_seen_from_both_ends():
    sizes = {"user": 30, "film": 12}
    alike = EdgeType(name="alike", source="film", target="film")
    schema = schema_of(SEES, alike, sizes=sizes)
    tables = {"alike": EdgeTable(np.arange(6), np.arange(6) + 6)}
    graph = Graph.build(schema, {name: NodeTable(size) for name, size in sizes.items()}, tables)
    params = AnchoredParams(evidence="none")
    plan = GENERATOR.plan(params, facts(schema, 60.0))
    private = PrivateGraph(graph, Meter(plan, MemoryRecorder()))
    model = GENERATOR.fit(private, plan, params, no_progress)
    (layer,) = directions._layers(private, "film", model.cells, params, np.random.default_rng(0))
    assert (layer == layer.T).all()
    assert layer.sum(axis=1).tolist() == [1] * 12
