"""Audits and their states."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import BigInteger, Index, String, UniqueConstraint
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, CreatedAt
from core.outbox.models import Topic
from core.work.models import Kind, Leased


class AuditState(StrEnum):
    """QUEUED -> RUNNING -> DONE | FAILED; a lost lease leads back to QUEUED."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


OPEN = (AuditState.QUEUED, AuditState.RUNNING)
"""States in which an audit still needs a worker."""


class AuditReason(StrEnum):
    """Why an audit has failed: it then says nothing about the method."""

    METHOD_FAILED = "method_failed"
    MEMORY_EXCEEDED = "memory_exceeded"
    TIME_EXCEEDED = "time_exceeded"
    WORKER_LOST = "worker_lost"


class Audit(CreatedAt, Leased, Base):
    """One audit. ``spec`` is what the child process runs, ``request`` what was asked for.

    ``stage``, ``done`` and ``total`` are its progress, ``result`` what it found. Nothing of it is private:
    canary graphs are public.
    """

    __tablename__ = "audits"
    # By the first index what has lost its worker is found, by the second what callers list.
    __table_args__ = (
        UniqueConstraint("tenant", "idempotency_key"),
        Index("ix_audits_state_lease", "state", "lease_expires_at"),
        Index("ix_audits_tenant_created", "tenant", "created_at"),
    )

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    tenant: Mapped[str] = mapped_column(String(64))
    method: Mapped[str] = mapped_column(String(64))
    request: Mapped[dict[str, Any]] = mapped_column(JSONB)
    spec: Mapped[dict[str, Any]] = mapped_column(JSONB)
    state: Mapped[str] = mapped_column(String(16))
    reason: Mapped[str | None] = mapped_column(String(32), default=None)
    stage: Mapped[str | None] = mapped_column(String(64), default=None)
    done: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    total: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    # No result is SQL's NULL, not the null of JSON.
    result: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True), default=None)
    idempotency_key: Mapped[str] = mapped_column(String(255))
    payload_hash: Mapped[str] = mapped_column(String(64))
    requested_by: Mapped[str] = mapped_column(String(128))
    finished_at: Mapped[datetime | None] = mapped_column(default=None)


AUDITS = Kind(Audit, (AuditState.QUEUED,), AuditState.RUNNING, Topic.AUDIT)
