"""The check of an uploaded list of sensitive links. What it finds is the curators'; nobody else sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from core.datasets.models import LINK_CHECKS
from core.jobs.models import Stop
from core.workflows.common.context import Services
from core.workflows.datasets import link_checks as checks
from core.workflows.datasets.link_checks import CheckWork
from worker.kinds.base import Held, WorkKind, read_result
from worker.kinds.ingest import gave_up
from worker.supervisor import Ending


class LinkCheckKind(WorkKind[CheckWork]):
    """Lists of sensitive links: in use, or rejected with findings."""

    leased = LINK_CHECKS
    name, child = "links", "links"

    def begin(self, services: Services, subject_id: str, worker: str) -> CheckWork | None:
        return checks.begin_check(services, subject_id, worker)

    def spec(self, held: Held[CheckWork]) -> Mapping[str, Any]:
        work = held.work
        checks.lay_out(held.services, work, held.folder)
        return {
            "list_id": work.list_id,
            "format": work.format,
            "options": dict(work.options),
            "limits": asdict(work.limits),
        }

    def finish(self, held: Held[CheckWork]) -> None:
        result = read_result(held.folder)
        if "findings" in result:
            checks.reject_check(held.services, held.work, result["findings"], result["message"])
        else:
            checks.finish_check(held.services, held.work, held.folder, result["report"])

    def fail(self, services: Services, work: CheckWork, ending: Ending) -> None:
        checks.fail_check(services, work, gave_up(ending), retry=False)

    def hand_back(self, services: Services, work: CheckWork, stop: Stop) -> None:
        checks.fail_check(services, work)
