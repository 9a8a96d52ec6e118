"""The only SQL on the tables of webhooks. Loads and saves; decides nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from sqlalchemy import delete, func, or_, select, text, update
from sqlalchemy.orm import Session

from core.db.base import ROW_LOCK, newest_first
from core.webhooks.models import DeliveryState, Trouble, WebhookDelivery, WebhookEndpoint

_WAITS = WebhookDelivery.state == DeliveryState.PENDING
_FREE = or_(WebhookDelivery.lease_expires_at.is_(None), WebhookDelivery.lease_expires_at < func.now())
_STANDS = WebhookEndpoint.deleted_at.is_(None)


def lock_tenant(session: Session, *, tenant: str) -> None:
    """Lock the tenant's endpoints until the transaction ends. Other transactions add none until then."""
    # An advisory lock: the tenant may have no endpoint yet that could be locked.
    session.execute(
        text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))"), {"name": f"webhook/{tenant}"}
    )


def count(session: Session, *, tenant: str) -> int:
    """Count the tenant's endpoints."""
    query = select(func.count()).where(WebhookEndpoint.tenant == tenant, _STANDS)
    return session.execute(query).scalar_one()


def endpoint(session: Session, *, tenant: str, endpoint_id: str) -> WebhookEndpoint | None:
    query = select(WebhookEndpoint).where(
        WebhookEndpoint.id == endpoint_id, WebhookEndpoint.tenant == tenant, _STANDS
    )
    return session.scalars(query).one_or_none()


def locked_endpoint(session: Session, endpoint_id: str) -> WebhookEndpoint:
    """Load the endpoint as it is now. It is locked until the transaction ends. Always taken after a
    delivery's lock.
    """
    return session.get_one(WebhookEndpoint, endpoint_id, with_for_update=ROW_LOCK, populate_existing=True)


def endpoints(
    session: Session, *, tenant: str, before: tuple[datetime, str] | None, limit: int
) -> Sequence[WebhookEndpoint]:
    """Load endpoints of a tenant, newest first. They are older than the pair (created_at, id)."""
    query = select(WebhookEndpoint).where(WebhookEndpoint.tenant == tenant, _STANDS)
    return session.scalars(newest_first(query, WebhookEndpoint, before, limit)).all()


def subscribed(session: Session, *, tenant: str, events: Collection[str]) -> Sequence[WebhookEndpoint]:
    """Load the tenant's endpoints for any of the events. They want to hear of them now."""
    query = select(WebhookEndpoint).where(
        WebhookEndpoint.tenant == tenant,
        _STANDS,
        WebhookEndpoint.disabled_at.is_(None),
        or_(*(WebhookEndpoint.events.contains([event]) for event in events)),
    )
    return session.scalars(query.order_by(WebhookEndpoint.id)).all()


def delivery(session: Session, endpoint_id: str, delivery_id: str) -> WebhookDelivery | None:
    """Load one delivery of the endpoint, locked until the transaction ends."""
    row = session.get(WebhookDelivery, delivery_id, with_for_update=ROW_LOCK, populate_existing=True)
    return row if row is not None and row.endpoint_id == endpoint_id else None


def deliveries(
    session: Session,
    endpoint_id: str,
    *,
    state: str | None,
    before: tuple[datetime, str] | None,
    limit: int,
) -> Sequence[WebhookDelivery]:
    """Load deliveries of an endpoint, newest first. They are older than the pair (created_at, id)."""
    query = select(WebhookDelivery).where(WebhookDelivery.endpoint_id == endpoint_id)
    return session.scalars(newest_first(query, WebhookDelivery, before, limit, state=state)).all()


def due(session: Session, limit: int) -> Sequence[WebhookDelivery]:
    """Load due deliveries of enabled endpoints, locked. It loads of each endpoint the one that is due
    longest, and none of an endpoint to which one is being sent. A slow receiver holds up nobody else.
    """
    busy = select(WebhookDelivery.endpoint_id).where(_WAITS, ~_FREE)
    place = func.row_number().over(
        partition_by=WebhookDelivery.endpoint_id,
        order_by=(WebhookDelivery.next_attempt_at, WebhookDelivery.id),
    )
    ranked = (
        select(WebhookDelivery.id, place.label("place"))
        .join(WebhookEndpoint, WebhookEndpoint.id == WebhookDelivery.endpoint_id)
        .where(_WAITS, WebhookDelivery.next_attempt_at <= func.now())
        .where(WebhookEndpoint.disabled_at.is_(None), _STANDS, WebhookDelivery.endpoint_id.not_in(busy))
        .subquery()
    )
    first = select(ranked.c.id).where(ranked.c.place == 1).limit(limit)
    query = (
        select(WebhookDelivery)
        # Asked once more of the rows that are locked: what was ranked may have changed meanwhile.
        .where(WebhookDelivery.id.in_(first), _WAITS, _FREE, WebhookDelivery.next_attempt_at <= func.now())
        .order_by(WebhookDelivery.next_attempt_at, WebhookDelivery.id)
        .with_for_update(skip_locked=True)
        .execution_options(populate_existing=True)
    )
    return session.scalars(query).all()


def drop_waiting(session: Session, endpoint_id: str) -> None:
    """Give up all that waits to be sent to the endpoint."""
    statement = (
        update(WebhookDelivery)
        .where(WebhookDelivery.endpoint_id == endpoint_id, _WAITS)
        .values(
            state=DeliveryState.GIVEN_UP,
            last_problem=Trouble.DELETED,
            finished_at=func.now(),
            leased_by=None,
            lease_expires_at=None,
        )
    )
    session.execute(statement, execution_options={"synchronize_session": False})


def purge(session: Session, older_than_seconds: float, limit: int) -> int:
    """Delete old deliveries, and return how many. They were written longer ago and are not under way."""
    horizon = func.now() - timedelta(seconds=older_than_seconds)
    old = select(WebhookDelivery.id).where(WebhookDelivery.created_at < horizon, _FREE).limit(limit)
    # Once more: a delivery may have been taken up since it was picked.
    statement = delete(WebhookDelivery).where(WebhookDelivery.id.in_(old), _FREE)
    result = session.execute(statement, execution_options={"synchronize_session": False})
    return int(result.rowcount)  # type: ignore[attr-defined]
