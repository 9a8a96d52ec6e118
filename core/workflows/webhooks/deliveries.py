"""Deliveries of webhooks. They are listed, tried, sent again; and in the hands of the process that sends
them.

Sent first and marked afterwards: whoever stops between the two leads to a second sending under the same
``webhook-id``, by which the receiver knows it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.orm import Session

from core.db.session import database_now
from core.errors import Conflict, LeaseLost, NotFound
from core.failpoints import reach
from core.identity.service import Principal, require
from core.logging import get_logger
from core.settings import Settings
from core.webhooks import repository, service, signing
from core.webhooks.models import (
    DELIVERIES,
    DeliveryState,
    EventType,
    Trouble,
    WebhookDelivery,
    WebhookEndpoint,
)
from core.webhooks.sending import Outcome
from core.webhooks.signing import Secret
from core.work import leases
from core.workflows.common import paging
from core.workflows.common.context import Services
from core.workflows.webhooks.endpoints import ROLES, secrets_of, token_of
from graphveil.models.webhooks import Deliveries, Delivery

GRACE_SECONDS = 60.0
"""How long after the time for an attempt its lease lasts: names are resolved in time of their own."""
MAX_CALLS = 5
"""Most calls that a catalogue's emitter makes for one release; each may take the time of a delivery."""
TEST_ATTEMPTS = 1
PURGED_AT_ONCE = 10_000

log = get_logger(__name__)


@dataclass(frozen=True)
class Push:
    """A release for a catalogue. It has which, whose, and with what calls are signed and authorized."""

    catalogue: str
    tenant: str
    job_id: str
    secrets: tuple[Secret, ...] = field(repr=False)
    token: str | None = field(repr=False)


@dataclass(frozen=True)
class Sending:
    """A delivery under one attempt. The attempt is the fencing token of what becomes of it.

    ``push``: what is sent is not ``body``, but what the catalogue's emitter makes of the release.
    """

    delivery_id: str
    attempt: int
    url: str
    body: bytes = field(repr=False)
    headers: dict[str, str] = field(repr=False)
    push: Push | None = None


def list_deliveries(
    services: Services,
    principal: Principal,
    endpoint_id: str,
    state: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> Deliveries:
    """One page of the endpoint's deliveries, newest first. InvalidInput: unknown state, bad cursor, limit."""
    require(principal, *ROLES)
    paging.require_state(state, DeliveryState)
    page = paging.paged(
        services, principal, "deliveries", cursor, limit, endpoint_id=endpoint_id, state=state
    )
    with services.db.transaction() as session:
        service.get(session, tenant=principal.tenant, endpoint_id=endpoint_id)
        rows = repository.deliveries(
            session, endpoint_id, state=state, before=page.before, limit=page.size + 1
        )
    shown, more = page.cut(rows, paging.by_age)
    return Deliveries(items=[_view(row) for row in shown], next_cursor=more)


def try_webhook(services: Services, principal: Principal, endpoint_id: str) -> Delivery:
    """Send a ``webhook.test`` once. It is sent to the endpoint whatever its events. Conflict while it is
    disabled."""
    require(principal, *ROLES)
    with services.db.transaction() as session:
        endpoint = service.get(session, tenant=principal.tenant, endpoint_id=endpoint_id)
        service.check_enabled(endpoint)
        if endpoint.catalogue is not None:
            raise Conflict("A catalogue is sent releases alone; publish one, and look at its delivery.")
        payload = {
            "type": str(EventType.TEST),
            "timestamp": database_now(session).isoformat(),
            "data": {"webhook_id": endpoint.id, "links": {"webhook": f"/v1/webhooks/{endpoint.id}"}},
        }
        row = service.due(session, endpoint, EventType.TEST, payload, attempts=TEST_ATTEMPTS)
        session.flush()
        session.refresh(row)
        return _view(row)


def retry_delivery(services: Services, principal: Principal, endpoint_id: str, delivery_id: str) -> Delivery:
    """Make the delivery due now. One that has ended is sent once more, under the same id.

    Raises NotFound, and Conflict while the endpoint is disabled.
    """
    require(principal, *ROLES)
    with services.db.transaction() as session:
        endpoint = service.get(session, tenant=principal.tenant, endpoint_id=endpoint_id)
        row = repository.delivery(session, endpoint_id, delivery_id)
        if row is None:
            raise NotFound("There is no such delivery.", id=delivery_id)
        service.check_enabled(endpoint)
        service.retried(row)
        session.flush()
        session.refresh(row)
        return _view(row)


def take_due(services: Services, worker: str, limit: int) -> list[Sending]:
    """Lease up to ``limit`` due deliveries to ``worker``. They are ready to be sent, one an endpoint.

    One that used up its attempts, the last of which nobody finished, is given up instead. One whose
    endpoint's secret cannot be unsealed has failed at this attempt, and holds up no other.
    """
    settings = services.settings
    taken = []
    with services.db.transaction() as session:
        for row in repository.due(session, limit):
            endpoint = repository.locked_endpoint(session, row.endpoint_id)
            claimed = leases.claim(
                session,
                DELIVERIES,
                row.id,
                worker=worker,
                lease_seconds=settings.webhook_seconds * (MAX_CALLS if endpoint.catalogue else 1)
                + GRACE_SECONDS,
                max_attempts=row.attempt_limit or settings.webhook_attempts,
            )
            if claimed is None:
                lost = Outcome(trouble=Trouble.INTERRUPTED)
                _ended(session, settings, endpoint, row, lost)
                continue
            try:
                kept, token = secrets_of(settings, endpoint), token_of(settings, endpoint)
            except Exception as error:  # another master key, or damage: this endpoint's, and nobody else's
                log.error("secret_unreadable", webhook_id=endpoint.id, error=type(error).__name__)
                _ended(session, settings, endpoint, row, Outcome(trouble=Trouble.UNSIGNED))
                continue
            now = database_now(session)
            secrets = signing.valid(kept, now)
            # Its calls are made when they are sent, of the release as it then stands.
            if endpoint.catalogue is not None:
                job_id = claimed.payload["data"]["job_id"]
                push = Push(endpoint.catalogue, endpoint.tenant, job_id, tuple(secrets), token)
                taken.append(Sending(claimed.id, claimed.attempt, endpoint.url, b"", {}, push))
                continue
            # Links are stored as paths: the service's address may change until they are sent.
            body = signing.body_of(_absolute(claimed.payload, settings.public_url))
            headers = signing.headers(claimed.id, now, body, secrets)
            taken.append(Sending(claimed.id, claimed.attempt, endpoint.url, body, headers))
    return taken


def sent(services: Services, sending: Sending, outcome: Outcome) -> None:
    """Record what came of the attempt. Nothing is recorded where another attempt owns the delivery by now."""
    reach("webhook_sent")
    settings = services.settings
    try:
        with services.db.transaction() as session:
            row = leases.hold(session, DELIVERIES, sending.delivery_id, attempt=sending.attempt)
            # It has ended otherwise meanwhile: that stands.
            if row.state != DeliveryState.PENDING:
                return
            endpoint = repository.locked_endpoint(session, row.endpoint_id)
            _ended(session, settings, endpoint, row, outcome)
    except LeaseLost:
        log.warning("delivery_lost", delivery_id=sending.delivery_id)
        return
    log.info(
        "delivery_sent",
        delivery_id=sending.delivery_id,
        attempt=sending.attempt,
        trouble=None if outcome.trouble is None else str(outcome.trouble),
    )


def purge_deliveries(services: Services) -> int:
    """Delete deliveries older than the settings keep them. Returned is how many there were, up to a bound."""
    with services.db.transaction() as session:
        return repository.purge(session, services.settings.webhook_kept_seconds, PURGED_AT_ONCE)


def _ended(
    session: Session, settings: Settings, endpoint: WebhookEndpoint, row: WebhookDelivery, outcome: Outcome
) -> None:
    service.ended(
        session,
        endpoint,
        row,
        outcome,
        attempts=settings.webhook_attempts,
        failures_allowed=settings.webhook_failures,
    )


def _absolute(payload: dict[str, Any], public_url: str) -> dict[str, Any]:
    """Make the payload with links that lead to this service from everywhere."""
    data = dict(payload["data"])
    base = public_url.rstrip("/")
    data["links"] = {name: base + path for name, path in data["links"].items()}
    return {**payload, "data": data}


def _view(row: WebhookDelivery) -> Delivery:
    return Delivery(
        id=row.id,
        webhook_id=row.endpoint_id,
        event=row.event,
        state=row.state,
        attempts=row.attempt,
        # The class only: whoever names addresses must not learn what exactly each answers.
        last_status=None if row.last_status is None else f"{row.last_status // 100}xx",
        last_problem=row.last_problem,
        created_at=row.created_at,
        next_attempt_at=row.next_attempt_at if row.state == DeliveryState.PENDING else None,
        finished_at=row.finished_at,
    )
