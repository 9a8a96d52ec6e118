"""docs/persons.md: its commands run, in their order, and the report says what the page says that it does."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from core.evaluation.attacks.membership import bound
from core.identity.models import Role
from core.outbox.models import Topic
from examples.hospital import make_example
from tests.integration.api.conftest import Tenant
from tests.support.shell import Command

pytestmark = pytest.mark.extras

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "persons.md"


def commands() -> list[list[str]]:
    """The words of every ``graphveil`` line of the page, without the program's name."""
    blocks = re.findall(r"^```\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    return [shlex.split(line)[1:] for block in blocks for line in block.splitlines()]


def left(words: str) -> float:
    """What a page or a plan says that the budget would have left."""
    found = re.search(r"epsilon (\S+) of 8 left", words)
    assert found is not None
    return float(found[1])


def test_the_page_from_registration_to_report(
    address: str, tenant: Tenant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(ROOT)
    command = Command(address, tenant.token(Role.CURATOR, Role.REQUESTER))
    dataset = job = ""
    said: dict[str, str] = {}
    for words in commands():
        real = {"ds_...": dataset, "job_...": job, "release": str(tmp_path)}
        words = [real.get(word, word) for word in words]
        if words[0] == "register":
            dataset = command.json(*words)["id"]
        elif words[0] == "upload":
            received = command.json(*words, "--no-wait")
            if "--part" not in words:
                tenant.work(Topic.INGEST, received["id"])
        elif words[0] == "submit":
            job = command.json(*[word for word in words if word != "--wait"])["id"]
            tenant.work(Topic.RUN, job)
            tenant.work(Topic.EVALUATE, job)
        else:
            said[words[0]] = " ".join(command(*words).stdout.split())
    assert "profiles" in said["plan"]
    assert left(said["plan"]) == left(said["budget"])
    assert left(said["plan"]) == pytest.approx(8 - 4.76, abs=0.01)  # as the page says
    again = " ".join(command("plan", dataset, "--epsilon", "4", "--delta", "0.000001").stdout.split())
    assert left(again) == pytest.approx(1.08, abs=0.02)
    assert (tmp_path / "nodes.parquet").exists()
    found = tenant.call("GET", f"/jobs/{job}/report").json()
    assert found["public"]["guarantee"]["unit"] == "node"
    assert found["public"]["guarantee"]["kind"] == "approximate"
    attacks = {attack["name"]: attack for attack in found["curator"]["attacks"]["inference"]}
    for name in ("membership_totals", "membership_nearest", "membership_own"):
        assert attacks[name]["not_run"] is None
        assert attacks[name]["published"]["auc"]["low"] <= attacks[name]["bound"]
        assert attacks[name]["bound"] == pytest.approx(bound(4, 1e-6), abs=1e-3)
    (task,) = (task for task in found["curator"]["tasks"] if task["name"] == "auc_items")
    assert task["trained_on_original"] > 0.55


def test_the_bounds_that_the_page_names():
    text = PAGE.read_text()
    for epsilon in (1, 4):
        assert f"{bound(epsilon, 1e-6):.3f}".lstrip("0") in text


def test_the_example_is_what_its_script_draws_and_what_its_page_says():
    folder = ROOT / "examples" / "hospital"
    rows = make_example.rows()
    lines = (folder / "edges.csv").read_text().splitlines()
    assert len(lines) == len(rows) + 1
    assert f"{len(rows):,} rows of the relation `has`" in (folder / "README.md").read_text()
    assert {int(line.split(",")[0]) for line in lines[1:]} <= set(range(make_example.PATIENTS))
    assert json.loads((folder / "schema.json").read_text())["time"]["count"] == make_example.QUARTERS
