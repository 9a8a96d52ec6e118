"""The connection to the database breaks in the middle of things; whom it hits finds out by asking again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from core.settings import Settings
from tests.support.cuts import OPERATIONS, Operation, Wired, wired
from tests.support.faults import mostly_slow
from tests.support.proxy import CUTS, Moment, wire
from tests.support.world import open_world

FEW = 4
ALWAYS = {"submit", "run a job", "run a snapshot", "recover"}


@pytest.fixture(scope="module")
def here(fault_settings: Settings) -> Iterator[Wired]:
    world = open_world(fault_settings)
    with wire(fault_settings.database_url) as made, wired(world, made) as opened:
        yield opened
    world.close()


def cut_at(here: Wired, operation: Operation, moment: Moment, numbers: list[int]) -> None:
    for number in numbers:
        fired, flaws = operation.injected(here, moment, number)
        assert flaws == [], (operation.name, moment, number, flaws)
        assert fired, (operation.name, moment, number)


def spread(count: int, most: int) -> list[int]:
    """At most so many of the numbers from 1 to ``count``: the last one, and others evenly before it."""
    return sorted({count - (count * k) // most for k in range(most)} if count > most else range(1, count + 1))


@pytest.mark.parametrize("name", mostly_slow(OPERATIONS, ALWAYS))
def test_a_connection_that_breaks_at_a_commit_spends_nothing_twice_and_loses_nothing(
    here: Wired, name: str
) -> None:
    operation = OPERATIONS[name]
    # The first run compiles kernels, and a slow one has commits of heartbeats that a fast one lacks.
    commits = min(operation.length(here, Moment.BEFORE_COMMIT) for _ in range(2))
    assert commits >= 1
    cut_at(here, operation, Moment.BEFORE_COMMIT, spread(commits, FEW))
    cut_at(here, operation, Moment.AFTER_COMMIT, spread(commits, FEW))
    cut_at(here, operation, Moment.DURING_COMMIT, [commits])


def test_a_connection_that_breaks_at_a_statement_leaves_nothing_half_done(here: Wired) -> None:
    operation = OPERATIONS["submit"]  # the others, at every statement: see below
    statements = operation.length(here, Moment.IN_STATEMENT)
    cut_at(here, operation, Moment.IN_STATEMENT, spread(statements, 3))
    cut_at(here, operation, Moment.AFTER_STATEMENT, spread(statements, 2))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("moment", CUTS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_connection_may_break_anywhere(here: Wired, name: str, moment: Moment) -> None:
    operation = OPERATIONS[name]
    cut_at(here, operation, moment, list(range(1, operation.length(here, moment) + 1)))
