"""A release that is sampled in shards. Its model is kept, each shard sampled separately, all of them joined.

What the fit leaves lies sealed below the staging prefix of its attempt, and the parts, which are synthetic
edges, below one of the job's own: nothing is an artifact before the one commit that charges and names them
all. A part's key names its digest, so that whatever a worker writes that has lost its lease is either the
same object or another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy.orm import Session

from core import failpoints
from core.datasets import vault
from core.errors import InvalidInput, LeaseLost, StorageError
from core.graphs.schema.partable import Part, part_name
from core.jobs import events, repository
from core.jobs import service as jobs
from core.jobs import shard_repository as shards
from core.jobs.models import RELEASES, SHARDS, Job, JobReason, JobState, Shard, ShardState
from core.outbox import service as outbox
from core.outbox.models import Topic
from core.settings import Settings
from core.storage.folders import pack, unpack
from core.storage.sealed import seal, unseal
from core.work import leases
from core.work import service as leased
from core.workflows.common.context import Services
from core.workflows.releases import settle
from core.workflows.releases.publish import JobWork, staged_of, staging_prefix

PARTS, DEGREES = "parts", "degrees"
LAW, RELEASE, PRIVATE, MODEL = "law", "release", "private", "model"
FITTED = (LAW, RELEASE, PRIVATE, MODEL)
"""The folders that a fit leaves: what shards are drawn from, and of the bundle all that needs no edges."""
MOST_AT_ONCE = 256
"""So many shards are drawn by the engine at once, and handed back together where it is killed."""
DRAW = "draw"
"""The stage that callers see while shards are drawn."""


@dataclass(frozen=True)
class ShardWork:
    """One shard under one attempt. The attempt is the fencing token of everything that is done for it."""

    subject_id: str
    job_id: str
    dataset_id: str
    method: str
    number: int
    shards: int
    attempt: int
    worker: str
    fitted_attempt: int
    traceparent: str | None = None
    on_engine: bool = False
    """Whether tasks of the engine draw it, and those ``beside`` it, which this worker holds too."""
    beside: tuple[ShardWork, ...] = ()


def fitted_key(job_id: str, attempt: int, name: str) -> str:
    """Name the object of one folder of a fit. It holds one of those that an attempt's fit left."""
    return f"{staging_prefix(job_id, attempt)}/fitted-{name}"


def part_key(job_id: str, number: int, sha256: str) -> str:
    """Name the object that holds a part of these bytes."""
    return f"{staged_of(job_id)}/{PARTS}/{number:05d}-{sha256}"


def degrees_key(job_id: str, number: int, sha256: str) -> str:
    """Name the object that holds the degrees of the part of these bytes."""
    return f"{staged_of(job_id)}/{DEGREES}/{number:05d}-{sha256}"


def keep_fitted(services: Services, work: JobWork, out: Path) -> None:
    """Store what the fit left, sealed with the dataset's key. NotFound if the dataset is erased."""
    with services.db.transaction() as session:
        key = vault.content_key(session, work.dataset_id, services.settings.master_key)
    for name in FITTED:
        target = fitted_key(work.job_id, work.attempt, name)
        services.store.put(target, seal(pack(out / name), key, context=target))


def end_fit(services: Services, work: JobWork, count: int) -> bool:
    """End the fit, and let its shards wait. Nobody holds the job meanwhile; False if a cancel came first.

    Raises LeaseLost.
    """
    settings = services.settings
    with services.db.transaction() as session:
        job = leases.hold(session, RELEASES, work.job_id, attempt=work.attempt)
        if job.state == JobState.CANCELLING:
            return False
        jobs.fitted(job, count)
        _tell(session, settings, job.id, 0, count)
        for shard_id in shards.add(session, job.id, count, attempts=settings.max_attempts):
            outbox.ring(session, Topic.SHARD, shard_id)
        failpoints.reach("before_fit_commit")
        return True


def fetch_fitted(services: Services, held: JobWork | ShardWork, name: str, folder: Path) -> None:
    """Fetch one folder of what the fit left to ``folder``. NotFound once the dataset is erased;
    StorageError."""
    folder.mkdir(parents=True, mode=0o700)
    unpack(fitted(services, held, name), folder)


def fitted(services: Services, held: JobWork | ShardWork, name: str) -> Iterator[bytes]:
    """Open one packed folder of what the fit left. NotFound once the dataset is erased; StorageError."""
    assert held.fitted_attempt is not None  # of a job that is fitted
    stored = fitted_key(held.job_id, held.fitted_attempt, name)
    with services.db.transaction() as session:
        key = vault.content_key(session, held.dataset_id, services.settings.master_key)
    return unseal(services.store.get(stored), key, context=stored)


def begin_shard(services: Services, subject_id: str, worker: str) -> ShardWork | None:
    """Begin the shard under this worker's lease. None if it is not free.

    Where the engine draws, shards that wait beside it are begun with it. The last attempt is a worker's own:
    an engine that is away costs no release that is paid.
    """
    settings = services.settings
    with services.db.transaction() as session:
        if settings.engine_draws:
            shards.lock_job(session, subject_id)
        row = leased.begin(session, settings, SHARDS, subject_id, worker, Shard.attempt_limit)
        if row is None:
            return None
        on_engine = settings.engine_draws and row.attempt < row.attempt_limit
        beside: Sequence[Shard] = ()
        if on_engine:
            beside = leases.claim_all(
                session,
                SHARDS,
                shards.waiting(session, row.job_id, MOST_AT_ONCE - 1),
                worker=worker,
                lease_seconds=settings.lease_seconds,
                max_attempts=Shard.attempt_limit,
            )
        job = repository.existing(session, row.job_id)
        assert job.shards is not None  # it has some
        assert job.fitted_attempt is not None
        work = ShardWork(
            subject_id=subject_id,
            job_id=job.id,
            dataset_id=job.dataset_id,
            method=job.method,
            number=row.number,
            shards=job.shards,
            attempt=row.attempt,
            worker=worker,
            fitted_attempt=job.fitted_attempt,
            traceparent=job.traceparent,
            on_engine=on_engine,
        )
        others = [
            replace(work, subject_id=each.id, number=each.number, attempt=each.attempt) for each in beside
        ]
        return replace(work, beside=tuple(others))


def extend_beside(services: Services, work: ShardWork) -> None:
    """Extend the leases of the shards that are held beside, but for those that are drawn already."""
    if work.beside:
        attempts = {each.subject_id: each.attempt for each in work.beside}
        with services.db.transaction() as session:
            shards.lock_job(session, work.subject_id)  # whoever ends a job takes it first, then its shards
            leases.extend_all(session, SHARDS, attempts, lease_seconds=services.settings.lease_seconds)


def record_part(services: Services, work: ShardWork, part: Part) -> None:
    """Record what is known of the part. Only when that is durable is it stored. Raises LeaseLost.

    InvalidInput where an earlier attempt drew other bytes: the law leaves no choice, a machine is at fault.
    """
    with services.db.transaction() as session:
        _, row = _held(session, work)
        told = {
            "sha256": part.sha256,
            "size_bytes": part.bytes,
            "rows": part.rows,
            "first_source": part.first_source,
            "last_source": part.last_source,
        }
        if row.sha256 is not None and any(getattr(row, name) != value for name, value in told.items()):
            raise InvalidInput("a shard that was drawn again has other bytes")
        for name, value in told.items():
            setattr(row, name, value)


def keep_part(
    services: Services, work: ShardWork, part: Part, content: Iterable[bytes], degrees: Iterable[bytes]
) -> None:
    """Store the degrees of the part, sealed with the dataset's key, then its bytes, under keys that name
    them. NotFound if the dataset is erased."""
    with services.db.transaction() as session:
        key = vault.content_key(session, work.dataset_id, services.settings.master_key)
    kept = degrees_key(work.job_id, work.number, part.sha256)
    services.store.put(kept, seal(degrees, key, context=kept))
    services.store.put(part_key(work.job_id, work.number, part.sha256), _chunks(content))


def finish_shard(services: Services, work: ShardWork) -> None:
    """Finish a sampled shard. If it was the last, the job waits for whoever joins them. Raises LeaseLost."""
    with services.db.transaction() as session:
        job, row = _held(session, work)
        row.state = ShardState.DRAWN
        row.let_go()
        session.flush()
        left = shards.undrawn(session, job.id)
        _tell(session, services.settings, job.id, work.shards - left, work.shards)
        if not left:
            settle.queue(session, job)


def all_drawn(services: Services, work: ShardWork) -> bool:
    """Tell whether no shard of the job is left to draw."""
    with services.db.transaction() as session:
        return not shards.undrawn(session, work.job_id)


def fail_shard(services: Services, work: ShardWork, reason: JobReason) -> None:
    """Fail the job of a shard that cannot be sampled. Raises LeaseLost."""
    with services.db.transaction() as session:
        job, _ = _held(session, work)
        settle.fail(session, services.settings, job, reason, actor=work.worker)


def hand_back_shard(services: Services, work: ShardWork) -> None:
    """Infrastructure stopped the attempt: another worker draws the shard. Raises LeaseLost."""
    with services.db.transaction() as session:
        _, row = _held(session, work)
        take_back_shard(session, services.settings, row, actor=work.worker)


def take_back_shard(session: Session, settings: Settings, row: Shard, *, actor: str) -> None:
    """Let the shard wait for another worker. Where none may try, the job has failed. The job is locked."""
    if row.attempt < row.attempt_limit:
        leased.queue_again(session, SHARDS, row)
        return
    job = repository.existing(session, row.job_id)
    settle.fail(session, settings, job, JobReason.DRAWING_LOST, actor=actor)


def fetch_degrees(services: Services, work: JobWork, folder: Path) -> tuple[list[Part], list[int]]:
    """Fetch the degrees of all parts, a file each; no part is fetched. What is known of all parts comes too.

    Returned too: the numbers of those that are gone, or whose degrees or sizes are others. StorageError.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    parts, store = drawn_parts(services, work), services.store
    with services.db.transaction() as session:
        key = vault.content_key(session, work.dataset_id, services.settings.master_key)
    gone = []
    for number, part in enumerate(parts):
        kept, stored = (each(work.job_id, number, part.sha256) for each in (degrees_key, part_key))
        there = store.exists(kept) and store.exists(stored) and store.size(stored) == part.bytes
        if not there or not _opened(store.get(kept), key, kept, folder / part.name):
            gone.append(number)
    return parts, gone


def drawn_parts(services: Services, work: JobWork) -> list[Part]:
    """Load what is known of every part, by number. LeaseLost once the job has ended."""
    with services.db.transaction() as session:
        leases.hold(session, RELEASES, work.job_id, attempt=work.attempt)
        rows = shards.of_job(session, work.job_id)
    return [_part(row, len(rows)) for row in rows]


def stored_parts(work: JobWork, parts: Sequence[Part]) -> dict[str, str]:
    """Find where the bytes of each part lie, by digest."""
    return {part.sha256: part_key(work.job_id, number, part.sha256) for number, part in enumerate(parts)}


def draw_again(services: Services, work: JobWork, numbers: Sequence[int]) -> None:
    """Let lost shards be sampled again. Their parts are gone; nobody holds the job. Raises LeaseLost.

    Where no attempt to join them would be left, the job has failed.
    """
    settings = services.settings
    with services.db.transaction() as session:
        job = leases.hold(session, RELEASES, work.job_id, attempt=work.attempt)
        if job.state == JobState.CANCELLING:
            settle.cancel(session, settings, job, actor=work.worker)
        elif job.attempt >= settle.attempts(settings, job):
            settle.fail(session, settings, job, JobReason.DRAWING_LOST, actor=work.worker)
        else:
            job.let_go()
            for each in shards.wait_again(session, job.id, numbers, attempts=settings.max_attempts):
                outbox.ring(session, Topic.SHARD, each)


def _held(session: Session, work: ShardWork) -> tuple[Job, Shard]:
    """Lock the job, and the shard under this attempt; LeaseLost otherwise, and once the job has ended."""
    job = shards.lock_job(session, work.subject_id)
    assert job is not None  # jobs are never deleted
    return job, leases.hold(session, SHARDS, work.subject_id, attempt=work.attempt)


def _tell(session: Session, settings: Settings, job_id: str, done: int, total: int) -> None:
    events.record(session, job_id, [events.Step(DRAW, done, total)], limit=settings.max_job_events)
    session.flush()  # before the job's state changes, which the database numbers in turn


def _chunks(content: Iterable[bytes]) -> Iterator[bytes]:
    for chunk in content:
        yield chunk
        failpoints.reach("while_storing_part")


def _part(row: Shard, count: int) -> Part:
    written = (row.sha256, row.size_bytes, row.rows, row.first_source, row.last_source)
    if row.state != ShardState.DRAWN or None in written:
        raise LeaseLost("a shard is to be drawn again")
    return Part(part_name(row.number, count), *written)  # type: ignore[arg-type]  # none of them is None


def _opened(sealed: Iterator[bytes], key: bytes, context: str, path: Path) -> bool:
    """Open a sealed file; False where it was altered."""
    try:
        with path.open("wb") as file:
            file.writelines(unseal(sealed, key, context=context))
    except StorageError:
        return False
    return True
