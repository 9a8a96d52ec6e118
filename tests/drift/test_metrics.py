"""What dashboards and rules ask for is what the code exports, and docs/monitoring.md lists it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric

from api.app import create_app
from api.http import problems
from api.serve.metrics import PREFIX, HttpMetrics
from core.jobs.models import JobReason, JobState
from core.ledger.kinds import EntryKind
from core.objectives import OBJECTIVES
from core.settings import Settings
from core.workflows.operations.gauges import Gauges
from core.workflows.operations.gauges_budgets import BudgetGauges
from core.workflows.operations.gauges_totals import BOUNDS, Counts
from core.workflows.operations.gauges_work import WorkGauges
from tests.support.promql import ROOT, dashboards, expressions, filled, rules, selectors
from worker.exporter import GaugeCollector

pytestmark = pytest.mark.extras

PAGE = ROOT / "docs" / "monitoring.md"
ENDINGS = {"counter": "_total", "info": "_info"}
# What Prometheus makes itself, and the labels that it adds to every series.
OWN = {"up": set(), "ALERTS": {"alertstate", "alertname"}}
ADDED = {"job", "instance"}

EMPTY = Gauges(
    job_wall_seconds=1.0,
    budgets=BudgetGauges((), 0, 0, 0),
    work=WorkGauges({}, {}, None, None, 0, None, {}),
    totals=Counts(),
    checks=(),
)


@cache
def exported() -> dict[str, set[str]]:
    """The labels of every metric of ours, by its name in PromQL; a histogram's is that of its buckets."""
    http = HttpMetrics()
    http.observe("/jobs", "POST", 409, 0.1, "conflict")
    exporter = CollectorRegistry()
    GaugeCollector(lambda: EMPTY, exporter)
    found: dict[str, set[str]] = {}
    for family in (*http.registry.collect(), *exporter.collect()):
        if family.name.startswith(f"{PREFIX}_"):
            found.setdefault(_name(family), set()).update(_labels(family))
    return found


def _name(family: Metric) -> str:
    return family.name + ENDINGS.get(family.type, "_bucket" if family.type == "histogram" else "")


def _labels(family: Metric) -> set[str]:
    labels = set(getattr(family, "_labelnames", ()))
    for sample in family.samples:
        labels |= set(sample.labels)
    return labels | ({"le"} if family.type == "histogram" else set())


def recorded() -> set[str]:
    return {rule["record"] for rule in rules() if "record" in rule}


ASKED = sorted(expressions(), key=lambda each: each.place)


@pytest.mark.parametrize("expression", ASKED, ids=[each.place for each in ASKED])
def test_every_expression_names_what_there_is(expression) -> None:
    found = selectors(expression.text)
    assert found
    for selector in found:
        known = exported() | OWN
        assert selector.name in known or selector.name in recorded(), selector.name
        if selector.name in known:
            used = {matcher.name for matcher in selector.matchers.matchers}
            assert used <= known[selector.name] | ADDED, (selector.name, used)


def test_an_unknown_name_or_a_broken_expression_would_be_noticed() -> None:
    assert {each.name for each in selectors("sum(rate(a_total[5m])) / on() b offset 5m or c{x='1'}")} == {
        "a_total",
        "b",
        "c",
    }
    with pytest.raises(ValueError, match="parenthesis"):
        selectors("sum(rate(a_total[5m])")
    assert "graphveil_job_queue_wait_seconds_bucket" in exported()
    assert exported()["graphveil_http_requests_total"] == {"route", "method", "code"}
    assert "graphveil_budget_spent_epsilon" not in exported()


def _matched(label: str) -> set[tuple[str, str]]:
    """The values of a label that expressions ask for, each alternative of a pattern, with the metric."""
    found = set()
    for expression in ASKED:
        for selector in selectors(expression.text):
            for matcher in selector.matchers.matchers:
                if matcher.name == label:
                    found |= {(selector.name, value) for value in matcher.value.split("|")}
    return found


@pytest.mark.parametrize(
    ("label", "known"),
    [
        ("problem", set(problems.rows())),
        ("state", {state.value for state in JobState}),
        ("outcome", {state.value for state in JobState}),
        ("reason", {reason.value for reason in JobReason}),
        ("kind", {kind.value for kind in EntryKind}),
        ("slo", {each.name for each in OBJECTIVES}),
        ("le", {*map(str, BOUNDS), "+Inf"}),
    ],
)
def test_every_value_that_is_asked_for_can_come(label: str, known: set[str]) -> None:
    for metric, value in _matched(label):
        hits = [each for each in known if re.fullmatch(value if label != "le" else re.escape(value), each)]
        assert hits, (metric, label, value)


def test_the_objectives_ask_for_a_route_and_a_bound_that_there_are(tmp_path: Path) -> None:
    settings = Settings(storage_url=(tmp_path / "objects").as_uri())
    assert "post" in create_app(settings).openapi()["paths"]["/v1/jobs"]  # its label has no prefix
    waits = next(each for each in OBJECTIVES if each.name == "queue_wait")
    assert ("graphveil_job_queue_wait_seconds_bucket", str(waits.seconds)) in _matched("le")


def test_what_the_objectives_count_begins_at_zero() -> None:
    """``rate()`` sees no first event of a series that was not there before it: that failure would be lost."""
    codes = {str(row.status) for row in problems.rows().values() if row.status >= 500} | {"202"}
    registry = HttpMetrics().registry
    found = 0
    for expression in ASKED:
        for selector in selectors(expression.text):
            labels = {matcher.name: matcher.value for matcher in selector.matchers.matchers}
            if selector.name != "graphveil_http_requests_total" or "route" not in labels:
                continue
            for code in codes:
                series = {"route": labels["route"], "method": labels["method"], "code": code}
                assert registry.get_sample_value(selector.name, series) == 0, (expression.place, series)
                found += 1
    assert found >= 3 * len(codes)


def test_every_recorded_figure_is_used() -> None:
    assert recorded() <= {selector.name for each in ASKED for selector in selectors(each.text)}


def test_every_metric_is_listed_with_its_labels_and_no_other() -> None:
    rows = re.findall(r"^\| `(graphveil_\w+)` \| (.*?) \|", PAGE.read_text(), re.MULTILINE)
    listed = {name: set(re.findall(r"`(\w+)`", labels)) for name, labels in rows}
    assert len(listed) == len(rows)
    assert listed == {name: labels - {"le"} for name, labels in _as_listed().items()}


def _as_listed() -> dict[str, set[str]]:
    return {name.removesuffix("_bucket"): labels for name, labels in exported().items()}


def test_variables_of_dashboards_ask_for_labels_that_there_are() -> None:
    for board in dashboards():
        for variable in board["templating"]["list"]:
            query = variable["query"]["query"]
            if asked := re.fullmatch(r"label_values\((.*), (\w+)\)", query):
                (selector,) = selectors(filled(asked[1]))
                assert asked[2] in exported()[selector.name]
                continue
            series = re.fullmatch(r"query_result\((.*)\)", query)
            assert series is not None, variable["name"]
            found = selectors(filled(series[1]))
            assert all(selector.name in exported() for selector in found)
            labels = set().union(*(exported()[selector.name] for selector in found))
            assert set(re.findall(r'(\w+)="\(\?<', variable["regex"])) <= labels
            assert set(re.findall(r"\?<(\w+)>", variable["regex"])) == {"value", "text"}


def test_figures_of_an_account_stand_beside_its_name() -> None:
    """An id tells nobody whose budget it is."""
    shown = [
        (panel["title"], target)
        for board in dashboards()
        for panel in board["panels"]
        for target in panel.get("targets", ())
        if "{{account}}" in target.get("legendFormat", "") or "by (account" in target.get("expr", "")
    ]
    assert len(shown) >= 12
    for title, target in shown:
        assert "group_left (name) max by (account, name) (graphveil_account_info)" in target["expr"], title
        assert "{{account}}" not in target["legendFormat"] or "{{name}}" in target["legendFormat"], title


def test_metrics_follow_the_naming_rules() -> None:
    for name in exported():
        assert re.fullmatch(r"graphveil_[a-z0-9_]+", name)
        assert not re.search(r"_(ms|minutes|percent|count)(_|$)", name)
        if "timestamp" in name:
            assert name.endswith("_timestamp_seconds")


def test_no_metric_is_labelled_by_a_person_or_a_job() -> None:
    labels = set().union(*exported().values())
    assert labels == {
        "account", "name", "unit", "state", "invariant", "kind", "method", "outcome", "reason", "worker",
        "gpu", "slo", "version", "route", "code", "problem", "le",
    }  # fmt: skip
