"""Which work nobody can have heard of lately: the doorbell may lose a message, and is then rung again."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from core.outbox.models import OutboxMessage, Topic


def unheard(
    session: Session, topic: Topic, subject_ids: Collection[str], *, older_than_seconds: float
) -> list[str]:
    """Those of the ids that have neither an unsent message nor one sent within the given time."""
    if not subject_ids:
        return []
    horizon = func.now() - timedelta(seconds=older_than_seconds)
    heard = select(OutboxMessage.subject_id).where(
        OutboxMessage.topic == topic,
        OutboxMessage.subject_id.in_(subject_ids),
        or_(OutboxMessage.sent_at.is_(None), OutboxMessage.sent_at > horizon),
    )
    return sorted(set(subject_ids) - set(session.scalars(heard)))
