"""The outbox of messages to the broker. They are written in the transaction that caused them."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from sqlalchemy import BigInteger, Identity, Index, String, func, text
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, CreatedAt


class Topic(StrEnum):
    """What a message asks a worker to look at. The message carries an id and nothing else."""

    INGEST = "ingest"
    RUN = "run"
    SHARD = "shard"
    EVALUATE = "evaluate"
    AUDIT = "audit"
    LINKS = "links"


class OutboxMessage(CreatedAt, Base):
    """One ring of the doorbell. Duplicates are harmless: claims decide."""

    __tablename__ = "outbox"
    __table_args__ = (Index("ix_outbox_unsent", "not_before", postgresql_where=text("sent_at IS NULL")),)

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    topic: Mapped[str] = mapped_column(String(16))
    subject_id: Mapped[str] = mapped_column(String(64))
    not_before: Mapped[datetime] = mapped_column(server_default=func.now())
    sent_at: Mapped[datetime | None] = mapped_column(default=None)
