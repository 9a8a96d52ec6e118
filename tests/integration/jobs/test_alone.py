"""A release without a service follows the plan that the service reserves for a job of the same content."""

from __future__ import annotations

from pathlib import Path

import pytest

import graphveil as gv
from core.identity.service import Principal
from core.jobs.models import Job
from core.workflows.common.context import Services
from tests.support.releases import NODES, queued_job, ready_dataset, ring_edges


@pytest.mark.parametrize(
    "asked", [{}, {"method": "psgraph"}, {"method": "tmf", "epsilon": "0.7"}], ids=["auto", "psgraph", "tmf"]
)
def test_the_plan_is_that_of_the_services_job(
    services: Services, principal: Principal, tmp_path: Path, asked: dict[str, str]
) -> None:
    job: Job = queued_job(services, principal, ready_dataset(services, principal).id, **asked)
    edges = tmp_path / "edges.csv"
    edges.write_bytes(ring_edges())
    wanted = {"epsilon": "1"} | asked
    budget = gv.Budget(tmp_path / "budget.json", epsilon=4)
    planned = gv.plan(edges, nodes=NODES, budget=budget, **wanted)
    assert planned.digest == job.plan_digest
    release = gv.synthesize(edges, nodes=NODES, budget=budget, progress=False, **wanted)
    assert release.report["provenance"]["plan_digest"] == job.plan_digest
    assert release.report["parameters"] == job.spec["release"]["params"] | {"edge_types": ["edge"]}
    reserved = next(entry["amounts"] for entry in budget.entries() if entry["kind"] == "reserve")
    assert reserved == {name: amount for name, amount in job.spec["amounts"].items() if amount}
