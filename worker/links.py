"""The check of an uploaded list of sensitive links. What it finds is the curators'; nobody else sees it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict

from sqlalchemy.exc import SQLAlchemyError

from core.errors import InvalidInput, LeaseLost, StorageError
from core.logging import get_logger
from core.workflows import sensitive_checks as checks
from worker.aside import quietly, unseen
from worker.folders import private_folder, write_private
from worker.ingests import GIVEN_UP, read_result
from worker.process import WorkerProcess
from worker.pulse import Pulse
from worker.supervisor import Ending, Orders, no_reads, supervise

log = get_logger(__name__)


def run_check(process: WorkerProcess, list_id: str, draining: Callable[[], bool]) -> bool:
    """The list is in use, rejected, or waits for another worker; False if it was not free."""
    services, settings = process.services, process.services.settings
    work = checks.begin_check(services, list_id, process.name)
    if work is None:
        return False

    def beat() -> bool:
        checks.heartbeat_check(services, work)
        return False

    pulse = Pulse(beat, every_seconds=settings.heartbeat_seconds, lease_seconds=settings.lease_seconds)
    orders = Orders(record=no_reads, progress=unseen, draining=draining)
    with private_folder(process.folder / f"links-{list_id}-{work.attempt}") as folder, pulse:
        try:
            checks.lay_out(services, work, folder)
            spec = {
                "list_id": list_id,
                "format": work.format,
                "options": dict(work.options),
                "limits": asdict(work.limits),
            }
            write_private(folder / "spec.json", json.dumps(spec).encode())
            ending = supervise("links", folder, settings, pulse, orders)
            if ending is Ending.FINISHED:
                result = read_result(folder)
                if "findings" in result:
                    checks.reject_check(services, work, result["findings"], result["message"])
                else:
                    checks.finish_check(services, work, folder, result["report"])
            else:
                given_up = GIVEN_UP.get(ending)
                checks.fail_check(services, work, given_up or checks.GAVE_UP, retry=given_up is None)
        except LeaseLost:
            log.warning("lease_lost")
        except (InvalidInput, FileNotFoundError, ValueError) as error:
            log.warning("check_failed", error=type(error).__name__)
            quietly(lambda: checks.fail_check(services, work, GIVEN_UP[Ending.FAILED], retry=False))
        except (StorageError, SQLAlchemyError, OSError) as error:
            log.warning("infrastructure_failed", error=type(error).__name__)
            quietly(lambda: checks.fail_check(services, work))
    return True
