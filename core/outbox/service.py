"""Messages that leave with the transaction that caused them. Duplicates are harmless: claims decide."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy.orm import Session

from core.errors import InvalidInput
from core.outbox import repository
from core.outbox.models import OutboxMessage, Topic
from core.outbox.repository import CHANNEL

__all__ = ["CHANNEL", "mark_sent", "purge_sent", "ring", "take_unsent"]


def ring(session: Session, topic: Topic | str, subject_id: str, not_before_seconds: float = 0) -> None:
    """Send the message once the transaction commits. It goes not before ``not_before_seconds`` have passed.

    Listeners on the channel ``graphveil_outbox`` wake up after the commit. InvalidInput for an unknown topic.
    """
    if topic not in tuple(Topic):
        raise InvalidInput(f"unknown topic {topic!r}", field="topic")
    if not_before_seconds < 0:
        raise InvalidInput("a message cannot be due before it is written", field="not_before_seconds")
    repository.add(session, str(topic), subject_id, not_before_seconds)


def take_unsent(session: Session, limit: int) -> list[OutboxMessage]:
    """Lock and load up to ``limit`` due messages. They stay locked until the transaction ends; what others
    hold is left out."""
    return repository.lock_unsent(session, limit)


def mark_sent(session: Session, ids: Collection[int]) -> None:
    """Mark the messages as sent: they will not be taken again."""
    if ids:
        repository.mark(session, ids)


def purge_sent(session: Session, older_than_seconds: float) -> int:
    """Delete messages sent longer ago than that. Returned is how many there were."""
    return repository.purge(session, older_than_seconds)
