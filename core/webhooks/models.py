"""Webhook endpoints and their deliveries, after the Standard Webhooks specification."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import DateTime, ForeignKey, Index, Integer, LargeBinary, String, func, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, CreatedAt
from core.work.models import Kind, Leased


class DeliveryState(StrEnum):
    """PENDING until it was received (DELIVERED) or its attempts ran out (GIVEN_UP)."""

    PENDING = "pending"
    DELIVERED = "delivered"
    GIVEN_UP = "given_up"


class EventType(StrEnum):
    """What a tenant can ask to be told. TEST is sent on request alone."""

    JOB_AWAITING_APPROVAL = "job.awaiting_approval"
    JOB_PUBLISHED = "job.published"
    JOB_FAILED = "job.failed"
    JOB_CANCELLED = "job.cancelled"
    JOB_REJECTED = "job.rejected"
    DATASET_READY = "dataset.ready"
    DATASET_REJECTED = "dataset.rejected"
    SNAPSHOT_PUBLISHED = "stream.snapshot.published"
    BUDGET_LOW = "budget.low"
    BUDGET_EXHAUSTED = "budget.exhausted"
    TEST = "webhook.test"


class Trouble(StrEnum):
    """Why an attempt at a delivery failed. Enumerated: nothing of an answer is kept."""

    STATUS = "status"
    REDIRECT = "redirect"
    GONE = "gone"
    TIMEOUT = "timeout"
    UNRESOLVED = "unresolved"
    NOT_PUBLIC = "not_public"
    UNREACHABLE = "unreachable"
    TLS = "tls"
    BROKEN = "broken"
    INTERRUPTED = "interrupted"
    UNSIGNED = "unsigned"
    UNREADABLE = "unreadable"
    DELETED = "deleted"


class Disabled(StrEnum):
    """Why an endpoint is disabled: it answered 410, or too many deliveries in a row were given up."""

    GONE = "gone"
    FAILING = "failing"


class WebhookEndpoint(CreatedAt, Base):
    """Where a tenant wants to be told. ``secrets`` and ``token`` are sealed; ``failures``: given up in a row.

    ``catalogue``: which one stands at the address, and is sent each release in its own form; None: events.
    """

    __tablename__ = "webhook_endpoints"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    tenant: Mapped[str] = mapped_column(String(64), index=True)
    url: Mapped[str] = mapped_column(String(2000))
    secrets: Mapped[bytes] = mapped_column(LargeBinary)
    events: Mapped[list[str]] = mapped_column(JSONB)
    catalogue: Mapped[str | None] = mapped_column(String(32), default=None)
    token: Mapped[bytes | None] = mapped_column(LargeBinary, default=None)
    created_by: Mapped[str] = mapped_column(String(128))
    failures: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    disabled_at: Mapped[datetime | None] = mapped_column(default=None)
    disabled_reason: Mapped[str | None] = mapped_column(String(16), default=None)
    deleted_at: Mapped[datetime | None] = mapped_column(default=None)


class WebhookDelivery(CreatedAt, Leased, Base):
    """One event for one endpoint; written in the transaction in which the event happened.

    It is sent up to ``attempt_limit`` times (None: as the settings say); ``attempt`` counts them, and fences.
    """

    __tablename__ = "webhook_deliveries"
    __table_args__ = (
        Index("ix_webhook_deliveries_due", "next_attempt_at", postgresql_where=text("state = 'pending'")),
        Index("ix_webhook_deliveries_endpoint", "endpoint_id", "created_at"),
    )

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    endpoint_id: Mapped[str] = mapped_column(ForeignKey("webhook_endpoints.id", ondelete="RESTRICT"))
    event: Mapped[str] = mapped_column(String(64))
    payload: Mapped[dict[str, Any]] = mapped_column(JSONB)
    state: Mapped[str] = mapped_column(String(16), default=DeliveryState.PENDING)
    attempt_limit: Mapped[int | None] = mapped_column(Integer, default=None)
    next_attempt_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.now())
    last_status: Mapped[int | None] = mapped_column(Integer, default=None)
    last_problem: Mapped[str | None] = mapped_column(String(32), default=None)
    finished_at: Mapped[datetime | None] = mapped_column(default=None)


DELIVERIES = Kind(WebhookDelivery, (DeliveryState.PENDING,), DeliveryState.PENDING)
