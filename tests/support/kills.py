"""Acts that are killed at a line, each prepared up to the moment at which it begins."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

from core.workflows.jobs.cancel import cancel_job
from core.workflows.releases.bundles import ReleaseFile
from core.workflows.releases.publish import JobWork
from tests.support import victims
from tests.support.victims import Line, Watched
from tests.support.world import CALLER, Piece, World


class Held(BaseException):
    """A worker is held at the moment at which it would go on; its lease lives on. Carries what was given."""


def _hold(*given: Any) -> NoReturn:
    raise Held(*given)


def held(world: World) -> tuple[Piece, JobWork, list[ReleaseFile]]:
    """A job whose graph was read, and whose bytes are staged."""
    piece = world.job()
    with mock.patch("worker.kinds.release.publish.commit_release", _hold):
        try:
            world.work(piece)
        except Held as moment:
            _, work, files = moment.args
            return piece, work, files
    raise AssertionError("the job came to no publication")


@dataclass(frozen=True)
class Kill:
    """``prepare`` returns the piece and the act's arguments; ``after`` the states that the piece may end in.

    ``watched``: where lines count.
    """

    name: str
    act: Callable[..., None]
    watched: Watched
    prepare: Callable[[World], tuple[Piece, tuple[Any, ...]]]
    after: dict[str, tuple[list[str], ...]]

    def lines(self, world: World, folder: Path, watched: Watched | None = None) -> list[Line]:
        """The lines to which the act comes."""
        _, arguments = self.prepare(world)
        into = folder / "lines.json"
        return victims.lines(self.act, world.settings, *arguments, watched=watched or self.watched, into=into)

    def injected(self, world: World, line: Line) -> tuple[bool, list[str]]:
        """Whether the process was killed there, and what does not hold, at once and in the end."""
        piece, arguments = self.prepare(world)
        victim = victims.start(self.act, world.settings, *arguments, watched={line[0]: None}, line=line)
        fired = victims.killed(victim)
        flaws = world.flaws(piece)
        state = world.finish(piece)
        flaws += world.flaws(piece)
        if world.entries(piece.subject_id) not in self.after.get(state, ()):
            flaws.append(f"{state}: {world.entries(piece.subject_id)}")
        return fired, flaws


def _staged(world: World) -> tuple[Piece, tuple[Any, ...]]:
    piece, work, files = held(world)
    return piece, (work, files)


def _working(world: World) -> tuple[Piece, tuple[Any, ...]]:
    piece, work, _ = held(world)
    return piece, (work,)


def _asked_to_stop(world: World) -> tuple[Piece, tuple[Any, ...]]:
    piece, work, _ = held(world)
    cancel_job(world.services, CALLER, piece.subject_id)
    return piece, (work,)


def _lost(world: World) -> tuple[Piece, tuple[Any, ...]]:
    piece, _, _ = held(world)
    world.lapse()
    return piece, ()


def _charged(world: World) -> tuple[Piece, tuple[Any, ...]]:
    """The charge stands, and the worker is gone before it copied a byte."""
    piece = world.job()
    with mock.patch("worker.kinds.release.publish.copy_files", _hold), suppress(Held):
        world.work(piece)
    world.lapse()
    return piece, ()


KEPT = ["reserve", "charge"]
ANEW = ["reserve", "release", *KEPT]
PAID = ["reserve", "forfeit"]

KILLS = {
    each.name: each
    for each in (
        Kill("publish", victims.publishing, victims.PUBLICATION, _staged, {"published": (KEPT, ANEW)}),
        Kill(
            "fail",
            victims.failing,
            victims.SETTLEMENT,
            _working,
            {"failed": (PAID,), "published": (ANEW,)},  # killed before its word stood: another worker tries
        ),
        Kill("stop", victims.stopping, victims.SETTLEMENT, _asked_to_stop, {"cancelled": (PAID,)}),
        Kill("hand back", victims.handing_back, victims.SETTLEMENT, _working, {"published": (ANEW,)}),
        Kill("reap a lost job", victims.reaping, victims.SETTLEMENT, _lost, {"published": (ANEW,)}),
        Kill("reap a charged job", victims.reaping, victims.SETTLEMENT, _charged, {"published": (KEPT,)}),
    )
}
