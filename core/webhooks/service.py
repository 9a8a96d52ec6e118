"""What may happen to an endpoint and its deliveries. No SQL, no commit, no network.

A delivery that was not received is sent again after the pauses of :data:`PAUSES`, until its attempts are used
up; then it is given up. An endpoint is disabled when it says that it is gone, and when too many deliveries in
a row were given up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import func
from sqlalchemy.orm import Session

from core import ids
from core.db.session import database_now
from core.errors import Conflict, InvalidInput, NotFound
from core.webhooks import repository
from core.webhooks.models import (
    DeliveryState,
    Disabled,
    EventType,
    Trouble,
    WebhookDelivery,
    WebhookEndpoint,
)
from core.webhooks.sending import Outcome

PAUSES = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""Seconds after the first attempt, the second, and so on: the schedule that the specification recommends."""
JITTER = 0.2


def checked_events(events: Collection[str]) -> list[str]:
    """Return the events, sorted, each once. InvalidInput for none, and for one that cannot be requested."""
    known = set(EventType) - {EventType.TEST}
    if not events or not set(events) <= known:
        raise InvalidInput(
            "Name one event or more of those that there are.", field="events", accepted=sorted(known)
        )
    return sorted(set(events))


def get(session: Session, *, tenant: str, endpoint_id: str) -> WebhookEndpoint:
    """Return the tenant's endpoint. NotFound when there is none, or it is another tenant's or deleted."""
    found = repository.endpoint(session, tenant=tenant, endpoint_id=endpoint_id)
    if found is None:
        raise NotFound("There is no such webhook.", id=endpoint_id)
    return found


def get_locked(session: Session, *, tenant: str, endpoint_id: str) -> WebhookEndpoint:
    """Do as :func:`get`, and lock the endpoint. No other transaction changes it until this one ends."""
    get(session, tenant=tenant, endpoint_id=endpoint_id)
    found = repository.locked_endpoint(session, endpoint_id)
    if found.deleted_at is not None:
        raise NotFound("There is no such webhook.", id=endpoint_id)
    return found


def delete(session: Session, *, tenant: str, endpoint_id: str) -> None:
    """Delete the tenant's endpoint. Nothing more is sent, not even what waits. Raises like :func:`get`."""
    get(session, tenant=tenant, endpoint_id=endpoint_id)
    repository.drop_waiting(session, endpoint_id)  # deliveries are locked before their endpoint, everywhere
    endpoint = get_locked(session, tenant=tenant, endpoint_id=endpoint_id)
    endpoint.deleted_at = database_now(session)


def enabled(endpoint: WebhookEndpoint) -> None:
    """Enable the endpoint again; what waits is sent first. Nothing changes where it is not disabled."""
    endpoint.disabled_at = endpoint.disabled_reason = None
    endpoint.failures = 0


def due(
    session: Session,
    endpoint: WebhookEndpoint,
    event: EventType,
    payload: Mapping[str, Any],
    *,
    attempts: int | None = None,
) -> WebhookDelivery:
    """Queue the event for the endpoint. It is sent once this transaction commits. ``attempts``: its own
    limit.
    """
    row = WebhookDelivery(
        id=ids.new_id(ids.DELIVERY),
        endpoint_id=endpoint.id,
        event=event,
        payload=dict(payload),
        state=DeliveryState.PENDING,
        attempt_limit=attempts,
    )
    session.add(row)
    return row


def check_enabled(endpoint: WebhookEndpoint) -> None:
    """Raise Conflict while the endpoint is disabled."""
    if endpoint.disabled_at is not None:
        raise Conflict("The webhook is disabled; enable it first.")


def retried(delivery: WebhookDelivery) -> None:
    """Make the delivery due now. One that has ended is sent once more; one that waits, sooner."""
    if delivery.state != DeliveryState.PENDING:
        # Once more than it was sent, whatever its limit was.
        delivery.attempt_limit = delivery.attempt + 1
        delivery.state = DeliveryState.PENDING
        delivery.finished_at = None
    delivery.next_attempt_at = func.now()


def ended(
    session: Session,
    endpoint: WebhookEndpoint,
    delivery: WebhookDelivery,
    outcome: Outcome,
    *,
    attempts: int,
    failures_allowed: int,
) -> None:
    """Record the outcome of an attempt. It was received, is to be sent again, or given up. Both rows are
    locked.

    ``attempts``: how often a delivery without a limit of its own is sent.
    """
    delivery.let_go()
    delivery.last_status, delivery.last_problem = outcome.status, outcome.trouble
    if outcome.trouble is None:
        delivery.state = DeliveryState.DELIVERED
        delivery.finished_at = database_now(session)
        endpoint.failures = 0
        return
    gone = outcome.trouble == Trouble.GONE
    if not gone and delivery.attempt < (delivery.attempt_limit or attempts):
        pause = max(pause_seconds(delivery.id, delivery.attempt), outcome.pause_seconds)
        delivery.next_attempt_at = func.now() + timedelta(seconds=pause)
        return
    delivery.state = DeliveryState.GIVEN_UP
    delivery.finished_at = database_now(session)
    # A test that fails says nothing of how the endpoint takes events.
    if delivery.event != EventType.TEST:
        endpoint.failures += 1
    if endpoint.disabled_at is None and (gone or endpoint.failures >= failures_allowed):
        endpoint.disabled_at = database_now(session)
        endpoint.disabled_reason = Disabled.GONE if gone else Disabled.FAILING


def pause_seconds(delivery_id: str, attempt: int) -> float:
    """Compute the pause before the next attempt. It goes by the table, and up to a fifth longer.

    The extra part differs from delivery to delivery: what failed together does not come back together.
    """
    plain = PAUSES[min(attempt, len(PAUSES)) - 1]
    drawn = hashlib.sha256(f"{delivery_id}/{attempt}".encode()).digest()
    return plain * (1 + JITTER * int.from_bytes(drawn[:4]) / 2**32)
