"""Derived answers keep their word: each is held against draws of the noise that it follows from."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from core.errors import InvalidInput
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.workflows.jobs.questions import (
    QUESTIONS,
    SHAPE,
    Assume,
    Facts,
    answers,
    check_assumed,
    hubs_found,
    ladder_within,
)

NODES = 2000
DRAWS = 200_000


def facts(*, assume: Assume | None = None, scales: tuple[int, ...] = (3,), **declared: int) -> Facts:
    kind = NodeType(count=NODES, degree_bound=declared.pop("degree_bound", None))
    schema = GraphSchema(node_types=(kind,), edge_types=(EdgeType(**declared),))
    noise = [Fraction(each) for each in scales]
    return Facts(
        schema,
        {"node": NODES},
        assume,
        {("edge", q): (noise, 1) for q in ("edge_count", "degrees", "triangles")},
    )


def asked(of: Facts) -> dict[str, float]:
    return {answer.question: answer.value for answer in answers(of)}


def noise(scales: tuple[int, ...]) -> np.ndarray:
    """Draws of the sum of discrete Laplace noises of these scales."""
    rng = np.random.default_rng(20)
    each = [
        rng.geometric(1 - np.exp(-1 / scale), DRAWS) - rng.geometric(1 - np.exp(-1 / scale), DRAWS)
        for scale in scales
    ]
    return np.sum(each, axis=0)


@pytest.mark.parametrize("scales", [(1,), (3,), (12,), (4, 9)])
def test_absolute_answers_hold_as_often_as_they_say(scales: tuple[int, ...]) -> None:
    told, drawn = asked(facts(scales=scales)), noise(scales)
    assert np.mean(np.abs(drawn) <= told["edges_within_95"]) > 0.948
    assert told["degree_within_95"] == told["edges_within_95"]
    threshold = (told["degree_told_from_zero"] - 1) / 2
    assert np.mean(drawn > threshold) < 0.052  # a node without edges
    assert np.mean(told["degree_told_from_zero"] + drawn <= threshold) < 0.052
    if len(scales) == 1:  # and no smaller degree would do
        assert np.mean(drawn > threshold - 1) > 0.048


@pytest.mark.parametrize(("mean", "scale"), [(8.0, 2), (8.0, 20), (40.0, 8)])
def test_hubs_are_found_as_often_as_said(mean: float, scale: int) -> None:
    rng, count, found = np.random.default_rng(20), 40_000, list[float]()
    for _ in range(4):
        unit = mean * (SHAPE - 1)
        degrees = np.minimum(unit * (rng.random(count) ** (-1 / SHAPE) - 1), count - 1)
        shown = degrees + rng.laplace(0, scale, count)
        top = count // 100
        found.append(len(set(np.argsort(-degrees)[:top]) & set(np.argsort(-shown)[:top])) / top)
    assert hubs_found(mean, count - 1, scale * 2**0.5) == pytest.approx(np.mean(found), abs=0.04)


def test_relative_answers_take_what_is_assumed_before_what_is_declared() -> None:
    assert not {"edges_relative_95", "hubs_found"} & set(asked(facts()))
    bound = asked(facts(edge_bound=1000))
    assert bound["edges_relative_95"] == bound["edges_within_95"] / 1000
    nodes = asked(facts(degree_bound=4))
    assert nodes["edges_relative_95"] == nodes["edges_within_95"] / (4 * NODES // 2)
    guess = facts(edge_bound=1000, assume=Assume(edges=500))
    assert asked(guess)["edges_relative_95"] == bound["edges_within_95"] / 500
    (said,) = {answer.assumed for answer in answers(guess) if answer.question == "edges_relative_95"}
    assert "500 edges" in said
    fewer = facts(assume=Assume(edges={"edge": 500}, nodes=200))
    assert asked(fewer)["hubs_found"] > asked(guess)["hubs_found"]


def test_only_what_is_wanted_is_answered() -> None:
    found = list(answers(facts(edge_bound=10), {"edges_relative_95"}))
    assert [answer.question for answer in found] == ["edges_relative_95"]
    every = {answer.question for answer in answers(facts(edge_bound=10, degree_bound=5))}
    assert every == set(QUESTIONS)


@pytest.mark.parametrize("given", [0, -1, float("nan"), True, {}])
def test_a_size_is_a_positive_integer(given: object) -> None:
    with pytest.raises(ValueError, match="edges"):
        Assume.model_validate({"edges": given})


def test_a_guess_beyond_a_declared_bound_is_refused() -> None:
    schema = facts(edge_bound=10).schema
    check_assumed(Assume(edges=10), schema, {"node": NODES}, ["edge"])
    with pytest.raises(InvalidInput, match="declared edge_bound"):
        check_assumed(Assume(edges=11), schema, {"node": NODES}, ["edge"])


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0])
@pytest.mark.parametrize("common", [1, 4, 30])
def test_a_ladder_reaches_no_further_than_was_told(common: int, epsilon: float) -> None:
    told, q = ladder_within(common, 100, epsilon), np.exp(-epsilon / 2)
    rungs = np.arange(1, int(80 / epsilon))
    for most in range(common + 1):  # whatever the graph has in common
        widths = np.minimum(100, most + rungs - 1)
        mass = np.concatenate([[1.0], 2 * widths * q**rungs])
        reached = np.concatenate([[0], np.cumsum(widths)])
        # A rung counts as missed where any of its integers lies beyond.
        assert mass[reached > told].sum() / mass.sum() <= 0.05 + 1e-9
    assert ladder_within(common, 100, epsilon / 2) > told


def test_triangles_are_told_where_degrees_are_bounded() -> None:
    assert "triangles_within_95" not in asked(facts())
    assert asked(facts(degree_bound=9))["triangles_within_95"] == ladder_within(9, NODES - 2, 1 / 3)


def test_the_largest_degrees_of_a_dense_graph_are_no_ties() -> None:
    assert hubs_found(40, 120, 0.5) > 0.9


def test_sizes_are_whole_numbers_however_json_writes_them() -> None:
    assert Assume.model_validate_json('{"edges": {"edge": 500.0}, "nodes": 20.0}') == Assume(
        edges={"edge": 500}, nodes=20
    )
    for said in ("1.5", '"5"', "true"):
        with pytest.raises(ValueError, match="valid integer"):
            Assume.model_validate_json(f'{{"edges": {said}}}')


def test_heavier_tails_of_degrees_show_more_hubs():
    heavy, middle, light = (hubs_found(10, 999, 20, shape) for shape in (2.0, SHAPE, 6.0))
    assert heavy > middle > light
