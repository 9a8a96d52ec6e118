"""Who took part: a published original tells all, a release of other persons nothing; and the bound."""

from __future__ import annotations

import numpy as np
import pytest

from core.evaluation.attacks import membership
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.reports.evidence import Attack

PERSONS, ITEMS = 400, 60


def bipartite(seed: int) -> Graph:
    """Persons and films over two relations, one of them with its persons as targets."""
    rng = np.random.default_rng(seed)
    schema = GraphSchema(
        node_types=(
            NodeType(name="person", count=PERSONS, protected=True),
            NodeType(name="film", count=ITEMS),
        ),
        edge_types=(
            EdgeType(name="sees", source="person", target="film"),
            EdgeType(name="shown", source="film", target="person"),
        ),
    )
    sees = rng.integers(0, PERSONS, 3000), rng.integers(0, ITEMS, 3000)
    shown = rng.integers(0, ITEMS, 800), rng.integers(0, PERSONS, 800)
    tables = {"sees": EdgeTable(*sees), "shown": EdgeTable(*shown)}
    return Graph.build(schema, {"person": NodeTable(PERSONS), "film": NodeTable(ITEMS)}, tables)


def people(seed: int) -> Graph:
    ends = np.random.default_rng(seed).integers(0, PERSONS, (2, 2500))
    ends = ends[:, ends[0] != ends[1]]
    schema = GraphSchema(node_types=(NodeType(count=PERSONS, protected=True),), edge_types=(EdgeType(),))
    return Graph.build(schema, {"node": NodeTable(PERSONS)}, {"edge": EdgeTable(*ends)})


def found(original: Graph, twin: Graph | None, other: Graph | None = None) -> dict[str, Attack]:
    """The attacks on ``twin``; None: on the held graph itself."""
    kind, relations = original.schema.node_types[0].name, list(original.schema.edge_types)
    game = membership.deal(original, kind, relations, np.random.default_rng(3))
    assert game is not None
    rows = membership.entries(original, game, twin or game.held, kind, relations, 0.75)
    attacks = {row["name"]: Attack.model_validate(row) for row in rows}
    assert list(attacks) == [name for name, _, _ in membership.ATTACKS]
    return attacks


@pytest.mark.parametrize("original", [bipartite(1), people(1)], ids=["items", "people"])
def test_publishing_the_graph_itself_tells_who_took_part(original):
    for attack in found(original, None).values():
        assert attack.published == attack.reference
        assert attack.published is not None
        assert attack.published.auc.value > 0.97
        assert attack.bound == 0.75
        assert abs(attack.positives - attack.negatives) <= 1


@pytest.mark.parametrize("make", [bipartite, people])
def test_a_release_of_other_persons_tells_nothing(make):
    for attack in found(make(1), make(2)).values():
        assert attack.published is not None
        # 400 targets: a standard error of 0.03.
        assert attack.published.auc.value == pytest.approx(0.5, abs=0.12)


def test_exact_totals_of_anonymous_persons_tell_who_took_part():
    """Totals without noise, of items that anybody has: only the totals' attacker is sure."""
    original = bipartite(1)
    relations = list(original.schema.edge_types)
    game = membership.deal(original, "person", relations, np.random.default_rng(3))
    assert game is not None
    rng = np.random.default_rng(4)
    sees, shown = game.held.edges["sees"], game.held.edges["shown"]
    tables = {
        # As many edges an item as before, of any persons.
        "sees": EdgeTable(rng.integers(0, PERSONS, len(sees.source)), sees.target),
        "shown": EdgeTable(shown.source, rng.integers(0, PERSONS, len(shown.target))),
    }
    twin = Graph.build(original.schema, original.nodes, tables)
    rows = membership.entries(original, game, twin, "person", relations, 1.0)
    auc = {row["name"]: row["published"]["auc"]["value"] for row in rows}
    assert auc["membership_totals"] > 0.8
    assert auc["membership_own"] < 0.65


def test_those_left_out_have_no_edge_and_all_others_keep_theirs():
    original = people(1)
    game = membership.deal(original, "node", list(original.schema.edge_types), np.random.default_rng(3))
    assert game is not None
    out = set(game.target[~game.present].tolist())
    kept = {
        pair
        for pair in zip(
            *(e.tolist() for e in (original.edges["edge"].source, original.edges["edge"].target)), strict=True
        )
        if not out & set(pair)
    }
    held = game.held.edges["edge"]
    assert set(zip(held.source.tolist(), held.target.tolist(), strict=True)) == kept


def test_too_few_persons_make_no_game():
    original = people(1)
    few = Graph.build(original.schema, original.nodes, {"edge": EdgeTable(np.arange(10), np.arange(10, 20))})
    rng = np.random.default_rng(1)
    assert membership.deal(few, "node", list(few.schema.edge_types), rng) is None


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.0), (2.0, 1e-6), (8.0, 0.1), (700.0, 0.0)]
)
def test_the_bound_is_the_area_under_the_trade_off_curve(epsilon, delta):
    false = np.linspace(0, 1, 200_001)
    with np.errstate(over="ignore"):
        true = np.minimum(
            delta + np.exp(epsilon) * false, 1 - np.exp(-epsilon) * np.maximum(1 - delta - false, 0)
        )
    area = np.trapezoid(np.minimum(true, 1), false)
    assert membership.bound(epsilon, delta) == pytest.approx(area, abs=1e-4)
