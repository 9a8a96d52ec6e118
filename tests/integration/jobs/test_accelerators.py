"""Jobs that gain from a GPU, and workers that only claim to have one: who may take which, and when."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import func, select, update

from core.datasets.models import Dataset
from core.identity.service import Principal
from core.jobs.models import Job, JobEvent, JobReason, Stop
from core.ledger import service as ledger
from core.methods.base import Accelerator
from core.outbox.models import OutboxMessage, Topic
from core.workers import repository as workers
from core.workers.models import HeldGpu
from core.workflows.common.context import Services
from core.workflows.jobs import accelerators, queries, turns
from core.workflows.jobs.submit import JobRequest, plan_job
from core.workflows.releases import publish
from core.workflows.releases import queries as release_queries
from tests.support.inline import taken
from tests.support.methods import answering
from tests.support.releases import job_row, ready_dataset
from tests.support.releases import queued_job as queued_by
from tests.support.streams import with_settings
from worker.app import GPU_TASK, task_name
from worker.relay import relay_once

pytestmark = pytest.mark.extras

UUID = "GPU-00000000-0000-0000-0000-000000000001"
METHOD = "psgraph"


@pytest.fixture
def dataset(services: Services, principal: Principal) -> Dataset:
    return ready_dataset(services, principal, epsilon="90")


@pytest.fixture
def gains(monkeypatch: pytest.MonkeyPatch) -> dict[str, Accelerator]:
    """What a GPU is to the jobs of the tests' method; a test sets it."""
    said = {"to": Accelerator.USEFUL}
    answering(monkeypatch, METHOD, accelerator=lambda *_: said["to"])
    return said


def request(dataset_id: str) -> JobRequest:
    return JobRequest(dataset_id=dataset_id, method=METHOD, epsilon="1")


def queued_job(services: Services, principal: Principal, dataset_id: str) -> Job:
    return queued_by(services, principal, dataset_id, method=METHOD)


def hold(services: Services, worker: str = "gpu-worker", uuid: str = UUID) -> None:
    """A worker says that it has a GPU."""
    with services.db.transaction() as session:
        assert workers.hold(session, uuid, host="host", worker=worker, lease_seconds=90)


def lapse(services: Services) -> None:
    """Nobody has heard of any worker with a GPU for long."""
    with services.db.transaction() as session:
        session.execute(update(HeldGpu).values(lease_expires_at=func.now() - timedelta(seconds=1)))


def sent(services: Services) -> list[str]:
    """The tasks of jobs that the relay sends now."""
    names: list[str] = []
    relay_once(services.db, lambda name, _: names.append(name))
    return [name for name in names if name.startswith(task_name(Topic.RUN))]


def stages(services: Services, job_id: str) -> list[str]:
    with services.db.transaction() as session:
        query = select(JobEvent.stage).where(JobEvent.job_id == job_id, JobEvent.stage.is_not(None))
        return list(session.scalars(query))


def test_a_job_that_gains_nothing_is_any_workers(
    services: Services, principal: Principal, dataset: Dataset
) -> None:
    hold(services)
    job = queued_job(services, principal, dataset.id)
    assert (job.accelerator, job.gpu_only) == ("none", False)
    assert sent(services) == [task_name(Topic.RUN)]
    assert turns.next_job(services, gpu_only=True) is None
    assert publish.begin_job(services, job.id, "cpu-worker") is not None
    assert stages(services, job.id) == []


def test_a_job_that_gains_is_claimed_by_workers_that_hold_a_gpu_alone(
    services: Services, principal: Principal, dataset: Dataset, gains: dict[str, Accelerator]
) -> None:
    hold(services)
    job = queued_job(services, principal, dataset.id)
    assert sent(services) == [GPU_TASK]
    assert turns.next_job(services) is None
    assert turns.next_job(services, gpu_only=True) == job.id
    assert queries.get_job(services, principal, job.id).waits_for_gpu
    assert publish.begin_job(services, job.id, "cpu-worker") is None
    work = publish.begin_job(services, job.id, "gpu-worker")
    assert work is not None
    assert work.gpu
    assert stages(services, job.id) == []
    shown = queries.get_job(services, principal, job.id)
    assert (shown.accelerator, shown.waits_for_gpu) == ("useful", False)


def test_a_worker_whose_lease_on_its_gpu_ran_out_claims_no_such_job(
    services: Services, principal: Principal, dataset: Dataset, gains: dict[str, Accelerator]
) -> None:
    hold(services)
    job = queued_job(services, principal, dataset.id)
    lapse(services)
    assert publish.begin_job(services, job.id, "gpu-worker") is None


def test_where_no_worker_has_a_gpu_and_none_is_waited_for_a_cpu_runs_it_at_once_and_says_so(
    services: Services, principal: Principal, dataset: Dataset, gains: dict[str, Accelerator]
) -> None:
    plan = plan_job(services, principal, request(dataset.id))
    assert plan.accelerator == "useful"
    assert accelerators.SLOWER in plan.warnings
    job = queued_job(services, principal, dataset.id)
    assert not job.gpu_only
    work = publish.begin_job(services, job.id, "cpu-worker")
    assert work is not None
    assert not work.gpu
    assert stages(services, job.id) == [accelerators.WITHOUT]
    hold(services)
    assert accelerators.SLOWER not in plan_job(services, principal, request(dataset.id)).warnings


def test_the_report_of_a_job_that_gains_from_a_gpu_says_that_there_was_none(
    services: Services, principal: Principal, dataset: Dataset, gains: dict[str, Accelerator]
) -> None:
    codes = []
    for gains["to"] in (Accelerator.USEFUL, Accelerator.NONE):
        job = queued_by(services, principal, dataset.id, gains["to"], method=METHOD)
        assert taken(services.settings, Topic.RUN, job.id)
        report = release_queries.get_report(services, principal, job.id)
        assert report["public"]["provenance"]["computed_on"] == "cpu"
        codes.append([each["code"] for each in report["public"]["caveats"]])
    assert ["without_accelerator" in each for each in codes] == [True, False]


def test_a_job_waits_for_a_gpu_for_so_long_and_then_for_any_worker(
    services: Services, principal: Principal, dataset: Dataset, gains: dict[str, Accelerator]
) -> None:
    patient = with_settings(services, accelerator_wait_seconds=600)
    job = queued_job(patient, principal, dataset.id)
    assert job.gpu_only
    assert accelerators.give_up_waiting(patient) == 0
    earlier(services, job.id, 601)
    hold(services)
    assert accelerators.give_up_waiting(patient) == 0  # a worker lives that has one
    lapse(services)
    assert sent(services) == [GPU_TASK]
    assert accelerators.give_up_waiting(patient) == 1
    assert accelerators.give_up_waiting(patient) == 0
    assert sent(services) == [task_name(Topic.RUN)]
    assert turns.next_job(services) == job.id
    assert publish.begin_job(services, job.id, "cpu-worker") is not None
    assert stages(services, job.id) == [accelerators.WITHOUT]


def test_a_job_that_needs_a_gpu_that_nobody_has_fails_and_its_budget_returns(
    services: Services, principal: Principal, dataset: Dataset, gains: dict[str, Accelerator]
) -> None:
    gains["to"] = Accelerator.NEEDED
    with services.db.transaction() as session:
        before = ledger.statement(session, dataset.account_id).remaining.nano_epsilon
    plan = plan_job(services, principal, request(dataset.id))
    assert any("accelerator_missing" in warning for warning in plan.warnings)
    job = queued_job(services, principal, dataset.id)
    assert job.gpu_only
    assert publish.begin_job(services, job.id, "cpu-worker") is None
    assert accelerators.give_up_waiting(services) == 1
    ended = queries.get_job(services, principal, job.id)
    assert (ended.state, ended.reason) == ("failed", JobReason.ACCELERATOR_MISSING)
    assert ended.budget is not None
    assert ended.budget.outcome == "returned"
    with services.db.transaction() as session:
        assert ledger.statement(session, dataset.account_id).remaining.nano_epsilon == before


def test_an_attempt_whose_gpu_vanished_waits_for_another_one_and_is_charged_once(
    services: Services, principal: Principal, dataset: Dataset, gains: dict[str, Accelerator]
) -> None:
    patient = with_settings(services, accelerator_wait_seconds=600)
    hold(services)
    job = queued_job(patient, principal, dataset.id)
    earlier(services, job.id, 6000)
    work = publish.begin_job(services, job.id, "gpu-worker")
    assert work is not None
    publish.record_opening(services, work)
    lapse(services)
    publish.hand_back(services, work, Stop.WORKER_LOST)
    row = job_row(services, job.id)
    assert (row.state, row.gpu_only, row.first_read_at) == ("queued", True, None)
    assert accelerators.give_up_waiting(patient) == 0  # it waits since it was queued again
    earlier(services, job.id, 601)
    assert accelerators.give_up_waiting(patient) == 1
    assert publish.begin_job(services, job.id, "cpu-worker") is not None
    with services.db.transaction() as session:
        account = ledger.statement(session, dataset.account_id)
        assert (account.charged.nano_epsilon, account.reserved.nano_epsilon) == (0, row.reserved)


def test_two_workers_hold_no_gpu_at_once(services: Services) -> None:
    hold(services, "first")
    with services.db.transaction() as session:
        assert not workers.hold(session, UUID, host="other", worker="second", lease_seconds=90)
        assert workers.hold(session, UUID, host="host", worker="first", lease_seconds=90)
        assert workers.gpus_held(session) == 1
        workers.let_go(session, UUID, worker="second")
        assert workers.holds_one(session, "first")
    lapse(services)
    hold(services, "second")
    with services.db.transaction() as session:
        assert not workers.holds_one(session, "first")


def earlier(services: Services, job_id: str, seconds: float) -> None:
    """The job has waited for so long."""
    past = func.now() - timedelta(seconds=seconds)
    with services.db.transaction() as session:
        session.execute(update(JobEvent).where(JobEvent.job_id == job_id).values(created_at=past))
        session.execute(update(Job).where(Job.id == job_id).values(created_at=past))
        session.execute(update(OutboxMessage).values(not_before=func.now()))
