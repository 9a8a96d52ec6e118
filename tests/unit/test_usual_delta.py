"""The delta of a release that names none: of persons and things under unit node alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.ledger.filters import Balance, delta_left
from core.ledger.in_file import FileAccount
from core.ledger.kinds import Filter
from core.ledger.terms import Terms
from core.privacy.accounting.events import NANO
from core.privacy.accounting.plan import ATTO
from core.privacy.units import Unit
from core.publishing.alone import Asked, plan_alone
from core.publishing.notices import things_without_delta
from core.publishing.settle import usual_delta

RATES = EdgeType(name="rates", source="user", target="film")
KNOWS = EdgeType(name="knows", source="user", target="user")


def schema_of(*relations: EdgeType, persons: int = 1_000) -> GraphSchema:
    kinds = [NodeType(name="user", count=persons, protected=True)]
    if RATES in relations:
        kinds.append(NodeType(name="film", count=30))
    return GraphSchema(node_types=tuple(kinds), edge_types=relations)


@pytest.mark.parametrize(
    ("persons", "most_atto", "found"),
    [
        (1_000, ATTO, 10**12),
        (1_000_000, ATTO, 10**11),  # 1 over ten times as many
        (1_000, 10**9, 10**9),  # all that the budget has
        (1_000, 0, 0),
    ],
)
def test_persons_and_things_have_a_millionth_or_less(persons: int, most_atto: int, found: int):
    schema = schema_of(RATES, persons=persons)
    nodes = {"user": persons, "film": 30}
    assert usual_delta(schema, Unit.NODE, ("rates",), nodes, most_atto) == found


@pytest.mark.parametrize(("left_atto", "found"), [(ATTO, 10**12), (10**12, 10**12), (10**12 - 1, 0), (0, 0)])
def test_where_less_is_left_the_release_is_pure(left_atto: int, found: int):
    nodes = {"user": 1_000, "film": 30}
    assert usual_delta(schema_of(RATES), Unit.NODE, ("rates",), nodes, ATTO, lambda: left_atto) == found


def test_a_second_release_that_names_none_is_pure_on_a_budget_whose_delta_is_spent(tmp_path: Path):
    schema, nodes = schema_of(RATES), {"user": 1_000, "film": 30}
    account = FileAccount(tmp_path / "budget", Terms("a", "node", None, Filter.BASIC, 10 * NANO, 10**12))
    found = []
    for job in ("one", "two"):
        plan = plan_alone(schema, nodes, Asked(epsilon=2, unit=Unit.NODE), account).settled.plan
        found.append(str(plan.kind))
        with account.held() as held:
            held.reserve(plan.spend(Filter.BASIC), unit="node", window=None, job_id=job)
    assert found == ["approximate", "pure"]


def test_a_curve_spends_no_delta():
    terms = Terms("a", "node", None, Filter.RENYI, 10 * NANO, 10**12, (2, 8))
    assert delta_left(terms, {"rdp/2": Balance(NANO, NANO), "rdp/8": Balance(NANO, NANO)}) == 10**12
    assert delta_left(replace(terms, filter=Filter.BASIC), {"delta": Balance(10**12, 3, 4)}) == 10**12 - 7


def test_others_have_none():
    schema = schema_of(KNOWS)
    assert usual_delta(schema, Unit.NODE, ("knows",), {"user": 1_000}, ATTO) == 0
    bare = GraphSchema(node_types=(NodeType(name="user"), NodeType(name="film")), edge_types=(RATES,))
    assert usual_delta(bare, Unit.EDGE, ("rates",), {"user": 9, "film": 9}, ATTO) == 0


def test_a_release_that_names_none_spends_it_and_one_that_names_0_is_pure_with_a_notice():
    schema, nodes = schema_of(RATES, KNOWS), {"user": 1_000, "film": 30}
    usual = plan_alone(schema, nodes, Asked(epsilon=2, unit=Unit.NODE))
    assert usual.settled.plan.kind == "approximate"
    assert usual.task.release.delta_atto == usual.facts.delta_atto == 10**12
    pure = plan_alone(schema, nodes, Asked(epsilon=2, delta=0, unit=Unit.NODE))
    assert pure.settled.plan.kind == "pure"
    for task, told in ((usual, 0), (pure, 1)):
        release = task.task.release
        assert len(things_without_delta(schema, release.unit, release.edge_types, release.delta_atto)) == told
    assert not things_without_delta(schema, Unit.NODE, ("knows",), 0)
