"""An audit, from claim to result. It reads no dataset, so all of its progress may be seen."""

from __future__ import annotations

import json
from collections.abc import Callable

from sqlalchemy.exc import SQLAlchemyError

from core.audits.models import AuditReason
from core.errors import InvalidInput, LeaseLost, StorageError
from core.logging import get_logger
from core.workflows import audits
from worker.aside import quietly
from worker.folders import private_folder, write_private
from worker.process import WorkerProcess
from worker.pulse import Pulse
from worker.supervisor import INFRASTRUCTURE, Ending, Orders, no_reads, supervise

RESULT = "audit.json"

REASONS = {
    Ending.MEMORY: AuditReason.MEMORY_EXCEEDED,
    Ending.TIME: AuditReason.TIME_EXCEEDED,
}

log = get_logger(__name__)


def run_audit(process: WorkerProcess, audit_id: str, draining: Callable[[], bool]) -> bool:
    """The audit has a result, has failed, or waits for another worker; False if it was not free."""
    services, settings = process.services, process.services.settings
    work = audits.begin_audit(services, audit_id, process.name)
    if work is None:
        return False
    pulse = Pulse(
        lambda: audits.heartbeat_audit(services, work),
        every_seconds=settings.heartbeat_seconds,
        lease_seconds=settings.lease_seconds,
    )
    orders = Orders(
        record=no_reads,
        progress=lambda stage, done, total: audits.record_progress(
            services, work, stage=stage, done=done, total=total
        ),
        draining=draining,
    )
    limits = settings.model_copy(update={"job_wall_seconds": settings.audit_wall_seconds})
    with private_folder(process.folder / f"audit-{audit_id}-{work.attempt}") as folder, pulse:
        try:
            write_private(folder / "spec.json", json.dumps(work.spec).encode())
            ending = supervise("audit", folder, limits, pulse, orders)
            if ending is Ending.FINISHED:
                audits.finish_audit(services, work, folder / "out" / RESULT)
            elif ending in INFRASTRUCTURE:
                audits.hand_back_audit(services, audit_id, attempt=work.attempt)
            else:
                audits.fail_audit(services, work, REASONS.get(ending, AuditReason.METHOD_FAILED))
        except LeaseLost:
            log.warning("lease_lost")
        except (InvalidInput, FileNotFoundError, ValueError) as error:
            log.warning("audit_failed", error=type(error).__name__)
            quietly(lambda: audits.fail_audit(services, work, AuditReason.METHOD_FAILED))
        except (StorageError, SQLAlchemyError, OSError) as error:
            log.warning("infrastructure_failed", error=type(error).__name__)
            quietly(lambda: audits.hand_back_audit(services, audit_id, attempt=work.attempt))
    return True
