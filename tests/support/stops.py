"""Workers that stand still at a point of their work until another has done it, and then go on."""

from __future__ import annotations

import os
import secrets
import signal
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.engine import make_url

from core.settings import Settings
from tests.support import victims
from tests.support.faults import is_stopped, until
from tests.support.patience import PATIENCE_SECONDS
from tests.support.world import Piece, World
from worker.reaper import reap_once

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
        name = f"stopped-{secrets.token_hex(8)}"
        worker = victims.start(
            victims.working,
            _named(world.settings, name),
            *(piece.topic, piece.subject_id),
            points=f"{self.point}:stop",
        )
        assert worker.pid is not None
        pid = worker.pid
        until(lambda: worker.exitcode is not None or is_stopped(pid), what="the stop")
        if worker.exitcode is not None:
            return False, world.flaws(piece)
        try:
            _idle_for_long(world, name)
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


def _named(settings: Settings, name: str) -> Settings:
    """As the settings; the server knows the connections by that name."""
    url = make_url(settings.database_url).update_query_dict({"application_name": name})
    return settings.model_copy(update={"database_url": url.render_as_string(hide_password=False)})


def _idle_for_long(world: World, name: str) -> None:
    """Who stands still in a transaction has lost its connection, and so its locks: a minute has gone by."""
    ended = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = :name"
    under_way = "SELECT count(xact_start) FROM pg_stat_activity WHERE application_name = :name"

    def over() -> bool:
        with world.services.db.transaction() as session:
            session.execute(text(f"{ended} AND state LIKE 'idle in transaction%'"), {"name": name}).all()
            session.execute(text("SELECT pg_stat_clear_snapshot()"))
            return not session.scalar(text(under_way), {"name": name})

    until(over, what="the end of its transactions")


STOPS: dict[str, Stop] = {
    stop.name: stop
    for stop in (
        *(Stop("job", point) for point in JOB_POINTS),
        *(Stop("snapshot", point) for point in SNAPSHOT_POINTS),
    )
}
