"""Mistakes that the service does not make, planted one at a time: each is one that the harness must find."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any
from unittest import mock

from sqlalchemy import event
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from core.db.base import ROW_LOCK
from core.errors import LeaseLost
from core.jobs import repository
from core.jobs import service as jobs
from core.jobs.models import RELEASES, Job, JobState
from core.jobs.repository import Standing
from core.ledger import service as ledger
from core.outbox import service as outbox
from core.outbox.models import Topic
from core.work.models import Kind
from core.workflows.common.context import Services
from core.workflows.releases import publish, settle
from core.workflows.releases.bundles import ReleaseFile
from core.workflows.releases.publish import JobWork
from tests.support import victims
from tests.support.cuts import OPERATIONS, Wired
from tests.support.kills import held
from tests.support.proxy import Moment
from worker.reaper import reap_once

_add, _stage = repository.add, publish.stage
MOST = 40
"""No operation has so many commits."""
NEVER = 10**6


@dataclass(frozen=True)
class Mistake:
    """``patches``: what stands where, instead of what should; ``look``: the part of the harness that is to
    find it, which returns what does not hold."""

    name: str
    patches: dict[str, Any]
    part: str
    look: Callable[[Wired], list[str]]

    def found(self, here: Wired) -> list[str]:
        """What the harness finds while the mistake is there. Afterwards the database is spoiled."""
        with ExitStack() as patched:
            for target, planted in self.patches.items():
                patched.enter_context(mock.patch(target, planted))
            try:
                return self.look(here)
            except Exception as error:  # work that cannot be brought to an end is a finding as well
                return [f"{type(error).__name__}: {error}"]


def charge_first(services: Services, work: JobWork, files: Sequence[ReleaseFile]) -> bool:
    """As :func:`core.workflows.releases.publish.commit_release`, in two transactions."""
    digests = {file.name: file.sha256 for file in files}
    with services.db.transaction() as session:
        job = publish.leases.hold(session, RELEASES, work.job_id, attempt=work.attempt)
        if job.state == JobState.CANCELLING:
            return False
        ledger.charge(session, job.reservation_id, digests=digests, actor=work.worker)
    with services.db.transaction() as session:
        job = publish.leases.hold(session, RELEASES, work.job_id, attempt=work.attempt)
        jobs.committed(job)
        session.add_all(publish._artifact(job.id, file) for file in files)
    return True


def unfenced(session: Session, kind: Kind[Any], row_id: str, *, attempt: int) -> Any:
    """As :func:`core.work.leases.hold`, for whoever asks."""
    return session.get_one(kind.model, row_id, with_for_update=ROW_LOCK, populate_existing=True)


def always_returned(session: Session, settings: Any, job: Job, reason: Any, actor: str) -> None:
    """The budget comes back, opened or not."""
    settle._return(session, settings, job, reason, actor, give_back=False)


def staged_in_the_open(services: Services, work: JobWork, files: Sequence[ReleaseFile]) -> None:
    """The bytes lie where they can be downloaded, too."""
    _stage(services, work, files)
    for file in files:
        services.store.put_file(publish.release_key(work.job_id, file.name), file.path)


def rung_afterwards(session: Session, job: Job, *, rung: bool, alone: bool = False) -> bool:
    """The message is written once the transaction has been committed, in another one."""
    added = _add(session, job, rung=False, alone=alone)

    @event.listens_for(session, "after_commit", once=True)
    def ring(_: Session) -> None:
        if added and rung:
            with Session(session.get_bind()) as own, own.begin():
                outbox.ring(own, Topic.RUN, job.id)

    return added


def at_commits(name: str) -> Callable[[Wired], list[str]]:
    """The operation is hit at one COMMIT after the other, until something does not hold."""

    def look(here: Wired) -> list[str]:
        for number in range(1, MOST):
            fired, flaws = OPERATIONS[name].injected(here, Moment.AFTER_COMMIT, number)
            if flaws or not fired:
                return flaws
        return []

    return look


def unharmed(name: str) -> Callable[[Wired], list[str]]:
    """Nothing happens to the operation."""
    return lambda here: OPERATIONS[name].injected(here, Moment.BEFORE_COMMIT, NEVER)[1]


def woken(here: Wired) -> list[str]:
    """A worker goes on when another has the job, and has not ended it yet."""
    world = here.world
    piece, work, files = held(world)
    world.lapse()
    reap_once(world.services)
    with mock.patch("worker.kinds.release.publish.stage", side_effect=_Gone), suppress(_Gone):
        world.work(piece)
    with suppress(LeaseLost):
        publish.commit_release(world.services, work, files)
    flaws = world.flaws(piece)
    found = world.finish(piece)
    return flaws + world.flaws(piece) + ([] if found == "published" else [f"ended {found}"])


def charging(here: Wired) -> list[str]:
    """The connection breaks at the commits of the charge."""
    world = here.world
    for number in range(1, MOST):
        piece, work, files = held(world)
        here.rest()
        here.wire.cut(Moment.AFTER_COMMIT, number)
        with suppress(SQLAlchemyError):
            publish.commit_release(here.services, work, files)
        fired, flaws = here.wire.mend(), world.flaws(piece)
        world.finish(piece)
        flaws += world.flaws(piece)
        if flaws or not fired:
            return flaws
    return []


def staged(here: Wired) -> list[str]:
    """A worker has staged, and not charged yet."""
    piece, _, _ = held(here.world)
    return here.world.flaws(piece)


class _Gone(BaseException):
    """As sudden as a kill."""


def reaped(here: Wired) -> list[str]:
    """The reaper comes between the staging and the charge."""
    world = here.world
    piece, work, files = held(world)
    reap_once(world.services)
    victims.publishing(world.services, work, files)
    return world.flaws(piece)


def _nothing(*given: Any, **named: Any) -> None:
    return None


def _no_job(session: Session, *, tenant: str, key: str, key_id: str) -> tuple[None, Standing]:
    return None, repository.standing(session, tenant=tenant, key_id=key_id)


WORKFLOWS = "core.workflows"
MISTAKES = {
    each.name: each
    for each in (
        Mistake(
            "the charge is committed before the files that it names",
            {f"{WORKFLOWS}.releases.publish.commit_release": charge_first},
            "connection cut at the charge",
            charging,
        ),
        Mistake(
            "nobody looks at the lease before the charge",
            {f"{WORKFLOWS}.releases.publish.leases.hold": unfenced},
            "paused worker",
            woken,
        ),
        Mistake(
            "the reaper deletes what a living worker staged",
            {f"{WORKFLOWS}.operations.recover._may_publish": lambda *_: False},
            "reaper in between",
            reaped,
        ),
        Mistake(
            "a failure after the opening returns the budget",
            {f"{WORKFLOWS}.releases.settle._settle": always_returned},
            "no fault",
            unharmed("settle a failure"),
        ),
        Mistake(
            "nobody records that the graph was opened",
            {f"{WORKFLOWS}.releases.publish.jobs.opened": _nothing},
            "no fault",
            unharmed("settle a failure"),
        ),
        Mistake(
            "bytes can be downloaded before they are charged",
            {f"{WORKFLOWS}.releases.publish.stage": staged_in_the_open},
            "worker held",
            staged,
        ),
        Mistake(
            "the message is written in a transaction of its own",
            {f"{WORKFLOWS}.jobs.submit.repository.add": rung_afterwards},
            "connection cut",
            at_commits("submit"),
        ),
        Mistake(
            "a retry goes on under the reservation that was opened",
            {f"{WORKFLOWS}.releases.settle._reserved_anew": lambda *_: True},
            "lost worker",
            unharmed("recover"),
        ),
        Mistake(
            "a release is published before its bytes are copied",
            {f"{WORKFLOWS}.releases.publish.copy_files": lambda *_: {}},
            "no fault",
            unharmed("run a job"),
        ),
        Mistake(
            "a request that is repeated is not recognised",
            {"core.jobs.idempotency.repository.by_key": _no_job},
            "connection cut",
            at_commits("submit"),
        ),
    )
}
