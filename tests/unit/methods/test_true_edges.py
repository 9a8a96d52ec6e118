"""The expected share of true edges: against draws, its direction in every argument, and what it may read."""

import itertools

import numpy as np
import pytest

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods import registry
from core.methods._shared.flips.true_edges import chances, posterior_share, true_share
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import public_generator
from core.privacy.mechanisms.randomised_response import Flips
from core.privacy.queries import Shape
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from core.publishing.notices import true_edge_notices

NANO = 10**9
SIZES = {"film": 1_682, "genre": 18}
RELATION = EdgeType(name="has", source="film", target="genre")
SHAPE = Shape(RELATION, *SIZES.values())


def test_it_is_the_share_that_draws_from_the_posterior_have():
    rng = np.random.default_rng(0)
    slots, edges, epsilon = 1_682 * 18, 3_000, 2.0
    true = np.zeros(slots, dtype=bool)
    true[:edges] = True
    seen = true ^ (rng.random(slots) < 1 / (1 + np.exp(epsilon)))
    odds = edges / (slots - edges) * np.exp(np.where(seen, epsilon, -epsilon))
    drawn = rng.random((50, slots)) < odds / (1 + odds)
    measured = (drawn & true).sum() / drawn.sum()
    assert true_share(SHAPE, int(epsilon * NANO), edges).low == pytest.approx(measured, abs=0.02)


def test_it_grows_with_epsilon_and_with_edges_from_their_density_to_all():
    found = [true_share(SHAPE, int(e * NANO), 3_000) for e in (0, 0.5, 1, 2, 4, 8, 40)]
    assert found[0].low == pytest.approx(3_000 / (1_682 * 18))
    assert found[-1].low == pytest.approx(1, abs=1e-6)
    assert all(one.low < other.low and one.high < other.high for one, other in itertools.pairwise(found))
    assert all(each.low <= each.high <= 1 for each in found)
    assert true_share(SHAPE, NANO, 300).low < true_share(SHAPE, NANO, 3_000).low
    assert true_share(SHAPE, NANO, 0) == (0.0, 0.0)
    assert true_share(Shape(RELATION, 3, 3), NANO, 9) == (1.0, 1.0)


def test_a_declared_bound_is_the_number_of_edges():
    bound = Shape(RELATION.model_copy(update={"edge_bound": 500}), *SIZES.values())
    assert true_share(bound, 2 * NANO) == true_share(SHAPE, 2 * NANO, 500)


def told(method, epsilon, **params):
    kinds = tuple(NodeType(name=name, count=count) for name, count in SIZES.items())
    schema = GraphSchema(node_types=kinds, edge_types=(RELATION,))
    generator = registry.get(method)
    chosen = generator.Params(**params)
    plan = generator.plan(chosen, PublicFacts(schema, Unit.EDGE, None, int(epsilon * NANO), 0, ("has",)))
    shares = generator.true_shares(chosen, plan, schema, SIZES)
    return shares, true_edge_notices(generator, chosen, plan, schema, SIZES)


def test_a_plan_says_how_many_true_edges_a_release_may_repeat():
    shares, (notice,) = told("anchored", 4)
    low, high = shares["has"]
    assert f"has {low:.0%} to {high:.0%}" in notice.text
    assert low < 0.73 < high  # what 18 genres at epsilon 4 have repeated
    fewer, _ = told("anchored", 4, degree_share=0.9)
    assert fewer["has"][1] < high
    assert told("anchored", 0.5) == ({}, ())  # no evidence, nothing to say
    assert told("anchored", 4, evidence="none") == ({}, ())
    assert told("hetesdg", 4) == ({}, ())


def test_draws_from_the_posterior_of_balanced_flips_have_the_share():
    rng = np.random.default_rng(0)
    slots, edges, flips = 30_000, 3_000, Flips.balanced(2 * NANO, 3_000, 30_000)
    add, drop = chances(flips)
    true = np.arange(slots) < edges
    seen = np.where(true, rng.random(slots) >= drop, rng.random(slots) < add)
    odds = edges / (slots - edges) * np.where(seen, (1 - drop) / add, drop / (1 - add))
    drawn = rng.random((50, slots)) < odds / (1 + odds)
    measured = (drawn & true).sum() / drawn.sum()
    assert posterior_share(flips, edges, slots).low == pytest.approx(measured, abs=0.02)


@pytest.mark.parametrize("form", ["balanced", "symmetric"])
def test_flips_repeat_what_they_keep(form):
    shares, (notice,) = told("edgerand", 3, form=form)
    low, high = shares["has"]
    assert low == high
    assert f"has {low:.0%}." in notice.text
    assert low < told("edgerand", 6, form=form)[0]["has"][0]


def test_a_composition_says_so_of_the_relations_that_follow_bits_of_pairs():
    kinds = tuple(NodeType(name=name, count=count) for name, count in SIZES.items())
    bare = RELATION.model_copy(update={"name": "about"})
    schema = GraphSchema(node_types=kinds, edge_types=(RELATION, bare))
    generator = registry.get("composed")
    structures = {
        "has": {"method": "anchored"},
        "*": {"method": "anchored", "parameters": {"evidence": "none"}},
    }
    chosen = generator.Params(structures=structures)
    plan = generator.plan(chosen, PublicFacts(schema, Unit.EDGE, None, 4 * NANO, 0, ("has", "about")))
    (notice,) = true_edge_notices(generator, chosen, plan, schema, SIZES)
    alone, _ = told("anchored", 4)
    low, high = alone["has"]
    assert f"has {low:.0%} to {high:.0%}. By epsilon" in notice.text  # as alone, and of no other relation


NODES, EDGES = 400, 800
"""As many edges as are guessed of so many nodes: two for each."""


def drawn_from(method, epsilon, *, temporal=False, **params):
    """The share of true edges in one release of a uniform graph of the guessed density, and what is said."""
    rng = np.random.default_rng(4)
    low, high = np.triu_indices(NODES, 1)
    chosen = np.sort(rng.choice(len(low), EDGES, replace=False))
    step = np.zeros(EDGES, dtype=np.int64) if temporal else None
    relation = EdgeType(name="knows", temporal=temporal)
    time = TimeGrid(count=1) if temporal else None
    schema = GraphSchema(node_types=(NodeType(count=NODES),), edge_types=(relation,), time=time)
    table = EdgeTable(low[chosen], high[chosen], step)
    graph = Graph.build(schema, {"node": NodeTable(NODES)}, {"knows": table})
    generator = registry.get(method)
    asked = generator.Params(**params)
    unit = Unit.EVENT if temporal else Unit.EDGE
    plan = generator.plan(asked, PublicFacts(schema, unit, None, int(epsilon * NANO), 0, ("knows",)))
    said = generator.true_shares(asked, plan, schema, {"node": NODES})
    model = generator.fit(PrivateGraph(graph, Meter(plan, MemoryRecorder())), plan, asked, no_progress)
    found = model.sample(public_generator(1), no_progress).edges["knows"]
    ends = np.minimum(found.source, found.target), np.maximum(found.source, found.target)
    true = np.isin(ends[0] * NODES + ends[1], low[chosen] * NODES + high[chosen])
    return true.mean(), said["knows"]


@pytest.mark.parametrize("epsilon", [3, 5, 7])
@pytest.mark.parametrize("method", ["edgerand", "lapgraph", "thepuff_perturb", "tmf"])
def test_a_method_that_keeps_pairs_says_which_share_it_keeps(method, epsilon):
    measured, (low, high) = drawn_from(method, epsilon)
    assert low == high
    assert measured == pytest.approx(low, abs=0.09)  # five deviations of 800 coins


@pytest.mark.parametrize("epsilon", [4, 6, 8])
def test_ends_that_follow_a_noisy_graph_repeat_at_most_what_the_posterior_says(epsilon):
    measured, (low, high) = drawn_from("dpggan", epsilon, learn="evidence")
    assert low == EDGES / (NODES * (NODES - 1) / 2)
    assert low < measured < high + 0.09


@pytest.mark.parametrize("epsilon", [4, 6, 8])
def test_pairs_drawn_by_a_noisy_graph_repeat_what_is_said(epsilon):
    measured, (low, high) = drawn_from("dpgvae", epsilon, learn="evidence", frame=False)
    assert low == high
    assert measured == pytest.approx(low, abs=0.09)


def test_walks_repeat_at_most_the_perturbed_graph():
    params = {"utility": False, "epochs": 1, "most_batches": 20, "bias": "hat"}
    measured, (low, high) = drawn_from("thepuff", 6, temporal=True, **params)
    assert 0 < low < 0.02
    assert low - 0.01 <= measured < high + 0.09


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("dpggan", {"learn": "off"}),
        ("dpggan", {"learn": "evidence", "exchanges": 0}),
        ("dpggan", {"variant": "paper"}),
        ("thepuff_perturb", {"variant": "paper"}),
        ("thepuff", {"variant": "paper"}),
    ],
)
def test_nothing_is_said_where_no_bits_are_followed_or_no_guarantee_is_given(method, params):
    schema = GraphSchema(node_types=(NodeType(count=NODES),), edge_types=(EdgeType(name="knows"),))
    generator = registry.get(method)
    asked = generator.Params.varied(**params)
    plan = generator.plan(asked, PublicFacts(schema, Unit.EDGE, None, 4 * NANO, 0, ("knows",)))
    assert generator.true_shares(asked, plan, schema, {"node": NODES}) == {}
