"""Redis is killed under the relay: what it had not been told waits, what it forgot is rung again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from celery import Celery
from kombu.exceptions import OperationalError
from sqlalchemy import func, update

from core.outbox.models import OutboxMessage
from tests.support.servers import Redis
from tests.support.world import Piece, World
from worker.reaper import reap_once
from worker.relay import relay_once, sender

QUEUE = "graphveil"


@dataclass
class Doorbell:
    """The relay's way to a Redis that may be killed."""

    world: World
    server: Redis

    def __post_init__(self) -> None:
        self.app = Celery("doorbell", broker=self.server.url)
        self.app.conf.update(task_default_queue=QUEUE, task_publish_retry=False, result_backend=None)
        self.send = sender(self.app)

    def relay(self, send: Callable[[str, str], None] | None = None) -> int:
        """How many messages were sent and marked; 0 where Redis did not answer."""
        with suppress(OperationalError, ConnectionError):
            return relay_once(self.world.services.db, send or self.send)
        return 0

    def time_passes(self) -> None:
        """What was sent was sent longer ago than the reaper waits for an answer."""
        horizon = self.world.settings.ring_again_seconds + 1
        past = update(OutboxMessage).values(sent_at=func.now() - timedelta(seconds=horizon))
        with self.world.services.db.transaction() as session:
            session.execute(past.where(OutboxMessage.sent_at.is_not(None)))

    def ends(self, piece: Piece) -> list[str]:
        """What does not hold once Redis answers again, the reaper has come, and a worker heard the bell."""
        flaws = self.world.flaws(piece)
        self.time_passes()
        reap_once(self.world.services)
        if not self.relay() or not self.server.waiting(QUEUE):
            flaws.append("nobody is told of the job any more")
        found = self.world.finish(piece)
        self.relay()
        if found != "published" or self.world.entries(piece.subject_id) != ["reserve", "charge"]:
            flaws.append(f"{found}: {self.world.entries(piece.subject_id)}")
        return flaws + self.world.flaws(piece)


def killed_before(bell: Doorbell) -> tuple[bool, list[str]]:
    """Redis is dead when the job is submitted."""
    bell.server.kill()
    piece = bell.world.job()
    fired = bell.relay() == 0
    bell.server.start()
    return fired, bell.ends(piece)


def killed_between(bell: Doorbell) -> tuple[bool, list[str]]:
    """Redis dies when the relay has sent, before it has marked: the message is in neither place."""
    piece, sent = bell.world.job(), []

    def send(name: str, subject_id: str) -> None:
        if sent:
            bell.server.kill()
        bell.send(name, subject_id)
        sent.append(subject_id)

    bell.world.job()  # a second message of the same batch
    fired = bell.relay(send) == 0
    bell.server.start()
    return fired, bell.ends(piece)


def killed_after(bell: Doorbell) -> tuple[bool, list[str]]:
    """Redis dies with the message that it was given, before any worker took it."""
    piece = bell.world.job()
    fired = bell.relay() > 0 and bell.server.waiting(QUEUE) > 0
    bell.server.kill()
    bell.server.start()
    return fired and not bell.server.waiting(QUEUE), bell.ends(piece)


KILLED = {
    "before the relay sends": killed_before,
    "between two messages": killed_between,
    "with messages that no worker took": killed_after,
}
