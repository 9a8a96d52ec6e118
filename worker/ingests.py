"""The validation of an upload. Its findings are the curator's; nobody else sees more than the state."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from core.errors import InvalidInput, LeaseLost, NotFound, StorageError
from core.graphs.schema import GraphSchema
from core.logging import get_logger
from core.workflows import ingest
from worker.aside import quietly, unseen
from worker.folders import write_private
from worker.process import WorkerProcess
from worker.pulse import Pulse
from worker.supervisor import Ending, Orders, no_reads, supervise

MAX_RESULT_BYTES = 64 * 2**20

GIVEN_UP = {
    Ending.MEMORY: "the validation needed more memory than one upload may use",
    Ending.TIME: "the validation took longer than one upload may take",
    Ending.FAILED: "the validation failed on these files",
    Ending.VIOLATION: "the validation failed on these files",
}

log = get_logger(__name__)


def run_ingest(process: WorkerProcess, version_id: str, draining: Callable[[], bool]) -> bool:
    """The version is ready, proposed, rejected, or waits for another worker; False if it was not free."""
    services, settings = process.services, process.services.settings
    try:
        work = ingest.begin_ingest(services, version_id, process.name)
    except (NotFound, LeaseLost, StorageError) as error:
        log.warning("upload_not_laid_out", error=type(error).__name__)  # handed back by begin_ingest
        return True
    if work is None:
        return False
    pulse = Pulse(
        lambda: _beat(process, work),
        every_seconds=settings.heartbeat_seconds,
        lease_seconds=settings.lease_seconds,
    )
    orders = Orders(record=no_reads, progress=unseen, draining=draining)
    try:
        with pulse:
            write_private(work.folder / "spec.json", json.dumps(_spec(work)).encode())
            _conclude(process, work, supervise("ingest", work.folder, settings, pulse, orders))
    except LeaseLost:
        log.warning("lease_lost")
    except (InvalidInput, FileNotFoundError, ValueError) as error:
        log.warning("ingest_failed", error=type(error).__name__)
        quietly(lambda: ingest.fail_ingest(services, work, GIVEN_UP[Ending.FAILED], retry=False))
    except (StorageError, SQLAlchemyError, OSError) as error:  # a full disk, too, says nothing of the files
        log.warning("infrastructure_failed", error=type(error).__name__)
        quietly(lambda: ingest.fail_ingest(services, work))
    finally:
        ingest.discard_work(work)
    return True


def _conclude(process: WorkerProcess, work: ingest.IngestWork, ending: Ending) -> None:
    if ending is Ending.FINISHED:
        result = read_result(work.folder)
        if "findings" in result:
            ingest.reject_ingest(process.services, work, result["findings"], result["message"])
        elif work.schema is None:
            schema = GraphSchema.model_validate(result["report"]["schema"])
            ingest.propose(process.services, work, schema, result["report"])
        else:
            ingest.finish_ingest(process.services, work, result["report"])
    elif ending in GIVEN_UP:
        ingest.fail_ingest(process.services, work, GIVEN_UP[ending], retry=False)
    else:
        ingest.fail_ingest(process.services, work)


def _spec(work: ingest.IngestWork) -> dict[str, Any]:
    return {
        "files": {
            part: {"path": str(file.path), "format": file.format, "options": dict(file.options)}
            for part, file in work.files.items()
        },
        "schema": None if work.schema is None else work.schema.model_dump(mode="json"),
        "limits": asdict(work.limits),
        "fingerprint_key": work.fingerprint_key.hex(),
    }


def read_result(folder: Path) -> dict[str, Any]:
    """What a child that validates left: a report, or findings and a message. InvalidInput otherwise."""
    path = folder / "result.json"
    if path.is_symlink() or path.stat().st_size > MAX_RESULT_BYTES:
        raise InvalidInput("the child left no result that could be read")
    result = json.loads(path.read_bytes())
    if set(result) not in ({"report"}, {"findings", "message"}):
        raise InvalidInput("the child left no result of a known kind")
    return result


def _beat(process: WorkerProcess, work: ingest.IngestWork) -> bool:
    ingest.heartbeat_ingest(process.services, work)
    return False
