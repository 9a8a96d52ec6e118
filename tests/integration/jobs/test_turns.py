"""Whose turn it is: a fair order of claims among tenants, caps on open jobs, and a cost that the queue's
length does not show in."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from sqlalchemy import func, select, text, update

from core.datasets.models import Dataset
from core.errors import TooManyJobs
from core.identity.models import Role
from core.identity.service import Principal
from core.jobs import turns as order
from core.jobs.models import PAID_AND_QUEUED, Job, JobReason, Stop
from core.outbox.models import OutboxMessage, Topic
from core.settings import Settings
from core.workflows.common.context import Services
from core.workflows.jobs import cancel, turns
from core.workflows.jobs.samples import SampleRequest, submit_sample
from core.workflows.releases import publish
from tests.support.inline import children_inline, taken
from tests.support.releases import job_row, queued_job, ready_dataset
from tests.support.streams import open_stream, send, stream_dataset, with_settings
from worker.process import open_process
from worker.work import take_turn

OTHER = Principal("other", "key_other", "other", frozenset({Role.CURATOR, Role.REQUESTER}))
TENANTS = 50


@pytest.fixture
def dataset(services: Services, principal: Principal) -> Dataset:
    return ready_dataset(services, principal, epsilon="90")


@pytest.fixture
def elsewhere(services: Services) -> Dataset:
    """Another tenant's."""
    return ready_dataset(services, OTHER, epsilon="90")


def queue(services: Services, who: Principal, dataset: Dataset, count: int) -> list[str]:
    return [queued_job(services, who, dataset.id, f"q{number}").id for number in range(count)]


def claimed(services: Services, count: int, *, ends: bool) -> list[str]:
    """The jobs that the next claims take, in order; where ``ends``, each ends before the next is taken."""
    found = []
    for _ in range(count):
        job_id = turns.next_job(services)
        assert job_id is not None
        work = publish.begin_job(services, job_id, "w")
        assert work is not None
        if ends:
            publish.fail_job(services, work, JobReason.GENERATOR_FAILED)
        found.append(job_id)
    return found


def test_a_tenants_long_queue_holds_up_nobody_elses_job(
    services: Services, principal: Principal, dataset: Dataset, elsewhere: Dataset
) -> None:
    many = queue(services, principal, dataset, 12)
    [late] = queue(services, OTHER, elsewhere, 1)
    order = claimed(services, 13, ends=True)
    assert order.index(late) <= 1
    assert [job_id for job_id in order if job_id != late] == many


def test_tenants_take_turns_while_one_worker_serves_them(
    services: Services, principal: Principal, dataset: Dataset, elsewhere: Dataset
) -> None:
    first, second = queue(services, principal, dataset, 3), queue(services, OTHER, elsewhere, 3)
    turn_by_turn = [job_id for pair in zip(first, second, strict=True) for job_id in pair]
    assert claimed(services, 6, ends=True) == turn_by_turn


def test_the_tenant_with_the_least_running_work_is_next(
    services: Services, principal: Principal, dataset: Dataset, elsewhere: Dataset
) -> None:
    long, short = queue(services, principal, dataset, 4), queue(services, OTHER, elsewhere, 1)
    assert claimed(services, 3, ends=False) == [long[0], short[0], long[1]]
    [other] = [queued_job(services, OTHER, elsewhere.id, "q9").id]
    # Two of the one's run, and one of the other's.
    assert claimed(services, 3, ends=False) == [other, long[2], long[3]]


def test_free_samples_come_after_every_job_that_pays(
    services: Services, principal: Principal, settings: Settings, dataset: Dataset, elsewhere: Dataset
) -> None:
    source = queued_job(services, principal, dataset.id)
    assert taken(settings, Topic.RUN, source.id)
    samples = [
        submit_sample(services, principal, source.id, SampleRequest(), f"s{number}")[0].id
        for number in range(3)
    ]
    paid = [*queue(services, OTHER, elsewhere, 2), queued_job(services, principal, dataset.id, "late").id]
    order = claimed(services, 6, ends=True)
    assert sorted(order[:3]) == sorted(paid)
    assert order[3:] == samples


def test_a_job_that_was_handed_back_waits_for_its_message(
    services: Services, principal: Principal, dataset: Dataset
) -> None:
    [first, second] = queue(services, principal, dataset, 2)
    work = publish.begin_job(services, first, "w")
    assert work is not None
    publish.hand_back(services, work, Stop.DRAINED)
    assert claimed(services, 1, ends=True) == [second]
    assert turns.next_job(services) is None
    with services.db.transaction() as session:
        due = update(OutboxMessage).where(OutboxMessage.not_before > func.now())
        session.execute(due.values(not_before=func.now()))
    assert turns.next_job(services) == first


def test_a_snapshot_that_waits_for_another_takes_nobodys_turn(
    services: Services, principal: Principal, elsewhere: Dataset
) -> None:
    calls = stream_dataset(services, principal)
    stream = open_stream(services, principal, calls.id)
    first, second = (send(services, principal, stream, step)[0].job_id for step in (0, 1))
    [job_id] = queue(services, OTHER, elsewhere, 1)
    assert claimed(services, 2, ends=False) == [first, job_id]
    assert turns.next_job(services) is None
    assert second


def test_a_ring_has_the_worker_take_the_job_whose_turn_it_is(
    services: Services, principal: Principal, settings: Settings, dataset: Dataset, elsewhere: Dataset
) -> None:
    many = queue(services, principal, dataset, 3)
    process = open_process(settings)
    with children_inline():
        assert take_turn(process, Topic.RUN, lambda: False)
        [late] = queue(services, OTHER, elsewhere, 1)
        assert take_turn(process, Topic.RUN, lambda: False)
    process.services.close()
    states = {job_id: job_row(services, job_id).state for job_id in (*many, late)}
    assert states == {many[0]: "published", late: "published", many[1]: "queued", many[2]: "queued"}
    assert not take_turn(process, Topic.RUN, lambda: True)


def test_a_job_that_another_worker_took_meanwhile_is_passed_over(
    services: Services,
    principal: Principal,
    settings: Settings,
    dataset: Dataset,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = queue(services, principal, dataset, 2)
    choose, chosen = turns.next_job, []

    def beaten(services: Services, *asked: Any, **of: Any) -> str | None:
        job_id = choose(services, *asked, **of)
        chosen.append(job_id)
        if job_id == first:
            assert publish.begin_job(services, first, "faster") is not None
        return job_id

    monkeypatch.setattr(turns, "next_job", beaten)
    process = open_process(settings)
    with children_inline():
        assert take_turn(process, Topic.RUN, lambda: False)
    process.services.close()
    assert chosen == [first, second]
    assert job_row(services, first).leased_by == "faster"
    assert job_row(services, second).state == "published"


@pytest.mark.audits
def test_among_a_hundred_thousand_jobs_a_turn_reads_a_few_pages(
    services: Services, principal: Principal, dataset: Dataset
) -> None:
    job = queued_job(services, principal, dataset.id)
    assert taken(services.settings, Topic.RUN, queued_job(services, principal, dataset.id, "done").id)
    with services.db.transaction() as session:
        names = [column.name for column in Job.__table__.columns]
        changed = {
            "id": "'job_' || n",
            "idempotency_key": "'n' || n",
            "tenant": f"'tenant-' || n % {TENANTS}",
            "created_at": "now() - n * interval '1 second'",
        }
        states = "CASE WHEN n > 50000 THEN 'failed' ELSE 'queued' END"
        values = ", ".join(changed.get(name, states if name == "state" else name) for name in names)
        session.execute(
            text(
                f"INSERT INTO jobs ({', '.join(names)}) SELECT {values} FROM jobs,"
                " generate_series(1, 100000) n WHERE id = :id"
            ),
            {"id": job.id},
        )
    turn = order.fairest(waiting=PAID_AND_QUEUED, but=turns.not_its_turn())
    query = turn.compile(services.db.engine, compile_kwargs={"literal_binds": True})
    with services.db.transaction() as session:
        [plan] = session.execute(text(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query}")).scalar_one()
        pages = session.execute(text("SELECT pg_relation_size('jobs') / 8192")).scalar_one()
    read = plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"]
    assert read < 30 * TENANTS < pages / 5
    assert job_row(services, turns.next_job(services) or "").created_at <= job.created_at


@pytest.mark.parametrize(
    ("limits", "of"),
    [({"max_open_jobs": 2}, "tenant"), ({"max_open_key_jobs": 2}, "key")],
    ids=["tenant", "key"],
)
def test_open_jobs_have_a_limit(
    services: Services, principal: Principal, dataset: Dataset, limits: dict[str, int], of: str
) -> None:
    few = with_settings(services, **limits)
    first, _ = queue(few, principal, dataset, 2)
    with pytest.raises(TooManyJobs, match="2 jobs") as refused:
        queued_job(few, principal, dataset.id, "third")
    pause = services.settings.poll_after_seconds
    assert refused.value.members == {"of": of, "open": 2, "limit": 2, "retry_after": pause}
    assert queued_job(few, principal, dataset.id, "q0").id == first  # a repeat makes no job
    beside = dataclasses.replace(principal, key_id="key_beside")
    if of == "key":
        queued_job(few, beside, dataset.id, "third")
    else:
        with pytest.raises(TooManyJobs):
            queued_job(few, beside, dataset.id, "third")
    cancel.cancel_job(few, principal, first)
    queued_job(few, beside, dataset.id, "fourth")


def test_samples_and_snapshots_count_among_the_open_jobs(
    services: Services, principal: Principal, settings: Settings, dataset: Dataset
) -> None:
    few = with_settings(services, max_open_jobs=1)
    source = queued_job(few, principal, dataset.id)
    assert taken(settings, Topic.RUN, source.id)
    submit_sample(few, principal, source.id, SampleRequest(), "s1")
    with pytest.raises(TooManyJobs):
        submit_sample(few, principal, source.id, SampleRequest(), "s2")
    calls = stream_dataset(services, principal)
    stream = open_stream(services, principal, calls.id)
    with pytest.raises(TooManyJobs):
        send(few, principal, stream, 0)
    with services.db.transaction() as session:
        assert session.execute(select(func.count()).where(Job.dataset_id == calls.id)).scalar_one() == 0
