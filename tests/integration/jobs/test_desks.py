"""Whose turn it is where uploads wait, and where comparisons and audits do: tenants are served in turn."""

from __future__ import annotations

import secrets
from collections.abc import Callable

import pytest
from sqlalchemy import func, select, update

from core.audits.models import AuditReason
from core.datasets.models import DatasetVersion, SensitiveList
from core.identity.models import Role
from core.identity.service import Principal
from core.jobs import service as jobs
from core.jobs.models import Evaluation, Job, JobState, Turn
from core.outbox.models import OutboxMessage, Topic
from core.settings import Settings
from core.workflows.audits import requests as audits
from core.workflows.audits.requests import AuditRequest, submit_audit
from core.workflows.common.context import Services
from core.workflows.datasets import ingest
from core.workflows.datasets import link_checks as sensitive_checks
from core.workflows.datasets.register import NewDataset, register_dataset
from core.workflows.datasets.upload import receive_part
from core.workflows.jobs import turns
from core.workflows.releases import evaluate
from tests.support.inline import children_inline
from tests.support.releases import SCHEMA, queued_job, ready_dataset, ring_edges
from worker.process import open_process
from worker.work import take_turn

OTHER = Principal("other", "key_other", "other", frozenset({Role.CURATOR, Role.REQUESTER}))


def comparison(services: Services, who: Principal) -> str:
    """The comparison of a published release waits."""
    dataset = ready_dataset(services, who, secrets.token_hex(4), epsilon="90")
    job = queued_job(services, who, dataset.id, secrets.token_hex(8))
    with services.db.transaction() as session:
        row = session.get_one(Job, job.id)
        row.state = JobState.PUBLISHING
        jobs.published(session, row)
        session.add(Evaluation(id=job.id, state="pending"))
    return job.id


def audit(services: Services, who: Principal) -> str:
    """An audit waits."""
    request = AuditRequest(method="laplace", epsilon="1", runs=100)
    return submit_audit(services, who, request, secrets.token_hex(8))[0].id


def upload(services: Services, who: Principal) -> str:
    """An upload waits to be validated."""
    new = NewDataset(name=secrets.token_hex(4), unit="edge", epsilon="1", graph_schema=SCHEMA)
    dataset = register_dataset(services, who, new)
    chunks = [ring_edges()]
    return receive_part(
        services, who, dataset.id, part="edges", format="csv", options={}, chunks=chunks, length=None
    ).id


def links(services: Services, who: Principal) -> str:
    """A list of sensitive links waits to be checked."""
    dataset = ready_dataset(services, who, secrets.token_hex(4), epsilon="90")
    list_id = f"list_{secrets.token_hex(8)}"
    with services.db.transaction() as session:
        of = select(DatasetVersion.id).where(DatasetVersion.dataset_id == dataset.id)
        version = session.scalars(of).one()
        session.add(
            SensitiveList(
                id=list_id,
                dataset_id=dataset.id,
                version_id=version,
                format="csv",
                options={},
                object_key="datasets/none",
            )
        )
    return list_id


def begun(services: Services, topic: Topic, subject_id: str) -> Callable[[], None]:
    """A worker holds the work; what ends it for good."""
    if topic is Topic.EVALUATE:
        comparing = evaluate.begin_evaluation(services, subject_id, "w")
        assert comparing is not None
        return lambda: evaluate.fail_evaluation(services, comparing)
    if topic is Topic.AUDIT:
        auditing = audits.begin_audit(services, subject_id, "w")
        assert auditing is not None
        return lambda: audits.fail_audit(services, auditing, AuditReason.METHOD_FAILED)
    if topic is Topic.INGEST:
        validating = ingest.begin_ingest(services, subject_id, "w")
        assert validating is not None
        return lambda: ingest.fail_ingest(services, validating, retry=False)
    checking = sensitive_checks.begin_check(services, subject_id, "w")
    assert checking is not None
    return lambda: sensitive_checks.fail_check(services, checking, retry=False)


def claimed(services: Services, heard: Topic, count: int, *, ends: bool = True) -> list[str]:
    """What the next messages of the topic have a worker take, in order."""
    found = []
    for _ in range(count):
        work = turns.next_work(services, heard)
        assert work is not None
        end = begun(services, *work)
        if ends:
            end()
        found.append(work[1])
    return found


CHECKS, UPLOADS = (Topic.EVALUATE, Topic.AUDIT), (Topic.INGEST, Topic.LINKS)


@pytest.mark.parametrize(
    ("many", "late", "heard"),
    [
        (comparison, comparison, CHECKS),
        (comparison, audit, CHECKS),
        (upload, upload, UPLOADS),
        (upload, links, UPLOADS),
    ],
)
def test_what_one_tenant_has_waiting_holds_up_nobody_elses(
    services: Services,
    principal: Principal,
    many: Callable[[Services, Principal], str],
    late: Callable[[Services, Principal], str],
    heard: tuple[Topic, ...],
) -> None:
    waiting = [many(services, principal) for _ in range(6)]
    assert claimed(services, heard[0], 1) == waiting[:1]
    theirs = late(services, OTHER)
    assert claimed(services, heard[0], 6) == [theirs, *waiting[1:]]
    assert turns.next_work(services, heard[1]) is None


def test_tenants_take_turns_while_one_worker_serves_them(services: Services, principal: Principal) -> None:
    first = [comparison(services, principal) for _ in range(3)]
    second = [comparison(services, OTHER) for _ in range(3)]
    turn_by_turn = [job_id for pair in zip(first, second, strict=True) for job_id in pair]
    assert claimed(services, Topic.EVALUATE, 6) == turn_by_turn


def test_the_tenant_with_the_least_running_work_is_next(services: Services, principal: Principal) -> None:
    first = [comparison(services, principal) for _ in range(4)]
    second = [comparison(services, OTHER)]
    assert claimed(services, Topic.EVALUATE, 3, ends=False) == [first[0], second[0], first[1]]
    second.append(comparison(services, OTHER))
    assert claimed(services, Topic.EVALUATE, 2, ends=False) == [second[1], first[2]]


def test_work_that_was_handed_back_waits_for_its_message(services: Services, principal: Principal) -> None:
    first, second = comparison(services, principal), comparison(services, principal)
    work = evaluate.begin_evaluation(services, first, "w")
    assert work is not None
    evaluate.hand_back_evaluation(services, work)
    assert claimed(services, Topic.EVALUATE, 1) == [second]
    assert turns.next_work(services, Topic.EVALUATE) is None
    with services.db.transaction() as session:
        due = update(OutboxMessage).where(OutboxMessage.not_before > func.now())
        session.execute(due.values(not_before=func.now()))
    assert turns.next_work(services, Topic.EVALUATE) == (Topic.EVALUATE, first)


def test_what_another_worker_took_meanwhile_is_passed_over(
    services: Services, principal: Principal, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = audit(services, principal), audit(services, principal)
    choose, chosen = turns.next_work, []

    def beaten(
        services: Services, topic: Topic, passed_over: list[str], **asked: bool
    ) -> tuple[Topic, str] | None:
        work = choose(services, topic, passed_over, **asked)
        chosen.append(work)
        if work == (Topic.AUDIT, first):
            begun(services, *work)
        return work

    monkeypatch.setattr(turns, "next_work", beaten)
    process = open_process(settings)
    with children_inline():
        assert take_turn(process, Topic.EVALUATE, lambda: False)
        assert not take_turn(process, Topic.EVALUATE, lambda: False)
    process.services.close()
    assert chosen == [(Topic.AUDIT, first), (Topic.AUDIT, second), None]


def test_desks_know_nothing_of_each_other_and_tenants_leave_one_row_each(
    services: Services, principal: Principal
) -> None:
    for who in (principal, OTHER):
        for _ in range(2):
            upload(services, who)
            audit(services, who)
    claimed(services, Topic.LINKS, 4)
    claimed(services, Topic.EVALUATE, 4)
    with services.db.transaction() as session:
        rows = session.execute(select(Turn.desk, Turn.tenant)).all()
    assert sorted(map(tuple, rows)) == sorted(
        (desk, who.tenant) for desk in ("uploads", "checks") for who in (principal, OTHER)
    )
