"""A stream's snapshot before its graph is opened. It is validated by a child that has no meter."""

from __future__ import annotations

import json
from dataclasses import asdict

from core.errors import InvalidInput
from core.workflows.releases import tick_work
from core.workflows.releases.publish import JobWork
from worker.folders import write_private
from worker.kinds.base import Held, read_result
from worker.kinds.ingest import gave_up
from worker.supervisor import INFRASTRUCTURE, Ending, Orders, no_reads, supervise, unseen


def lay_out(held: Held[JobWork]) -> Ending | None:
    """Lay out the snapshot's graph. What the last one left is laid out, too. Returned is FINISHED; None where
    it was refused.

    CANCELLED, DRAINED, LOST and OUTAGE as a child's ending. What stops the validation itself, whatever it is,
    comes of the upload: it is refused too, and may be sent anew. NotFound once the dataset is erased.
    """
    services, work, folder = held.services, held.work, held.folder
    task = tick_work.fetch_snapshot(services, work, folder)
    if task is None:
        return Ending.FINISHED
    spec = {
        "file": None if task.file is None else dict(task.file),
        "schema": task.schema.model_dump(mode="json"),
        "limits": asdict(task.limits),
    }
    write_private(folder / "snapshot.json", json.dumps(spec).encode())
    orders = Orders(record=no_reads, progress=unseen, draining=held.draining)
    ending = supervise("snapshot", folder, services.settings, held.heartbeat, orders)
    if ending in INFRASTRUCTURE or ending is Ending.CANCELLED:
        return ending
    if ending is not Ending.FINISHED:
        tick_work.refuse_snapshot(services, work, [], gave_up(ending))
        return None
    try:
        result = read_result(folder)
        if "findings" in result:
            tick_work.refuse_snapshot(services, work, result["findings"], result["message"])
            return None
        tick_work.keep_snapshot(services, work, task, folder)
    except (InvalidInput, FileNotFoundError, ValueError):
        tick_work.refuse_snapshot(services, work, [], gave_up(Ending.FAILED))
        return None
    return ending
