"""What every registered generator keeps to, whatever its method."""

import functools
import subprocess
import sys
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from pydantic import ValidationError

from core import errors
from core.graphs.graph import EdgeTable, Graph
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods import registry
from core.methods.base import FittedModel, Method, PublicFacts, no_progress
from core.privacy.accounting.divergences import rdp
from core.privacy.accounting.events import Pure
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter, require_metered
from core.privacy.accounting.plan import GuaranteeKind, PrivacyPlan
from core.privacy.entropy import public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit

NODES, STEPS, WINDOW = 30, 3, 2
NANO_EPSILON, DELTA_ATTO = 2_000_000_000, 10**12
ORDERS = (1.5, 2.0, 8.0, 64.0)

GENERATORS = list(registry.generators().values())
CASES = [
    pytest.param(generator, unit, id=f"{generator.name}-{unit}")
    for generator in GENERATORS
    for unit in sorted(generator.units)
]
GENERATOR_NAMES = (
    "module",
    "name",
    "title",
    "summary",
    "assurance",
    "Params",
    "accepts",
    "units",
    "kinds",
    "plan",
    "fit",
    "load",
)
MECHANISMS = ("laplace", "exponential", "randomised response", "ladder")
SHAPES = ("empty", "single", "complete", "random")


def schema_for(unit, generator=None, **relation) -> GraphSchema:
    """One undirected relation over NODES nodes; with time where the unit speaks of it.

    Under unit node the nodes are protected; for a method that takes relations between two types, they are
    linked with as many others.
    """
    time = TimeGrid(count=STEPS) if unit.temporal else None
    nodes = [NodeType(count=NODES, protected=unit is Unit.NODE)]
    other = {}
    if unit is Unit.NODE and generator is not None and generator.accepts.bipartite:
        nodes, other = [*nodes, NodeType(name="thing", count=NODES)], {"target": "thing"}
    edge = EdgeType(**{"temporal": unit.temporal, **other, **relation})
    return GraphSchema(node_types=tuple(nodes), edge_types=(edge,), time=time)


def facts(generator, unit, nano_epsilon=NANO_EPSILON, schema=None, **changes) -> PublicFacts:
    delta = 0 if generator.kinds == {GuaranteeKind.PURE} else DELTA_ATTO
    window = WINDOW if unit is Unit.W_EVENT else None
    known = {
        "schema": schema or schema_for(unit, generator),
        "unit": unit,
        "window": window,
        "edge_types": ("edge",),
    }
    return PublicFacts(nano_epsilon=nano_epsilon, delta_atto=delta, **{**known, **changes})


def pairs(shape: str) -> np.ndarray:
    if shape == "empty":
        return np.empty((0, 2), dtype=np.int64)
    if shape == "single":
        return np.array([[3, 17]])
    everything = np.stack(np.triu_indices(NODES, 1), axis=1)
    if shape == "complete":
        return everything
    return everything[np.random.default_rng(7).random(len(everything)) < 0.2]


def graph_of(unit, shape: str, generator=None) -> Graph:
    ends = pairs(shape)
    steps = None
    if unit.temporal:
        ends, steps = np.tile(ends, (STEPS, 1)), np.repeat(np.arange(STEPS), len(ends))
    table = EdgeTable(ends[:, 0], ends[:, 1], steps)
    return Graph.build(schema_for(unit, generator), {}, {"edge": table})


class Fitted(NamedTuple):
    """A fit by the default parameters. ``progress``: (stage, done, total) of every step, in order."""

    model: FittedModel
    plan: PrivacyPlan
    meter: Meter
    progress: list[tuple[str, int, int]]


@functools.cache
def fitted(name: str, unit: Unit, shape: str) -> Fitted:
    """Made once for all tests: what a fit leaves is not changed by looking at it, or by drawing from it."""
    generator, progress = registry.get(name), []
    params, graph = generator.Params(), graph_of(unit, shape, generator)
    plan = generator.plan(params, facts(generator, unit))
    meter = Meter(plan, MemoryRecorder())
    model = generator.fit(PrivateGraph(graph, meter), plan, params, lambda *step: progress.append(step))
    return Fitted(model, plan, meter, progress)


def fit(generator, unit, shape="random") -> Fitted:
    return fitted(generator.name, unit, shape)


def edges_of(graph: Graph) -> list[np.ndarray]:
    table = graph.edges["edge"]
    return [table.source, table.target, *([] if table.step is None else [table.step])]


@pytest.mark.parametrize(("generator", "unit"), CASES)
def test_plan_is_a_function_of_public_facts(generator, unit):
    schemas = [graph_of(unit, shape, generator).schema for shape in ("empty", "complete")]
    plans = [generator.plan(generator.Params(), facts(generator, unit, schema=s)) for s in schemas]
    assert plans[0] == plans[1]
    assert PrivacyPlan.from_json(plans[0].to_json()).digest() == plans[1].digest()
    assert plans[0].method == generator.name
    assert plans[0].kind in generator.kinds


@pytest.mark.parametrize(("generator", "unit"), CASES)
def test_plan_costs_no_more_than_was_asked(generator, unit):
    cost = generator.plan(generator.Params(), facts(generator, unit)).cost()
    if cost.kind is not GuaranteeKind.NONE:
        assert 0 < cost.nano_epsilon <= NANO_EPSILON
        assert cost.delta_atto <= DELTA_ATTO


@pytest.mark.parametrize(("generator", "unit"), CASES)
def test_half_the_epsilon_never_plans_less_noise(generator, unit):
    """Allotment by allotment; where a plan divides otherwise at so little, as of few nodes, cell by cell."""
    full, half = (
        generator.plan(generator.Params(), facts(generator, unit, nano_epsilon=nano))
        for nano in (NANO_EPSILON, NANO_EPSILON // 2)
    )
    cells = [{(each.edge_type, each.step) for each in plan.allotments} for plan in (full, half)]
    assert cells[0] == cells[1]
    for cell in cells[0]:
        parts = [
            [each for each in plan.allotments if (each.edge_type, each.step) == cell] for plan in (full, half)
        ]
        spent = [sum(rdp(each.event, ORDERS) for each in part) for part in parts]
        assert (spent[1] <= spent[0]).all()
        if [each.purpose for each in parts[0]] == [each.purpose for each in parts[1]]:
            for more, less in zip(*parts, strict=True):
                assert (rdp(less.event, ORDERS) <= rdp(more.event, ORDERS)).all()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("generator", "unit"), CASES)
def test_fit_is_metered_within_its_plan(generator, unit, shape):
    _, plan, meter, _ = fit(generator, unit, shape)
    require_metered(meter.transcript)
    assert not meter.closed
    guarantee = guarantee_of(plan, meter.transcript, 0 if plan.kind is GuaranteeKind.PURE else DELTA_ATTO)
    assert guarantee.kind in generator.kinds


@pytest.mark.parametrize(("generator", "unit"), CASES)
def test_the_plan_names_every_mechanism_that_a_fit_uses(generator, unit):
    _, plan, meter, _ = fit(generator, unit)

    def named(events) -> set[str]:
        texts = [event.mechanism.replace("_", " ") for event in events if isinstance(event, Pure)]
        return {word for word in MECHANISMS if any(word in text for text in texts)}

    assert named(entry.event for entry in meter.transcript) <= named(each.event for each in plan.allotments)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("generator", "unit"), CASES)
def test_sample_is_a_simple_graph_over_the_whole_universe(generator, unit, shape):
    model = fit(generator, unit, shape).model
    assert isinstance(model, FittedModel)
    sampled = model.sample(public_generator(1), no_progress)
    assert sampled.schema == schema_for(unit, generator)
    assert sampled.nodes["node"].count == NODES
    rows = np.stack(edges_of(sampled), axis=1)
    assert len(np.unique(rows, axis=0)) == len(rows)
    assert not sampled.schema.edge_types[0].homogeneous or (rows[:, 0] < rows[:, 1]).all()
    assert ((rows[:, :2] >= 0) & (rows[:, :2] < NODES)).all()


@pytest.mark.parametrize(("generator", "unit"), CASES)
def test_a_saved_model_samples_alone(generator, unit, tmp_path):
    """Neither the graph nor the meter is there any more; the same draw gives the same graph."""
    model, _, meter, _ = fit(generator, unit)
    metered = len(meter.transcript)
    model.save(tmp_path / "model")
    assert not [path for path in tmp_path.rglob("*") if path.suffix in {".pkl", ".pickle", ".pt"}]
    loaded = generator.load(tmp_path / "model")
    first = model.sample(public_generator(5), no_progress)
    again = loaded.sample(public_generator(5), no_progress)
    assert len(meter.transcript) == metered
    for ours, theirs in zip(edges_of(first), edges_of(again), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    loaded.sample(public_generator(6), no_progress)


@pytest.mark.parametrize(("generator", "unit"), CASES)
def test_progress_does_not_depend_on_the_data(generator, unit):
    seen = []
    for shape in ("empty", "complete"):
        done = fit(generator, unit, shape)
        drawing = []
        done.model.sample(public_generator(1), lambda *step, drawing=drawing: drawing.append(step))
        seen.append((done.progress, drawing))
    assert seen[0][0]
    assert seen[0] == seen[1]


@pytest.mark.parametrize(("generator", "unit"), CASES)
def test_refuses_what_it_does_not_accept(generator, unit):
    params = generator.Params()

    def refused(**changes):
        with pytest.raises(errors.NotAccepted) as found:
            generator.plan(params, facts(generator, unit, **changes))
        assert found.value.members["field"]

    refused(edge_types=("nothing",))
    refused(edge_types=())
    refused(edge_types=("edge", "edge"))
    refused(nano_epsilon=0)
    refused(schema=schema_for(unit, generator, public=True))
    # A unit with time on a graph without, and the other way round; unit node where nobody is protected.
    refused(schema=schema_for(Unit.EVENT if unit is Unit.EDGE else Unit.EDGE))
    if unit is Unit.W_EVENT:
        refused(window=None)
    if not generator.accepts.directed:
        refused(schema=schema_for(unit, directed=True, **({"target": "node"} if unit is Unit.NODE else {})))
    if not generator.accepts.bipartite:
        schema = schema_for(unit)
        kinds = (*schema.node_types, NodeType(name="item", count=4))
        relation = schema.edge_types[0].model_copy(update={"target": "item"})
        refused(schema=GraphSchema(node_types=kinds, edge_types=(relation,), time=schema.time))


@pytest.mark.parametrize("generator", GENERATORS, ids=lambda generator: generator.name)
def test_refuses_other_units_and_unknown_parameters(generator):
    for unit in set(Unit) - generator.units:
        with pytest.raises(errors.NotAccepted) as refused:
            generator.plan(generator.Params(), facts(generator, unit))
        assert refused.value.members["field"] == "unit"
        takes = [each.name for each in GENERATORS if unit in each.units]
        assert unit is not Unit.NODE or all(name in refused.value.message for name in takes)
    with pytest.raises(ValidationError):
        generator.Params.model_validate({"no_such_parameter": 1})


def test_the_registry_imports_no_heavy_library():
    code = (
        "import sys; from core.methods import registry; assert registry.generators(); "
        "print([m for m in ('torch', 'numba', 'networkit', 'pyarrow', 'scipy') "
        "if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_the_registry_refuses_a_name_used_twice():
    one = GENERATORS[0]
    with pytest.raises(TypeError, match="two generators are named"):
        registry.collect([("a", one), ("b", one)])


@pytest.mark.parametrize(
    "missing",
    GENERATOR_NAMES,
)
def test_the_registry_refuses_an_incomplete_generator(missing):
    whole = {name: getattr(GENERATORS[0], name) for name in GENERATOR_NAMES}
    assert registry.collect([("whole", Method(**whole))])
    with pytest.raises(TypeError, match="it must be a Method"):
        registry.collect([("like one", SimpleNamespace(**whole))])
    with pytest.raises(TypeError, match=missing):
        registry.collect([("emptied", Method(**whole | {missing: None}))])
    del whole[missing]
    with pytest.raises(TypeError, match=missing):
        registry.collect([("part", Method(**whole))])


def test_the_registry_refuses_a_module_without_a_generator():
    with pytest.raises(TypeError, match="binds no GENERATOR"):
        registry.collect([("nothing", None)])


def test_an_unknown_method_is_an_error():
    with pytest.raises(errors.UnknownMethod):
        registry.get("no-such-method")
    assert all(registry.get(each.name) is each for each in GENERATORS)
