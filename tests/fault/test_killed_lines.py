"""``kill -9`` at every line of the publication, and of what settles a job: nothing is paid twice or lost.

The lines are those to which an unharmed run comes, so a line that is added is a line that is killed at.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.settings import Settings
from tests.support.faults import mostly_slow
from tests.support.kills import KILLS
from tests.support.victims import LEDGER, Line
from tests.support.world import World, open_world

FEWEST = {
    "publish": 20,
    "fail": 8,
    "stop": 8,
    "hand back": 12,
    "reap a lost job": 12,
    "reap a charged job": 15,
}
"""Less, and the lines that count were not found."""

ALWAYS = {"publish", "fail"}
"""The others take minutes together."""


@pytest.fixture(scope="module")
def world(fault_settings: Settings) -> Iterator[World]:
    opened = open_world(fault_settings)
    yield opened
    opened.close()


def kill_at(world: World, name: str, lines: list[Line]) -> None:
    for line in lines:
        fired, flaws = KILLS[name].injected(world, line)
        assert fired, (name, line)
        assert flaws == [], (name, line, flaws)


@pytest.mark.parametrize("name", mostly_slow(KILLS, ALWAYS))
def test_a_process_killed_at_any_line_leaves_a_job_that_ends_well(
    name: str, world: World, tmp_path: Path
) -> None:
    lines = KILLS[name].lines(world, tmp_path)
    assert len(lines) >= FEWEST[name], lines
    kill_at(world, name, lines)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", KILLS)
def test_a_process_killed_at_any_line_of_the_ledger_leaves_it_whole(
    name: str, world: World, tmp_path: Path
) -> None:
    lines = KILLS[name].lines(world, tmp_path, LEDGER)
    assert len(lines) >= 20, lines
    kill_at(world, name, lines)
