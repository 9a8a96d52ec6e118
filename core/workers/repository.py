"""The SQL of the hosts of workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.workers.models import WorkerGpu

KEPT = timedelta(days=1)


@dataclass(frozen=True)
class GpuMemory:
    """The memory of one GPU of a host, in bytes; ``gpu`` is its number there."""

    gpu: int
    capacity_bytes: int
    used_bytes: int


def record(session: Session, host: str, gpus: Sequence[GpuMemory]) -> None:
    """This is what the host's GPUs hold, at PostgreSQL's time. Hosts that went silent are forgotten."""
    session.execute(delete(WorkerGpu).where(WorkerGpu.read_at < func.now() - KEPT))
    for each in gpus:
        told = {"capacity_bytes": each.capacity_bytes, "used_bytes": each.used_bytes, "read_at": func.now()}
        row = insert(WorkerGpu).values(host=host, gpu=each.gpu, **told)
        session.execute(row.on_conflict_do_update(index_elements=["host", "gpu"], set_=told))


def recent(session: Session, within_seconds: float) -> list[tuple[str, GpuMemory]]:
    """Load what was told within the time, by host and number."""
    since = func.clock_timestamp() - timedelta(seconds=within_seconds)
    rows = session.scalars(
        select(WorkerGpu).where(WorkerGpu.read_at > since).order_by(WorkerGpu.host, WorkerGpu.gpu)
    )
    return [(row.host, GpuMemory(row.gpu, row.capacity_bytes, row.used_bytes)) for row in rows]
