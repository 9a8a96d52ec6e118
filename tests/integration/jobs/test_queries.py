"""Lists, cursors and what whom is shown."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import event

from core.errors import Forbidden, InvalidInput, JobFailed, JobNotFinished, NotFound
from core.identity.models import Role
from core.identity.service import Principal
from core.jobs.events import Step
from core.jobs.models import JobReason
from core.workflows.common.context import Services
from core.workflows.datasets import queries as dataset_queries
from core.workflows.datasets.register import NewDataset, register_dataset
from core.workflows.jobs import queries as job_queries
from core.workflows.jobs.cancel import cancel_job
from core.workflows.releases import publish
from core.workflows.releases import queries as release_queries
from tests.support.releases import queued_job, ready_dataset, spent


def test_pages_show_every_job_once_newest_first_while_new_ones_arrive(
    services: Services, principal: Principal
) -> None:
    dataset = ready_dataset(services, principal, epsilon="100")
    made = [queued_job(services, principal, dataset.id, f"k{n}").id for n in range(5)]
    page = job_queries.list_jobs(services, principal, limit=2)
    queued_job(services, principal, dataset.id, "late")
    seen = [job.id for job in page.items]
    while page.next_cursor is not None:
        page = job_queries.list_jobs(services, principal, limit=2, cursor=page.next_cursor)
        seen += [job.id for job in page.items]
    assert seen == made[::-1]


def test_lists_filter_and_refuse_what_they_do_not_know(services: Services, principal: Principal) -> None:
    dataset = ready_dataset(services, principal, epsilon="100")
    kept, stopped = (queued_job(services, principal, dataset.id, key) for key in ("a", "b"))
    cancel_job(services, principal, stopped.id)
    assert [j.id for j in job_queries.list_jobs(services, principal, state="queued").items] == [kept.id]
    assert [j.id for j in job_queries.list_jobs(services, principal, state="cancelled").items] == [stopped.id]
    assert job_queries.list_jobs(services, principal, dataset_id="ds_other").items == []
    for wrong in ({"state": "nowhere"}, {"cursor": "x"}, {"cursor": "W10="}, {"limit": 0}, {"limit": 501}):
        with pytest.raises(InvalidInput):
            job_queries.list_jobs(services, principal, **wrong)


def statements(services: Services, ask: Callable[[], Any]) -> list[str]:
    """What is sent to the database while something is asked."""
    sent: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        sent.append(statement)

    event.listen(services.db.engine, "before_cursor_execute", note)
    try:
        ask()
    finally:
        event.remove(services.db.engine, "before_cursor_execute", note)
    return sent


def test_a_list_costs_a_few_statements_however_long_it_is_and_reads_no_plans(
    services: Services, principal: Principal
) -> None:
    dataset = ready_dataset(services, principal, epsilon="100")
    for number in range(6):
        job = queued_job(services, principal, dataset.id, f"k{number}")
        register_dataset(services, principal, NewDataset(name=f"d{number}", unit="edge", epsilon="1"))
    listed = statements(services, lambda: job_queries.list_jobs(services, principal))
    assert len(listed) == 3
    shown = statements(services, lambda: job_queries.get_job(services, principal, job.id))
    assert not any("jobs.plan," in statement for statement in (*listed, *shown))
    assert len(statements(services, lambda: dataset_queries.list_datasets(services, principal))) == 4


def test_each_job_shows_its_own_steps(services: Services, principal: Principal) -> None:
    dataset = ready_dataset(services, principal, epsilon="100")
    ids = []
    for number in range(2):
        work = publish.begin_job(services, queued_job(services, principal, dataset.id, f"k{number}").id, "w1")
        assert work is not None
        for done in range(number + 2):
            publish.record_events(services, work, [Step("fit", done, 9)])
        ids.append(work.job_id)
    steps = [job_queries.events(services, principal, job_id) for job_id in ids]
    assert [[step.done for step in each] for each in steps] == [[0, 1], [0, 1, 2]]


def test_other_tenants_see_nothing_and_auditors_no_jobs(services: Services, principal: Principal) -> None:
    dataset = ready_dataset(services, principal)
    job = queued_job(services, principal, dataset.id)
    stranger = dataclasses.replace(principal, tenant="other")
    assert job_queries.list_jobs(services, stranger).items == []
    calls = (
        lambda who: job_queries.get_job(services, who, job.id),
        lambda who: job_queries.events(services, who, job.id),
        lambda who: release_queries.get_report(services, who, job.id),
        lambda who: release_queries.listed(services, who, job.id),
        lambda who: release_queries.open_artifact(services, who, job.id, "nodes.parquet"),
        lambda who: cancel_job(services, who, job.id),
    )
    auditor = dataclasses.replace(principal, roles=frozenset({Role.AUDITOR}))
    for call in calls:
        with pytest.raises(NotFound):
            call(stranger)
        with pytest.raises(Forbidden):
            call(auditor)


def test_a_job_without_a_release_says_why_there_is_no_report(
    services: Services, principal: Principal
) -> None:
    dataset = ready_dataset(services, principal)
    job = queued_job(services, principal, dataset.id)
    with pytest.raises(JobNotFinished) as early:
        release_queries.get_report(services, principal, job.id)
    assert early.value.members == {"state": "queued", "retry_after": services.settings.poll_after_seconds}
    work = publish.begin_job(services, job.id, "w")
    assert work is not None
    publish.fail_job(services, work, JobReason.GENERATOR_FAILED)
    with pytest.raises(JobFailed) as late:
        release_queries.open_artifact(services, principal, job.id, "nodes.parquet")
    assert late.value.members == {"state": "failed", "reason": "generator_failed"}


@pytest.mark.parametrize("opened", [False, True])
def test_a_failed_job_says_what_became_of_its_budget(
    services: Services, principal: Principal, opened: bool
) -> None:
    dataset = ready_dataset(services, principal)
    job = queued_job(services, principal, dataset.id)
    work = publish.begin_job(services, job.id, "w")
    assert work is not None
    if opened:
        publish.record_opening(services, work)
    publish.fail_job(services, work, JobReason.MEMORY_EXCEEDED)
    assert spent(services, job) == ("1" if opened else "0", "0")
    seen = job_queries.get_job(services, principal, job.id)
    assert seen.budget is not None
    assert seen.budget.outcome == ("spent" if opened else "returned")
    with pytest.raises(JobFailed) as refused:
        release_queries.get_report(services, principal, job.id)
    said = "its whole cost stays charged" if opened else "The whole reservation has returned."
    assert said in refused.value.message


def test_events_count_up_are_bounded_and_carry_names_only(services: Services, principal: Principal) -> None:
    dataset = ready_dataset(services, principal)
    job = queued_job(services, principal, dataset.id)
    few = Services(services.db, services.store, services.settings.model_copy(update={"max_job_events": 3}))
    work = publish.begin_job(few, job.id, "w")
    assert work is not None
    for done in range(5):
        publish.record_events(few, work, [Step("fit", done, 5)])
    seen = job_queries.events(services, principal, job.id)
    assert [(e.sequence, e.done) for e in seen] == [(3, 0), (4, 1), (5, 2)]  # after queued and running
    assert [e.sequence for e in job_queries.events(services, principal, job.id, after=4)] == [5]
    for stage in ("node 17", "Fit", "", "x" * 65):
        with pytest.raises(InvalidInput):
            publish.record_events(few, work, [Step(stage, 0, 1)])


def test_methods_are_listed_with_their_schema() -> None:
    found = {method.name: method for method in job_queries.methods()}
    assert found["psgraph"].units == ("edge", "event", "w-event")
    assert "tail_share" in found["psgraph"].parameters["properties"]
