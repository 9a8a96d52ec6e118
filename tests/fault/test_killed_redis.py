"""Redis is killed while jobs are told to it: it is only a doorbell, and no job is lost or run twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.settings import Settings
from tests.support.doorbells import KILLED, Doorbell
from tests.support.servers import redis
from tests.support.world import open_world


@pytest.fixture(scope="module")
def bell(fault_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doorbell]:
    folder: Path = tmp_path_factory.mktemp("redis")
    world = open_world(fault_settings)
    with redis(folder) as server:
        yield Doorbell(world, server)
    world.close()


@pytest.mark.parametrize("when", KILLED)
def test_a_redis_that_is_killed_loses_no_job(when: str, bell: Doorbell) -> None:
    fired, flaws = KILLED[when](bell)
    assert flaws == []
    assert fired
