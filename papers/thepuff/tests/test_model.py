"""THEPUFF from end to end on small typed graphs: what both variants pay, claim, generate and keep."""

import numpy as np
import pytest

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods.base import PublicFacts, no_claim, no_progress
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import GuaranteeKind
from core.privacy.entropy import public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from papers._shared.progress import TICKS, Ticks
from papers.thepuff import GENERATOR
from papers.thepuff.fit import settings_of
from papers.thepuff.params import ThepuffParams
from tests.support.heeded import heeded

NANO, DELTA = 10**9, 10**12
KINDS = NodeType(name="user", count=30), NodeType(name="film", count=40), NodeType(name="genre", count=4)


@pytest.fixture(scope="module")
def graph() -> Graph:
    rng = np.random.default_rng(3)
    schema = GraphSchema(
        node_types=KINDS,
        edge_types=(
            EdgeType(name="sees", source="user", target="film", directed=True, temporal=True, once=True),
            EdgeType(name="has", source="film", target="genre", directed=True),
        ),
        time=TimeGrid(count=2),
    )
    pairs = rng.permutation(30 * 40)[:300]
    sees = EdgeTable(pairs // 40, pairs % 40, rng.integers(0, 2, 300))
    has = EdgeTable(np.arange(40), rng.integers(0, 4, 40))
    return Graph.build(
        schema, {kind.name: NodeTable(kind.count) for kind in KINDS}, {"sees": sees, "has": has}
    )


def fitted(graph: Graph, epsilon: float = 2.0, progress=no_progress, **given):
    names = tuple(each.name for each in graph.schema.edge_types)
    facts = PublicFacts(graph.schema, Unit.EVENT, None, int(epsilon * NANO), DELTA, names)
    asked = {"epochs": 1, "utility": True, "utility_epochs": 1, "utility_steps": 2, **given}
    params, plan = heeded(GENERATOR, facts, **asked)
    meter = Meter(plan, MemoryRecorder())
    model = GENERATOR.fit(PrivateGraph(graph, meter), plan, params, progress)
    return model, guarantee_of(plan, meter.transcript, plan.delta_atto)


def rows(graph: Graph, name: str) -> np.ndarray:
    table = graph.edges[name]
    return np.stack([c for c in (table.source, table.target, table.step) if c is not None], axis=1)


@pytest.fixture(scope="module")
def sound(graph):
    return fitted(graph)


@pytest.fixture(scope="module")
def paper(graph):
    return fitted(graph, variant="paper")


def test_the_sound_variant_s_guarantee_is_computed(sound):
    _, guarantee = sound
    assert guarantee.kind is GuaranteeKind.APPROXIMATE
    assert guarantee.epsilon <= 2.0
    assert guarantee.delta_atto == DELTA


def test_without_the_utility_discriminator_it_is_pure(graph):
    model, guarantee = fitted(graph, utility=False)
    assert (guarantee.kind, guarantee.epsilon) == (GuaranteeKind.PURE, 2.0)
    assert "utility" not in model.training().curves or not model.training().curves["utility"]


def test_the_published_variant_has_none_and_prints_what_is_claimed(graph, paper):
    model, guarantee = paper
    assert guarantee.kind is GuaranteeKind.NONE
    assert GENERATOR.claim is not no_claim
    facts = PublicFacts(graph.schema, Unit.EVENT, None, NANO, 0, ("sees",))
    claimed = GENERATOR.claim(ThepuffParams(variant="paper", epsilon_minus=6), facts)
    assert claimed is not None
    assert claimed.epsilon == "6"
    assert GENERATOR.claim(ThepuffParams(), facts) is None
    assert "eps_minus = 8" in model.training().notes[0]


def test_a_drawn_graph_keeps_to_schema_and_counts(graph, sound):
    model, _ = sound
    drawn = model.sample(public_generator(1), no_progress)
    assert drawn.schema == graph.schema
    sees = rows(drawn, "sees")
    wanted = [int(model.cells["sees", step]["count"][0]) for step in (0, 1)]
    assert np.bincount(sees[:, 2], minlength=2).tolist() == wanted
    assert len(np.unique(sees[:, :2], axis=0)) == len(sees)  # a pair once over time
    assert drawn.edges["has"].count > 0


def test_the_published_assembler_makes_as_many_edges_in_all(graph, paper):
    model, _ = paper
    drawn = model.sample(public_generator(1), no_progress)
    wanted = sum(int(columns["count"][0]) for columns in model.cells.values())
    made = sum(table.count for table in drawn.edges.values())
    assert 0.9 * wanted < made <= wanted
    assert drawn.schema == graph.schema


def test_at_a_large_epsilon_the_counts_are_the_graph_s(graph):
    model, _ = fitted(graph, 900.0, utility=False)
    for step in (0, 1):
        assert int(model.cells["sees", step]["count"][0]) == graph.cell("sees", step).count
        degrees = np.bincount(graph.cell("sees", step).source, minlength=30)
        np.testing.assert_array_equal(model.cells["sees", step]["source_degrees"], degrees)


@pytest.mark.parametrize("variant", ["sound", "paper"])
def test_a_stored_model_draws_the_same_and_tells_the_same(variant, request, tmp_path):
    model, _ = request.getfixturevalue(variant)
    model.save(tmp_path / "model")
    again = GENERATOR.load(tmp_path / "model")
    assert again.training() == model.training()
    for name in ("sees", "has"):
        first, second = (rows(m.sample(public_generator(4), no_progress), name) for m in (model, again))
        np.testing.assert_array_equal(first, second)


def test_the_training_is_told(sound):
    model, _ = sound
    told = model.training()
    assert told.curves["generator"]
    assert told.curves["utility"]
    assert told.collapsed in (True, False)
    assert any("distinct generated pairs" in note for note in told.notes)


def test_degrees_are_counted_in_the_perturbed_graph_where_they_are_not_paid_for(graph):
    model, _ = fitted(graph, 900.0, utility=False, bias="hat")
    degrees = np.bincount(graph.cell("sees", 0).target, minlength=40)
    np.testing.assert_array_equal(model.cells["sees", 0]["target_degrees"], degrees)


def test_training_grows_with_the_paid_count_up_to_a_limit():
    params = ThepuffParams(epochs=5, most_batches=100)
    assert settings_of(params, 100).batches == 5
    assert settings_of(params, 5_000).batches == 5 * 14
    assert settings_of(params, 10**9).batches == 100


def test_ablations_leave_a_discriminator_out():
    assert settings_of(ThepuffParams(privacy=False), 100).privacy_weight == 0.0
    assert settings_of(ThepuffParams(), 100).privacy_weight > 0.0


@pytest.mark.parametrize("steps", [1, 3, 10, 77, 1000])
def test_progress_has_as_many_ticks_whatever_the_steps(steps):
    told = []
    ticks = Ticks(lambda *event: told.append(event), "train")
    for done in range(steps):
        ticks("inner", done + 1, steps)
    ticks.finish()
    assert told == [("train", done, TICKS) for done in range(TICKS + 1)]


def test_ticks_follow_the_steps():
    told = []
    ticks = Ticks(lambda *event: told.append(event), "train")
    ticks("inner", 50, 100)
    assert told[-1] == ("train", 5, TICKS)
    ticks("inner", 59, 100)
    assert told[-1] == ("train", 5, TICKS)
