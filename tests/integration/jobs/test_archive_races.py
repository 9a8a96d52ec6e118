"""Archiving a dataset while its jobs move: nobody waits for each other, and nothing goes on reading it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from core.identity.service import Principal
from core.jobs import repository
from core.jobs import service as jobs
from core.jobs.models import Evaluation, Job, JobState
from core.outbox.models import Topic
from core.workflows.common.context import Services
from core.workflows.operations import leased
from core.workflows.operations.archive import archive_dataset
from core.workflows.releases import evaluate, publish, settle
from tests.support.faults import until
from tests.support.patience import PATIENCE_SECONDS
from tests.support.releases import job_row, queued_job, ready_dataset, violations
from worker.kinds.evaluation import EvaluationKind


@contextmanager
def archiving(services: Services, principal: Principal, dataset_id: str) -> Iterator[Callable[[], None]]:
    """The dataset is archived by another thread; what is yielded waits until it waits for a lock."""
    failures: list[Exception] = []

    def archive() -> None:
        try:
            archive_dataset(services, principal, dataset_id)
        except Exception as error:
            failures.append(error)

    def blocked() -> bool:
        with services.db.transaction() as session:
            waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            return bool(session.execute(text(f"{waiting} AND datname = current_database()")).scalar_one())

    thread = threading.Thread(target=archive)

    def begin() -> None:
        thread.start()
        until(blocked, what="the wait for the job")

    yield begin
    thread.join(timeout=PATIENCE_SECONDS)
    assert failures == []


def end_it(session: Session, services: Services, job: Job) -> None:
    settle.cancel(session, services.settings, job, actor="worker")


def touch_twice(session: Session, services: Services, job: Job) -> None:
    """As a claim does: two updates of one row, after which PostgreSQL checks all of its references again."""
    for name in ("w1", "w2"):
        job.leased_by = name
        session.flush()


@pytest.mark.parametrize("step", [end_it, touch_twice])
def test_archiving_and_a_job_that_moves_do_not_lock_each_other_out(
    step: Callable[[Session, Services, Job], None], services: Services, principal: Principal
) -> None:
    dataset = ready_dataset(services, principal, epsilon="10")
    ids = [queued_job(services, principal, dataset.id, key).id for key in "ab"]
    with archiving(services, principal, dataset.id) as begin, services.db.transaction() as session:
        job = repository.locked(session, max(ids))
        assert job is not None
        begin()
        step(session, services, job)
    assert [job_row(services, job_id).state for job_id in ids] == ["cancelled", "cancelled"]
    assert violations(services) == []


def test_a_comparison_stops_when_its_dataset_is_erased(services: Services, principal: Principal) -> None:
    dataset = ready_dataset(services, principal)
    job = queued_job(services, principal, dataset.id)
    with services.db.transaction() as session:
        row = session.get_one(Job, job.id)
        row.state = JobState.PUBLISHING
        jobs.published(session, row)
        session.add(Evaluation(id=job.id, state="pending"))
    work = evaluate.begin_evaluation(services, job.id, "w1")
    assert work is not None

    def beat() -> bool:
        stopped = partial(EvaluationKind().stopped, work=work)
        return leased.heartbeat(services, Topic.EVALUATE, job.id, work.attempt, stopped)

    assert not beat()
    archive_dataset(services, principal, dataset.id)
    assert beat()  # its worker deletes what it had laid out


def test_a_transaction_whose_process_has_stopped_gives_its_locks_back(
    services: Services, principal: Principal
) -> None:
    dataset = ready_dataset(services, principal)
    with services.db.transaction() as session:
        limit = session.execute(text("SHOW idle_in_transaction_session_timeout")).scalar_one()
    assert limit == "1min"
    job = queued_job(services, principal, dataset.id)
    stopped = services.db.engine.connect()
    stopped.execute(text("SET idle_in_transaction_session_timeout = '200ms'"))
    started = time.monotonic()
    stopped.execute(text("SELECT id FROM jobs FOR UPDATE"))
    assert publish.begin_job(services, job.id, "w1") is not None
    assert 0.1 < time.monotonic() - started < 50
    stopped.invalidate()
    stopped.close()
