"""Paid counts of nodes' vectors: published with their law, shown in the report, compared for curators."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.evaluation.paid import exact
from core.publishing import bundle
from core.publishing.paid_errors import mean_noise, paid_errors, read_measurements
from core.reports.carried import MAX_SIDE
from core.reports.html import render
from core.reports.markdown import markdown
from core.reports.model import PublicPart, Report
from core.reports.precision import VECTORS, planned
from tests.support.publishing import public_of
from tests.unit.methods.test_vectors import DELTA, TOWN, facts_of, graph_of, place, published, schema_of
from tests.unit.methods.test_vectors import planned as settled

LAWS = {"discrete_laplace": 0, "discrete_gaussian": DELTA}
EXACT = 1000


def release_of(folder: Path, *attributes: Any, epsilon: float, delta: int = 0) -> tuple[Any, Path]:
    graph = graph_of(schema_of(*attributes))
    asked = {"node_attribute_share": 0.2}
    job = published(graph, folder, "dcsbm", asked, epsilon, delta_atto=delta, formats=())
    return graph, job


def measured(graph: Any, job: Path) -> list[Any]:
    order = bundle.read_alignment(job / "private" / "alignment.parquet")
    found = read_measurements(job / "release", graph.schema, order, 0)
    return [each for each, *_ in found if each.query == VECTORS]


@pytest.mark.parametrize("plain", [True, False], ids=["by town", "alone"])
def test_without_noise_what_is_published_is_the_truth_and_reads_back_as_it_was_asked(
    plain: bool, tmp_path: Path
):
    attributes = (*((TOWN,) if plain else ()), place(4, cuts=(-1, 1)))
    graph, job = release_of(tmp_path, *attributes, epsilon=EXACT)
    found = measured(graph, job)
    assert len(found) == 1 + plain
    for each in found:
        assert each.values.tolist() == exact(graph, each).tolist()
    listed = [
        each
        for each in json.loads((job / "release" / "measurements.json").read_bytes())["measurements"]
        if each["query"] == VECTORS
    ]
    assert [each["keys"] for each in listed] == [["place", "bin"]] * len(found)
    assert {each["bin_of_zero"] for each in listed} == {1}
    assert [each.get("group") for each in listed] == ([0, 1] if plain else [None])
    (carried,) = [each for each in shown(tmp_path).carried if each.kind == "vector"]
    rows = np.asarray(graph.nodes["node"].attributes["place"])
    truth = [[int((rows[:, k] < -1).sum()), int((rows[:, k] >= 1).sum())] for k in range(4)]
    assert carried.by_place is not None
    assert [list(each) for each in carried.by_place.paid or ()] == truth
    assert carried.paid == tuple(np.sum(truth, axis=0))
    assert carried.left_out == 1
    assert carried.within == 0


def shown(folder: Path) -> PublicPart:
    return PublicPart.model_validate(public_of(folder))


@pytest.mark.parametrize("law", LAWS)
def test_noise_is_of_the_law_and_the_size_that_is_told(law: str, tmp_path: Path):
    """Of 1,024 numbers of two towns, looked at three times: .95 hold, and the mean noise is as predicted."""
    for again in range(3):
        graph, job = release_of(tmp_path / str(again), TOWN, place(64), epsilon=4, delta=LAWS[law])
        order = bundle.read_alignment(job / "private" / "alignment.parquet")
        drawn = bundle.read_aligned(job / "release", job / "private" / "alignment.parquet")
        rows = paid_errors(graph, drawn, job / "release", order)
        (row,) = [each for each in rows if each["query"] == VECTORS]
        first = measured(graph, job)[0]
        assert first.law == law
        assert row["predicted"] == pytest.approx(mean_noise(first.scale, law))
        assert row["synthetic"] is not None
        if 0.92 < row["held"] < 0.98 and row["actual"] == pytest.approx(row["predicted"], rel=0.12):
            break
    else:
        pytest.fail("noise of another size")
    (carried,) = [each for each in shown(tmp_path / "0").carried if each.kind == "vector"]
    assert carried.by_place is not None
    assert len(carried.by_place.rows) == MAX_SIDE
    assert (carried.within or 0) > (carried.by_place.within or 0) > 0


def test_many_places_are_told_side_by_side(tmp_path: Path):
    release_of(tmp_path, place(130), epsilon=4)
    (carried,) = shown(tmp_path).carried
    assert carried.by_place is not None
    assert carried.by_place.rows[:2] == ("0–2", "3–4")
    assert sum(map(sum, carried.by_place.released)) == sum(carried.released)


def test_the_report_draws_vectors_in_every_form(tmp_path: Path):
    release_of(tmp_path, TOWN, place(8), epsilon=4)
    report = Report(public=shown(tmp_path), curator=None)
    assert "place, number by number" in render(report)
    assert "place of nodes, node" in markdown(report)


@pytest.mark.parametrize("delta", [0, DELTA])
def test_a_plan_predicts_how_near_vectors_are(delta: int):
    facts = facts_of(schema_of(TOWN, place(64)), delta=delta)
    found = settled(facts.schema, delta=delta)
    reads = found.generator.planned_reads(found.params, found.plan, facts.schema, {"node": 300})
    lines = planned(facts.unit, facts.schema, found.plan, reads)
    (line,) = [each for each in lines if each.query == VECTORS]
    part = 4 / 2 if not delta else None
    if part is not None:
        assert line.deviation == pytest.approx(np.sqrt(2) * 128 / part, rel=0.01)
    else:
        (event,) = [each.event for each in found.plan.allotments if hasattr(each.event, "noise_multiplier")]
        assert line.deviation == pytest.approx(float(event.noise_multiplier) * np.sqrt(128))
    assert line.within == pytest.approx(1.96 * line.deviation, rel=0.2)


def test_a_measured_line_tells_the_widest_vector(tmp_path: Path):
    few = place(32, nonzero=2).model_copy(update={"name": "few"})
    release_of(tmp_path, TOWN, place(8), few, epsilon=4)
    (line,) = [each for each in shown(tmp_path).precision if each.query == VECTORS]
    assert line.deviation == pytest.approx(np.sqrt(2) * 16 / 1, rel=0.01)  # 2 of 4 for two vectors
