"""docs/integrate.md: its lines run as they stand, in both languages, and do what the page says."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from core.identity.models import Role
from core.outbox.models import Topic
from tests.integration.api.conftest import EDGES, Tenant
from tests.support.patience import PATIENCE_SECONDS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "integrate.md"
HERE = "http://localhost:8080"


def blocks(language: str) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert found
    return found


@pytest.fixture
def begun(tenant: Tenant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the file of edges, and the key where the page looks for it."""
    (tmp_path / "edges.csv").write_text(EDGES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAPHVEIL_KEY", tenant.token(Role.CURATOR, Role.REQUESTER))
    return tmp_path


def worked(tenant: Tenant) -> dict[str, Any] | None:
    """A worker does whatever of the tenant waits; the job where there is one."""
    for each in tenant.call("GET", "/datasets").json()["items"]:
        if each["state"] == "validating":
            tenant.work(Topic.INGEST, each["version"]["id"])
    jobs = tenant.call("GET", "/jobs").json()["items"]
    for each in jobs:
        if each["state"] == "queued":
            tenant.work(Topic.RUN, each["id"])
    return jobs[0] if jobs else None


def ended(tenant: Tenant, folder: Path) -> None:
    """What holds when all of it was done: one job, published and charged, and its graph on the disk."""
    (job,) = tenant.call("GET", "/jobs").json()["items"]
    assert (job["state"], job["epsilon"]) == ("published", "0.5")
    assert len((folder / "graph.csv").read_text().splitlines()) > 10
    budget = tenant.call("GET", f"/datasets/{job['dataset_id']}/budget").json()
    assert budget["remaining"]["epsilon"] == "1.5"


def test_nine_calls_with_curl(address: str, tenant: Tenant, begun: Path):
    said = ""
    script = "set -eu\n"
    kept = begun / "variables"
    for block in blocks("sh"):
        script = f"set -eu\n[ ! -e {kept} ] || . {kept}\n{block.replace(HERE, address)}\n"
        script += f"declare -p URL AUTH JSON DATASET JOB_REQUEST JOB > {kept} 2> /dev/null || true\n"
        script += f"declare -f field >> {kept}\n"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=begun,
            env={**os.environ, "GRAPHVEIL_KEY": os.environ["GRAPHVEIL_KEY"]},
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        assert done.returncode == 0, f"{block}\n{done.stderr}"
        said += done.stdout
        worked(tenant)
    assert len(re.findall(r"^\d\. \*\*", PAGE.read_text(), re.MULTILINE)) == len(blocks("sh")) - 1 == 9
    assert '"statement":"Take any two graphs' in said.replace('": "', '":"')
    ended(tenant, begun)


def test_nine_calls_with_python(
    address: str, tenant: Tenant, begun: Path, capsys: pytest.CaptureFixture[str]
):
    names: dict[str, Any] = {}
    for block in blocks("python"):
        exec(compile(block.replace(HERE, address), str(PAGE), "exec"), names)
        worked(tenant)
    said = capsys.readouterr().out
    assert "Take any two graphs" in said
    assert "0.5 1.5" in said
    ended(tenant, begun)
