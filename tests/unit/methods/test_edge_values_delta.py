"""What edges carry beside structures with a delta: what both cost, what is spent, what is refused."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import InvalidInput, NotAccepted
from core.graphs.graph import EdgeTable, EdgeValues, Graph
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType, Protection, TimeGrid
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.methods import registry
from core.methods.anchored import allotted
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.accountant import Accountant
from core.privacy.accounting.events import parts
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import GuaranteeKind, PrivacyPlan
from core.privacy.entropy import public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from core.publishing.checks import params_of
from core.publishing.notices import value_notices
from papers.dpggan import budget as of_links
from papers.hetesdg import budget as of_types
from papers.thepuff import budget as of_walks

NANO, DELTA = 10**9, 10**13
STARS = EdgeAttribute(name="stars", kind="integer", bounds=(1, 5), aggregate="max")
SORT = EdgeAttribute(name="sort", kind="category", categories=("a", "b", "c"), aggregate="max")
KEPT = [each.model_copy(update={"aggregate": None}) for each in (STARS, SORT)]

SPECTRAL = {"spectral": True, "evidence": "none"}
SHORT = {"epochs": 1, "most_batches": 1, "utility": True, "utility_steps": 2, "walks_per_edge": 0.3}
LINKS = {"learn": "link-sgd"}
PREDICTOR = {"learn": "link-sgd", "steps": 3}
WITH_A_DELTA = [
    ("anchored", SPECTRAL, "timed"),
    ("thepuff", SHORT, "timed"),
    ("thepuff", SHORT, "undirected"),
    ("dpggan", LINKS, "undirected"),
    ("dpgvae", LINKS, "undirected"),
    ("hetesdg", PREDICTOR, "undirected"),
    ("hetedp", PREDICTOR, "undirected"),
]
PURE = [("dpggan", {}), ("dpgvae", {"learn": "evidence"}), ("hetesdg", {}), ("hetedp", {})]


def graph_of(form: str, **declared: Any) -> Graph:
    """People who rate items in two steps, or one another; whoever is even is generous."""
    timed = form == "timed"
    relation = EdgeType(
        name="rates",
        target="item" if timed else "node",
        temporal=timed,
        attributes=declared.pop("attributes", (STARS, SORT)),
        **declared,
    )
    kinds = (NodeType(count=40), *([NodeType(name="item", count=30)] if timed else []))
    schema = GraphSchema(node_types=kinds, edge_types=(relation,), time=TimeGrid(count=2) if timed else None)
    rng = np.random.default_rng(3)
    source, target = np.divmod(np.arange(1200), 30) if timed else np.triu_indices(40, 1)
    kept = rng.random(len(source)) < np.where(source % 2 == target % 2, 0.4, 0.1)
    source, target = source[kept], target[kept]
    stars = (1 + (source % 2) * 3 + target % 2).astype(np.int32)
    columns = {"stars": stars, "sort": ((source + target) % 3).astype(np.int32)}
    step = rng.integers(0, 2, len(source)) if timed else None
    return Graph.build(schema, {}, {"rates": EdgeTable(source, target, step, EdgeValues(columns))})


def facts(of: Graph, nano: int, delta: int = DELTA, **changes: Any) -> PublicFacts:
    unit = Unit.EVENT if of.schema.temporal else Unit.EDGE
    return PublicFacts(of.schema, unit, None, nano, delta, ("rates",), **changes)


def planned(method: str, params: dict[str, Any], of: Graph, nano: int, **changes: Any) -> PrivacyPlan:
    generator = registry.get(method)
    return generator.plan(generator.Params(**params), facts(of, nano, **changes))


@pytest.mark.parametrize("accountant", list(Accountant), ids=str)
@pytest.mark.parametrize("share", [0.1, 0.9])
@pytest.mark.parametrize(("method", "params", "form"), WITH_A_DELTA)
def test_both_together_cost_what_was_asked_for(
    method: str, params: dict[str, Any], form: str, share: float, accountant: Accountant
):
    of, nano = graph_of(form), 2 * NANO
    plan = planned(method, {**params, "attribute_share": share}, of, nano, accountant=accountant)
    cost = plan.cost()
    assert (cost.kind, cost.delta_atto) == (GuaranteeKind.APPROXIMATE, DELTA)
    assert 0.998 * nano <= cost.nano_epsilon <= nano
    own = registry.get(method).values_plan(plan).cost()
    assert (own.nano_epsilon, own.delta_atto, own.kind) == (int(nano * share), 0, GuaranteeKind.PURE)


@pytest.mark.parametrize(
    ("method", "params", "form", "module"),
    [
        ("anchored", SPECTRAL, "timed", allotted),
        ("thepuff", SHORT, "timed", of_walks),
        ("dpggan", LINKS, "undirected", of_links),
        ("hetesdg", PREDICTOR, "undirected", of_types),
    ],
)
def test_noise_that_is_solved_for_without_the_values_costs_more_than_was_asked_for(
    method: str, params: dict[str, Any], form: str, module: Any, monkeypatch: pytest.MonkeyPatch
):
    """As if nothing else were paid for in the cell: the planted mistake."""
    monkeypatch.setattr(module, "besides", lambda public, *own: own)
    plan = planned(method, {**params, "attribute_share": 0.5}, graph_of(form), 2 * NANO)
    assert plan.cost().nano_epsilon > 2 * NANO


def spent(entries: Any) -> tuple[dict[Any, int], dict[Any, Counter[Any]]]:
    """Pure nano-epsilon by cell, and how often each other event happens in it."""
    pure: Counter[Any] = Counter()
    others: dict[Any, Counter[Any]] = {}
    for each in entries:
        nano, counts = parts(each.event)
        pure[each.edge_type, each.step] += nano
        others[each.edge_type, each.step] = others.get((each.edge_type, each.step), Counter()) + counts
    return dict(pure), others


@pytest.mark.parametrize(("method", "params", "form"), WITH_A_DELTA)
def test_what_is_spent_is_what_was_planned(method: str, params: dict[str, Any], form: str, tmp_path: Path):
    of, generator = graph_of(form), registry.get(method)
    chosen = generator.Params(**params, attribute_share=0.25)
    assert generator.carries(chosen)
    plan = generator.plan(chosen, facts(of, 4 * NANO))
    meter = Meter(plan, MemoryRecorder())
    model = generator.fit(PrivateGraph(of, meter), plan, chosen, no_progress)
    guarantee = guarantee_of(plan, meter.transcript, DELTA)
    assert guarantee.nano_epsilon == plan.cost().nano_epsilon
    (granted, noise), (taken, drawn) = spent(plan.allotments), spent(meter.transcript)
    assert drawn == noise
    own = spent(generator.values_plan(plan).allotments)[0]
    of_values = spent(each for each in meter.transcript if each.purpose.startswith("values of "))[0]
    for cell, nano in granted.items():
        assert own[cell] - 4 <= of_values[cell] <= own[cell] == NANO  # halves of odd numbers
        assert taken[cell] <= nano
    nodes = {kind.name: kind.count for kind in of.schema.node_types}
    reads = [
        each for each in generator.planned_reads(chosen, plan, of.schema, nodes) if "value" in each.query
    ]
    assert {each.query for each in reads} >= {"value_histogram", "values_by_classes"}
    for read in reads:
        mechanism = f"discrete_laplace/{read.query}"
        made = [each for each in meter.transcript if getattr(each.event, "mechanism", "") == mechanism]
        assert sum(each.event.nano_epsilon >= read.nano_epsilon[0] for each in made) >= read.cells
    (notice,) = value_notices(generator, chosen, plan, of.schema, ["rates"])
    assert f"covered at epsilon {Decimal(2 * NANO) / NANO:f}, twice what was spent" in notice.text
    model.save(tmp_path / "model")
    back = generator.load(tmp_path / "model")
    one, other = (each.sample(public_generator(3), no_progress) for each in (model, back))
    assert one.equals(other)
    table = one.edges["rates"]
    assert set(table.values.columns) == {"stars", "sort"}
    assert table.values.count == table.count > 0
    assert model.training() == model.structure.training() == back.training()


@pytest.mark.parametrize(("method", "params"), PURE)
def test_forms_without_a_delta_stay_pure(method: str, params: dict[str, Any]):
    of, generator = (
        graph_of("undirected", multiplicity="each", records_per_slot=2, attributes=KEPT),
        registry.get(method),
    )
    chosen = generator.Params(**params, attribute_share=0.25)
    asked = facts(of, 4 * NANO, 0)
    plan = generator.plan(chosen, asked)
    assert plan.cost().kind is GuaranteeKind.PURE
    assert 4 * NANO - 10 <= plan.cost().nano_epsilon <= 4 * NANO
    model = generator.fit(PrivateGraph(of, Meter(plan, MemoryRecorder())), plan, chosen, no_progress)
    table = model.sample(public_generator(3), no_progress).edges["rates"]
    assert table.values.count >= table.count > 0


@pytest.mark.parametrize("method", ["thepuff", "dpggan", "dpgvae", "hetesdg", "hetedp", "thepuff_perturb"])
def test_a_published_form_has_no_epsilon_to_set_aside(method: str):
    with pytest.raises(NotAccepted) as refused:
        planned(method, {"variant": "paper", "attribute_share": 0.2}, graph_of("undirected"), NANO)
    assert refused.value.members["field"] == "attribute_share"
    assert "variant" in refused.value.message or "no guarantee" in refused.value.message


@pytest.mark.parametrize("name", ["attribute_share", "node_attribute_share"])
def test_a_method_without_a_guarantee_says_why_it_has_no_share(name: str):
    without = [each for each in registry.generators().values() if each.kinds == {GuaranteeKind.NONE}]
    assert {"ggan", "gvae", "ppgsl"} <= {each.name for each in without}
    for generator in without:
        with pytest.raises(InvalidInput, match="has no guarantee") as refused:
            params_of(generator, {name: 0.2})
        assert refused.value.members["field"] == f"parameters.{name}"
        params_of(generator, {})
    with pytest.raises(InvalidInput) as refused:
        params_of(registry.get("lapgraph"), {"node_attribute_share": 0.2})
    assert "guarantee" not in refused.value.message


def test_node_attributes_are_not_paid_for_beside_a_delta():
    with pytest.raises(NotAccepted) as refused:
        planned("anchored", {**SPECTRAL, "node_attribute_share": 0.25}, labelled(), 4 * NANO)
    assert refused.value.members["field"] == "node_attribute_share"


def labelled() -> Graph:
    party = Attribute(name="party", protection=Protection.PROTECTED, categories=("left", "right"))
    relation = EdgeType(name="rates", directed=True, temporal=True)
    schema = GraphSchema(
        node_types=(NodeType(count=4, attributes=(party,)),), edge_types=(relation,), time=TimeGrid(count=2)
    )
    return Graph.build(schema, {}, {})


@pytest.mark.parametrize("method", ["thepuff", "dpggan", "dpgvae"])
def test_a_fit_that_is_kept_to_go_on_pays_for_no_values(method: str, tmp_path: Path):
    of, generator = graph_of("undirected"), registry.get(method)
    chosen = generator.Params(attribute_share=0.25)
    plan = generator.plan(chosen, facts(of, 4 * NANO))
    meter = Meter(plan, MemoryRecorder())
    with pytest.raises(NotAccepted) as refused:
        generator.fit(PrivateGraph(of, meter), plan, chosen, no_progress, checkpoint=tmp_path)
    assert refused.value.members["field"] == "checkpoint"
    assert not meter.transcript


def test_a_structure_s_own_choices_follow_what_the_share_leaves():
    """``auto`` learns from .6 of the log odds on; a share for values takes it below."""
    relation = EdgeType(name="rates", attributes=(STARS,), edge_bound=40_000)
    schema = GraphSchema(node_types=(NodeType(count=2000),), edge_types=(relation,))
    public = PublicFacts(schema, Unit.EDGE, None, 3 * NANO, DELTA, ("rates",))
    generator = registry.get("dpggan")
    assert generator.plan(generator.Params(), public).kind is GuaranteeKind.APPROXIMATE
    shared = generator.Params(attribute_share=0.5)
    assert generator.plan(shared, public).kind is GuaranteeKind.PURE
    with pytest.raises(NotAccepted, match="trains nothing"):
        generator.plan(generator.Params(attribute_share=0.5, inputs="networks"), public)


def test_vectors_of_nodes_are_released_beside_values():
    of, generator = graph_of("undirected"), registry.get("hetesdg")
    chosen = generator.Params(release=("graph", "embedding"), attribute_share=0.25)
    plan = generator.plan(chosen, facts(of, 4 * NANO, 0))
    model = generator.fit(PrivateGraph(of, Meter(plan, MemoryRecorder())), plan, chosen, no_progress)
    assert set(model.vectors()["embedding"]) == {"node"}
    assert model.sample(public_generator(1), no_progress).edges["rates"].values is not None
