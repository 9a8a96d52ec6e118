"""Work that not every worker can do: refused where none can, routed to those that can, or given up."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, update

from core.datasets.models import Dataset
from core.errors import WorkerMissing
from core.evaluation.metric import Suite
from core.identity.service import Principal
from core.jobs.models import Job, JobReason
from core.methods import registry
from core.outbox.models import Topic
from core.workers import repository as workers
from core.workers.models import WorkerAbilities
from core.workflows.audits import requests as audits
from core.workflows.common.context import Services
from core.workflows.jobs import abilities, menu, queries, turns
from core.workflows.jobs.samples import SampleRequest, submit_sample
from core.workflows.jobs.submit import JobRequest, plan_job, submit_job
from core.workflows.releases import publish
from core.workflows.releases.evaluate import begin_evaluation
from tests.support.inline import taken
from tests.support.releases import job_row, queued_job, ready_dataset, spent
from worker import telling
from worker.app import GPU_TASK, app, queue_of, task_name, task_needing
from worker.process import WorkerProcess
from worker.relay import relay_once

LEARNED = "dpggan"


@pytest.fixture
def dataset(services: Services, principal: Principal) -> Dataset:
    return ready_dataset(services, principal, epsilon="90")


def tells(services: Services, worker: str, able: frozenset[str]) -> None:
    with services.db.transaction() as session:
        workers.tell(session, worker, able)


def light(services: Services) -> None:
    """A worker that has no libraries for learning tells so."""
    tells(services, "light", registry.common())


def learned(services: Services) -> None:
    """A worker that has everything tells so."""
    tells(services, "papers", abilities.here())


def silent(services: Services) -> None:
    """Nobody has heard of any worker for a long time."""
    with services.db.transaction() as session:
        session.execute(update(WorkerAbilities).values(told_at=func.now() - timedelta(hours=1)))


def without_learning(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process is as one of the light image."""
    monkeypatch.setattr(abilities, "here", registry.common)


def published_job(
    services: Services, principal: Principal, dataset_id: str, key: str = "p", **asked: Any
) -> Job:
    job = queued_job(services, principal, dataset_id, key, **asked)
    assert taken(services.settings, Topic.RUN, job.id)
    return job


def request(dataset: Dataset, **changed: object) -> JobRequest:
    return JobRequest(dataset_id=dataset.id, **{"method": LEARNED, "epsilon": "1", **changed})


def sent(services: Services) -> list[str]:
    names: list[str] = []
    relay_once(services.db, lambda name, _: names.append(name))
    return [name for name in names if name != task_name(Topic.INGEST)]


def test_this_environment_can_do_everything():
    assert abilities.here() == registry.generators().keys() | {"declared", "suite:full", "audit:dp_sgd"}
    assert {LEARNED, "hetesdg", "suite:full", "audit:dp_sgd"} <= abilities.beyond()
    assert not {"dcsbm", "psgraph", "declared"} & abilities.beyond()


def test_a_method_that_no_worker_has_is_refused_by_name(
    services: Services, principal: Principal, dataset: Dataset
):
    light(services)
    for ask in (plan_job, lambda *given: submit_job(*given, "key")):
        with pytest.raises(WorkerMissing, match=LEARNED) as refused:
            ask(services, principal, request(dataset))
        assert "graphveil-worker-papers" in refused.value.message
    assert plan_job(services, principal, request(dataset, method="psgraph")).method == "psgraph"
    learned(services)
    assert plan_job(services, principal, request(dataset)).method == LEARNED


def test_nothing_is_refused_before_any_worker_has_told_what_it_can_do(
    services: Services, principal: Principal, dataset: Dataset
):
    assert plan_job(services, principal, request(dataset)).method == LEARNED
    light(services)
    silent(services)
    assert plan_job(services, principal, request(dataset, suite=Suite.FULL)).method == LEARNED


def test_a_menu_names_what_no_worker_has_beside_what_one_has(
    services: Services, principal: Principal, dataset: Dataset
):
    light(services)
    asked = menu.MenuRequest(
        dataset_id=dataset.id, methods=[{"method": LEARNED}, {"method": "dcsbm"}], epsilons=["1"]
    )
    one, other = menu.plan_menu(services, principal, asked).items
    assert one.refused is not None
    assert one.refused.type == "/problems/worker-missing"
    assert other.refused is None


def test_the_suite_that_learns_is_refused_when_it_is_planned(
    services: Services, principal: Principal, dataset: Dataset
):
    light(services)
    full = request(dataset, method="dcsbm", suite=Suite.FULL)
    with pytest.raises(WorkerMissing, match="standard"):
        plan_job(services, principal, full)
    plan_job(services, principal, request(dataset, method="dcsbm", suite=Suite.STANDARD))
    learned(services)
    plan_job(services, principal, full)


def test_a_further_sample_is_refused_where_no_worker_has_its_model(
    services: Services, principal: Principal, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
):
    job = published_job(services, principal, dataset.id)
    light(services)
    with pytest.raises(WorkerMissing, match="suite"):
        submit_sample(services, principal, job.id, SampleRequest(suite=Suite.FULL), "s1")
    monkeypatch.setattr(registry, "common", lambda: frozenset({"tmf"}))
    tells(services, "light", frozenset({"tmf"}))
    with pytest.raises(WorkerMissing, match=job.method):
        submit_sample(services, principal, job.id, SampleRequest(), "s2")


def test_an_audit_that_trains_is_refused_where_no_worker_learns(services: Services, principal: Principal):
    light(services)
    for method in ("dp_sgd", LEARNED):
        asked = audits.AuditRequest(method=method, epsilon="1", delta="1e-6", runs=100)
        with pytest.raises(WorkerMissing, match=method):
            audits.submit_audit(services, principal, asked, f"a-{method}")
    asked = audits.AuditRequest(method="laplace", epsilon="1", runs=100)
    audits.submit_audit(services, principal, asked, "a-laplace")


def test_a_job_is_routed_to_and_claimed_by_workers_that_have_its_method_alone(
    services: Services, principal: Principal, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
):
    job = queued_job(services, principal, dataset.id, method=LEARNED)
    plain = queued_job(services, principal, dataset.id, "k2", method="dcsbm")
    assert sorted(sent(services)) == [task_name(Topic.RUN), task_needing(Topic.RUN, LEARNED)]
    assert turns.next_job(services) == plain.id
    assert turns.next_job(services, ability=LEARNED) == job.id
    assert turns.next_job(services, ability="thepuff") is None
    with monkeypatch.context() as patched:
        without_learning(patched)
        assert publish.begin_job(services, job.id, "light") is None
        assert publish.begin_job(services, plain.id, "light") is not None
    assert publish.begin_job(services, job.id, "papers") is not None


def test_a_worker_with_a_gpu_takes_no_job_whose_method_it_lacks(
    services: Services, principal: Principal, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
):
    with services.db.transaction() as session:
        assert workers.hold(session, "GPU-1", host="host", worker="gpu", lease_seconds=90)
    job = queued_job(services, principal, dataset.id, method=LEARNED)
    with services.db.transaction() as session:
        session.execute(update(Job).where(Job.id == job.id).values(accelerator="useful", gpu_only=True))
    assert sent(services) == [GPU_TASK]
    assert turns.next_job(services, ability=LEARNED) is None
    assert turns.next_job(services, gpu_only=True) == job.id
    without_learning(monkeypatch)
    assert turns.next_job(services, gpu_only=True) is None
    assert publish.begin_job(services, job.id, "gpu") is None


def test_comparisons_and_audits_that_learn_have_doorbells_of_their_own(
    services: Services, principal: Principal, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
):
    full = published_job(services, principal, dataset.id, suite=Suite.FULL)
    quick = published_job(services, principal, dataset.id, key="q", suite=Suite.QUICK)
    asked = audits.AuditRequest(method="dp_sgd", epsilon="1", delta="1e-6", runs=100)
    audit, _ = audits.submit_audit(services, principal, asked, "a")
    rung = sent(services)
    assert task_needing(Topic.EVALUATE, "suite:full") in rung
    assert task_name(Topic.EVALUATE) in rung
    assert task_needing(Topic.AUDIT, "audit:dp_sgd") in rung
    assert turns.next_work(services, Topic.EVALUATE) == (Topic.EVALUATE, quick.id)
    assert turns.next_work(services, Topic.EVALUATE, [quick.id]) is None
    assert turns.next_work(services, Topic.EVALUATE, ability="suite:full") == (Topic.EVALUATE, full.id)
    assert turns.next_work(services, Topic.AUDIT, ability="audit:dp_sgd") == (Topic.AUDIT, audit.id)
    with monkeypatch.context() as patched:
        without_learning(patched)
        assert begin_evaluation(services, full.id, "worker") is None
        assert audits.begin_audit(services, audit.id, "light") is None
        assert begin_evaluation(services, quick.id, "worker") is not None
    assert begin_evaluation(services, full.id, "worker") is not None
    assert audits.begin_audit(services, audit.id, "papers") is not None


def test_a_job_whose_methods_last_worker_has_gone_fails_and_costs_nothing(
    services: Services, principal: Principal, dataset: Dataset
):
    job = queued_job(services, principal, dataset.id, method=LEARNED)
    plain = queued_job(services, principal, dataset.id, "k2", method="dcsbm")
    assert abilities.give_up_methods(services) == 0  # nobody has told anything
    learned(services)
    assert abilities.give_up_methods(services) == 0
    silent(services)
    light(services)
    assert abilities.give_up_methods(services) == 1
    ended = job_row(services, job.id)
    assert (ended.state, ended.reason) == ("failed", JobReason.METHOD_MISSING)
    assert job_row(services, plain.id).state == "queued"
    assert spent(services, ended) == ("0", "1")  # the other one's
    assert queries.get_job(services, principal, job.id).reason == "method_missing"


def test_a_process_tells_what_it_can_do(services: Services):
    process = WorkerProcess("told", services)
    telling.keep(process).set()
    with services.db.transaction() as session:
        assert workers.abilities(session) == abilities.here()


def test_what_needs_an_ability_has_a_queue_named_by_it():
    task = task_needing(Topic.RUN, LEARNED)
    assert (
        app.amqp.router.route({}, task)["queue"].name == queue_of(LEARNED).name == f"graphveil-with-{LEARNED}"
    )
    assert app.amqp.router.route({}, task_needing(Topic.EVALUATE, "suite:full"))["queue"].name != "graphveil"
