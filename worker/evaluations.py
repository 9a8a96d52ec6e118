"""The comparison of a published release with its original. Whatever happens here, the release stands."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from core.errors import InvalidInput, LeaseLost, NotFound, StorageError
from core.logging import get_logger
from core.publishing.spec import EvaluationSpec
from core.settings import Settings
from core.workflows import evaluate
from worker.aside import quietly
from worker.folders import private_folder, write_private
from worker.process import WorkerProcess
from worker.pulse import Pulse
from worker.supervisor import INFRASTRUCTURE, Ending, Orders, no_reads, supervise

TOO_MUCH = frozenset({Ending.TIME, Ending.MEMORY, Ending.FAILED})

log = get_logger(__name__)


def run_evaluation(process: WorkerProcess, job_id: str, draining: Callable[[], bool]) -> bool:
    """The curators have their comparison, or it has failed or waits for another worker; False if not free."""
    services, settings = process.services, process.services.settings
    work = evaluate.begin_evaluation(services, job_id, process.name)
    if work is None:
        return False
    pulse = Pulse(
        lambda: evaluate.heartbeat_evaluation(services, work),
        every_seconds=settings.heartbeat_seconds,
        lease_seconds=settings.lease_seconds,
    )
    tell = partial(evaluate.advance_evaluation, services, work)
    orders = Orders(record=no_reads, progress=tell, draining=draining)
    with private_folder(process.folder / f"evaluation-{job_id}-{work.attempt}") as folder, pulse:
        try:
            evaluate.fetch_evaluation(services, work, graph=folder / "graph", release=folder / "bundle")
            ending = _compared(folder, work.spec, settings, pulse, orders)
            if ending is Ending.FINISHED:
                evaluate.finish_evaluation(services, work, folder / "out" / evaluate.CURATOR_REPORT)
            elif ending in INFRASTRUCTURE:
                evaluate.hand_back_evaluation(services, job_id, attempt=work.attempt)
            else:
                evaluate.fail_evaluation(services, work)
        except LeaseLost:
            log.warning("lease_lost")
        except (NotFound, InvalidInput, FileNotFoundError, ValueError) as error:
            log.warning("evaluation_failed", error=type(error).__name__)
            quietly(lambda: evaluate.fail_evaluation(services, work))
        except (StorageError, SQLAlchemyError, OSError) as error:
            log.warning("infrastructure_failed", error=type(error).__name__)
            quietly(lambda: evaluate.hand_back_evaluation(services, job_id, attempt=work.attempt))
    return True


def _compared(folder: Path, spec: EvaluationSpec, settings: Settings, pulse: Pulse, orders: Orders) -> Ending:
    """How the comparison ended. Where its suite was too much, that of the quick one: better than none."""
    file, out = folder / "spec.json", folder / "out"
    write_private(file, spec.model_dump_json().encode())
    ending = supervise("evaluate", folder, settings, pulse, orders)
    less = spec.reduced()
    if ending not in TOO_MUCH or less is None:
        return ending
    log.warning("suite_reduced", suite=str(spec.suite), ending=str(ending))
    file.unlink()
    shutil.rmtree(out, ignore_errors=True)
    return _compared(folder, less, settings, pulse, orders)
