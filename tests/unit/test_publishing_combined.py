"""One number of edges from everything that was paid and tells of it, with the interval of that number."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import graphveil as gv
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.methods import registry
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.events import NANO
from core.privacy.accounting.measurements import Measurements, Part, deviation
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from core.publishing.totals import totals
from core.reports.intervals import Noise, sum_within, weighted_within
from tests.support.groups import in_part
from tests.support.publishing import STEPS, graph
from tests.unit.test_publishing_measurements import HALVES, rated

SERVED = {"karate": nx.karate_club_graph(), "larger": nx.barabasi_albert_graph(600, 4, seed=1)}
SEVERAL = ("dcsbm", "psgraph", "anchored", "degree_triangle", "dgg", "dp_dk")
"""Methods that pay for several numbers from which that of the edges follows."""
RUNS, LOOKS = 200, 4


def of(made: nx.Graph) -> Graph:
    schema = GraphSchema(
        node_types=(NodeType(name="n"),), edge_types=(EdgeType(name="e", source="n", target="n"),)
    )
    ends = np.array(sorted(tuple(sorted(each)) for each in made.edges))
    return Graph.build(schema, {"n": NodeTable(len(made))}, {"e": EdgeTable(ends[:, 0], ends[:, 1])})


def paid(original: Graph, method: str, epsilon: float) -> Measurements:
    """What one fit of the method pays for."""
    generator = registry.get(method)
    facts = PublicFacts(original.schema, Unit.EDGE, None, round(epsilon * NANO), 0, ("e",))
    params = generator.Params()
    plan = generator.plan(params, facts)
    meter = Meter(plan, MemoryRecorder())
    generator.fit(PrivateGraph(original, meter), plan, params, no_progress)
    return meter.measurements


def edges_of(
    original: Graph, measurements: Any, relation: str = "e", step: int | None = None
) -> dict[str, Any]:
    found = totals(original, measurements)
    return next(e for e in found if (e["edge_type"], e["metric"], e["step"]) == (relation, "edges", step))


def width(line: dict[str, Any]) -> float:
    return float(line["high"] - line["value"])


@pytest.mark.parametrize("method", SEVERAL)
@pytest.mark.parametrize("name", ["karate", pytest.param("larger", marks=pytest.mark.audits)])
def test_the_interval_of_what_a_method_paid_holds_the_truth(name: str, method: str) -> None:
    original = of(SERVED[name])
    truth, narrower = original.edges["e"].count, 0
    for look in range(LOOKS):  # .95 is held in less than .93 of 200 runs once in 12 times
        held, runs = 0, RUNS << look
        for _ in range(runs):
            found = paid(original, method, 2.0)
            line = edges_of(original, found)
            held += line["low"] <= truth <= line["high"]
            each = [width(edges_of(original, [one])) for one in found if totals(original, [one])]
            if all(one.decides is None for one in found):  # of the others weights go by usual noise
                assert width(line) <= min(each, default=math.inf) + 1e-9
            narrower += "," in line["query"]
        if held >= 0.93 * runs:
            break
    else:
        pytest.fail(f"the interval held the truth in {held} of {runs} runs")
    assert narrower, "nothing was ever combined"


@pytest.mark.audits
def test_a_number_does_not_lean_where_one_answer_decides_the_noise_of_others() -> None:
    """As many edges as those around which the noise of degrees changes: about every second count is above."""
    edges, method = 784, "psgraph"
    original, apart = of(nx.gnm_random_graph(200, edges, seed=1)), []
    for _ in range(LOOKS):
        found = [edges_of(original, paid(original, method, 2.0))["value"] for _ in range(300)]
        apart.append((np.mean(found) - edges) / (np.std(found) / math.sqrt(len(found))))
        if abs(apart[-1]) < 3.3:
            break
    else:
        pytest.fail(f"the mean is {apart} of its deviations away")


def kept(
    *asked: tuple[str, dict[str, Any], tuple[Part, ...], Fraction, list[int]], step: Any = None
) -> Measurements:
    found = Measurements()
    for query, arguments, parts, scale, values in asked:
        found.keep(("knows", step), query, arguments, parts, scale, np.array(values), "x")
    return found


def test_answers_are_weighed_by_what_their_noises_add_up_to() -> None:
    """100 +- from one noise, 120 from forty ends: each weighs as one over its variance."""
    original = graph(1)
    ends = [6] * 40
    found = edges_of(
        original,
        kept(("edge_count", {}, (), Fraction(9), [100]), ("degrees", {}, (), Fraction(4), ends)),
        "knows",
    )
    one, other = deviation(Fraction(9)) ** 2, 40 * deviation(Fraction(4)) ** 2 / 4
    assert found["value"] == pytest.approx((100 / one + 120 / other) / (1 / one + 1 / other))
    assert found["query"] == "edge_count, degrees"
    assert 1.96 < width(found) / math.sqrt(1 / (1 / one + 1 / other)) < 2.12


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(4), Fraction(90)])
def test_an_answer_that_decides_weighs_as_public_facts_say(scale: Fraction) -> None:
    """Whatever noise it chose for later answers; the interval goes by that noise."""
    found, ends = Measurements(), np.full(40, 6)
    found.keep(("knows", None), "edge_count", {}, (), Fraction(9), np.array([100]), "x", 30.0)
    found.keep(("knows", None), "degrees", {}, (), scale, ends, "x")
    found.keep(("knows", None), "group_matrix", {}, (), scale, np.array([60, 60]), "x")
    line = edges_of(graph(1), found, "knows")
    own = deviation(Fraction(9)) ** 2
    share = 30.0 / (own + 30.0)
    assert line["value"] == pytest.approx(share * 100 + (1 - share) * 120)
    later = min(deviation(scale) ** 2 * each for each in (10, 2))
    assert share * 9 < width(line) < 2.2 * math.sqrt(share**2 * own + (1 - share) ** 2 * later) + 1


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(90)])
def test_of_all_snapshots_nothing_is_weighed_by_noise_that_was_decided(scale: Fraction) -> None:
    found = kept(("value_histogram", {}, (), Fraction(2), [100, 200, 300]))
    for step in range(STEPS):
        found.keep(("knows", step), "edge_count", {}, (), Fraction(9), np.array([100]), "x", 30.0)
        found.keep(("knows", step), "group_matrix", {}, (), scale, np.array([120]), "x")
    own, pooled = deviation(Fraction(9)) ** 2, 3 * deviation(Fraction(2)) ** 2
    each = 30.0 / (own + 30.0) * 100 + own / (own + 30.0) * 120
    steps = STEPS / (1 / own + 1 / 30.0)
    wanted = (STEPS * each / steps + 600 / pooled) / (1 / steps + 1 / pooled) / STEPS
    assert edges_of(rated(1), found, "knows")["value"] == pytest.approx(wanted)


def test_parts_of_the_edges_add_up_and_one_side_alone_tells_nothing() -> None:
    labels = HALVES
    inside, between = Part(labels, True), Part(labels, False)
    one = ("edge_count", {}, (inside,), Fraction(2), [30])
    other = ("degrees", {}, (between,), Fraction(2), [2] * 10)
    assert totals(graph(1), kept(one)) == []
    found = edges_of(graph(1), kept(one, other), "knows")
    assert found["value"] == 30 + 10
    again = edges_of(graph(1), kept(one, other, ("edge_count", {}, (), Fraction(5), [44])), "knows")
    assert 40 < again["value"] < 44
    assert width(again) < min(width(found), 5 * 3.1)
    elsewhere = ("edge_count", {}, (Part(1 - labels, False),), Fraction(2), [10])
    assert totals(graph(1), kept(one, elsewhere)) == []  # halves of two cuts are no whole


def test_what_is_cut_off_or_counts_records_is_left_out() -> None:
    count = len(HALVES)
    short = ("tail_counts", {"thresholds": np.array([1, 2, 4])}, (), Fraction(1), [9, 5, 2])
    assert totals(graph(1), kept(short)) == []
    most = ("degree_histogram", {"side": "source", "most": 3}, (), Fraction(1), [9, 5, 2, 1])
    assert totals(graph(1), kept(most)) == []
    capped = ("value_histogram", {"most_of_a_pair": 1}, (), Fraction(1), [9, 5])
    assert totals(graph(1), kept(capped)) == []
    whole = ("tail_counts", {"thresholds": np.arange(1, count)}, (), Fraction(1), [4] * (count - 1))
    assert totals(graph(1), kept(whole)) == []  # thresholds follow from earlier answers, these too


def test_tables_of_values_in_which_every_edge_is_once_tell_of_all_edges() -> None:
    found = edges_of(rated(1), kept(("value_histogram", {}, (), Fraction(2), [10, 20, 30])), "knows")
    assert found["value"] == 60 / STEPS  # of all steps together
    assert width(found) == pytest.approx(sum_within(Fraction(2), 3, 0.95) / STEPS)


def test_snapshots_of_several_noises_have_the_mean_of_their_sum() -> None:
    found = Measurements()
    for step in range(STEPS):
        found.keep(("talks", step), "edge_count", {}, (), Fraction(step + 2), np.array([10]), "x")
    mean = edges_of(graph(1), found, "talks")
    assert mean["value"] == 10
    noises = tuple(Noise(1 / STEPS, Fraction(step + 2), 1) for step in range(STEPS))
    assert width(mean) == pytest.approx(weighted_within(noises, 0.95))


SUMS: dict[str, tuple[Noise, ...]] = {
    "one": (Noise(0.5, Fraction(7), 3),),
    "two": (Noise(0.3, Fraction(20), 1), Noise(0.7, Fraction(5), 4)),
    "small": (Noise(0.6, Fraction(1, 2), 1), Noise(0.2, Fraction(1), 2)),
    "apart": (Noise(0.9, Fraction(30), 1), Noise(0.01, Fraction(1, 4), 50)),
    "wide": (Noise(0.5, Fraction(10**6), 1), Noise(0.5, Fraction(10**6, 3), 2)),
}


def drawn(noises: tuple[Noise, ...], runs: int, rng: np.random.Generator) -> np.ndarray:
    total = np.zeros(runs)
    for each in noises:
        chance = -math.expm1(-1 / float(each.scale))
        pairs = rng.geometric(chance, (2, runs, each.draws))
        total += each.factor * (pairs[0] - pairs[1]).sum(axis=1)
    return total


@in_part("name", SUMS, 2)
def test_the_bound_of_a_weighted_sum_holds_as_often_as_it_says(name: str) -> None:
    noises = SUMS[name]
    bound = weighted_within(noises, 0.95)
    apart = np.abs(drawn(noises, 200_000, np.random.default_rng(4)))
    assert (apart <= bound + 1e-9).mean() >= 0.948
    spread = math.sqrt(sum(each.draws * (each.factor * deviation(each.scale)) ** 2 for each in noises))
    assert (apart <= bound - 0.02 * spread - (0.6 if name == "small" else 0)).mean() < 0.953


def test_sums_without_noise_are_exact() -> None:
    for scale in (Fraction(1, 10**9), Fraction(1, 50), Fraction(1, 15)):
        assert weighted_within((Noise(0.5, scale, 3), Noise(0.1, scale, 1)), 0.95) == 0


def test_report_measurements_and_notebook_tell_the_same_total(tmp_path: Path) -> None:
    release = gv.synthesize(SERVED["karate"], 2, budget=gv.Budget.unlimited(), progress=False)
    (edges,) = (each for each in release.report["totals"] if each["metric"] == "edges")
    assert edges in release.measurements["totals"]
    assert release.measurements["totals"] == json.loads(json.dumps(release.report["totals"]))
    shown = release._repr_html_()
    told: Callable[[float], str] = lambda each: f"{each:,.0f}"  # noqa: E731
    assert f"{told(math.floor(edges['low']))} to {told(math.ceil(edges['high']))}" in shown
    assert "totals" in release.measurements["note"]
