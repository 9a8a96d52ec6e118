"""Which returns count towards an account's block: a job's, once, where it lost workers; no outage's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import func, update

from core.datasets.models import Dataset
from core.identity.service import Principal
from core.jobs.models import Job, JobReason, Stop
from core.ledger.models import BudgetAccount
from core.outbox.models import Topic
from core.workflows.common.context import Services
from core.workflows.jobs import cancel
from core.workflows.operations import recover
from core.workflows.releases import publish
from tests.support.releases import job_row, queued_job, ready_dataset, spent, violations

Submit = Callable[..., Job]


@pytest.fixture
def dataset(services: Services, principal: Principal) -> Dataset:
    return ready_dataset(services, principal, epsilon="2")


@pytest.fixture
def submit(services: Services, principal: Principal, dataset: Dataset) -> Submit:
    return lambda key="k", **asked: queued_job(services, principal, dataset.id, key, **asked)


def begun(services: Services, job: Job, *, opened: bool = True) -> publish.JobWork:
    work = publish.begin_job(services, job.id, "w1")
    assert work is not None
    if opened:
        publish.record_opening(services, work)
    return work


def lose_worker(services: Services, job: Job) -> None:
    """The worker that has opened the job's graph is gone, and the reaper has seen it."""
    begun(services, job)
    with services.db.transaction() as session:
        ago = func.now() - func.make_interval(0, 0, 0, 0, 0, 0, 1)
        session.execute(update(Job).where(Job.id == job.id).values(lease_expires_at=ago))
    assert recover.recover_lost(services, Topic.RUN) == 1


def standing(services: Services, job: Job) -> tuple[int, bool]:
    """(give-backs in a row, whether the account is blocked)."""
    assert violations(services) == []
    with services.db.transaction() as session:
        account = session.get_one(BudgetAccount, job.account_id)
        return account.consecutive_give_backs, account.blocked_at is not None


def test_one_job_whose_workers_are_lost_three_times_counts_once(services: Services, submit: Submit) -> None:
    job = submit()
    for lost in range(services.settings.max_attempts):
        assert standing(services, job) == (0, False), lost
        lose_worker(services, job)
    row = job_row(services, job.id)
    assert (row.state, row.reason) == ("failed", "worker_lost")
    assert standing(services, job) == (1, False)
    assert spent(services, job) == ("0", "0")


def test_jobs_that_cost_every_worker_block_the_account(services: Services, submit: Submit) -> None:
    """A host that dies of what is in a graph is an answer about the graph; three are free, as they were."""
    for number in range(services.settings.give_backs_before_block):
        job = submit(str(number))
        assert standing(services, job) == (number, False)
        for _ in range(services.settings.max_attempts):
            lose_worker(services, job)
    assert standing(services, job) == (3, True)


@pytest.mark.parametrize("stop", [Stop.DRAINED, Stop.OUTAGE])
def test_no_drain_and_no_outage_counts(services: Services, submit: Submit, stop: Stop) -> None:
    for number in range(services.settings.give_backs_before_block):
        job = submit(str(number))
        for _ in range(services.settings.max_attempts):
            publish.hand_back(services, begun(services, job), stop)
        assert job_row(services, job.id).reason == "worker_lost"
    assert standing(services, job) == (0, False)
    assert spent(services, job) == ("0", "0")


def test_a_caller_who_walks_away_from_a_lost_worker_is_counted(
    services: Services, submit: Submit, principal: Principal
) -> None:
    """Otherwise the loss of a worker could be watched for nothing: cancel, and ask anew."""
    job = submit()
    lose_worker(services, job)
    cancel.cancel_job(services, principal, job.id)
    assert job_row(services, job.id).state == "cancelled"
    assert standing(services, job) == (1, False)


def test_a_job_that_fails_unopened_after_a_lost_worker_is_counted(services: Services, submit: Submit) -> None:
    job = submit()
    lose_worker(services, job)
    publish.fail_job(services, begun(services, job, opened=False), JobReason.GENERATOR_FAILED)
    assert standing(services, job) == (1, False)


def test_an_outage_after_a_lost_worker_hides_it_not(services: Services, submit: Submit) -> None:
    job = submit()
    lose_worker(services, job)
    for _ in range(services.settings.max_attempts - 1):
        publish.hand_back(services, begun(services, job), Stop.OUTAGE)
    assert standing(services, job) == (1, False)


def test_a_job_that_was_never_opened_is_not_counted(
    services: Services, submit: Submit, principal: Principal
) -> None:
    job = submit()
    publish.hand_back(services, begun(services, job, opened=False), Stop.WORKER_LOST)
    cancel.cancel_job(services, principal, job.id)
    assert standing(services, job) == (0, False)


def test_a_child_that_dies_by_itself_is_charged_and_not_returned(services: Services, submit: Submit) -> None:
    job = submit()
    lose_worker(services, job)
    publish.fail_job(services, begun(services, job), JobReason.GENERATOR_FAILED)
    assert standing(services, job) == (0, False)
    assert spent(services, job) == ("1", "0")


def test_an_account_that_refuses_to_reserve_anew_ends_the_job_and_counts_it(
    services: Services, submit: Submit
) -> None:
    job = submit()
    with services.db.transaction() as session:
        account: Any = session.get_one(BudgetAccount, job.account_id)
        account.blocked_at = func.now()
    lose_worker(services, job)
    row = job_row(services, job.id)
    assert (row.state, row.reason) == ("failed", "budget_exhausted")
    with services.db.transaction() as session:
        assert session.get_one(BudgetAccount, job.account_id).consecutive_give_backs == 1
    assert spent(services, job) == ("0", "0")
