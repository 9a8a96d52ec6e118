"""A snapshot of a live stream, before its graph is opened: validated by a child that has no meter."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from core.errors import InvalidInput
from core.workflows import tick_work
from core.workflows.context import Services
from core.workflows.publish import JobWork
from worker.aside import unseen
from worker.folders import write_private
from worker.ingests import GIVEN_UP, read_result
from worker.pulse import Pulse
from worker.supervisor import Ending, Orders, no_reads, supervise


def lay_out(
    services: Services, work: JobWork, folder: Path, pulse: Pulse, draining: Callable[[], bool]
) -> Ending | None:
    """FINISHED: the snapshot's graph, and what the last one left, lie in ``folder``. None: it was refused.

    CANCELLED, DRAINED and LOST as a child's ending. What stops the validation itself, whatever it is, comes
    of the upload: it is refused too, and may be sent anew. Raises NotFound once the dataset is erased.
    """
    task = tick_work.fetch_snapshot(services, work, folder)
    if task is None:
        return Ending.FINISHED
    spec = {
        "file": None if task.file is None else dict(task.file),
        "schema": task.schema.model_dump(mode="json"),
        "limits": asdict(task.limits),
    }
    write_private(folder / "snapshot.json", json.dumps(spec).encode())
    orders = Orders(record=no_reads, progress=unseen, draining=draining)
    ending = supervise("snapshot", folder, services.settings, pulse, orders)
    if ending in GIVEN_UP:
        tick_work.refuse_snapshot(services, work, [], GIVEN_UP[ending])
        return None
    if ending is not Ending.FINISHED:
        return ending
    try:
        result = read_result(folder)
    except (InvalidInput, FileNotFoundError, ValueError):
        result = {"findings": [], "message": GIVEN_UP[Ending.FAILED]}
    if "findings" in result:
        tick_work.refuse_snapshot(services, work, result["findings"], result["message"])
        return None
    try:
        tick_work.keep_snapshot(services, work, task, folder)
    except InvalidInput:
        tick_work.refuse_snapshot(services, work, [], GIVEN_UP[Ending.FAILED])
        return None
    return ending
