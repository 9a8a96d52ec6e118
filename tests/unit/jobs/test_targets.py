"""The epsilon that a target takes: the smallest one, by plans alone, and clear words where there is none."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

from core.errors import InvalidInput, TargetNotMet
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods import registry
from core.methods.base import Method, PublicFacts
from core.privacy.units import Unit
from core.workflows.jobs.questions import QUESTIONS, Assume
from core.workflows.jobs.targets import Limit, Search, Target, solve

NANO = 10**9
NODES = 5000
FREE = Limit(100 * NANO, "balance")


def search(
    method: str = "dcsbm", *, steps: int = 0, assume: dict[str, Any] | None = None, **target: float
) -> Search:
    schema = GraphSchema(
        node_types=(NodeType(count=NODES),),
        edge_types=(EdgeType(temporal=steps > 0),),
        time=TimeGrid(count=steps) if steps else None,
    )
    unit, window = (Unit.W_EVENT, 5) if steps else (Unit.EDGE, None)
    generator = registry.get(method)
    return Search(
        lambda public: (generator, generator.Params()),
        False,
        PublicFacts(schema, unit, window, NANO, 0, ("edge",)),
        {"node": NODES},
        Target(**target),
        None if assume is None else Assume(**assume),
    )


@pytest.mark.parametrize(
    ("method", "steps", "target"),
    [
        ("dcsbm", 0, {"edges_within_95": 40}),
        ("dcsbm", 0, {"edges_relative_95": 0.01}),
        ("dgg", 0, {"degree_within_95": 25, "edges_within_95": 100}),
        ("degree_triangle", 0, {"degree_told_from_zero": 30}),
        ("dcsbm", 0, {"hubs_found": 0.8}),
        ("keyframe", 20, {"edges_relative_95": 0.05}),
        ("anchored", 0, {"degree_within_95": 12}),
    ],
)
def test_the_epsilon_meets_the_target_and_one_nano_less_does_not(
    method: str, steps: int, target: dict[str, float]
) -> None:
    asked = search(method, steps=steps, assume={"edges": 20_000}, **target)
    found, solved = solve(asked, FREE)
    assert all(each.met for each in asked.at(found))
    missed = [each for each in asked.at(found - 1) if not each.met]
    assert (solved.binds, solved.edge_type) == (missed[0].question, "edge")
    assert Decimal(solved.epsilon) * NANO == found
    assert {each.question for each in solved.reached} == set(target)


def test_a_harder_target_takes_more_and_what_binds_is_the_dearest() -> None:
    edges, _ = solve(search(edges_within_95=40), FREE)
    finer, _ = solve(search(edges_within_95=20), FREE)
    degree, _ = solve(search(degree_within_95=25), FREE)
    both, solved = solve(search(edges_within_95=40, degree_within_95=25), FREE)
    assert finer > edges
    assert both == max(edges, degree)
    assert solved.binds == ("edges_within_95" if edges > degree else "degree_within_95")


def test_the_least_that_a_policy_takes_is_enough_for_an_easy_target() -> None:
    found, solved = solve(search(edges_within_95=1e9), Limit(NANO, "balance", least=NANO // 10))
    assert found == NANO // 10
    assert solved.binds is None


def test_a_target_beyond_the_balance_says_how_close_it_gets_and_what_it_takes() -> None:
    asked = search(edges_within_95=10)
    found, _ = solve(asked, FREE)
    with pytest.raises(TargetNotMet) as refused:
        solve(asked, Limit(found - 1, "balance"))
    told = refused.value.members
    assert told["limited_by"] == "balance"
    assert Decimal(told["limit"]) * NANO == found - 1
    assert Decimal(told["needed"]) * NANO == found
    ((closest,),) = [[each for each in told["reached"] if not each["met"]]]
    assert closest["asked"] == 10 < closest["value"] <= 12
    for nothing in (0, -5):
        with pytest.raises(TargetNotMet) as refused:
            solve(asked, Limit(nothing, "balance"))
        assert refused.value.members["limit"] == "0"
        assert Decimal(refused.value.members["needed"]) * NANO == found


def test_a_count_that_is_capped_can_ask_for_what_no_epsilon_gives() -> None:
    with pytest.raises(TargetNotMet, match="no epsilon meets it") as refused:
        solve(search("psgraph", edges_within_95=2), FREE)
    assert refused.value.members["needed"] is None


def test_what_a_method_does_not_tell_is_no_target() -> None:
    with pytest.raises(InvalidInput, match="does not tell degree_within_95") as refused:
        solve(search("lapgraph", degree_within_95=5), FREE)
    assert refused.value.members["field"] == "target.degree_within_95"
    with pytest.raises(InvalidInput, match="assume a number of edges") as refused:
        solve(search(edges_relative_95=0.1), FREE)
    assert refused.value.members["field"] == "target.edges_relative_95"


@pytest.mark.parametrize(
    "target",
    [
        {},
        {"edges_within_95": None},
        {"edges_within_95": float("nan")},
        {"edges_within_95": float("inf")},
        {"edges_within_95": 0},
        {"degree_within_95": -1},
        {"hubs_found": 1.0},
        {"triangles": 3},
    ],
)
def test_a_target_that_is_none_is_refused(target: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="Target"):
        Target.model_validate(target)


def test_every_question_can_be_a_target() -> None:
    assert set(Target.model_fields) == {*QUESTIONS, "assume"}
    with pytest.raises(ValueError, match="at least one"):
        Target(assume=Assume(edges=5))


def test_the_smallest_epsilon_is_found_past_a_method_that_tells_nothing() -> None:
    def method(public: PublicFacts) -> tuple[Method, BaseModel]:
        between = NANO // 2 <= public.nano_epsilon < 4 * NANO
        generator = registry.get("projection" if between else "dgg")
        return generator, generator.Params()

    asked = replace(search("dgg", degree_within_95=100), method=method, varies=True)
    found, solved = solve(asked, FREE)
    assert found == solve(search("dgg", degree_within_95=100), FREE)[0] < NANO // 2
    assert solved.binds == "degree_within_95"
    finer = replace(search("dgg", degree_within_95=5), method=method, varies=True)
    found, solved = solve(finer, FREE)
    assert (found, solved.binds) == (4 * NANO, None)
    with pytest.raises(TargetNotMet, match=r"it takes epsilon 4\.$") as refused:
        solve(finer, Limit(3 * NANO, "balance"))
    assert refused.value.members["reached"] == []
