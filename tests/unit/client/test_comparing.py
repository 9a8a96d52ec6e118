"""Comparing methods: what is asked, under which keys, and what is made of the answers."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any, cast

import pytest

from graphveil.cli.compare_results import Results
from graphveil.errors import ClientError, WaitTimeout
from graphveil.models.jobs import Job
from graphveil.sdk import comparing
from graphveil.sdk.client import Graphveil
from graphveil.sdk.comparing import Comparison, Finished, Variant

METRICS = {
    "transitivity": {"title": "Transitivity", "definition": "T.", "family": "f", "better": None},
    "degree_total_variation": {"title": "Degree TV", "definition": "D.", "family": "f", "better": "lower"},
    "assortativity": {"title": "Assortativity", "definition": "A.", "family": "f", "better": None},
}


def comparison(**changed: Any) -> Comparison:
    variants = (Variant("psgraph"), Variant("edgerand", {"form": "symmetric"}))
    asked = {"variants": variants, "epsilons": ("0.5", "2"), "runs": 2} | changed
    return Comparison("ds_1", 1, **asked)


class Service:
    """Answers like the service: a job is queued, then published, then compared; some fail."""

    def __init__(self, fails: int = 0) -> None:
        self.by_key: dict[str, str] = {}
        self.requests: dict[str, dict[str, Any]] = {}
        self.looks: dict[str, int] = {}
        self.most = 0
        self.fails = fails

    def submit(self, dataset_id: str, *, idempotency_key: str, **request: Any) -> Job:
        if idempotency_key not in self.by_key:
            job_id = f"job_{len(self.by_key)}"
            self.by_key[idempotency_key] = job_id
            self.requests[job_id], self.looks[job_id] = request | {"dataset_id": dataset_id}, 0
        self.most = max(self.most, sum(self.state(one) != "done" for one in self.requests))
        return self.job(self.by_key[idempotency_key], look=False)

    def state(self, job_id: str) -> str:
        if self.looks[job_id] < 2:
            return "queued"
        if int(job_id.removeprefix("job_")) < self.fails:
            return "done"
        return "pending" if self.looks[job_id] < 3 else "done"

    def job(self, job_id: str, *, look: bool = True) -> Job:
        self.looks[job_id] += look
        state, failed = self.state(job_id), int(job_id.removeprefix("job_")) < self.fails
        evaluation = {"state": state, "stage": None, "done": 0, "total": 0}
        shown = "queued" if state == "queued" else "failed" if failed else "published"
        return Job.model_construct(
            id=job_id,
            method=self.requests[job_id]["method"],
            state=shown,
            evaluation=None if shown != "published" else cast(Any, type("E", (), evaluation)),
        )

    def report(self, job_id: str) -> dict[str, Any]:
        request = self.requests[job_id]
        value = float(request["epsilon"]) + (0.5 if request["method"] == "edgerand" else 0.0)
        value += 0.25 * (int(job_id.removeprefix("job_")) >= 4)  # the second run of each
        scalars = {
            "transitivity": {"original": 0.5, "synthetic": value, "absolute_error": abs(value - 0.5)}
            | {"relative_error": abs(value - 0.5) / 0.5},
            "assortativity": {"original": 0.1, "synthetic": None, "absolute_error": None}
            | {"relative_error": None},
        }
        overall = {"scalars": scalars, "distances": {"degree_total_variation": value}}
        return {"curator": {"comparison": {"metrics": METRICS, "overall": overall}}}


def compared(service: Service, asked: Comparison, **options: Any) -> list[Finished]:
    options = {"sleep": lambda seconds: None} | options
    return comparing.compare(cast(Graphveil, service), asked, **options)


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("psgraph", {}),
        ("edgerand:form=symmetric", {"form": "symmetric"}),
        ("x:a=1,b=0.5,c=true,d=word", {"a": 1, "b": 0.5, "c": True, "d": "word"}),
    ],
)
def test_a_variant_reads_as_it_is_written(text: str, parameters: dict[str, Any]):
    found = Variant.parse(text)
    assert dict(found.parameters) == parameters
    assert found.label == text


@pytest.mark.parametrize("text", [":a=1", "x:a", "x:=1", "x:a=1,"])
def test_a_malformed_variant_is_refused(text: str):
    with pytest.raises(ClientError):
        Variant.parse(text)


def test_epsilons_are_plain_sorted_and_single():
    assert comparing.normal(["2", "0.50", "1e1", "0.5", "2.0"]) == ("0.5", "2", "10")
    for wrong in ("nan", "0", "-1", "inf", "x"):
        with pytest.raises(ClientError):
            comparing.normal([wrong])


def test_equal_requests_have_equal_keys_and_others_other_ones():
    keys = [run.key(0) for run in comparison().each()]
    assert len(set(keys)) == 8
    assert keys == [run.key(0) for run in comparison().each()]
    assert all(len(run.label) <= 128 for run in comparison(name="n" * 40).each())
    first = next(iter(comparison().each()))
    assert first.key(1) != first.key(0)
    changes: list[dict[str, Any]] = [{"name": "other"}, {"suite": "quick"}, {"edge_types": ("a",)}]
    changes += [{"delta": "1e-6"}, {"variants": (Variant("psgraph", {"tail_share": 0.2}),)}]
    for changed in changes:
        assert next(iter(comparison(**changed).each())).digest != first.digest


def test_every_run_ends_few_at_a_time_and_a_second_call_submits_nothing():
    service, seen = Service(), []
    finished = compared(service, comparison(), parallel=3, on_change=lambda *call: seen.append(call))
    assert [one.run for one in finished] == list(comparison().each())
    assert service.most == 3
    assert seen[-1] == (8, 0)
    assert all(request["comparison"] for request in service.requests.values())
    compared(service, comparison(), parallel=3)
    assert len(service.by_key) == 8


def test_a_failed_run_is_told_or_tried_again():
    told = compared(Service(fails=1), comparison())
    assert [one.report is None for one in told] == [True] + [False] * 7
    service = Service(fails=1)
    again = compared(service, comparison(), retries=1)
    assert all(one.report is not None for one in again)
    assert len(service.by_key) == 9


def test_waiting_ends_in_time():
    with pytest.raises(WaitTimeout, match="0 of 8"):
        compared(Service(), comparison(), timeout_seconds=0)


def test_means_deviations_and_the_original():
    results = Results(comparison(), compared(Service(), comparison()))
    panel = results.panel("transitivity")
    assert panel.reference == 0.5
    half, two = panel.spreads["psgraph"]
    assert half is not None
    assert two is not None
    assert (half.mean, half.runs) == (0.625, 2)
    assert half.deviation == pytest.approx(0.125 * 2**0.5)
    assert two.mean == 2.125
    assert panel.spreads["edgerand:form=symmetric"][0].mean == 1.125  # type: ignore[union-attr]
    errors = results.panel("transitivity:absolute")
    assert errors.reference is None
    assert errors.spreads["psgraph"][0].mean == 0.125  # type: ignore[union-attr]
    assert errors.better == "lower is closer"
    assert results.panel("degree_total_variation").reference is None
    assert set(results.panel("assortativity").spreads["psgraph"]) == {None}
    for wrong in ("modularity", "transitivity:other", "degree_total_variation:absolute"):
        with pytest.raises(ClientError):
            results.panel(wrong)


def test_the_files_hold_every_figure(tmp_path: Path):
    results = Results(comparison(), compared(Service(fails=1), comparison()))
    panels = [results.panel("transitivity"), results.panel("degree_total_variation")]
    saved = results.save(tmp_path / "new", panels)
    assert [path.name for path in saved] == ["results.json", "results.csv", "report.html"]
    rows = list(csv.DictReader(io.StringIO(saved[1].read_text())))
    assert len(rows) == 1 + 7 * len(METRICS)
    assert rows[0]["state"] == "failed"
    assert rows[0]["metric"] == ""
    kept = json.loads(saved[0].read_text())
    assert kept["without_result"] == 1
    mean = next(row for row in kept["means"] if row["metric"] == "transitivity" and row["epsilon"] == "0.5")
    assert (mean["method"], mean["runs"], mean["original"]) == ("psgraph", 1, 0.5)
    page = saved[2].read_text()
    for words in ("Transitivity", "edgerand:form=symmetric", "1 runs have no release", "<svg"):
        assert words in page
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")


def test_without_a_result_there_is_still_a_file_that_says_so(tmp_path: Path):
    asked = comparison(runs=1)
    results = Results(asked, compared(Service(fails=4), asked))
    assert [path.name for path in results.save(tmp_path)] == ["results.json", "results.csv"]
    assert results.failed == 4
    with pytest.raises(ClientError, match="there are none"):
        results.panel("transitivity")
