"""All edges of one node, priced by an edge's promise where the schema bounds their number."""

from __future__ import annotations

from decimal import Decimal
from itertools import combinations, product

import pytest

from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.privacy.accounting.guarantee import edges_of_node, node_prices
from core.privacy.units import Unit

ONE, NONE = Decimal(1), Decimal(0)


def schema(*relations: EdgeType, bound: int | None = None, steps: int | None = None) -> GraphSchema:
    kinds = (NodeType(name="person", degree_bound=bound), NodeType(name="thing"))
    return GraphSchema(node_types=kinds, edge_types=relations, time=steps and TimeGrid(count=steps))


def relation(name: str = "has", **changes: object) -> EdgeType:
    return EdgeType(**({"name": name, "source": "person", "target": "thing"} | changes))


BORN = relation("born", functional=True)


@pytest.mark.parametrize(
    ("of", "person", "thing"),
    [
        (schema(relation()), None, None),
        (schema(relation(), bound=7), 7, None),
        (schema(BORN), 1, None),
        (schema(BORN, relation("lives", functional=True)), 2, None),
        (schema(BORN, relation("lives", functional=True), bound=1), 1, None),
        (schema(BORN, relation()), None, None),
        (schema(BORN, relation(public=True)), 1, None),
        (schema(relation(public=True), relation("near", source="thing")), None, None),
        (schema(BORN, relation(target="person", directed=True, functional=True)), None, None),
        (schema(relation(functional=True, temporal=True), steps=3), 3, None),
        (schema(relation(functional=True, temporal=True, once=True), steps=3), 1, None),
    ],
)
def test_edges_of_a_node_follow_from_declared_facts(of, person, thing):
    assert (edges_of_node(of, "person"), edges_of_node(of, "thing")) == (person, thing)


def test_a_price_is_two_d_times_that_of_an_edge():
    (price,) = node_prices(schema(relation(), bound=2), Unit.EDGE, ONE, NONE)
    assert (price.node_type, price.edges, price.epsilon, price.delta) == ("person", 2, 4, 0)
    (price,) = node_prices(schema(relation(), bound=2), Unit.EVENT, ONE, Decimal("1e-9"))
    grown = Decimal("1e-9") * sum(Decimal(k).exp() for k in range(4))
    assert grown <= price.delta < grown * Decimal("1.000001")


def test_what_would_say_nothing_is_not_priced():
    assert node_prices(schema(relation(), bound=4), Unit.EDGE, ONE, NONE)
    assert not node_prices(schema(relation(), bound=5), Unit.EDGE, ONE, NONE)
    assert not node_prices(schema(relation(), bound=4), Unit.EDGE, Decimal(8), Decimal("1e-6"))
    for unit in (Unit.W_EVENT, Unit.PAIR, Unit.NODE):
        assert not node_prices(schema(relation(), bound=1), unit, ONE, NONE)


@pytest.mark.parametrize("bound", [1, 2])
def test_no_replacement_under_the_bound_moves_more_edges(bound):
    """All graphs on four nodes that keep the bound, and all replacements of node 0's edges."""
    pairs = list(combinations(range(4), 2))
    graphs = [
        {pair for pair, there in zip(pairs, bits, strict=True) if there}
        for bits in product((0, 1), repeat=len(pairs))
    ]
    kept = [g for g in graphs if all(sum(v in pair for pair in g) <= bound for v in range(4))]
    moved = [len(one ^ two) for one in kept for two in kept if all(0 in pair for pair in one ^ two)]
    assert 0 < max(moved) <= 2 * bound


def test_a_node_whose_edges_are_several_units_each_has_no_price():
    stars = EdgeAttribute(name="stars", kind="integer", bounds=(1, 5))
    each = {"attributes": (stars,), "multiplicity": "each", "records_per_slot": 3, "functional": True}
    whole, apart = (schema(relation(**each, directed=True, records_apart=on)) for on in (False, True))
    assert [price.node_type for price in node_prices(whole, Unit.EDGE, ONE, NONE)] == ["person"]
    assert node_prices(apart, Unit.EDGE, ONE, NONE) == ()
