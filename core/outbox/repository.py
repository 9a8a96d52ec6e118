"""The SQL of the outbox."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Any, cast

from sqlalchemy import (
    CTE,
    Interval,
    Select,
    Table,
    bindparam,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)
from sqlalchemy.orm import Session

from core.db.session import notify_at_commit
from core.outbox.models import OutboxMessage, Topic

CHANNEL = "graphveil_outbox"

_MESSAGES = cast(Table, OutboxMessage.__table__)
_ADD = (  # built once
    insert(_MESSAGES)
    .values(
        topic=bindparam("topic"),
        subject_id=bindparam("subject_id"),
        not_before=func.now() + bindparam("pause", type_=Interval()),
    )
    .inline()
)


def add(session: Session, topic: str, subject_id: str, not_before_seconds: float) -> None:
    """One message is written; listeners hear of it after the commit. One round trip."""
    pause = timedelta(seconds=not_before_seconds)
    session.execute(_ADD, {"topic": topic, "subject_id": subject_id, "pause": pause})
    notify_at_commit(session, CHANNEL)


def rung_by(topic: Topic, added: CTE) -> CTE:
    """Make the part of a statement that rings for each ``id`` it has added, at once.

    Whoever runs it has listeners notified after the commit.
    """
    due = select(literal(str(topic)), added.c.id, func.now())
    message = insert(_MESSAGES).from_select(["topic", "subject_id", "not_before"], due)
    return message.returning(_MESSAGES.c.id).cte("rung")


def lock_unsent(session: Session, limit: int) -> list[OutboxMessage]:
    """Due messages that nobody else is sending, the longest due first."""
    statement = (
        select(OutboxMessage)
        .where(OutboxMessage.sent_at.is_(None), OutboxMessage.not_before <= func.now())
        .order_by(OutboxMessage.not_before, OutboxMessage.id)
        .limit(limit)
        # What another relay is sending is passed over: none waits for the other.
        .with_for_update(skip_locked=True)
    )
    return list(session.scalars(statement))


def not_yet_due(topic: str) -> Select[Any]:
    """Selects the subjects of messages that are not to leave yet."""
    return select(OutboxMessage.subject_id).where(
        OutboxMessage.sent_at.is_(None), OutboxMessage.not_before > func.now(), OutboxMessage.topic == topic
    )


def mark(session: Session, ids: Collection[int]) -> None:
    """Mark the messages as sent."""
    statement = update(OutboxMessage).where(OutboxMessage.id.in_(ids)).values(sent_at=func.now())
    session.execute(statement, execution_options={"synchronize_session": False})


def purge(session: Session, older_than_seconds: float) -> int:
    """Delete messages that were sent longer ago; how many."""
    horizon = func.now() - timedelta(seconds=older_than_seconds)
    statement = delete(OutboxMessage).where(OutboxMessage.sent_at < horizon).returning(OutboxMessage.id)
    return len(session.scalars(statement, execution_options={"synchronize_session": False}).all())


def unheard(
    session: Session, topic: Topic, subject_ids: Collection[str], *, older_than_seconds: float
) -> list[str]:
    """Find the ids that nobody can have heard of lately. They have no unsent message, and none sent within
    the time.

    A doorbell may lose a message; these are rung again.
    """
    if not subject_ids:
        return []
    horizon = func.now() - timedelta(seconds=older_than_seconds)
    heard = select(OutboxMessage.subject_id).where(
        OutboxMessage.topic == topic,
        OutboxMessage.subject_id.in_(subject_ids),
        or_(OutboxMessage.sent_at.is_(None), OutboxMessage.sent_at > horizon),
    )
    return sorted(set(subject_ids) - set(session.scalars(heard)))
