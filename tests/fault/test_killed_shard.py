"""A worker is killed while it fits, draws or joins a graph in shards; the job ends well, charged once."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Callable
from decimal import Decimal

import pytest

from core.datasets.models import Dataset
from core.identity.service import Principal
from core.jobs import shard_repository as shards
from core.jobs.models import Job
from core.outbox.models import Topic
from core.settings import Settings
from core.workflows.common.context import Services
from core.workflows.jobs.cancel import cancel_job
from tests.support.faults import Kill, Processes, assert_sound, endings, killed_at, lapse
from tests.support.inline import taken
from tests.support.patience import PATIENCE_SECONDS
from tests.support.releases import job_row, parted_dataset, queued_job, spent, stored_keys
from tests.support.sharded import draw, drawn_job, fitted_job, shard, small_shards
from worker.reaper import reap_once

KEPT = ["reserve", "charge"]
ANEW = ["reserve", "release", "reserve", "charge"]


@pytest.fixture(scope="module")
def fault_settings(fault_settings: Settings) -> Settings:
    return small_shards(fault_settings)


@pytest.fixture(scope="module")
def parted(fault_services: Services, caller: Principal) -> Dataset:
    return parted_dataset(fault_services, caller, epsilon="1000")


@pytest.fixture
def key(request: pytest.FixtureRequest) -> Callable[[], str]:
    numbers = itertools.count()
    return lambda: f"{request.node.nodeid}/{next(numbers)}".encode().hex()[-200:]


def published(services: Services, job: Job, entries: list[str], before: tuple[str, str]) -> None:
    """Whatever is left of the job was done, and it was charged once."""
    row = job_row(services, job.id)
    if row.state == "running":
        waiting = [number for number in range(row.shards or 0) if not _drawn(services, job, number)]
        draw(services, row, *waiting)
    assert taken(services.settings, Topic.RUN, job.id)
    row = job_row(services, job.id)
    assert row.state == "published"
    assert endings(services, job.id) == entries
    charged, reserved = spent(services, row)
    assert Decimal(charged) - Decimal(before[0]) == 1
    assert Decimal(reserved) == 0
    assert stored_keys(services, f"staging/{job.id}") == []
    assert_sound(services, job.id)


def _drawn(services: Services, job: Job, number: int) -> bool:
    parts = stored_keys(services, f"staging/{job.id}/parts")
    return any(f"/{number:05d}-" in key for key in parts)


POINTS = [
    ("after_claim", KEPT, "queued"),
    ("after_read", ANEW, "queued"),
    ("after_fit_kept", ANEW, "queued"),
    ("before_fit_commit", ANEW, "queued"),
]


@killed_at("point, entries, state", POINTS, {"after_fit_kept", "before_fit_commit"})
def test_a_fit_whose_worker_dies_is_made_anew(
    point: str,
    entries: list[str],
    state: str,
    killed: Kill,
    fault_services: Services,
    caller: Principal,
    parted: Dataset,
    key: Callable[[], str],
) -> None:
    job = queued_job(fault_services, caller, parted.id, key())
    before = spent(fault_services, job)
    killed(Topic.RUN, job.id, point)
    assert_sound(fault_services, job.id)
    lapse(fault_services)
    reap_once(fault_services)
    row = job_row(fault_services, job.id)
    assert (row.state, row.shards) == (state, None)
    assert stored_keys(fault_services, f"staging/{job.id}") == []
    assert taken(fault_services.settings, Topic.RUN, job.id)
    draw(fault_services, job_row(fault_services, job.id))
    published(fault_services, job, entries, (before[0], "0"))


PARTS = [("before_part",), ("while_storing_part",), ("after_part",)]


@killed_at("point", PARTS, {"while_storing_part", "after_part"})
def test_a_shard_whose_worker_dies_is_drawn_by_another_to_the_same_bytes(
    point: str,
    killed: Kill,
    fault_services: Services,
    caller: Principal,
    parted: Dataset,
    key: Callable[[], str],
) -> None:
    job = fitted_job(fault_services, caller, parted, key())
    before = spent(fault_services, job)
    killed(Topic.SHARD, shard(job), point)
    assert_sound(fault_services, job.id)
    parts = stored_keys(fault_services, f"staging/{job.id}/parts")
    assert len(parts) == (1 if point == "after_part" else 0)
    assert not taken(fault_services.settings, Topic.SHARD, shard(job))
    lapse(fault_services)
    reap_once(fault_services)
    draw(fault_services, job, 0)
    again = stored_keys(fault_services, f"staging/{job.id}/parts")
    assert len(again) == 1  # one key, which names the bytes
    assert set(parts) <= set(again)
    draw(fault_services, job, *range(1, job.shards or 0))
    published(fault_services, job, KEPT, before)


@pytest.mark.parametrize("last", [False, True])
@killed_at("point", [("after_shard",)], {"after_shard"})
def test_a_shard_whose_row_stands_is_drawn_though_its_worker_dies(
    point: str,
    last: bool,
    killed: Kill,
    fault_services: Services,
    caller: Principal,
    parted: Dataset,
    key: Callable[[], str],
) -> None:
    """The last one has the job wait to be joined in the same transaction: nothing is between the two."""
    job = fitted_job(fault_services, caller, parted, key())
    before = spent(fault_services, job)
    if last:
        draw(fault_services, job, *range(1, job.shards or 0))
    killed(Topic.SHARD, shard(job), point)
    lapse(fault_services)
    reap_once(fault_services)
    assert job_row(fault_services, job.id).state == ("queued" if last else "running")
    assert not taken(fault_services.settings, Topic.SHARD, shard(job))
    published(fault_services, job, KEPT, before)


# where the worker dies that joins, and whether another attempt is needed
JOIN = [
    ("after_claim", True),
    ("after_child", True),
    ("after_staging", True),
    ("before_charge_commit", True),
    ("after_charge", False),
    ("while_copying", False),
    ("before_published", False),
]


@killed_at("point, again", JOIN, {"before_charge_commit", "while_copying"}, {"before_charge_commit"})
def test_a_join_whose_worker_dies_reads_nothing_again_and_charges_once(
    point: str,
    again: bool,
    killed: Kill,
    fault_services: Services,
    caller: Principal,
    parted: Dataset,
    key: Callable[[], str],
) -> None:
    job = drawn_job(fault_services, caller, parted, key())
    before = spent(fault_services, job)
    killed(Topic.RUN, job.id, point)
    assert_sound(fault_services, job.id)
    lapse(fault_services)
    reap_once(fault_services)
    row = job_row(fault_services, job.id)
    assert row.state == ("queued" if again else "published")
    assert (row.reservation_id, row.fitted_attempt) == (job.reservation_id, job.fitted_attempt)
    if again:
        assert len(stored_keys(fault_services, f"staging/{job.id}/parts")) == job.shards
        published(fault_services, job, KEPT, before)
    assert endings(fault_services, job.id) == KEPT
    assert_sound(fault_services, job.id)


def test_a_job_whose_shard_kills_every_worker_fails_and_its_cost_stays(
    killed: Kill,
    fault_services: Services,
    caller: Principal,
    parted: Dataset,
    key: Callable[[], str],
) -> None:
    job = fitted_job(fault_services, caller, parted, key())
    for _ in range(fault_services.settings.max_attempts):
        killed(Topic.SHARD, shard(job), "before_part")
        lapse(fault_services)
        reap_once(fault_services)
    row = job_row(fault_services, job.id)
    assert (row.state, row.reason) == ("failed", "drawing_lost")
    assert endings(fault_services, job.id) == ["reserve", "forfeit"]
    reap_once(fault_services)
    assert stored_keys(fault_services, f"staging/{job.id}") == []
    assert_sound(fault_services, job.id)


def test_a_cancel_while_a_worker_draws_leaves_nothing_of_its_part(
    processes: Processes,
    fault_services: Services,
    caller: Principal,
    parted: Dataset,
    key: Callable[[], str],
) -> None:
    job = fitted_job(fault_services, caller, parted, key())
    slow = processes.stopped("worker.run_one", "shard", shard(job), failpoints="before_part:stop")
    assert leased(fault_services, job)
    cancel_job(fault_services, caller, job.id)
    slow.send_signal(signal.SIGCONT)
    assert slow.wait(timeout=PATIENCE_SECONDS) == 0, processes.output()
    row = job_row(fault_services, job.id)
    assert (row.state, row.reason) == ("cancelled", "cancelled_by_caller")
    assert endings(fault_services, job.id) == ["reserve", "forfeit"]
    reap_once(fault_services)
    assert stored_keys(fault_services, f"staging/{job.id}") == []
    assert_sound(fault_services, job.id)


def leased(services: Services, job: Job) -> bool:
    """Whether a worker holds one of the job's shards."""
    with services.db.transaction() as session:
        return any(row.leased_by is not None for row in shards.of_job(session, job.id))
