"""The calls of docs/integrate.md and of the README run as they stand, and do what the pages say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from core.identity.models import Role
from core.outbox.models import Topic
from tests.integration.api.conftest import EDGES, Tenant
from tests.support.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.extras

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "integrate.md"
HERE = "http://localhost:8080"


def blocks(language: str, page: Path = PAGE) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
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
    report = tenant.call("GET", f"/jobs/{job['id']}/report").json()["public"]
    (relation,) = report["statistics"]["edge_types"]
    header, *rows = (folder / "graph.csv").read_text().splitlines()
    # By noise it has no edge once in a hundred times.
    assert (header, len(rows)) == ("source,target", relation["edges"])
    budget = tenant.call("GET", f"/datasets/{job['dataset_id']}/budget").json()
    assert budget["remaining"]["epsilon"] == "1.5"


def called(parts: list[str], kept: str, tenant: Tenant, folder: Path) -> str:
    """Run one part after another in a shell each, a worker between them; what all of them printed.

    ``kept``: commands that print what the next part needs of this one's.
    """
    said, variables = "", folder / "variables"
    for part in parts:
        script = f"set -eu\n[ ! -e {variables} ] || . {variables}\n{part}\n"
        done = subprocess.run(
            ["bash", "-c", f"{script}({kept}) > {variables} 2> /dev/null || true\n"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        assert done.returncode == 0, f"{part}\n{done.stderr}"
        said += done.stdout
        worked(tenant)
    return said


def test_six_calls_of_the_readme(address: str, tenant: Tenant, begun: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GRAPHVEIL_TOKEN", os.environ["GRAPHVEIL_KEY"])
    (block,) = blocks("sh", ROOT / "README.md")
    assert "http://127.0.0.1:8000" in block
    here = block.replace("http://127.0.0.1:8000", address)
    script = here.replace("FLIGHTS=examples", f"FLIGHTS={ROOT}/examples")
    assert len(script.split("\n\n")) == 1 + 6
    for run in (1, 2):
        done = subprocess.Popen(["bash", "-euc", script], cwd=begun, stderr=subprocess.PIPE, text=True)
        while done.poll() is None:  # a worker comes by now and then, and no call is sent for its sake
            worked(tenant)
            time.sleep(1)
        assert done.returncode == 0, done.communicate()[1]
        report = json.loads((begun / "report.json").read_text())
        assert report["public"]["charge"]["charged_epsilon"] == "1"
        assert len((begun / "graph.csv").read_text().splitlines()) > 5_000
        assert len(tenant.call("GET", "/jobs").json()["items"]) == run


def test_the_readme_says_at_once_what_is_refused(
    address: str, tenant: Tenant, begun: Path, monkeypatch: pytest.MonkeyPatch
):
    (block,) = blocks("sh", ROOT / "README.md")
    here = block.replace("http://127.0.0.1:8000", address).replace(
        "FLIGHTS=examples", f"FLIGHTS={ROOT}/examples"
    )
    monkeypatch.setenv("GRAPHVEIL_TOKEN", "gv_unknown")
    began = time.monotonic()
    done = subprocess.run(["bash", "-euc", here], cwd=begun, capture_output=True, text=True)
    assert done.returncode != 0
    assert "key" in done.stderr
    assert "Traceback" not in done.stderr
    assert time.monotonic() - began < PATIENCE_SECONDS


def test_nine_calls_with_curl(address: str, tenant: Tenant, begun: Path):
    kept = "declare -f field; declare -p URL AUTH JSON; declare -p DATASET; declare -p JOB_REQUEST JOB"
    said = called([each.replace(HERE, address) for each in blocks("sh")], kept, tenant, begun)
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
