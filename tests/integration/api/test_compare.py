"""``graphveil compare`` against the service: refused where the graph is private, run once, found again."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from core.identity.models import Role
from core.outbox.models import Topic
from graphveil.cli.app import app
from tests.integration.api.conftest import Tenant
from tests.support.patience import PATIENCE_SECONDS


@contextmanager
def working(tenant: Tenant) -> Iterator[None]:
    """A worker does what is queued, and compares what is published, until the block is left."""
    over, compared = threading.Event(), set()

    def work() -> None:
        while not over.wait(0.1):
            for job in tenant.call("GET", "/jobs").json()["items"]:
                if job["state"] == "queued":
                    tenant.work(Topic.RUN, job["id"])
                elif job["state"] == "published" and job["id"] not in compared:
                    compared.add(job["id"])
                    tenant.work(Topic.EVALUATE, job["id"])

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=PATIENCE_SECONDS)


class Compare:
    """The command as one tenant, in a folder of its own."""

    def __init__(self, address: str, tenant: Tenant, folder: Path) -> None:
        self.tenant, self.folder, self._address = tenant, folder, address

    def __call__(self, dataset_id: str, *more: str, code: int = 0, role: tuple[Role, ...] = ()) -> Result:
        roles = role or (Role.CURATOR, Role.REQUESTER)
        environment = {
            "GRAPHVEIL_URL": self._address,
            "GRAPHVEIL_TOKEN": self.tenant.token(*roles),
            "COLUMNS": "160",
        }
        asked = ["-m", "psgraph", "-m", "edgerand:form=symmetric", "-e", "2", "-e", "0.5", "--suite", "quick"]
        command = ["compare", dataset_id, *asked, "--to", str(self.folder / "found"), *more]
        result = CliRunner().invoke(app, command, env=environment, input="n\n")
        assert result.exit_code == code, result.output + result.stderr
        return result

    def jobs(self) -> list[dict[str, Any]]:
        return self.tenant.call("GET", "/jobs").json()["items"]


@pytest.fixture
def compare(address: str, tenant: Tenant, tmp_path: Path) -> Compare:
    return Compare(address, tenant, tmp_path)


def test_two_methods_at_two_epsilons_from_price_to_page(compare: Compare):
    dataset_id = compare.tenant.ready(epsilon="20", public=True)
    asked = compare(dataset_id, "--runs", "2", code=1)
    assert "epsilon 10 for 8 runs; 20 is left" in asked.stderr
    assert compare.jobs() == []  # the answer was no

    with working(compare.tenant):
        shown = compare(dataset_id, "--runs", "1", "--yes", "--timeout", f"{PATIENCE_SECONDS:.0f}")
    for words in ("Transitivity", "psgraph", "edgerand:form=symmetric", "original", "lower is closer"):
        assert words in shown.stdout
    assert len(compare.jobs()) == 4
    first = json.loads((compare.folder / "found" / "results.json").read_text())
    assert first["without_result"] == 0
    assert {row["job_id"] for row in first["figures"]} == {job["id"] for job in compare.jobs()}
    assert first["epsilons"] == ["0.5", "2"]
    assert "<svg" in (compare.folder / "found" / "report.html").read_text()
    left = compare.tenant.call("GET", f"/datasets/{dataset_id}/budget").json()["remaining"]["epsilon"]
    assert left == "15"

    began = time.monotonic()
    again = compare(dataset_id, "--runs", "1", "--metric", "transitivity:relative")
    assert time.monotonic() - began < PATIENCE_SECONDS
    assert "4 of them exist" in again.stderr
    assert "relative error" in again.stdout
    assert len(compare.jobs()) == 4
    assert json.loads((compare.folder / "found" / "results.json").read_text()) == first
    misspelt = compare(dataset_id, "--runs", "1", "--metric", "transitive", code=2)
    assert "transitivity" in misspelt.stderr
    more = compare(dataset_id, "--runs", "2", code=1)
    assert "4 of them exist" in more.stderr
    assert "epsilon 5 for 4 runs" in more.stderr


def test_a_private_graph_is_refused_by_the_service_itself(compare: Compare):
    dataset_id = compare.tenant.ready(epsilon="20")
    refused = compare(dataset_id, "--yes", code=3)
    assert "public datasets only" in refused.stderr.replace("\n", " ")
    answer = compare.tenant.submit(dataset_id, "1", comparison=True)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "comparison"
    assert compare.jobs() == []


def test_what_cannot_be_paid_or_read_is_refused_before_anything_runs(compare: Compare):
    dataset_id = compare.tenant.ready(epsilon="4", public=True)
    short = compare(dataset_id, "--yes", code=3)
    assert "does not cover it" in short.stderr
    requester = compare(dataset_id, "--yes", role=(Role.REQUESTER,), code=2)
    assert "curator" in requester.stderr
    compare(dataset_id, "--name", "a/b", "--yes", code=2)
    compare(dataset_id, "-m", "psgraph", "--yes", code=2)
    compare(dataset_id, "-m", "nothing", "--yes", code=3)
    assert compare.jobs() == []
