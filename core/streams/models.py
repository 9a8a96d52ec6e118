"""A live stream, and the snapshots that it has received."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, String, UniqueConstraint, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, CreatedAt


class StreamState(StrEnum):
    """OPEN -> CLOSED. A closed stream publishes what it has received, and takes nothing more."""

    OPEN = "open"
    CLOSED = "closed"


class MissingSteps(StrEnum):
    """What becomes of steps that nobody sent once a later one arrives."""

    REFUSE = "refuse"
    EMPTY = "empty"


class Outcome(StrEnum):
    """How a snapshot's job ended.

    REFUSED: for its content, before anything was read through a meter. LOST: its workers were, which is
    nobody's doing, and its reservation has returned.
    """

    PUBLISHED = "published"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REFUSED = "refused"
    LOST = "lost"


SENT_ANEW = frozenset({Outcome.REFUSED, Outcome.LOST})
"""After these the step may be sent again, with other bytes too: it has released nothing and holds nothing."""


class Stream(CreatedAt, Base):
    """Terms under which snapshots of a dataset are published, one after the other.

    Step t covers grid_start + t * grid_width <= time < grid_start + (t + 1) * grid_width. Epsilon is that of
    a window; ``tick_nano_epsilon`` is what one step costs. ``next_step`` only ever grows: it is the step that
    the stream waits for.
    """

    __tablename__ = "streams"
    __table_args__ = (
        UniqueConstraint("tenant", "idempotency_key"),
        Index("ix_streams_tenant_created", "tenant", "created_at"),
    )

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    tenant: Mapped[str] = mapped_column(String(64))
    dataset_id: Mapped[str] = mapped_column(ForeignKey("datasets.id", ondelete="RESTRICT"), index=True)
    version_id: Mapped[str] = mapped_column(ForeignKey("dataset_versions.id", ondelete="RESTRICT"))
    account_id: Mapped[str] = mapped_column(ForeignKey("budget_accounts.id", ondelete="RESTRICT"))
    method: Mapped[str] = mapped_column(String(64))
    chosen_because: Mapped[str | None] = mapped_column(String(2000), default=None)
    params: Mapped[dict[str, Any]] = mapped_column(JSONB)
    edge_types: Mapped[list[str]] = mapped_column(JSONB)
    window: Mapped[int] = mapped_column(Integer)
    nano_epsilon: Mapped[int] = mapped_column(BigInteger)
    tick_nano_epsilon: Mapped[int] = mapped_column(BigInteger)
    grid_start: Mapped[int] = mapped_column(BigInteger)
    grid_width: Mapped[int] = mapped_column(BigInteger)
    first_step: Mapped[int] = mapped_column(Integer)
    next_step: Mapped[int] = mapped_column(Integer)
    missing_steps: Mapped[str] = mapped_column(String(16))
    state: Mapped[str] = mapped_column(String(16))
    label: Mapped[str | None] = mapped_column(String(128), default=None)
    suite: Mapped[str] = mapped_column(String(16))
    requested_by: Mapped[str] = mapped_column(String(128))
    person: Mapped[str] = mapped_column(String(128))
    team: Mapped[str | None] = mapped_column(String(64), default=None)
    project: Mapped[str | None] = mapped_column(String(64), default=None)
    idempotency_key: Mapped[str] = mapped_column(String(255))
    payload_hash: Mapped[str] = mapped_column(String(64))
    closed_at: Mapped[datetime | None] = mapped_column(default=None)


class Snapshot(CreatedAt, Base):
    """What was received for one step, and the job that publishes it.

    ``number`` counts how often the step was sent anew after it was refused or lost. ``object_key`` is the
    sealed upload, None for an empty snapshot and once ``graph_key``, the sealed canonical snapshot, stands in
    its place. ``nano_epsilon`` is what the job reserved. ``outcome`` is None while the job has not ended.
    ``content_mac`` and ``findings`` are the curators'.
    """

    __tablename__ = "snapshots"
    __table_args__ = (
        UniqueConstraint("job_id"),
        Index("ix_snapshots_unfinished", "stream_id", "step", postgresql_where=text("outcome IS NULL")),
        Index("ix_snapshots_published", "stream_id", "step", postgresql_where=text("outcome = 'published'")),
        Index("ix_snapshots_object", "object_key", postgresql_where=text("object_key IS NOT NULL")),
    )

    stream_id: Mapped[str] = mapped_column(ForeignKey("streams.id", ondelete="RESTRICT"), primary_key=True)
    step: Mapped[int] = mapped_column(Integer, primary_key=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="RESTRICT"))
    number: Mapped[int] = mapped_column(Integer, default=0)
    object_key: Mapped[str | None] = mapped_column(String(256), default=None)
    graph_key: Mapped[str | None] = mapped_column(String(256), default=None)
    format: Mapped[str] = mapped_column(String(32))
    options: Mapped[dict[str, Any]] = mapped_column(JSONB)
    content_mac: Mapped[str] = mapped_column(String(64))
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    nano_epsilon: Mapped[int] = mapped_column(BigInteger)
    findings: Mapped[list[dict[str, Any]] | None] = mapped_column(JSONB(none_as_null=True), default=None)
    outcome: Mapped[str | None] = mapped_column(String(16), default=None)
