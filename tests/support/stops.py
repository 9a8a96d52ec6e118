"""Workers that stand still at a point of their work until another has done it, and then go on."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass

from sqlalchemy.engine import make_url

from core.settings import Settings
from tests.support import victims
from tests.support.faults import is_stopped, until
from tests.support.patience import PATIENCE_SECONDS
from tests.support.world import Piece, World
from worker.reaper import reap_once

IDLE_SECONDS = 3
"""How long a worker that stands still in a transaction may keep its locks; a minute in production."""

JOB_POINTS = (
    *("after_claim", "after_open", "after_read", "after_child", "after_staging"),
    *("before_charge_commit", "after_charge", "while_copying", "before_published"),
)
CHARGED = ("after_charge", "while_copying", "before_published")
"""From here on the release is the first worker's, and whoever finds it only copies."""
SNAPSHOT_POINTS = ("before_snapshot_kept", "after_snapshot_kept")


@dataclass(frozen=True)
class Stop:
    """A worker on such a piece stops at the point."""

    kind: str
    point: str

    @property
    def name(self) -> str:
        return f"{self.kind}, {self.point}"

    def injected(self, world: World) -> tuple[bool, list[str]]:
        """Whether the worker stood still there, and what does not hold: when its lease has been given to
        another, when that one has ended, and when the first has gone on."""
        piece = world.kinds[self.kind]()
        hasty = _hasty(world.settings)
        worker = victims.start(
            victims.working, hasty, piece.topic, piece.subject_id, points=f"{self.point}:stop"
        )
        assert worker.pid is not None
        pid = worker.pid
        until(lambda: worker.exitcode is not None or is_stopped(pid), what="the stop")
        if worker.exitcode is not None:
            return False, world.flaws(piece)
        try:
            world.lapse()
            reap_once(world.services)
            flaws = world.flaws(piece)
            ended = world.finish(piece)
            flaws += world.flaws(piece)
            before = world.entries(piece.subject_id), world.row(piece).finished_at
        finally:
            os.kill(pid, signal.SIGCONT)
        worker.join(PATIENCE_SECONDS)
        return True, flaws + self._woken(world, piece, worker.exitcode, ended, before)

    def _woken(
        self, world: World, piece: Piece, exit_code: int | None, ended: str, before: tuple[object, object]
    ) -> list[str]:
        reap_once(world.services)
        flaws = world.flaws(piece)
        row = world.row(piece)
        if exit_code != 0:
            flaws.append(f"the worker that woke up ended with {exit_code}")
        if ended != "published" or (world.entries(piece.subject_id), row.finished_at) != before:
            flaws.append(f"{ended}, then {row.state}: {before[0]}, then {world.entries(piece.subject_id)}")
        if row.attempt != (1 if self.point in CHARGED else 2):
            flaws.append(f"published by attempt {row.attempt}")
        return flaws


def _hasty(settings: Settings) -> Settings:
    """As the settings; but who stands still in a transaction soon loses its connection, and so its locks."""
    options = f"-c idle_in_transaction_session_timeout={IDLE_SECONDS}s -c jit=off"
    url = make_url(settings.database_url).update_query_dict({"options": options})
    return settings.model_copy(update={"database_url": url.render_as_string(hide_password=False)})


STOPS: dict[str, Stop] = {
    stop.name: stop
    for stop in (
        *(Stop("job", point) for point in JOB_POINTS),
        *(Stop("snapshot", point) for point in SNAPSHOT_POINTS),
    )
}
