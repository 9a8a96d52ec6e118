"""THEPUFF's perturbation: the sound form is EdgeRand's balanced one, the published one has no guarantee."""

import math

import numpy as np
import pytest
from pydantic import ValidationError

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods import edgerand
from core.methods.base import PublicFacts, no_claim, no_progress
from core.privacy.accounting.flips import WORD
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import GuaranteeKind
from core.privacy.entropy import public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from papers.thepuff import paper
from papers.thepuff import perturb as thepuff_perturb
from papers.thepuff.perturb import GENERATOR, ThepuffPerturbParams
from tests.support.generating import NANO, fit, graph_of, random_pairs, rows_of

PAPER = ThepuffPerturbParams(variant="paper")


def published(graph: Graph, **given):
    """The fitted model of variant paper, its meter and its plan."""
    params = ThepuffPerturbParams(variant="paper", **given)
    names = tuple(each.name for each in graph.schema.edge_types)
    unit = Unit.EVENT if graph.schema.temporal else Unit.EDGE
    plan = GENERATOR.plan(params, PublicFacts(graph.schema, unit, None, NANO, 0, names))
    meter = Meter(plan, MemoryRecorder())
    return GENERATOR.fit(PrivateGraph(graph, meter), plan, params, no_progress), meter, plan


def test_the_sound_form_is_edgerand_s_balanced_one(monkeypatch):
    """The same seeds, the same graph and the same costs."""
    monkeypatch.setattr("core.privacy.entropy.noise_generator", lambda: np.random.default_rng(5))
    graph = graph_of(random_pairs(40, 0.1), 40, steps=2)
    ours, our_meter = fit(GENERATOR, graph, 900.0, count_share=0.1)
    theirs, their_meter = fit(edgerand.GENERATOR, graph, 900.0, count_share=0.1)
    assert [e.event for e in our_meter.transcript] == [e.event for e in their_meter.transcript]
    for model in (ours, theirs):
        np.testing.assert_array_equal(rows_of(model.sample(public_generator(1), no_progress)), rows_of(graph))


def test_count_and_flips_stay_within_epsilon():
    _, meter = fit(GENERATOR, graph_of(random_pairs(40, 0.1), 40), 1.0)
    (count, flips) = (entry.event.nano_epsilon for entry in meter.transcript)
    assert count == NANO // 25
    assert 0.95 * NANO < flips <= 0.96 * NANO


def test_the_published_form_promises_nothing_and_says_why():
    _, meter, plan = published(graph_of(random_pairs(40, 0.1), 40))
    guarantee = guarantee_of(plan, meter.transcript, 0)
    assert guarantee.kind is GuaranteeKind.NONE
    assert guarantee.reasons == (thepuff_perturb.REASON,)


def test_the_claim_is_the_paper_s_and_stands_beside_what_the_coins_allow():
    assert GENERATOR.claim is not no_claim
    facts = PublicFacts(GraphSchema(), Unit.EDGE, None, NANO, 0, ("edge",))
    claimed = GENERATOR.claim(PAPER, facts)
    assert claimed is not None
    assert claimed.epsilon == "8"
    assert GENERATOR.claim(ThepuffPerturbParams(), facts) is None
    graph = graph_of(random_pairs(60, 0.05), 60)
    model, _, _ = published(graph)
    (note,) = model.training().notes
    edges, slots = graph.edges["edge"].count, 60 * 59 // 2
    drop = math.exp(-8)
    true = math.log((1 - drop) / (edges * drop / (slots - edges)))
    assert true > 8
    assert f"exp({true:.3f})" in note


def test_the_costliest_cell_is_named():
    schema = GraphSchema(
        node_types=(NodeType(count=20), NodeType(name="item", count=30)),
        edge_types=(EdgeType(temporal=True), EdgeType(name="has", target="item")),
        time=TimeGrid(count=2),
    )
    edges = {
        "edge": EdgeTable(np.array([0, 1, 2, 0]), np.array([1, 2, 3, 4]), np.array([0, 0, 0, 1])),
        "has": EdgeTable(np.arange(20), np.arange(20)),
    }
    graph = Graph.build(schema, {"node": NodeTable(20), "item": NodeTable(30)}, edges)
    model, _, _ = published(graph)
    (note,) = model.training().notes
    assert "in the cell edge, step 1;" in note  # one edge among 190 slots
    cells = {("edge", 0): (1, 1), ("edge", 1): (0, 1)}
    (unbounded,) = paper.cost_notes(cells, 8.0)
    assert "no finite epsilon" in unbounded


@pytest.mark.parametrize(("edges", "slots"), [(1, 190), (1_000, 1_600_000), (90, 190)])
def test_as_many_edges_appear_as_vanish(edges, slots):
    """Eq. 4, in 64 bits."""
    flips = paper.published_flips(8.0, edges, slots)
    assert flips.drop / WORD == pytest.approx(math.exp(-8), rel=1e-12)
    assert (slots - edges) * flips.add == pytest.approx(edges * flips.drop, rel=1e-9)


def test_dense_cells_at_a_small_budget_stay_probabilities():
    for edges in (150, 189, 190):
        flips = paper.published_flips(0.1, edges, 190)
        assert flips.add + flips.drop <= WORD


def test_the_published_form_keeps_the_expected_share():
    graph = graph_of(random_pairs(300, 0.05), 300)
    edges = graph.edges["edge"].count
    true = set(map(tuple, rows_of(graph).tolist()))
    kept = made = 0
    for _ in range(10):
        model, _, _ = published(graph, epsilon_minus=1.0)
        rows = set(map(tuple, rows_of(model.sample(public_generator(1), no_progress)).tolist()))
        kept, made = kept + len(rows & true), made + len(rows - true)
    drop = math.exp(-1)
    assert abs(kept - 10 * edges * (1 - drop)) < 5 * math.sqrt(10 * edges * drop * (1 - drop))
    assert abs(made - 10 * edges * drop) < 5 * math.sqrt(10 * edges * drop)


def test_an_empty_cell_stays_empty():
    model, _, _ = published(graph_of([], 20, steps=2))
    assert len(rows_of(model.sample(public_generator(1), no_progress))) == 0
    assert "no finite epsilon" in model.training().notes[0]


def test_a_stored_model_tells_the_same(tmp_path):
    model, _, _ = published(graph_of(random_pairs(40, 0.1), 40))
    model.save(tmp_path / "model")
    again = GENERATOR.load(tmp_path / "model")
    assert again.training() == model.training()
    drawn = [rows_of(each.sample(public_generator(1), no_progress)) for each in (model, again)]
    np.testing.assert_array_equal(*drawn)


def test_public_relations_are_not_perturbed():
    schema = GraphSchema(
        node_types=(NodeType(count=9),), edge_types=(EdgeType(), EdgeType(name="known", public=True))
    )
    ends = EdgeTable(np.array([0, 1]), np.array([1, 2]))
    graph = Graph.build(schema, {"node": NodeTable(9)}, {"edge": ends, "known": ends})
    params = ThepuffPerturbParams(variant="paper")
    plan = GENERATOR.plan(params, PublicFacts(schema, Unit.EDGE, None, NANO, 0, ("edge",)))
    session = PrivateGraph(graph, Meter(plan, MemoryRecorder()))
    sampled = GENERATOR.fit(session, plan, params, no_progress).sample(public_generator(1), no_progress)
    assert sampled.edges["known"].count == 0


@pytest.mark.parametrize(
    "wrong", [{"count_share": 0}, {"epsilon_minus": 0}, {"epsilon_minus": 41}, {"variant": "other"}]
)
def test_parameters_have_bounds(wrong):
    with pytest.raises(ValidationError):
        ThepuffPerturbParams(**wrong)
