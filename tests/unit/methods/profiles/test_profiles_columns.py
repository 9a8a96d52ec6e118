"""Columns that tell things apart: which things get one of their own, and what a fit makes of them."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from core.graphs.graph import EdgeTable, Graph
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.methods.base import PublicFacts, no_progress
from core.methods.profiles import GENERATOR, ProfilesParams, columns
from core.methods.profiles.columns import single_things, singled_out, whitened
from core.privacy.accounting.events import NANO
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit

PERSONS, FILMS = 900, 24
SCHEMA = GraphSchema(
    node_types=(
        NodeType(name="user", count=PERSONS, protected=True),
        NodeType(name="film", count=FILMS),
        NodeType(name="genre", count=2),
    ),
    edge_types=(
        EdgeType(name="rates", source="user", target="film"),
        EdgeType(name="shows", source="film", target="genre", public=True),
    ),
)


def test_things_are_singled_out_where_many_persons_are_and_little_noise():
    assert (
        singled_out(18, 943, 1_682, 7.0) < singled_out(18, 943, 1_682, 2.0) < singled_out(18, 943, 1_682, 1.0)
    )
    assert singled_out(18, 943, 1_682, 2.0) < singled_out(18, 6_170, 1_682, 2.0)
    assert singled_out(18, 943, 1_682, 2.0) == singled_out(0, 943, 1_682, 2.0) - 18
    assert singled_out(18, 100, 1_682, 7.0) == 0
    assert singled_out(18, 10**6, 10**4, 0.1) == columns.MOST_SINGLE
    assert singled_out(18, 10**6, 30, 0.1) == 30
    assert singled_out(16, 10**6, 690_000, 0.1) == 2**24 // 690_000 - 16
    assert singled_out(32, 10**6, 10**8, 0.1) == 0  # no room for a column of so many things


def test_the_things_with_the_most_edges_have_a_column_each():
    found = single_things(np.array([3, 9, 0, 5]), 2)
    assert found.tolist() == [[0, 0], [1, 0], [0, 0], [0, 1]]
    assert single_things(np.array([3, 9]), 0).shape == (2, 0)
    assert single_things(np.array([3, 9]), 5).shape == (2, 2)


def test_columns_are_whitened_by_what_persons_take():
    rng = np.random.default_rng(1)
    popular = rng.pareto(1.0, 300) * 10
    rows = np.hstack([rng.normal(size=(300, 3)), single_things(popular, 5), np.ones((300, 1))])
    rows[np.argmin(popular), 3] = 0.0  # nothing is lost where a thing that nobody has differs
    found, weight = whitened(rows, popular), (popular + 1e-6) / (popular + 1e-6).sum()
    assert found.shape == (300, 8)
    np.testing.assert_allclose(weight @ found, 0, atol=1e-9)
    np.testing.assert_allclose(found.T * weight @ found, np.eye(8), atol=1e-6)


def halves() -> Graph:
    """Everybody rates films of one half only; the public genres say nothing of the halves."""
    rng = np.random.default_rng(5)
    chosen = np.argsort(rng.random((PERSONS, FILMS // 2)), axis=1)[:, :5]
    film = (2 * chosen + rng.integers(0, 2, (PERSONS, 1))).ravel()  # even films or odd ones
    films = np.arange(FILMS)
    rates = EdgeTable(np.repeat(np.arange(PERSONS), 5), film)
    return Graph.build(SCHEMA, {}, {"rates": rates, "shows": EdgeTable(films, films // 2 % 2)})


def together(graph: Graph) -> float:
    """The share of pairs of one person's films that are of one half; .48 by chance."""
    table = graph.edges["rates"]
    odd, own = (
        np.bincount(table.source, weights=each, minlength=PERSONS) for each in (table.target % 2, None)
    )
    even = own - odd
    pairs = (own * (own - 1)).sum()
    return float((odd * (odd - 1) + even * (even - 1)).sum() / pairs)


def released(graph: Graph) -> Graph:
    facts = PublicFacts(SCHEMA, Unit.NODE, None, 8 * NANO, 10**12, ("rates",))
    plan = GENERATOR.plan(ProfilesParams(), facts)
    model = GENERATOR.fit(
        PrivateGraph(graph, Meter(plan, MemoryRecorder())), plan, ProfilesParams(), no_progress
    )
    return model.sample(np.random.default_rng(2), no_progress)


@pytest.mark.parametrize("singled", [True, False])
def test_what_goes_together_for_no_public_reason_is_kept_where_persons_are_many(singled):
    graph = halves()
    with mock.patch.object(columns, "WORTH", columns.WORTH * singled):
        found = together(released(graph))
    assert together(graph) == 1
    assert found > 0.6 if singled else found < 0.55
