"""The expected share of true edges: against draws, its direction in every argument, and what it may read."""

import itertools

import numpy as np
import pytest

from core.generators import registry
from core.generators._shared.true_edges import true_share
from core.generators.base import EvidenceGenerator, PublicFacts
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.privacy.queries import Shape
from core.privacy.units import Unit
from core.publishing.true_edges import true_edge_notices

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
    if isinstance(generator, EvidenceGenerator):
        return generator.true_shares(chosen, plan, schema, SIZES), true_edge_notices(
            generator, chosen, plan, schema, SIZES
        )
    return {}, true_edge_notices(generator, chosen, plan, schema, SIZES)


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


@pytest.mark.parametrize("form", ["balanced", "symmetric"])
def test_flips_repeat_what_they_keep(form):
    shares, (notice,) = told("edgerand", 3, form=form)
    low, high = shares["has"]
    assert low == high
    assert f"has {low:.0%}." in notice.text
    assert low < told("edgerand", 6, form=form)[0]["has"][0]
