"""Accounts that a job without a guarantee exposes: when its graph is opened, whatever becomes of it then; and
jobs whose account is exposed while they run: their guarantee is void, so nothing of them is published."""

from __future__ import annotations

import pytest
from sqlalchemy import func, update

from core.datasets.models import Dataset
from core.errors import AccountExposed
from core.identity.service import Principal
from core.jobs.models import Job, JobReason
from core.ledger import service as ledger
from core.outbox.models import Topic
from core.privacy.accounting.events import Unprotected
from core.privacy.accounting.meter import TranscriptEntry
from core.workflows.common.context import Services
from core.workflows.jobs import cancel
from core.workflows.ledger.invariants.accounts import ExposureLasts
from core.workflows.operations import recover
from core.workflows.releases import publish
from tests.support.inline import taken
from tests.support.releases import job_row, queued_job, ready_dataset, spent, stored_keys, violations

ALLOWED = {"kinds": ["pure", "approximate", "none"]}


def unprotected(services: Services, principal: Principal, dataset: Dataset, key: str = "n1") -> Job:
    return queued_job(services, principal, dataset.id, key, method="random_rewire")


def exposures(services: Services, job: Job) -> list[tuple[str | None, bool]]:
    """For each expose entry of the job's account: its job, and whether it names files; the promise holds."""
    with services.db.transaction() as session:
        entries = ledger.entries(session, job.account_id, after=0, limit=1000).entries
        marked = ledger.statement(session, job.account_id).exposed
        assert ExposureLasts().check(session, 10).findings == ()
    found = [(each.job_id, bool(each.digests)) for each in entries if each.kind == "expose"]
    assert marked == bool(found)
    assert violations(services) == []
    return found


def test_opening_without_a_guarantee_exposes_though_the_job_fails(
    services: Services, principal: Principal
) -> None:
    """Whether it fails can depend on the data, and no noise lies on that: failing tells too."""
    dataset = ready_dataset(services, principal, policy=ALLOWED, public=True)
    job = unprotected(services, principal, dataset)
    work = publish.begin_job(services, job.id, "w1")
    assert work is not None
    assert exposures(services, job) == []
    publish.record_opening(services, work)
    assert exposures(services, job) == [(job.id, False)]  # before the child is told that it may read
    publish.fail_job(services, work, JobReason.MEMORY_EXCEEDED)
    assert job_row(services, job.id).state == "failed"
    assert exposures(services, job) == [(job.id, False)]
    with pytest.raises(AccountExposed):
        queued_job(services, principal, dataset.id, "k2")


def test_a_child_that_reads_without_announcing_it_exposes_as_well(
    services: Services, principal: Principal
) -> None:
    dataset = ready_dataset(services, principal, policy=ALLOWED, public=True)
    job = unprotected(services, principal, dataset)
    work = publish.begin_job(services, job.id, "w1")
    assert work is not None
    read = TranscriptEntry(0, "*", None, Unprotected("reads the raw graph"), "raw graph")
    publish.record_read(services, work, read.to_json())
    assert exposures(services, job) == [(job.id, False)]


def test_a_child_that_breaks_down_after_opening_has_exposed(services: Services, principal: Principal) -> None:
    def breaks(kind: str) -> None:
        raise RuntimeError("after the reads")

    job = unprotected(services, principal, ready_dataset(services, principal, policy=ALLOWED, public=True))
    assert taken(services.settings, Topic.RUN, job.id, breaks)
    row = job_row(services, job.id)
    assert (row.state, row.reason) == ("failed", "generator_failed")
    assert exposures(services, job) == [(job.id, False)]


def test_what_is_stopped_before_the_opening_exposes_nothing(services: Services, principal: Principal) -> None:
    dataset = ready_dataset(services, principal, policy=ALLOWED, public=True)
    job = unprotected(services, principal, dataset)
    assert publish.begin_job(services, job.id, "w1") is not None
    cancel.cancel_job(services, principal, job.id)
    assert exposures(services, job) == []
    assert queued_job(services, principal, dataset.id, "k2").state == "queued"


def test_a_publication_names_its_files_in_an_entry_of_its_own(
    services: Services, principal: Principal
) -> None:
    job = unprotected(services, principal, ready_dataset(services, principal, policy=ALLOWED, public=True))
    assert taken(services.settings, Topic.RUN, job.id)
    assert job_row(services, job.id).state == "published"
    assert exposures(services, job) == [(job.id, False), (job.id, True)]


def test_an_attempt_that_was_lost_has_exposed_and_the_next_one_says_nothing_new(
    services: Services, principal: Principal
) -> None:
    job = unprotected(services, principal, ready_dataset(services, principal, policy=ALLOWED, public=True))
    work = publish.begin_job(services, job.id, "w1")
    assert work is not None
    publish.record_opening(services, work)
    with services.db.transaction() as session:
        past = func.now() - func.make_interval(0, 0, 0, 1)
        session.execute(update(Job).where(Job.id == job.id).values(lease_expires_at=past))
    assert recover.recover_lost(services, Topic.RUN) == 1
    assert exposures(services, job) == [(job.id, False)]
    assert taken(services.settings, Topic.RUN, job.id)
    assert exposures(services, job) == [(job.id, False), (job.id, True)]


def test_what_a_worker_of_the_version_before_opened_is_exposed_by_the_reaper(
    services: Services, principal: Principal
) -> None:
    """It wrote no entry at the opening; while an upgrade rolls on, such workers go on opening."""
    dataset = ready_dataset(services, principal, policy=ALLOWED, public=True)
    job = unprotected(services, principal, dataset)
    assert publish.begin_job(services, job.id, "w1") is not None
    with services.db.transaction() as session:
        session.execute(update(Job).where(Job.id == job.id).values(first_read_at=func.now()))
        assert [found.subject for found in ExposureLasts().check(session, 10).findings] == [job.id]
    assert recover.expose_opened(services) == 1
    assert exposures(services, job) == [(job.id, False)]
    assert recover.expose_opened(services) == 0


def test_a_claim_that_was_voided_meanwhile_is_not_published(services: Services, principal: Principal) -> None:
    dataset = ready_dataset(services, principal)
    job = queued_job(services, principal, dataset.id)
    with services.db.transaction() as session:
        ledger.expose(
            session,
            job.account_id,
            job_id="job_unprotected",
            digests={"edges.parquet": "a" * 64},
            actor="worker",
            reason="unprotected release",
        )
    assert taken(services.settings, Topic.RUN, job.id)
    row = job_row(services, job.id)
    assert (row.state, row.reason) == ("failed", "account_exposed")
    assert spent(services, row) == ("1", "0")  # it had read: the reservation is spent
    assert stored_keys(services, "releases") == []
    assert violations(services) == []
