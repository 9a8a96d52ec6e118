"""A worker is killed at every step of a job; whatever it left, the job ends well and is charged once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest

from core.errors import AccountExposed
from core.identity.service import Principal
from core.jobs.models import Job
from core.outbox.models import Topic
from core.workflows.common.context import Services
from tests.support.faults import Kill, assert_sound, endings, killed_at, lapse
from tests.support.inline import taken
from tests.support.releases import job_row, queued_job, ready_dataset, spent, stored_keys
from worker.reaper import reap_once

KEPT = ["reserve", "charge"]
ANEW = ["reserve", "release", "reserve", "charge"]

# where the worker dies, the job's ledger entries in the end, and whether a second attempt was needed
POINTS = [
    ("after_claim", KEPT, True),
    ("after_open", ANEW, True),
    ("after_read", ANEW, True),
    ("after_child", ANEW, True),
    ("after_staging", ANEW, True),
    ("before_charge_commit", ANEW, True),
    ("after_charge", KEPT, False),
    ("while_copying", KEPT, False),
    ("before_published", KEPT, False),
]


@killed_at("point, entries, again", POINTS, {point for point, *_ in POINTS}, {"after_read"})
def test_a_worker_killed_anywhere_leaves_a_job_that_ends_well(
    point: str,
    entries: list[str],
    again: bool,
    submitted: Callable[[], Job],
    killed: Kill,
    fault_services: Services,
) -> None:
    job = submitted()
    charged_before, _ = spent(fault_services, job)
    killed(Topic.RUN, job.id, point)
    assert_sound(fault_services, job.id)

    lapse(fault_services)
    reap_once(fault_services)
    row = job_row(fault_services, job.id)
    assert row.state == ("queued" if again else "published")
    assert stored_keys(fault_services, f"staging/{job.id}") == []
    assert_sound(fault_services, job.id)
    if again:
        assert taken(fault_services.settings, Topic.RUN, job.id)

    row = job_row(fault_services, job.id)
    assert (row.state, row.attempt) == ("published", 2 if again else 1)
    assert endings(fault_services, job.id) == entries
    charged, reserved = spent(fault_services, row)
    assert Decimal(charged) - Decimal(charged_before) == 1
    assert Decimal(reserved) == 0
    assert_sound(fault_services, job.id)


def test_a_job_whose_workers_all_die_fails_and_its_budget_returns(
    submitted: Callable[[], Job], killed: Kill, fault_services: Services
) -> None:
    job = submitted()
    before = spent(fault_services, job)[0]
    for _ in range(3):
        killed(Topic.RUN, job.id, "after_claim")
        lapse(fault_services)
        reap_once(fault_services)
    row = job_row(fault_services, job.id)
    assert (row.state, row.reason, row.attempt) == ("failed", "worker_lost", 3)
    assert endings(fault_services, job.id) == ["reserve", "release"]
    assert spent(fault_services, job) == (before, "0")
    assert_sound(fault_services, job.id)


@pytest.mark.parametrize("point", ["after_open", "after_child"])
def test_a_job_without_a_guarantee_has_exposed_its_account_before_its_worker_dies(
    point: str,
    fault_services: Services,
    caller: Principal,
    killed: Kill,
) -> None:
    """Nothing of it is published, and nobody can say that nothing was learned."""
    principal = replace(caller, tenant=f"tenant-{point.replace('_', '-')}")
    policy = {"kinds": ["pure", "approximate", "none"]}
    dataset = ready_dataset(fault_services, principal, policy=policy, public=True)
    job = queued_job(fault_services, principal, dataset.id, method="random_rewire")
    killed(Topic.RUN, job.id, point)
    assert endings(fault_services, job.id) == ["reserve", "expose"]
    with pytest.raises(AccountExposed):
        queued_job(fault_services, principal, dataset.id, "k2")
    lapse(fault_services)
    reap_once(fault_services)
    assert taken(fault_services.settings, Topic.RUN, job.id)
    assert endings(fault_services, job.id) == ["reserve", "expose", "release", "reserve", "charge", "expose"]
    assert_sound(fault_services, job.id)
