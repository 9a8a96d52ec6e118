"""An audit of a method. It reads no dataset, so all of its progress may be seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.audits.models import AUDITS, AuditReason
from core.jobs.events import Step
from core.jobs.models import Stop
from core.settings import Settings
from core.workflows.audits import requests as audits
from core.workflows.audits.requests import AuditWork
from core.workflows.common.context import Services
from worker.kinds.base import Held, WorkKind
from worker.supervisor import Ending

RESULT = "audit.json"

REASONS = {
    Ending.MEMORY: AuditReason.MEMORY_EXCEEDED,
    Ending.TIME: AuditReason.TIME_EXCEEDED,
}


class AuditKind(WorkKind[AuditWork]):
    """Audits: a result that can be read, or a reason."""

    leased = AUDITS
    name, child = "audit", "audit"

    def begin(self, services: Services, subject_id: str, worker: str) -> AuditWork | None:
        return audits.begin_audit(services, subject_id, worker)

    def spec(self, held: Held[AuditWork]) -> Mapping[str, Any]:
        return held.work.spec

    def progress(self, services: Services, work: AuditWork, steps: Sequence[Step]) -> None:
        audits.record_progress(services, work, **steps[-1]._asdict())

    def limits(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"job_wall_seconds": settings.audit_wall_seconds})

    def finish(self, held: Held[AuditWork]) -> None:
        audits.finish_audit(held.services, held.work, held.folder / "out" / RESULT)

    def fail(self, services: Services, work: AuditWork, ending: Ending) -> None:
        audits.fail_audit(services, work, REASONS.get(ending, AuditReason.METHOD_FAILED))

    def hand_back(self, services: Services, work: AuditWork, stop: Stop) -> None:
        audits.hand_back_audit(services, work)
