"""The object store fails, answers too late, is away, or is full: nothing is lost or paid twice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from core.settings import Settings
from tests.support.cuts import OPERATIONS, Wired, wired
from tests.support.proxy import wire
from tests.support.shelves import StoreMoment
from tests.support.world import open_world

STORING = (
    *("upload", "send a snapshot", "run a job", "run a snapshot", "settle a failure", "settle a cancel"),
    *("ingest", "compare", "recover"),
)
"""The operations that use the store. ``recover``: of a reaper, which goes through everything staged."""

ALWAYS = [("run a job", moment) for moment in StoreMoment] + [("upload", StoreMoment.FULL)]


@pytest.fixture(scope="module")
def here(fault_settings: Settings) -> Iterator[Wired]:
    world = open_world(fault_settings)
    with wire(fault_settings.database_url) as made, wired(world, made) as opened:
        yield opened
    world.close()


def break_at(here: Wired, name: str, moment: StoreMoment, step: int) -> None:
    operation = OPERATIONS[name]
    calls = operation.length(here, moment)
    assert calls >= 1, (name, moment)
    for number in range(calls, 0, -step):
        fired, flaws = operation.injected(here, moment, number)
        assert flaws == [], (name, moment, number, flaws)
        assert fired, (name, moment, number)


@pytest.mark.parametrize(("name", "moment"), ALWAYS)
def test_a_store_that_breaks_leaves_work_that_ends_well(here: Wired, name: str, moment: StoreMoment) -> None:
    break_at(here, name, moment, step=5)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("moment", StoreMoment)
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_store_may_break_at_any_call(here: Wired, name: str, moment: StoreMoment) -> None:
    if name in STORING:
        break_at(here, name, moment, step=1)
    else:
        assert OPERATIONS[name].length(here, moment) == 0
