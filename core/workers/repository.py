"""The SQL of the hosts of workers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import ColumnElement, delete, exists, func, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.workers.models import HeldGpu, WorkerAbilities, WorkerGpu

KEPT = timedelta(days=1)
ABLE = timedelta(minutes=15)
"""What a worker told stands for so long: one that restarts, or is replaced, is missed by nobody."""


@dataclass(frozen=True)
class GpuMemory:
    """The memory of one GPU of a host, in bytes. ``gpu`` is its number there."""

    gpu: int
    capacity_bytes: int
    used_bytes: int


def record(session: Session, host: str, gpus: Sequence[GpuMemory]) -> None:
    """Record what the host's GPUs hold, at PostgreSQL's time. Hosts that went silent are forgotten."""
    session.execute(delete(WorkerGpu).where(WorkerGpu.read_at < func.now() - KEPT))
    for each in gpus:
        values = {"capacity_bytes": each.capacity_bytes, "used_bytes": each.used_bytes, "read_at": func.now()}
        row = insert(WorkerGpu).values(host=host, gpu=each.gpu, **values)
        session.execute(row.on_conflict_do_update(index_elements=["host", "gpu"], set_=values))


def recent(session: Session, within_seconds: float) -> list[tuple[str, GpuMemory]]:
    """Load what was reported within the time, by host and number."""
    since = func.clock_timestamp() - timedelta(seconds=within_seconds)
    rows = session.scalars(
        select(WorkerGpu).where(WorkerGpu.read_at > since).order_by(WorkerGpu.host, WorkerGpu.gpu)
    )
    return [(row.host, GpuMemory(row.gpu, row.capacity_bytes, row.used_bytes)) for row in rows]


def hold(session: Session, uuid: str, *, host: str, worker: str, lease_seconds: float) -> bool:
    """Lease the GPU to the worker, or keep its lease. False where another's lasts. One statement decides."""
    until = func.clock_timestamp() + timedelta(seconds=lease_seconds)
    own = {"host": host, "worker": worker, "lease_expires_at": until}
    free = or_(HeldGpu.worker == worker, HeldGpu.lease_expires_at < func.clock_timestamp())
    leased = insert(HeldGpu).values(uuid=uuid, **own)
    leased = leased.on_conflict_do_update(index_elements=["uuid"], set_=own, where=free)
    return session.execute(leased.returning(HeldGpu.uuid)).one_or_none() is not None


def let_go(session: Session, uuid: str, *, worker: str) -> None:
    """End the worker's lease on the GPU, if it has one."""
    # Its own alone: the lease may have run out, and the GPU be another's by now.
    session.execute(delete(HeldGpu).where(HeldGpu.uuid == uuid, HeldGpu.worker == worker))


def let_go_of_host(session: Session, uuid: str, *, host: str) -> None:
    """End any lease of that host's on the GPU. Its holder is known to be dead."""
    session.execute(delete(HeldGpu).where(HeldGpu.uuid == uuid, HeldGpu.host == host))


def holds_a_gpu(worker: str) -> ColumnElement[bool]:
    """State that the worker's lease on a GPU lasts. It is about nothing else."""
    live = HeldGpu.lease_expires_at > func.clock_timestamp()
    return exists().where(HeldGpu.worker == worker, live)


def holds_one(session: Session, worker: str) -> bool:
    """Tell whether the worker's lease on a GPU lasts."""
    return session.execute(select(holds_a_gpu(worker))).scalar_one()


def gpus_held(session: Session) -> int:
    """Count the GPUs whose workers are alive."""
    live = select(func.count()).select_from(HeldGpu).where(HeldGpu.lease_expires_at > func.clock_timestamp())
    return session.execute(live).scalar_one()


def tell(session: Session, worker: str, abilities: Collection[str]) -> None:
    """Record what the worker can do, at PostgreSQL's time. Workers that went silent are forgotten."""
    session.execute(delete(WorkerAbilities).where(WorkerAbilities.told_at < func.now() - KEPT))
    values = {"abilities": sorted(abilities), "told_at": func.clock_timestamp()}
    row = insert(WorkerAbilities).values(worker=worker, **values)
    session.execute(row.on_conflict_do_update(index_elements=["worker"], set_=values))


def abilities(session: Session) -> frozenset[str] | None:
    """Collect what any worker can do. It said so lately; None where none has."""
    lately = WorkerAbilities.told_at > func.clock_timestamp() - ABLE
    names = session.scalars(select(func.unnest(WorkerAbilities.abilities)).where(lately).distinct()).all()
    return frozenset(names) or None
