"""A suite that is too much for its limits: the curators get the quick one instead, and are told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.identity.service import Principal
from core.outbox.models import Topic
from core.workflows.common.context import Services
from core.workflows.releases import queries as release_queries
from tests.support.inline import taken
from tests.support.releases import queued_job, ready_dataset
from worker.kinds import base
from worker.process import open_process
from worker.supervisor import Ending, supervise
from worker.work import take


@pytest.mark.parametrize(
    ("suite", "ending", "state", "ran"),
    [
        pytest.param("full", Ending.TIME, "done", ["full", "quick"], marks=pytest.mark.audits),
        ("standard", Ending.MEMORY, "done", ["standard", "quick"]),
        pytest.param("full", Ending.FAILED, "done", ["full", "quick"], marks=pytest.mark.audits),
        ("quick", Ending.TIME, "failed", ["quick"]),
        ("full", Ending.VIOLATION, "failed", ["full"]),
        ("full", Ending.CANCELLED, "failed", ["full"]),
    ],
)
def test_a_suite_that_is_too_much_leaves_the_quick_one(
    suite: str,
    ending: Ending,
    state: str,
    ran: list[str],
    services: Services,
    principal: Principal,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = queued_job(services, principal, ready_dataset(services, principal).id, suite=suite)
    assert taken(services.settings, Topic.RUN, job.id)
    process = open_process(services.settings)
    seen: list[str] = []

    def watched(kind: str, folder: Path, *rest: Any) -> Ending:
        """The suite that was asked for comes to a bad end; another one is really run."""
        seen.append(json.loads((folder / "spec.json").read_text())["suite"])
        if len(seen) > 1:
            return supervise(kind, folder, *rest)
        (folder / "out").mkdir()
        (folder / "out" / "curator.json").write_text('{"half')
        return ending

    monkeypatch.setattr(base, "supervise", watched)
    assert take(process, Topic.EVALUATE, job.id, lambda: False)
    assert seen == ran
    assert list(process.folder.glob("evaluation-*")) == []
    curator = release_queries.get_report(services, principal, job.id)["curator"]
    assert curator["status"] == state
    if state == "done":
        assert curator["suite"] == "quick"
        told = [warning["text"] for warning in curator["warnings"] if warning["code"] == "suite_reduced"]
        assert len(told) == 1
        assert f"suite {suite}" in told[0]
