"""What the reaper does. Each duty is one function, safe to repeat, and returns how much there was to do.

A duty looks for candidates without locks, and then decides about each in a transaction of its own that locks
it and looks again: what a worker did in between is respected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

from core.jobs import repository
from core.jobs.models import RELEASES, Job, JobState
from core.jobs.states import LEASED, TERMINAL
from core.ledger import repository as budgets
from core.ledger import service as ledger
from core.outbox import service as outbox
from core.work import leases
from core.workflows.common.context import Services
from core.workflows.common.sweeps import sweep
from core.workflows.datasets import direct_uploads, upload
from core.workflows.jobs.abilities import give_up_methods
from core.workflows.jobs.accelerators import give_up_waiting
from core.workflows.operations.leased import ACTOR, KINDS, recover_lost, ring_again
from core.workflows.releases import publish, settle
from core.workflows.releases.evaluate import recover_evaluation_files
from core.workflows.releases.sharded import DEGREES, PARTS
from core.workflows.streams.snapshots import recover_snapshots as recover_stored_snapshots

STAGING = "staging"
KEPT_MESSAGES_SECONDS = 3600.0


def expose_opened(services: Services) -> int:
    """Expose accounts with opened graphs. A graph was opened without a guarantee by a worker of an earlier
    version, which said so at the publication only."""
    with services.db.transaction() as session:
        exposed = budgets.exposed_by(Job.id)
        ids = repository.unguarded_ids(session, services.settings.sweep_limit, but=exposed)

    def expose(job_id: str) -> None:
        with services.db.transaction() as session:
            job = repository.locked(session, job_id)
            if job is not None:
                settle.expose(session, job, actor=ACTOR)

    return sweep(ids, expose, subject=str)


def finish_cancels(services: Services) -> int:
    """Cancel jobs that did not stop in time. They were requested to stop; their worker's lease is void."""
    settings = services.settings
    with services.db.transaction() as session:
        ids = repository.overdue_cancels(session, settings.cancel_seconds, settings.sweep_limit)

    def finish(job_id: str) -> None:
        with services.db.transaction() as session:
            job = repository.locked(session, job_id)
            if job is not None and job.state == JobState.CANCELLING:
                settle.cancel(session, settings, job, actor=ACTOR)

    return sweep(ids, finish, subject=str)


def expire_reservations(services: Services) -> int:
    """Fail jobs whose reservation ran out. They waited longer than it lasts; their budget is free again."""
    with services.db.transaction() as session:
        overdue = ledger.overdue_reservations(session, services.settings.sweep_limit)
        pairs = [(entry.job_id, entry.reservation_id) for entry in overdue]

    def expire(pair: tuple[str | None, str | None]) -> None:
        job_id, reservation_id = pair
        with services.db.transaction() as session:
            job = repository.locked(session, job_id) if job_id is not None else None
            waits = job is not None and job.state in (JobState.QUEUED, JobState.AWAITING_APPROVAL)
            # Looked at again under its lock; a retry may hold another reservation by now.
            if job is not None and waits and job.reservation_id == reservation_id:
                settle.expire(session, job, actor=ACTOR)

    return sweep(pairs, expire, subject=lambda pair: str(pair[1]))


def publish_committed(services: Services, elsewhere: bool = False) -> int:
    """Publish charged releases of lost workers, in the bundle, or written ``elsewhere``.
    They can be downloaded. Never charges."""
    own = Job.spec["release"]["write_to"].astext.is_(None)
    with services.db.transaction() as session:
        limit, wanted = services.settings.sweep_limit, ~own if elsewhere else own
        ids = leases.lost_ids(session, RELEASES, limit, (JobState.PUBLISHING,), wanted)

    def finish(job_id: str) -> None:
        publish.finish_release(services, job_id, publish.copy_release(services, job_id))

    return sweep(ids, finish, subject=str)


def recover_direct_uploads(services: Services) -> int:
    """Delete what ended direct uploads left in the bucket. It was put there for uploads that are over."""
    return direct_uploads.recover_direct_uploads(services, services.settings.sweep_limit)


def recover_uploads(services: Services) -> int:
    """Forget uploads that stopped sending."""
    return upload.recover_uploads(services, services.settings.sweep_limit)


def recover_snapshots(services: Services) -> int:
    """Delete stored snapshots that nothing names. Their sender's process was gone before they were named."""
    return recover_stored_snapshots(services, services.settings.sweep_limit)


def delete_unnamed_evaluations(services: Services) -> int:
    """Delete comparisons that nothing names. Their worker was gone before they were named."""
    return recover_evaluation_files(services, services.settings.sweep_limit)


def delete_unclaimed_staging(services: Services) -> int:
    """Delete staged bytes without a living attempt. No such attempt will publish them; returned is how many
    objects there were."""
    # Living attempts do not count: they are no more than the workers, and must not hide what comes after.
    unclaimed = list(islice(_unclaimed(services), services.settings.sweep_limit))
    return sweep(unclaimed, services.store.delete, subject=str)


def _unclaimed(services: Services) -> Iterator[str]:
    """List the key of each staged object that no living attempt will publish."""
    alive: dict[tuple[str, str], bool] = {}
    for stored in services.store.list(STAGING):
        _, job_id, attempt = (*stored.key.split("/"), "", "")[:3]  # a stray object is nobody's
        if (job_id, attempt) not in alive:
            alive[job_id, attempt] = _may_publish(services, job_id, attempt)
        if not alive[job_id, attempt]:
            yield stored.key


def _may_publish(services: Services, job_id: str, attempt: str) -> bool:
    with services.db.transaction() as session:
        job = repository.by_id(session, job_id)
        if job is None or job.state in TERMINAL:
            return False
        if job.fitted_attempt is not None and attempt in (str(job.fitted_attempt), PARTS, DEGREES):
            return True  # drawn from, or drawn, whoever holds the job now
        return str(job.attempt) == attempt and job.state in LEASED


def purge_messages(services: Services) -> int:
    """Delete messages that were sent an hour ago."""
    with services.db.transaction() as session:
        return outbox.purge_sent(session, KEPT_MESSAGES_SECONDS)


DUTIES: dict[str, Callable[[Services], int]] = {
    "publish_committed": publish_committed,
    "expose_opened": expose_opened,
    "finish_cancels": finish_cancels,
    **{f"recover_lost_{topic}": partial(recover_lost, topic=topic) for topic in KINDS},
    "expire_reservations": expire_reservations,
    "give_up_waiting_for_gpus": give_up_waiting,
    "give_up_methods": give_up_methods,
    "recover_uploads": recover_uploads,
    "recover_direct_uploads": recover_direct_uploads,
    "recover_snapshots": recover_snapshots,
    "delete_unclaimed_staging": delete_unclaimed_staging,
    "delete_unnamed_evaluations": delete_unnamed_evaluations,
    "ring_again": ring_again,
    "purge_messages": purge_messages,
}
"""In the order in which they help one another."""

ELSEWHERE: dict[str, Callable[[Services], int]] = {
    "publish_elsewhere": partial(publish_committed, elsewhere=True),
}
"""Those that wait for others' folders and engines, beside which the first go on."""
