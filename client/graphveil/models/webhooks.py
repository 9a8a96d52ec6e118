"""Webhook endpoints and deliveries, as curators and operators see them."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from graphveil.models.base import Answer, NextCursor

PROBLEMS = (
    "status, redirect, gone, timeout, unresolved, not_public, unreachable, tls, broken, unsigned, "
    "unreadable, interrupted or deleted."
)


class Webhook(Answer):
    """An address that is told what happens."""

    id: str = Field(examples=["wh_01k8zv2v9h6t0h3r6b8mkx2n4e"])
    url: str = Field(examples=["https://hooks.example.org/graphveil"])
    events: list[str] = Field(examples=[["job.published", "job.failed"]])
    catalogue: str | None = Field(
        default=None, description="The catalogue that is sent each release; null where events are told."
    )
    state: str = Field(description="enabled or disabled.")
    disabled_reason: str | None = Field(
        description="gone (it answered 410) or failing (too many deliveries in a row were given up)."
    )
    failures: int = Field(description="Deliveries given up in a row.")
    created_by: str = Field(description="The key that added it.")
    created_at: datetime
    disabled_at: datetime | None
    secret: str | None = Field(
        default=None,
        repr=False,
        description="What signatures are verified with, whsec_...; shown once, when it is made. Else null.",
    )


class Webhooks(Answer):
    items: list[Webhook]
    next_cursor: NextCursor = None


class Delivery(Answer):
    """One event for one endpoint. Nothing of the answers is kept but the class of the last status."""

    id: str = Field(description="The `webhook-id` under which it is sent.", examples=["whd_01k8zv2v9h6t0h3r"])
    webhook_id: str
    event: str = Field(examples=["job.published"])
    state: str = Field(description="pending, delivered or given_up.")
    attempts: int = Field(description="How often it was sent.")
    last_status: str | None = Field(description="The class of the last answer.", examples=["5xx"])
    last_problem: str | None = Field(description=f"Why the last attempt failed: {PROBLEMS}")
    created_at: datetime
    next_attempt_at: datetime | None = Field(description="When it is sent next; null unless it waits.")
    finished_at: datetime | None


class Deliveries(Answer):
    items: list[Delivery]
    next_cursor: NextCursor = None
