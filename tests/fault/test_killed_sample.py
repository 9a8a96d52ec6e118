"""A worker is killed while it draws a further sample; another draws it, and nothing is ever charged."""

from __future__ import annotations

import secrets
from collections.abc import Callable

import pytest

from core.datasets.models import Dataset
from core.identity.service import Principal
from core.jobs.models import Job
from core.outbox.models import Topic
from core.workflows.common.context import Services
from core.workflows.jobs.samples import SampleRequest, submit_sample
from tests.support.faults import Kill, assert_sound, endings, killed_at, lapse
from tests.support.inline import taken
from tests.support.releases import job_row, queued_job, spent, stored_keys
from worker.reaper import reap_once

# where the worker dies, and whether a second attempt is needed
POINTS = [
    ("after_claim", True),
    ("after_child", True),
    ("after_staging", True),
    ("before_charge_commit", True),
    ("after_charge", False),
    ("while_copying", False),
    ("before_published", False),
]


@pytest.fixture(scope="module")
def published(fault_services: Services, caller: Principal, shared_dataset: Dataset) -> Job:
    """A published job whose model every test of the module draws from."""
    job = queued_job(fault_services, caller, shared_dataset.id, "source")
    assert taken(fault_services.settings, Topic.RUN, job.id)
    return job_row(fault_services, job.id)


@pytest.fixture
def sampled(fault_services: Services, caller: Principal, published: Job) -> Callable[[], Job]:
    """Queues a fresh sample."""

    def submit() -> Job:
        key = secrets.token_hex(8)
        return submit_sample(fault_services, caller, published.id, SampleRequest(), key)[0]

    return submit


@killed_at("point, again", POINTS, {point for point, _ in POINTS}, {"after_child"})
def test_a_killed_sample_is_drawn_by_another_and_charged_nothing(
    point: str,
    again: bool,
    sampled: Callable[[], Job],
    killed: Kill,
    fault_services: Services,
) -> None:
    job = sampled()
    before = spent(fault_services, job)
    killed(Topic.RUN, job.id, point)
    assert_sound(fault_services, job.id)

    lapse(fault_services)
    reap_once(fault_services)
    row = job_row(fault_services, job.id)
    assert (row.state, row.reservation_id) == ("queued" if again else "published", job.reservation_id)
    assert stored_keys(fault_services, f"staging/{job.id}") == []
    if again:
        assert taken(fault_services.settings, Topic.RUN, job.id)

    row = job_row(fault_services, job.id)
    assert (row.state, row.attempt, row.first_read_at) == ("published", 2 if again else 1, None)
    assert endings(fault_services, job.id) == ["reserve", "charge", "derive"]
    assert spent(fault_services, row) == before
    assert_sound(fault_services, job.id)


def test_a_sample_whose_workers_all_die_fails_and_nothing_was_spent(
    sampled: Callable[[], Job],
    killed: Kill,
    fault_services: Services,
) -> None:
    job = sampled()
    before = spent(fault_services, job)
    for _ in range(3):
        killed(Topic.RUN, job.id, "after_child")
        lapse(fault_services)
        reap_once(fault_services)
    row = job_row(fault_services, job.id)
    assert (row.state, row.reason) == ("failed", "worker_lost")
    assert endings(fault_services, job.id) == ["reserve", "release"]
    assert spent(fault_services, row) == before
    assert_sound(fault_services, job.id)
