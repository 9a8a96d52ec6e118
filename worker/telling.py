"""Reports what this process can do. It does to the service, from a thread: requests for what nobody can are
refused."""

from __future__ import annotations

import threading

from sqlalchemy.exc import SQLAlchemyError

from core.logging import get_logger
from core.workers import repository
from core.workflows.jobs import abilities
from worker.process import WorkerProcess

EVERY_SECONDS = 60.0
"""Well within the time for which it stands (:data:`core.workers.repository.ABLE`)."""

log = get_logger(__name__)


def keep(process: WorkerProcess) -> threading.Event:
    """Tell it now, and again until the event is set."""
    tell(process)
    stopped = threading.Event()
    threading.Thread(target=_repeatedly, args=(process, stopped), name="abilities", daemon=True).start()
    return stopped


def tell(process: WorkerProcess) -> None:
    """Write it to the database, unless that does not answer."""
    try:
        with process.services.db.transaction() as session:
            repository.tell(session, process.name, abilities.here())
    except SQLAlchemyError as error:
        log.warning("abilities_not_told", error=type(error).__name__)


def _repeatedly(process: WorkerProcess, stopped: threading.Event) -> None:
    while not stopped.wait(EVERY_SECONDS):
        tell(process)
