"""Messages come twice, late, in any order, and to several workers at once: the work is done once, and well.

Workers, a reaper, a caller who cancels and the clock take turns, transaction by transaction, in orders that
Hypothesis picks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.outbox.models import Topic
from core.settings import Settings
from core.workflows.common.context import Services
from core.workflows.jobs.cancel import cancel_job
from tests.support.inline import children_inline
from tests.support.turns import Turn
from tests.support.world import CALLER, Piece, World, open_world
from worker.process import WorkerProcess, open_process
from worker.reaper import reap_once
from worker.work import take

EXAMPLES, MANY = 4, 400
FATES = {
    "job": {"published", "cancelled", "failed"},
    "snapshot": {"published", "failed"},
    "upload": {"ready", "rejected"},
    "comparison": {"done", "failed"},
    "audit": {"done", "failed"},
    "list": {"ready", "rejected"},
    "shard": {"drawn", "gone"},
    "drawn job": {"published", "failed", "cancelled"},
}
QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@pytest.fixture(scope="module")
def world(fault_settings: Settings) -> Iterator[World]:
    opened = open_world(fault_settings)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def process(world: World) -> Iterator[WorkerProcess]:
    opened = open_process(world.settings)
    yield opened
    opened.services.close()


def worker(process: WorkerProcess, number: int, topic: Topic, subject: str) -> Callable[[Services], object]:
    """A worker of its own name that takes the message."""

    def act(services: Services) -> object:
        folder = process.folder / f"actor-{number}"
        folder.mkdir(mode=0o700, exist_ok=True)
        own = replace(services, settings=services.settings.model_copy(update={"work_folder": folder}))
        return take(WorkerProcess(f"actor-{number}", own), topic, subject, lambda: False)

    return act


def play(world: World, process: WorkerProcess, kind: str, order: list[int], cancels: bool) -> None:
    """Three workers get the same message, one of them an astray one too; others interfere, in this order."""
    piece = world.kinds[kind]()
    astray = [topic for topic in Topic if topic is not piece.topic][len(order) % 3]
    acts = [worker(process, number, piece.topic, piece.subject_id) for number in range(3)]
    acts += [worker(process, 3, astray, piece.subject_id), reap_once]
    if cancels and piece.topic is Topic.RUN:
        acts.append(lambda services: cancel_job(services, CALLER, piece.subject_id))
    with children_inline():
        turns = [Turn(world.services, act) for act in acts]
        for pick in order:
            living = [turn for turn in turns if not turn.over]
            if pick == 0:
                world.lapse()
            elif living:
                living[pick % len(living)].go_on()
        for turn in turns:
            while not turn.over:
                turn.go_on()
    assert world.flaws(piece) == []
    found = world.finish(piece)
    assert world.flaws(piece) == []
    assert found in FATES[kind], (kind, found)


ORDERS = st.lists(st.integers(0, 12), max_size=120)


@settings(max_examples=EXAMPLES, derandomize=True, **QUIET)
@given(order=ORDERS, cancels=st.booleans())
@pytest.mark.parametrize("kind", FATES)
def test_deliveries_in_any_order_do_the_work_once(
    kind: str, world: World, process: WorkerProcess, order: list[int], cancels: bool
) -> None:
    play(world, process, kind, order, cancels)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(max_examples=MANY, **QUIET)
@given(order=ORDERS, cancels=st.booleans())
@pytest.mark.parametrize("kind", FATES)
def test_many_deliveries_in_any_order_do_the_work_once(
    kind: str, world: World, process: WorkerProcess, order: list[int], cancels: bool
) -> None:
    play(world, process, kind, order, cancels)


def test_every_kind_of_work_is_played(world: World) -> None:
    assert set(world.kinds) == set(FATES)
    pieces = [make() for make in world.kinds.values()]
    assert {piece.topic for piece in pieces} == set(Topic)
    for piece in pieces:
        world.finish(piece)


def test_messages_without_a_subject_do_nothing(world: World, process: WorkerProcess) -> None:
    for topic in Topic:
        assert not take(process, topic, "job_01k8zv2v9h6t0h3r6b8mkx2n4e", lambda: False)
    assert world.flaws() == []


def test_a_finished_piece_that_is_announced_again_stays_as_it_is(world: World) -> None:
    for make in world.kinds.values():
        piece: Piece = make()
        assert world.work(piece)
        before = world.state(piece)
        assert not world.work(piece)
        assert world.state(piece) == before
        assert world.flaws(piece) == []
