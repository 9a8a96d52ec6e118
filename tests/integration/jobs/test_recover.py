"""The reaper's duties, one by one, on rows that a crash could have left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update

from core.datasets.models import Dataset
from core.errors import LeaseLost, PrivacyViolation, StorageError
from core.identity.service import Principal
from core.jobs import service as jobs
from core.jobs.models import Evaluation, Job, JobReason, JobState, Stop
from core.ledger import service as ledger
from core.ledger.models import BudgetAccount, BudgetHold
from core.outbox.models import OutboxMessage, Topic
from core.privacy.accounting.events import Pure
from core.privacy.accounting.meter import TranscriptEntry
from core.settings import Settings
from core.workflows.common.context import Services, open_services
from core.workflows.jobs import cancel
from core.workflows.operations import leased, recover
from core.workflows.releases import evaluate, publish
from tests.support.releases import job_row, queued_job, ready_dataset, spent, stored_keys, violations
from worker.kinds.release import ReleaseKind
from worker.reaper import reap_once

ENTRY = TranscriptEntry(0, "edge", None, Pure(10**9, "laplace"), "all of it").to_json()


@pytest.fixture
def dataset(services: Services, principal: Principal) -> Dataset:
    return ready_dataset(services, principal, epsilon="2")


@pytest.fixture
def submit(services: Services, principal: Principal, dataset: Dataset) -> Callable[..., Job]:
    return lambda key="k", **asked: queued_job(services, principal, dataset.id, key, **asked)


def beat(services: Services, work: publish.JobWork) -> bool:
    """As a worker's heartbeat: True when the job was asked to stop."""
    return leased.heartbeat(
        services, Topic.RUN, work.job_id, work.attempt, lambda session: ReleaseKind().stopped(session, work)
    )


def begun(services: Services, job: Job) -> publish.JobWork:
    work = publish.begin_job(services, job.id, "w1")
    assert work is not None
    return work


def age(services: Services, model: Any, row_id: str, **columns: float) -> None:
    """Moves times of a row into the past, by seconds."""
    values = {name: func.now() - func.make_interval(0, 0, 0, 0, 0, 0, s) for name, s in columns.items()}
    with services.db.transaction() as session:
        session.execute(update(model).where(model.id == row_id).values(**values))


def messages(services: Services, subject_id: str) -> int:
    with services.db.transaction() as session:
        return session.execute(
            select(func.count()).where(OutboxMessage.subject_id == subject_id)
        ).scalar_one()


def with_settings(services: Services, **changed: Any) -> Services:
    return Services(services.db, services.store, services.settings.model_copy(update=changed))


def test_a_lost_job_without_a_read_keeps_its_reservation(
    services: Services, submit: Callable[..., Job]
) -> None:
    job = submit()
    work = begun(services, job)
    assert recover.recover_lost(services, Topic.RUN) == 0
    age(services, Job, job.id, lease_expires_at=1)
    assert recover.recover_lost(services, Topic.RUN) == 1
    row = job_row(services, job.id)
    assert (row.state, row.reservation_id) == ("queued", job.reservation_id)
    assert messages(services, job.id) == 2
    for late in (
        lambda: publish.record_read(services, work, ENTRY),
        lambda: publish.fail_job(services, work, JobReason.GENERATOR_FAILED),
        lambda: publish.commit_release(services, work, []),
        lambda: beat(services, work),
        lambda: publish.hand_back(services, work, Stop.WORKER_LOST),
    ):
        with pytest.raises(LeaseLost):
            late()
    assert spent(services, job) == ("0", "1")


def test_a_retry_after_a_read_fails_where_the_account_refuses_to_reserve_anew(
    services: Services, submit: Callable[..., Job]
) -> None:
    job = submit()
    publish.record_read(services, begun(services, job), ENTRY)
    age(services, Job, job.id, lease_expires_at=1)
    with services.db.transaction() as session:
        session.get_one(BudgetAccount, job.account_id).blocked_at = job_row(services, job.id).created_at
    recover.recover_lost(services, Topic.RUN)
    row = job_row(services, job.id)
    assert (row.state, row.reason) == ("failed", "budget_exhausted")
    assert spent(services, job) == ("0", "0")


def test_once_the_graph_was_opened_a_failure_costs_and_a_lost_worker_gives_back(
    services: Services, submit: Callable[..., Job], dataset: Dataset
) -> None:
    failed = submit("failed", epsilon="1")
    work = begun(services, failed)
    publish.record_opening(services, work)
    publish.record_opening(services, work)
    assert publish.transcript(services, work) == ()
    publish.fail_job(services, work, JobReason.TIME_EXCEEDED)
    assert spent(services, failed) == ("1", "0")

    lost = submit("lost", epsilon="1")
    publish.record_opening(services, begun(services, lost))
    age(services, Job, lost.id, lease_expires_at=1)
    recover.recover_lost(services, Topic.RUN)
    row = job_row(services, lost.id)
    assert (row.state, row.first_read_at) == ("queued", None)
    assert row.reservation_id != lost.reservation_id
    assert spent(services, lost) == ("1", "1")
    with services.db.transaction() as session:
        assert session.get_one(BudgetAccount, dataset.account_id).consecutive_give_backs == 0
    assert violations(services) == []


def test_a_graph_is_opened_under_a_living_lease_and_by_a_job_that_was_not_cancelled(
    services: Services, submit: Callable[..., Job], principal: Principal
) -> None:
    job = submit()
    work = begun(services, job)
    age(services, Job, job.id, lease_expires_at=1)
    with pytest.raises(LeaseLost):
        publish.record_opening(services, work)
    age(services, Job, job.id, lease_expires_at=-60)
    cancel.cancel_job(services, principal, job.id)
    with pytest.raises(LeaseLost):
        publish.record_opening(services, work)
    assert job_row(services, job.id).first_read_at is None


def test_a_read_needs_a_living_lease_and_a_job_that_was_not_cancelled(
    services: Services, submit: Callable[..., Job], principal: Principal
) -> None:
    job = submit()
    work = begun(services, job)
    age(services, Job, job.id, lease_expires_at=1)
    with pytest.raises(LeaseLost):
        publish.record_read(services, work, ENTRY)
    age(services, Job, job.id, lease_expires_at=-60)
    cancel.cancel_job(services, principal, job.id)
    with pytest.raises(LeaseLost):
        publish.record_read(services, work, ENTRY)
    assert job_row(services, job.id).first_read_at is None


def test_cancelling_wins_over_a_charge_that_comes_later(
    services: Services, submit: Callable[..., Job], principal: Principal
) -> None:
    job = submit()
    work = begun(services, job)
    publish.record_read(services, work, ENTRY)
    cancel.cancel_job(services, principal, job.id)
    assert beat(services, work)
    assert not publish.commit_release(services, work, [])
    publish.fail_job(services, work, JobReason.GENERATOR_FAILED)
    row = job_row(services, job.id)
    assert (row.state, row.reason) == ("cancelled", "cancelled_by_caller")
    assert spent(services, job) == ("1", "0")


def test_a_worker_that_ignores_a_cancel_is_overruled(
    services: Services, submit: Callable[..., Job], principal: Principal
) -> None:
    job = submit()
    work = begun(services, job)
    cancel.cancel_job(services, principal, job.id)
    assert recover.finish_cancels(services) == 0
    age(services, Job, job.id, cancel_requested_at=services.settings.cancel_seconds + 1)
    assert recover.finish_cancels(services) == 1
    assert job_row(services, job.id).state == "cancelled"
    with pytest.raises(LeaseLost):
        beat(services, work)


def test_an_overdue_reservation_of_a_waiting_job_expires_and_one_of_a_running_job_does_not(
    services: Services, submit: Callable[..., Job], principal: Principal, dataset: Dataset
) -> None:
    hasty = with_settings(services, reservation_seconds=0.001)
    running = queued_job(hasty, principal, dataset.id, "running")
    begun(services, running)
    patient = submit("patient", epsilon="0.5")
    overdue = queued_job(hasty, principal, dataset.id, "overdue", epsilon="0.5")
    assert recover.expire_reservations(services) == 1
    row = job_row(services, overdue.id)
    assert (row.state, row.reason) == ("failed", "reservation_expired")
    assert job_row(services, running.id).state == "running"
    assert job_row(services, patient.id).state == "queued"
    assert spent(services, patient) == ("0", "1.5")
    assert violations(services) == []


def test_staged_bytes_go_unless_a_living_attempt_may_publish_them(
    services: Services, submit: Callable[..., Job]
) -> None:
    job = submit()
    work = begun(services, job)
    for attempt in (0, 1):
        services.store.put(f"{publish.staging_prefix(job.id, attempt)}/nodes.parquet", [b"x"])
    services.store.put("staging/job_unknown/1/nodes.parquet", [b"x"])
    assert recover.delete_unclaimed_staging(services) == 2
    assert stored_keys(services, "staging") == [f"{work.staging}/nodes.parquet"]
    publish.fail_job(services, work, JobReason.GENERATOR_FAILED)
    assert recover.delete_unclaimed_staging(services) == 1


def test_a_sweep_of_staged_bytes_leaves_what_is_over_its_limit_to_the_next(
    services: Services, submit: Callable[..., Job]
) -> None:
    work = begun(services, submit())
    staged = [f"{work.staging}/{name}" for name in ("a", "b", "c")]
    left = [f"staging/job_{name}/1/nodes.parquet" for name in ("0", "unknown", "zzz")]
    for key in (*staged, *left):
        services.store.put(key, [b"x"])
    short = with_settings(services, sweep_limit=2)
    assert [recover.delete_unclaimed_staging(short) for _ in range(3)] == [2, 1, 0]
    assert stored_keys(services, "staging") == staged


def test_waiting_work_is_rung_again_when_its_message_is_old(
    services: Services, submit: Callable[..., Job]
) -> None:
    job = submit()
    assert recover.ring_again(services) == 0  # not sent yet: the relay will
    with services.db.transaction() as session:
        session.execute(update(OutboxMessage).values(sent_at=func.now()))
    assert recover.ring_again(services) == 0
    soon = with_settings(services, ring_again_seconds=0.0001)
    assert recover.ring_again(soon) == 1
    assert messages(services, job.id) == 2


def test_a_lost_evaluation_is_tried_again_and_then_fails_while_the_release_stands(
    services: Services, submit: Callable[..., Job]
) -> None:
    job = submit()
    with services.db.transaction() as session:
        row = session.get_one(Job, job.id)
        row.state = JobState.PUBLISHING
        jobs.published(session, row)
        session.add(Evaluation(id=job.id, state="pending"))
    for attempt in range(1, services.settings.max_attempts + 1):
        work = evaluate.begin_evaluation(services, job.id, "w1")
        assert work is not None
        assert work.attempt == attempt
        assert evaluate.begin_evaluation(services, job.id, "w2") is None
        age(services, Evaluation, job.id, lease_expires_at=1)
        assert recover.recover_lost(services, Topic.EVALUATE) == 1
        with pytest.raises(LeaseLost):
            evaluate.fail_evaluation(services, work)
    with services.db.transaction() as session:
        assert session.get_one(Evaluation, job.id).state == "failed"
    assert job_row(services, job.id).state == "published"


def evaluated(services: Services, job: Job) -> evaluate.EvaluationWork:
    """A published release whose evaluation has begun."""
    with services.db.transaction() as session:
        row = session.get_one(Job, job.id)
        row.state = JobState.PUBLISHING
        jobs.published(session, row)
        session.add(Evaluation(id=job.id, state="pending"))
    return tried_again(services, job)


def tried_again(services: Services, job: Job) -> evaluate.EvaluationWork:
    work = evaluate.begin_evaluation(services, job.id, "w1")
    assert work is not None
    return work


def comparison(folder: Path) -> Path:
    path = folder / "curator.json"
    path.write_text("{}")
    return path


def test_comparisons_that_no_row_names_are_swept_once_their_evaluation_is_over(
    services: Services, submit: Callable[..., Job], tmp_path: Path
) -> None:
    job = submit()
    evaluated(services, job)
    lost, kept, release = (
        f"releases/{job.id}/{name}"
        for name in ("evaluation-1/curator.json", "evaluation-2/curator.json", "a.csv")
    )
    services.store.put(lost, [b"left behind"])  # its worker was killed before it was named
    services.store.put(release, [b"of the release"])
    age(services, Evaluation, job.id, lease_expires_at=1)
    assert recover.recover_lost(services, Topic.EVALUATE) == 1
    assert recover.delete_unnamed_evaluations(services) == 0  # another attempt is to come
    work = tried_again(services, job)
    assert recover.delete_unnamed_evaluations(services) == 0  # and is at work
    evaluate.finish_evaluation(services, work, comparison(tmp_path))
    assert recover.delete_unnamed_evaluations(services) == 0  # who lost its lease may still be putting
    assert stored_keys(services, f"releases/{job.id}") == sorted([lost, kept, release])
    age(services, Evaluation, job.id, lease_expires_at=1)
    assert recover.delete_unnamed_evaluations(services) == 1
    assert stored_keys(services, f"releases/{job.id}") == sorted([kept, release])
    assert recover.delete_unnamed_evaluations(services) == 0


def test_a_sweep_takes_a_few_evaluations_at_a_time_and_comes_to_all(
    services: Services, submit: Callable[..., Job]
) -> None:
    for key in ("a", "b"):
        work = evaluated(services, submit(key))
        services.store.put(f"releases/{work.job_id}/evaluation-1/curator.json", [b"left behind"])
        evaluate.fail_evaluation(services, work)
        age(services, Evaluation, work.job_id, lease_expires_at=1)
    short = with_settings(services, sweep_limit=1)
    assert [recover.delete_unnamed_evaluations(short) for _ in range(3)] == [1, 1, 0]
    assert stored_keys(services, "releases") == []


def test_what_the_storage_did_not_delete_is_swept_again(
    services: Services, submit: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    work = evaluated(services, submit())
    services.store.put(f"releases/{work.job_id}/evaluation-1/curator.json", [b"left behind"])
    evaluate.fail_evaluation(services, work)
    age(services, Evaluation, work.job_id, lease_expires_at=1)
    with monkeypatch.context() as broken:
        broken.setattr(services.store, "delete", refuse)
        assert recover.delete_unnamed_evaluations(services) == 1
    assert recover.delete_unnamed_evaluations(services) == 1
    assert stored_keys(services, "releases") == []


def refuse(key: str) -> None:
    raise StorageError("object storage failed; try again")


def test_who_lost_the_lease_while_it_stored_the_comparison_takes_it_away(
    services: Services, submit: Callable[..., Job], tmp_path: Path
) -> None:
    job = submit()
    late = evaluated(services, job)
    age(services, Evaluation, job.id, lease_expires_at=1)
    recover.recover_lost(services, Topic.EVALUATE)
    evaluate.finish_evaluation(services, tried_again(services, job), comparison(tmp_path))
    with pytest.raises(LeaseLost):
        evaluate.finish_evaluation(services, late, comparison(tmp_path))
    assert stored_keys(services, "releases") == [f"releases/{job.id}/evaluation-2/curator.json"]


def test_a_job_that_comes_back_is_announced_after_a_pause_that_grows(
    services: Services, submit: Callable[..., Job]
) -> None:
    job = submit()
    pauses = []
    for _ in range(services.settings.max_attempts - 1):
        publish.hand_back(services, begun(services, job), Stop.WORKER_LOST)
        with services.db.transaction() as session:
            newest = select(OutboxMessage).where(OutboxMessage.subject_id == job.id)
            message = session.scalars(newest.order_by(OutboxMessage.id.desc()).limit(1)).one()
            pauses.append((message.not_before - message.created_at).total_seconds())
    assert pauses == [5.0, 20.0]


def test_what_cannot_be_recovered_keeps_the_reaper_from_nothing_else(
    services: Services, submit: Callable[..., Job], principal: Principal, dataset: Dataset
) -> None:
    hasty = with_settings(services, reservation_seconds=0.001)
    broken = queued_job(hasty, principal, dataset.id, "broken", epsilon="0.5")
    overdue = queued_job(hasty, principal, dataset.id, "overdue", epsilon="0.5")
    lost = submit("lost", epsilon="0.5")
    begun(services, lost)
    age(services, Job, lost.id, lease_expires_at=1)
    services.store.put("staging/stray", [b"x"])
    with services.db.transaction() as session:
        ledger.release(  # a reservation that has ended, under a job that still waits
            session, broken.reservation_id, reason="", actor="test", give_back=False, block_after=3
        )
        session.add(BudgetHold(reservation_id=broken.reservation_id, account_id=broken.account_id))
        session.flush()
        long_ago = func.now() - func.make_interval(0, 0, 0, 1)
        session.execute(
            update(BudgetHold)
            .where(BudgetHold.reservation_id == broken.reservation_id)
            .values(expires_at=long_ago)
        )
    done = reap_once(services)
    assert done["expire_reservations"] == 2
    assert job_row(services, broken.id).state == "queued"
    assert job_row(services, overdue.id).reason == "reservation_expired"
    assert job_row(services, lost.id).state == "queued"
    assert stored_keys(services, "staging") == []


def test_a_duty_that_fails_in_an_unknown_way_stops_no_other(
    services: Services, submit: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = submit()
    begun(services, job)
    age(services, Job, job.id, lease_expires_at=1)

    def fails(services: Services) -> int:
        raise ValueError("nobody thought of this")

    monkeypatch.setitem(recover.DUTIES, "publish_committed", fails)
    assert reap_once(services)["recover_lost_run"] == 1


@pytest.mark.parametrize(
    "wrong",
    [{}, {"sequence": "0"}, {"sequence": True}, {"sequence": 2}, {"sequence": 1, "purpose": "\0"}],
)
def test_an_entry_that_no_meter_would_write_is_the_childs_fault_and_not_the_databases(
    services: Services, submit: Callable[..., Job], wrong: dict[str, Any]
) -> None:
    work = begun(services, submit())
    publish.record_read(services, work, ENTRY)
    with pytest.raises(PrivacyViolation):
        publish.record_read(services, work, ENTRY | wrong)
    assert len(publish.transcript(services, work)) == 1


def test_every_duty_is_idle_on_an_idle_service(settings: Settings) -> None:
    services = open_services(settings)
    assert {name: duty(services) for name, duty in recover.DUTIES.items()} == dict.fromkeys(recover.DUTIES, 0)
    services.close()
