"""A worker stands still at a point of its work, another does it; the first wakes up and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from core.failpoints import POINTS
from core.settings import Settings
from tests.support.stops import JOB_POINTS, SNAPSHOT_POINTS, STOPS
from tests.support.world import World, open_world

ELSEWHERE = {
    *("before_mark_sent", "webhook_sent", "after_snapshot_stored", "before_snapshot_commit"),
    *(
        "after_fit_kept",
        "before_fit_commit",
        "before_part",
        "while_storing_part",
        "after_part",
        "after_shard",
    ),
}
"""In the relay, the deliverer and the sender of a snapshot, which hold no job; and in datasets in parts,
where ``test_killed_shard`` has late workers too."""


@pytest.fixture(scope="module")
def world(fault_settings: Settings) -> Iterator[World]:
    opened = open_world(fault_settings)
    yield opened
    opened.close()


@pytest.mark.parametrize("name", STOPS)
def test_a_worker_that_wakes_up_late_changes_nothing(name: str, world: World) -> None:
    fired, flaws = STOPS[name].injected(world)
    assert flaws == []
    assert fired


def test_a_worker_is_stopped_at_every_point_of_its_work() -> None:
    assert {*JOB_POINTS, *SNAPSHOT_POINTS} == set(POINTS) - ELSEWHERE
