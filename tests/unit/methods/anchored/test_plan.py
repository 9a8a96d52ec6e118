"""How epsilon is divided inside a cell, and which evidence is lazy: public facts alone."""

import math

import pytest

from core import errors
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods._shared.flips.worth import log_odds
from core.methods._shared.relations.budget import (
    FULL_EDGES,
    LEAST_SHARE,
    STATIC_SHARE,
    degree_share,
    is_static,
    proposals_for,
    shares,
)
from core.methods.anchored import GENERATOR, AnchoredParams
from core.methods.anchored.budget import lazy_relations
from core.methods.base import PublicFacts
from core.privacy.queries import Shape
from core.privacy.units import Unit

NANO = 10**9
TIMED = EdgeType(name="rates", source="user", target="movie", temporal=True, once=True)
CELL = Shape(TIMED, 943, 1_682)
PAIRS = Shape(EdgeType(temporal=True), 500, 500)
DEFAULT = AnchoredParams()


def schema_of(*relations, users=943, movies=1_682, steps=7):
    kinds = (NodeType(name="user", count=users), NodeType(name="movie", count=movies))
    time = TimeGrid(count=steps) if any(relation.temporal for relation in relations) else None
    return GraphSchema(node_types=kinds, edge_types=relations, time=time)


def facts(schema, nano_epsilon, unit=Unit.EVENT, window=None):
    names = tuple(relation.name for relation in schema.edge_types)
    return PublicFacts(schema, unit, window, nano_epsilon, 0, names)


@pytest.mark.parametrize("nano_epsilon", [1_000, 999_999_999, 4 * NANO, 9 * NANO + 7])
@pytest.mark.parametrize("shape", [CELL, PAIRS], ids=["sided", "undirected"])
@pytest.mark.parametrize("multiplicity", [1, 2])
@pytest.mark.parametrize("share", [None, 0.001, 0.37, 0.999_999, 1.0])
def test_shares_sum_to_the_cell_exactly(shape, nano_epsilon, multiplicity, share):
    params = AnchoredParams(degree_share=share)
    budget = shares(shape, nano_epsilon, multiplicity, params)
    assert budget.count + budget.source + budget.target + budget.tail + budget.evidence == nano_epsilon
    assert min(budget.count, budget.source) >= 1
    assert budget.target >= 1 or shape.undirected
    assert budget.target == 0 or not shape.undirected
    assert budget.evidence == 0 or budget.evidence >= multiplicity


def test_both_sides_have_the_same_and_the_count_little():
    budget = shares(CELL, 4 * NANO, 1, AnchoredParams(degree_share=0.5))
    assert abs(budget.source - budget.target) <= 1
    assert budget.count == pytest.approx(0.03 * 2 * NANO)
    assert budget.evidence == 2 * NANO


def test_evidence_is_asked_for_where_epsilon_reaches_the_log_odds():
    """On ML-100k's universes: nothing at 1 and 2, the full part at 4 and 8, degrees again more beyond."""
    found = [degree_share(CELL, epsilon * NANO, 1, DEFAULT) for epsilon in (1, 2, 4, 8, 30)]
    assert found[:2] == [1.0, 1.0]
    assert found[2:4] == [LEAST_SHARE, LEAST_SHARE]
    assert LEAST_SHARE < found[4] < 1


def test_a_declared_bound_takes_the_place_of_the_guess():
    bound = TIMED.model_copy(update={"edge_bound": 100})
    sparse = Shape(bound, 943, 1_682)
    assert log_odds(sparse) > log_odds(CELL)
    assert degree_share(sparse, 4 * NANO, 1, DEFAULT) == 1.0
    dense = Shape(TIMED.model_copy(update={"edge_bound": 400_000}), 943, 1_682)
    assert degree_share(dense, 2 * NANO, 1, DEFAULT) < 1.0


def test_two_slots_a_unit_halve_the_strength():
    assert degree_share(CELL, 4 * NANO, 1, DEFAULT) < 1.0
    assert degree_share(CELL, 4 * NANO, 2, DEFAULT) == 1.0


def test_what_the_caller_says_goes_first():
    assert degree_share(CELL, NANO, 1, AnchoredParams(degree_share=0.3)) == 0.3
    assert degree_share(CELL, 8 * NANO, 1, AnchoredParams(degree_share=0.3, evidence="none")) == 1.0
    functional = Shape(TIMED.model_copy(update={"functional": True}), 943, 1_682)
    assert degree_share(functional, 8 * NANO, 1, DEFAULT) == 1.0


def test_proposals_grow_with_the_square_root_beyond_the_limit():
    assert proposals_for(0, 150) == 0
    assert proposals_for(-4, 150) == 0
    assert proposals_for(1_000, 150) == 150_000
    assert proposals_for(4 * FULL_EDGES, 10) == 20 * FULL_EDGES


def test_small_relations_without_time_go_by_the_static_recipe():
    fixed = EdgeType(name="has", source="user", target="movie")
    assert is_static(Shape(fixed, 943, 20), DEFAULT)
    for kept in ("none", "lazy"):
        assert not is_static(Shape(fixed, 943, 20), AnchoredParams(evidence=kept))
    assert not is_static(Shape(fixed, 10**6, 10**6), DEFAULT)
    assert not is_static(CELL, DEFAULT)
    assert not is_static(Shape(EdgeType(), 50, 50), DEFAULT)
    assert not is_static(Shape(EdgeType(directed=True), 50, 50), DEFAULT)


def test_evidence_is_lazy_where_it_would_not_fit():
    """The relation that adds most gives way first; what is said to be lazy is."""
    big = schema_of(TIMED, users=140_000, movies=27_000)
    small = schema_of(TIMED)
    params = AnchoredParams(degree_share=0.5)

    def lazy(schema, chosen):
        plan = GENERATOR.plan(chosen, facts(schema, 4 * NANO))
        counts = {kind.name: kind.count for kind in schema.node_types}
        return lazy_relations(plan, schema, counts, chosen)

    assert lazy(big, params) == {"rates"}
    assert lazy(small, params) == frozenset()
    assert lazy(small, params.model_copy(update={"evidence": "lazy"})) == {"rates"}
    both = schema_of(
        TIMED, EdgeType(name="knows", source="user", target="user", temporal=True), users=20_000, movies=90
    )
    assert lazy(both, params) == {"knows"}


def test_a_plan_refuses_to_materialise_what_does_not_fit():
    params = AnchoredParams(degree_share=0.5, evidence="materialised")
    schema = schema_of(TIMED, users=140_000, movies=27_000)
    with pytest.raises(errors.NotAccepted) as found:
        GENERATOR.plan(params, facts(schema, 4 * NANO))
    assert found.value.members["field"] == "evidence"
    GENERATOR.plan(params, facts(schema_of(TIMED), 4 * NANO))


@pytest.mark.parametrize(
    ("unit", "window", "each"),
    [(Unit.EVENT, None, 8 * NANO), (Unit.W_EVENT, 3, 2 * NANO), (Unit.PAIR, None, NANO)],
)
def test_every_cell_has_the_part_that_the_unit_leaves_it(unit, window, each):
    fixed = EdgeType(name="has", source="user", target="movie")
    plan = GENERATOR.plan(DEFAULT, facts(schema_of(TIMED, fixed), 8 * NANO, unit, window))
    assert len(plan.allotments) == 8
    assert {allotment.event.nano_epsilon for allotment in plan.allotments} == {each}
    assert plan.cost().nano_epsilon <= 8 * NANO


HAS = EdgeType(name="has", source="user", target="movie")
LIVES = EdgeType(name="lives", source="user", target="movie", temporal=True, functional=True)


KNOWS = EdgeType(name="knows", source="user", target="user", temporal=True)


@pytest.mark.parametrize(
    ("relation", "epsilon", "params", "field"),
    [
        (TIMED, 4, {"evidence": "none", "degree_share": 0.5}, "degree_share"),
        (LIVES, 4, {"degree_share": 0.5}, "degree_share"),
        (TIMED, 1, {"evidence": "lazy"}, "evidence"),
        (TIMED, 4, {"evidence": "materialised", "degree_share": 1.0}, "evidence"),
        (TIMED, 4, {"tail_share": 0.2}, "tail_share"),
    ],
)
def test_what_would_change_nothing_is_refused(relation, epsilon, params, field):
    unit = Unit.EVENT if relation.temporal else Unit.EDGE
    with pytest.raises(errors.NotAccepted) as found:
        GENERATOR.plan(AnchoredParams(**params), facts(schema_of(relation), epsilon * NANO, unit))
    assert found.value.members["field"] == field
    # Beside a relation that heeds it, it stands.
    if relation is LIVES:
        GENERATOR.plan(AnchoredParams(**params), facts(schema_of(relation, TIMED), epsilon * NANO, unit))


def test_the_static_recipe_gives_evidence_its_share_where_it_is_worth_it():
    shape = Shape(HAS, 1_682, 18)
    found = [degree_share(shape, int(epsilon * NANO), 1, DEFAULT) for epsilon in (0.5, 1, 2, 8)]
    assert found == [1.0, 1.0, STATIC_SHARE, STATIC_SHARE]
    assert degree_share(shape, 8 * NANO, 1, AnchoredParams(degree_share=0.7)) == 0.7


def test_a_functional_relation_has_at_most_an_edge_a_source():
    functional = HAS.model_copy(update={"functional": True})
    assert log_odds(Shape(functional, 1_000, 50)) == pytest.approx(math.log(50))
