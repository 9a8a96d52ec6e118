"""Shards are joined by what their tasks told: no part is fetched, and what lacks is drawn again."""

from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import pytest

from core.datasets.models import Dataset
from core.identity.service import Principal
from core.outbox.models import Topic
from core.settings import Settings
from core.storage.store import ObjectStore
from core.workflows.common.context import Services
from tests.support.faults import assert_sound, endings, lapse
from tests.support.inline import taken
from tests.support.releases import job_row, parted_dataset, stored_keys
from tests.support.sharded import draw, drawn_job, fitted_job, shard, small_shards
from worker.reaper import reap_once


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return small_shards(settings)


@pytest.fixture
def dataset(services: Services, principal: Principal) -> Dataset:
    return parted_dataset(services, principal)


@pytest.fixture(autouse=True)
def _no_pauses() -> Iterator[None]:
    """A job that was handed back may be taken at once."""
    with mock.patch("core.work.service.retry_pause", return_value=0.0):
        yield


def test_no_part_is_fetched_to_be_joined(
    services: Services, settings: Settings, principal: Principal, dataset: Dataset
) -> None:
    job = drawn_job(services, principal, dataset)
    read: list[str] = []
    get = ObjectStore.get

    def noted(self: ObjectStore, key: str) -> Iterator[bytes]:
        read.append(key)
        return get(self, key)

    with mock.patch.object(ObjectStore, "get", noted):
        assert taken(settings, Topic.RUN, job.id)
    assert job_row(services, job.id).state == "published"
    assert len([key for key in read if "/degrees/" in key]) == job.shards
    assert not [key for key in read if "/parts/" in key]


@pytest.mark.parametrize("flaw", ["gone", "altered", "another's", "shorter part"])
def test_what_lacks_or_is_altered_is_drawn_again_to_the_same_bytes(
    services: Services, settings: Settings, principal: Principal, dataset: Dataset, flaw: str
) -> None:
    job = drawn_job(services, principal, dataset)
    parts = stored_keys(services, f"staging/{job.id}/parts")
    degrees = stored_keys(services, f"staging/{job.id}/degrees")
    assert len(parts) == len(degrees) == job.shards
    if flaw == "gone":
        services.store.delete(degrees[0])
    elif flaw == "shorter part":
        services.store.put(parts[0], [b"other bytes"])
    else:
        other = [b"other bytes"] if flaw == "altered" else services.store.get(degrees[1])
        services.store.put(degrees[0], list(other))
    assert taken(settings, Topic.RUN, job.id)
    assert job_row(services, job.id).state == "running"
    draw(services, job, 0)
    assert stored_keys(services, f"staging/{job.id}/parts") == parts
    assert taken(settings, Topic.RUN, job.id)
    assert job_row(services, job.id).state == "published"
    assert endings(services, job.id) == ["reserve", "charge"]
    assert_sound(services, job.id)
    assert stored_keys(services, "staging") == []


def test_degrees_stay_while_others_draw_and_a_worker_that_dies_before_its_part_leaves_work(
    services: Services, settings: Settings, principal: Principal, dataset: Dataset
) -> None:
    job = fitted_job(services, principal, dataset)
    kept = f"staging/{job.id}/degrees"

    class DiedError(BaseException):
        pass

    def dies(*_: object) -> None:
        raise DiedError

    with mock.patch("core.workflows.releases.sharded._chunks", dies), pytest.raises(DiedError):
        taken(settings, Topic.SHARD, shard(job))
    assert len(stored_keys(services, kept)) == 1
    assert stored_keys(services, f"staging/{job.id}/parts") == []
    lapse(services)
    reap_once(services)
    assert len(stored_keys(services, kept)) == 1
    draw(services, job)
    assert taken(settings, Topic.RUN, job.id)
    assert job_row(services, job.id).state == "published"
    assert endings(services, job.id) == ["reserve", "charge"]
    assert_sound(services, job.id)
