"""Alerts have tests and pages; dashboards are what the code writes and read what is provisioned."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from core.settings import Settings
from deploy.grafana.build import files
from tests.support.promql import ROOT, dashboards, rules

pytestmark = pytest.mark.extras

DEPLOY = ROOT / "deploy"
ALERTS = {rule["alert"]: rule for rule in rules() if "alert" in rule}
SECTIONS = ["What it means", "Look at", "Do", "Never"]
BOARDS = {board["uid"]: board for board in dashboards()}


def rule_tests() -> list[dict[str, Any]]:
    """Every case of promtool's tests of alerts."""
    found = []
    for file in (DEPLOY / "prometheus" / "tests").glob("*.yml"):
        for test in yaml.safe_load(file.read_text())["tests"]:
            found += test.get("alert_rule_test", [])
    return found


@pytest.mark.parametrize("alert", ALERTS)
def test_every_alert_has_a_page_that_says_what_to_do(alert: str) -> None:
    annotations = ALERTS[alert]["annotations"]
    page = ROOT / annotations["runbook_url"]
    assert page.parent == DEPLOY / "runbooks"
    assert page.stem == re.sub(r"(?<!^)(?=[A-Z])", "-", alert).lower()
    text = page.read_text()
    assert text.startswith(f"# {alert}\n")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == SECTIONS
    assert annotations["summary"]
    assert annotations["description"]
    assert f"[{alert}](../deploy/runbooks/{page.name})" in (ROOT / "docs" / "monitoring.md").read_text()


def test_every_page_has_its_alert() -> None:
    pages = {page.name for page in (DEPLOY / "runbooks").glob("*.md")}
    assert pages == {rule["annotations"]["runbook_url"].rsplit("/", 1)[1] for rule in ALERTS.values()}


@pytest.mark.parametrize("alert", ALERTS)
def test_every_alert_is_shown_to_fire_and_not_to_fire(alert: str) -> None:
    cases = [case for case in rule_tests() if case["alertname"] == alert]
    assert any(case["exp_alerts"] for case in cases)
    assert any(not case["exp_alerts"] for case in cases)


def test_severities_and_owners_are_two_each() -> None:
    listed = re.findall(
        r"^\| \[(\w+)\]\(.*?\) \| (\w+) \|", (ROOT / "docs" / "monitoring.md").read_text(), re.MULTILINE
    )
    assert dict(listed) == {name: rule["labels"]["severity"] for name, rule in ALERTS.items()}
    assert {rule["labels"]["severity"] for rule in ALERTS.values()} == {"page", "ticket"}
    assert {rule["labels"]["owner"] for rule in ALERTS.values()} == {"operator", "curator"}


def test_the_scrapes_are_of_the_ports_that_the_settings_name() -> None:
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    jobs = {each["job_name"]: each for each in config["scrape_configs"]}
    fields = Settings.model_fields
    assert jobs["graphveil-api"]["dns_sd_configs"][0]["port"] == fields["metrics_port"].default
    assert jobs["graphveil-exporter"]["static_configs"][0]["targets"] == [
        f"exporter:{fields['exporter_port'].default}"
    ]
    assert config["rule_files"] == ["rules/*.yml"]
    assert {
        re.search(r'job="([\w-]+)"', rule["expr"])[1] for rule in ALERTS.values() if 'job="' in rule["expr"]
    } <= (set(jobs))


def test_the_dashboards_are_those_of_the_code() -> None:
    written = files()
    assert {path.name for path in (DEPLOY / "grafana" / "dashboards").iterdir()} == {
        path.name for path in written
    }
    for path, text in written.items():
        assert path.read_text(encoding="utf-8") == text, "run python -m deploy.grafana.build"


def test_dashboards_have_names_of_their_own() -> None:
    assert len(BOARDS) == 4
    assert len({board["title"] for board in BOARDS.values()}) == 4
    assert not any(board["editable"] for board in BOARDS.values())


@pytest.mark.parametrize("uid", BOARDS)
def test_panels_stand_beside_each_other_and_read_what_is_provisioned(uid: str) -> None:
    sources = {
        each["uid"]: each["type"]
        for each in yaml.safe_load(
            (DEPLOY / "grafana" / "provisioning" / "datasources" / "graphveil.yml").read_text()
        )["datasources"]
    }
    board = BOARDS[uid]
    panels = board["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    named = [panel["datasource"] for panel in panels if panel["type"] != "text"]
    named += [target["datasource"] for panel in panels for target in panel.get("targets", ())]
    named += [each["datasource"] for each in board["templating"]["list"] + board["annotations"]["list"]]
    assert named
    assert {(each["uid"], each["type"]) for each in named} <= set(sources.items())
    assert all(panel["targets"] and panel["title"] for panel in panels if panel["type"] != "text")


def test_nobody_changes_provisioned_things_in_a_browser() -> None:
    provisioning = DEPLOY / "grafana" / "provisioning"
    (provider,) = yaml.safe_load((provisioning / "dashboards" / "graphveil.yml").read_text())["providers"]
    assert (provider["allowUiUpdates"], provider["disableDeletion"]) == (False, True)
    sources = yaml.safe_load((provisioning / "datasources" / "graphveil.yml").read_text())["datasources"]
    assert [each["editable"] for each in sources] == [False, False]
    assert sources[1]["secureJsonData"]["password"] == "$__file{/run/secrets/postgres_reader_password}"
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    assert "postgres_reader_password" in services["grafana"]["secrets"]
    assert {
        "./deploy/grafana/dashboards:/var/lib/grafana/dashboards:ro",
        "./deploy/prometheus:/etc/prometheus:ro",
    } <= {
        *services["grafana"]["volumes"],
        *services["prometheus"]["volumes"],
    }
    for each in sources:
        host = each["url"].removeprefix("http://").split(":")[0]
        assert host in services


def test_the_four_dashboards_show_what_governance_asked_for() -> None:
    titles = {uid: " / ".join(panel["title"] for panel in board["panels"]) for uid, board in BOARDS.items()}
    budget = titles["graphveil-budget"]
    for word in ("left", "spent and reserved", "a day", "When it will be gone", "Refusals", "Recent entries",
                 "Exposed"):  # fmt: skip
        assert word in budget
    assert "not a privacy loss" in BOARDS["graphveil-budget"]["panels"][0]["options"]["content"]
    shares = next(p for p in BOARDS["graphveil-budget"]["panels"] if p["type"] == "bargauge")
    steps = shares["fieldConfig"]["defaults"]["thresholds"]["steps"]
    assert [(step["value"], step["color"]) for step in steps] == [
        (None, "red"),
        (0.05, "orange"),
        (0.2, "green"),
    ]
