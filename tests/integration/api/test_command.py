"""The ``graphveil`` command against the service, and the operator's ``api.admin.keys``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from api.admin import keys
from core.identity import service as identity
from core.identity.models import Role
from core.outbox.models import Topic
from core.settings import Settings
from graphveil.cli.app import app
from tests.integration.api.conftest import EDGES, SCHEMA, Tenant
from tests.support.shell import Command

RELATIONS = 'relations={"*": {"mean_degree": 3, "degrees": "exponential"}}'


@pytest.fixture
def command(address: str, tenant: Tenant) -> Command:
    return Command(address, tenant.token(Role.CURATOR, Role.REQUESTER))


@pytest.fixture
def house_command(address: str, house: Tenant) -> Command:
    return Command(address, house.token(Role.CURATOR, Role.REQUESTER))


def test_a_dataset_from_declaration_to_archive(command: Command, tenant: Tenant, tmp_path: Path):
    schema, edges = tmp_path / "schema.json", tmp_path / "edges.csv"
    schema.write_text(json.dumps(SCHEMA))
    edges.write_text(EDGES)
    dataset = command.json("register", "mail", "--epsilon", "2", "--unit", "edge", "--schema", str(schema))
    assert isinstance(dataset, dict)
    received = command.json("upload", dataset["id"], str(edges), "--no-wait")
    assert isinstance(received, dict)
    tenant.work(Topic.INGEST, received["id"])
    assert "ready" in command("dataset", dataset["id"]).stdout
    assert "mail" in command("datasets").stdout
    assert "epsilon 2 of 2 left" in command("budget", dataset["id"]).stdout
    assert "grant" in command("ledger", dataset["id"]).stdout
    refused = CliRunner().invoke(app, ["archive", dataset["id"]], input="n\n", env=command._environment)
    assert refused.exit_code == 1
    command("archive", dataset["id"], "--yes")
    assert "archived" in command("dataset", dataset["id"]).stdout


def test_a_graph_is_made_from_declarations_where_there_are_no_data_and_no_budget_is_left(
    command: Command, tenant: Tenant, tmp_path: Path
):
    schema, edges = tmp_path / "schema.json", tmp_path / "edges.csv"
    schema.write_text(json.dumps(SCHEMA))
    edges.write_text(EDGES)
    for name in ("empty", "spent"):
        dataset = command.json("register", name, "--epsilon", "1", "--unit", "edge", "--schema", str(schema))
        assert isinstance(dataset, dict)
        if name == "spent":
            received = command.json("upload", dataset["id"], str(edges), "--no-wait")
            assert isinstance(received, dict)
            tenant.work(Topic.INGEST, received["id"])
            command("submit", dataset["id"], "--epsilon", "1")
            command("submit", dataset["id"], "--epsilon", "0.1", "--repeat", code=3)
        before = command("ledger", dataset["id"]).stdout
        said = command("declared", dataset["id"], "--to", str(tmp_path / name), "-p", RELATIONS).stdout
        assert "Made from declarations; nothing was read." in " ".join(said.split())
        assert (tmp_path / name / "edges.parquet").is_file()
        assert command("ledger", dataset["id"]).stdout == before


def test_a_job_from_declarations_is_planned_submitted_and_reported(
    house_command: Command, house: Tenant, ready_dataset: str
):
    mark = "Made from declarations; nothing was read."
    asked = ("--method", "declared", "-p", RELATIONS)
    assert mark in " ".join(house_command("plan", ready_dataset, *asked).stdout.split())
    made = house_command.json("submit", ready_dataset, *asked, "--label", "before approval")
    assert isinstance(made, dict)
    assert made["kind"] == "unread"
    house.work(Topic.RUN, made["id"])
    assert "published" in house_command("wait", made["id"]).stdout
    assert "made from declarations, nothing read" in house_command("job", made["id"]).stdout
    entries = house_command.json("ledger", ready_dataset)
    assert mark in [each["reason"] for each in entries if each["job_id"] == made["id"]]
    assert mark in " ".join(house_command("report", made["id"]).stdout.split())


def test_a_proposal_is_shown_accepted_and_waited_for(command: Command, tenant: Tenant, tmp_path: Path):
    edges = tmp_path / "edges.txt"
    edges.write_text("# FromNodeId ToNodeId\n0 1\n1 2\n2 2\n")
    dataset = command.json("register", "snap", "--epsilon", "1")
    assert isinstance(dataset, dict)
    received = command.json("upload", dataset["id"], str(edges), "--no-wait")
    assert isinstance(received, dict)
    tenant.work(Topic.INGEST, received["id"])
    shown = " ".join(command("dataset", dataset["id"]).stdout.split())
    assert " proposed " in shown
    assert "3 rows read: 3 node, 2 edge; 0 duplicates merged, 1 loops dropped" in shown
    assert "publishes who has one" in shown
    assert f"graphveil confirm-schema {dataset['id']} --accept --wait" in shown
    command("confirm-schema", dataset["id"], code=2)
    asked = command("confirm-schema", dataset["id"], "--accept", code=1).stderr
    assert "Read off the data, and outside epsilon once public: the list of nodes" in asked
    assert "validating" in command("confirm-schema", dataset["id"], "--accept", "--yes").stdout
    assert "no proposed schema" in command("confirm-schema", dataset["id"], "--accept", code=2).stderr
    tenant.work(Topic.INGEST, received["id"])
    assert "ready" in command("dataset", dataset["id"]).stdout


def test_a_job_from_plan_to_download(
    house_command: Command, ready_dataset: str, published_job: str, tmp_path: Path
):
    planned = house_command("plan", ready_dataset, "--epsilon", "0.5").stdout
    assert "epsilon 0.5" in planned
    assert "chosen by auto" in planned
    named = ("--label", "from a shell", "--repeat")
    submitted = house_command.json("submit", ready_dataset, "--epsilon", "0.5", *named)
    assert isinstance(submitted, dict)
    assert submitted["label"] == "from a shell"
    assert submitted["id"] in house_command("jobs", "--state", "queued").stdout
    house_command("wait", submitted["id"], "--timeout", "0", code=5)
    assert "cancelled" in house_command("cancel", submitted["id"]).stdout
    house_command("wait", submitted["id"], code=1)
    assert "published" in house_command("wait", published_job).stdout
    report = house_command("report", published_job).stdout
    for words in ("guarantee", "charged epsilon 1", "Density", "compared with the original"):
        assert words in report
    saved = house_command("download", published_job, "--to", str(tmp_path)).stdout.split()
    assert str(tmp_path / "nodes.parquet") in saved
    assert all(Path(path).stat().st_size for path in saved)
    assert not (tmp_path / "curator.json").exists()
    house_command("download", published_job, "curator.json", "--to", str(tmp_path), code=2)
    assert not (tmp_path / "curator.json").exists()
    house_command("download", published_job, "--curator", "--to", str(tmp_path / "ours"))
    assert {path.name for path in (tmp_path / "ours").iterdir()} == {Path(p).name for p in saved} | {
        "curator.json"
    }
    assert "psgraph" in house_command("methods").stdout


def test_a_plan_takes_a_target_and_several_are_laid_side_by_side(
    house_command: Command, ready_dataset: str, tmp_path: Path
):
    aims = ("--target", "edges_relative_95=0.2", "--assume", "edges=170")
    planned = house_command("plan", ready_dataset, "--method", "dcsbm", *aims).stdout
    assert "is the smallest that meets the target: edges_relative_95 takes it." in planned
    assert "170 edges, as the request says" in planned
    menu = house_command(
        "plan", ready_dataset, "--menu", "--method", "dcsbm,dgg", "--epsilon", "0.5,1000", *aims[2:]
    ).stdout
    for words in ("edges_within_95", "degree_told_from_zero", "refused", "dgg at epsilon 1000: "):
        assert words in menu
    page = tmp_path / "menu.html"
    asked = ("plan", ready_dataset, "--menu", "--epsilon", "1", "--page", str(page))
    assert [item["method"] for item in house_command.json(*asked)["items"]] == ["dcsbm"]
    assert "What epsilon buys" in page.read_text(encoding="utf-8")
    by_relation = house_command("plan", ready_dataset, "--epsilon", "1", "--method", "mail=dgg,*=auto").stdout
    assert "dgg" in by_relation
    wrong = house_command("plan", ready_dataset, "--epsilon", "1", "--method", "mail=", code=2)
    assert "RELATION=METHOD" in wrong.stderr
    capped = ("--method", "psgraph", "--target", "edges_within_95=5")
    unmet = house_command("plan", ready_dataset, *capped, code=3)
    assert "target-not-met" in unmet.stderr


def test_refusals_fit_one_screen_and_have_their_codes(house_command: Command, ready_dataset: str):
    refused = house_command("submit", ready_dataset, "--epsilon", "1000", code=3)
    assert "budget-exceeded" in refused.stderr
    assert "remaining" in refused.stderr
    assert len(refused.stderr.splitlines()) < 20
    named = ("--epsilon", "1", "--method", "psgraph", "-p", "speed=11")
    field = house_command("submit", ready_dataset, *named, code=3)
    assert "parameters.speed" in field.stderr
    auto = house_command("submit", ready_dataset, "--epsilon", "1", "-p", "speed=11", code=3)
    assert "name the method" in auto.stderr
    house_command("report", "job_none", code=3)
    house_command("submit", ready_dataset, "--epsilon", "1", "-p", "speed", code=2)


def test_a_silent_service_and_a_missing_token_are_explained():
    silent = {"GRAPHVEIL_URL": "http://127.0.0.1:1", "GRAPHVEIL_TOKEN": "gv_x"}
    result = CliRunner().invoke(app, ["methods"], env=silent)
    assert result.exit_code == 4
    assert "GRAPHVEIL_URL" in result.stderr
    missing = CliRunner().invoke(app, ["methods"], env={"GRAPHVEIL_TOKEN": ""})
    assert missing.exit_code == 2
    assert "GRAPHVEIL_TOKEN" in missing.stderr


def test_keys_are_made_listed_and_revoked(
    api_settings: Settings, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(keys, "get_settings", lambda: api_settings)
    runner = CliRunner(env={"COLUMNS": "200"})
    roles = ["--role", "curator", "--role", "requester"]
    made = runner.invoke(keys.app, ["create", "--tenant", tenant.name, "--name", "portal", *roles])
    token = made.stdout.strip()
    assert made.exit_code == 0
    with tenant.services.db.transaction() as session:
        principal = identity.authenticate(session, token)
    assert principal.roles == {Role.CURATOR, Role.REQUESTER}
    listed = runner.invoke(keys.app, ["list", "--tenant", tenant.name]).stdout
    assert principal.key_id in listed
    assert token not in listed
    revoked = runner.invoke(keys.app, ["revoke", principal.key_id, "--tenant", tenant.name])
    assert revoked.exit_code == 0
    assert "revoked" in runner.invoke(keys.app, ["list", "--tenant", tenant.name]).stdout
    bad = runner.invoke(keys.app, ["create", "--tenant", "No Tenant", "--name", "x", "--role", "curator"])
    assert bad.exit_code == 2


def test_a_published_model_is_drawn_from_again(house_command: Command, published_job: str):
    made = house_command.json("sample", published_job, "--format", "csv", "--label", "again")
    assert isinstance(made, dict)
    assert made["sample_of"] == published_job
    assert "charged nothing" in house_command("job", made["id"]).stdout
    assert "budget returned" in house_command("cancel", made["id"]).stdout
