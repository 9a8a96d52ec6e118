"""Webhook endpoints and their deliveries, after the Standard Webhooks specification."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import DateTime, ForeignKey, Index, Integer, LargeBinary, String, func, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, CreatedAt, Leased


class DeliveryState(StrEnum):
    """PENDING until it was received (DELIVERED) or its attempts ran out (GIVEN_UP)."""

    PENDING = "pending"
    DELIVERED = "delivered"
    GIVEN_UP = "given_up"


class WebhookEndpoint(CreatedAt, Base):
    """Where a tenant wants to be told. ``secrets`` is sealed; ``failures``: deliveries given up in a row."""

    __tablename__ = "webhook_endpoints"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    tenant: Mapped[str] = mapped_column(String(64), index=True)
    url: Mapped[str] = mapped_column(String(2000))
    secrets: Mapped[bytes] = mapped_column(LargeBinary)
    events: Mapped[list[str]] = mapped_column(JSONB)
    created_by: Mapped[str] = mapped_column(String(128))
    failures: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    disabled_at: Mapped[datetime | None] = mapped_column(default=None)
    deleted_at: Mapped[datetime | None] = mapped_column(default=None)


class WebhookDelivery(CreatedAt, Leased, Base):
    """One event for one endpoint; written in the transaction in which the event happened."""

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
    next_attempt_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.now())
    last_status: Mapped[int | None] = mapped_column(Integer, default=None)
    last_problem: Mapped[str | None] = mapped_column(String(32), default=None)
    finished_at: Mapped[datetime | None] = mapped_column(default=None)
