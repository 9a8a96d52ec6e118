"""A client that a generator makes of the OpenAPI document is whole, and a service understands it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.identity.models import Role
from core.outbox.models import Topic
from tests.integration.api.conftest import EDGES, Tenant
from tests.support.patience import PATIENCE_SECONDS

ROLES = (Role.CURATOR, Role.REQUESTER)
GENERATORS = ("openapi-python-client==0.29.1", "datamodel-code-generator==0.89.0")

REGISTER = """
import io, sys
from made import AuthenticatedClient
from made.api.datasets import put_content, register_dataset
from made.models import Dataset, NewDataset, Received, Unit
from made.types import File

address, token, edges = sys.argv[1:]
with AuthenticatedClient(base_url=address, token=token) as client:
    new = NewDataset(name="made", unit=Unit.EDGE, epsilon="2")
    dataset = register_dataset.sync(client=client, body=new)
    assert isinstance(dataset, Dataset), dataset
    received = put_content.sync(dataset.id, client=client, body=File(io.BytesIO(edges.encode())))
    assert isinstance(received, Received), received
print(dataset.id, received.id)
"""
CONFIRM = """
import sys
from made import AuthenticatedClient
from made.api.datasets import get_dataset, put_schema
from made.models import Dataset, GraphSchema

address, token, dataset_id = sys.argv[1:]
with AuthenticatedClient(base_url=address, token=token) as client:
    dataset = get_dataset.sync(dataset_id, client=client)
    assert isinstance(dataset, Dataset), dataset
    proposed = GraphSchema.from_dict(dataset.proposed_schema.to_dict())
    confirmed = put_schema.sync(dataset_id, client=client, body=proposed)
    assert isinstance(confirmed, Dataset) and confirmed.state == "validating", confirmed
"""
SUBMIT = """
import sys
from made import AuthenticatedClient
from made.api.jobs import submit_job
from made.models import Job, JobRequest

address, token, dataset_id = sys.argv[1:]
with AuthenticatedClient(base_url=address, token=token) as client:
    asked = JobRequest(dataset_id=dataset_id, epsilon="0.5")
    job = submit_job.sync(client=client, body=asked, idempotency_key="made-1")
    assert isinstance(job, Job), job
print(job.id)
"""
DOWNLOAD = """
import sys
from made import AuthenticatedClient
from made.api.jobs import get_job
from made.api.releases import download_artifact, get_report, list_artifacts
from made.models import Artifacts, Job, NotFoundProblem, ServedReport
from made.types import File

address, token, job_id = sys.argv[1:]
with AuthenticatedClient(base_url=address, token=token) as client:
    job, files = get_job.sync(job_id, client=client), list_artifacts.sync(job_id, client=client)
    assert isinstance(job, Job) and job.state == "published", job
    assert isinstance(files, Artifacts), files
    assert isinstance(get_report.sync(job_id, client=client), ServedReport)
    for each in files.items:
        got = download_artifact.sync(job_id, each.name, client=client)
        assert isinstance(got, File) and len(got.payload.read()) == each.size_bytes, each.name
    assert isinstance(get_job.sync("job_none", client=client), NotFoundProblem)
print(len(files.items))
"""


@pytest.fixture(scope="module")
def generators(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that has the generators, and what their clients need."""
    at = tmp_path_factory.mktemp("generators")
    subprocess.run([sys.executable, "-m", "venv", at], check=True, timeout=PATIENCE_SECONDS)
    install = [at / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, *GENERATORS], check=True, timeout=2 * PATIENCE_SECONDS)
    return at


@pytest.fixture(scope="module")
def document(app: Any, generators: Path) -> Path:
    at = generators / "openapi.json"
    at.write_text(json.dumps(app.openapi()), encoding="utf-8")
    return at


@pytest.mark.slow
def test_a_generated_client_takes_a_graph_to_its_release(
    generators: Path, document: Path, tenant: Tenant, address: str
) -> None:
    tools = {**os.environ, "PATH": f"{generators / 'bin'}:{os.environ['PATH']}"}
    generate = ["openapi-python-client", "generate", "--path", document, "--meta", "none"]
    made = subprocess.run(
        [*generate, "--output-path", generators / "made", "--fail-on-warning"],
        env=tools,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_SECONDS,
    )
    assert made.returncode == 0, made.stdout + made.stderr

    def run(script: str, *arguments: str) -> str:
        command = [generators / "bin" / "python", "-c", script, address, tenant.token(*ROLES), *arguments]
        done = subprocess.run(
            command, cwd=generators, capture_output=True, text=True, timeout=PATIENCE_SECONDS
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    dataset_id, version_id = run(REGISTER, EDGES).split()
    tenant.work(Topic.INGEST, version_id)
    run(CONFIRM, dataset_id)
    tenant.work(Topic.INGEST, version_id)
    job_id = run(SUBMIT, dataset_id)
    tenant.work(Topic.RUN, job_id)
    assert int(run(DOWNLOAD, job_id)) > 1


@pytest.mark.slow
def test_generated_models_take_an_answer(generators: Path, document: Path, house: Tenant) -> None:
    tools = generators / "bin"
    command = [tools / "datamodel-codegen", "--input", document, "--input-file-type", "openapi"]
    subprocess.run(
        [*command, "--output", generators / "shapes.py", "--output-model-type", "pydantic_v2.BaseModel"],
        check=True,
        timeout=2 * PATIENCE_SECONDS,
    )
    answer = house.call("GET", "/methods").text
    script = "import sys, shapes; print(len(shapes.Methods.model_validate_json(sys.stdin.read()).items))"
    read = subprocess.run(
        [tools / "python", "-c", script],
        cwd=generators,
        input=answer,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert read.stdout.strip() == str(len(json.loads(answer)["items"])), read.stderr
