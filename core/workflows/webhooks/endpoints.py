"""Webhook endpoints of a tenant. They are added, listed, rotated, enabled, deleted; by curators and
operators."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from core import ids
from core.db.session import database_now
from core.errors import Conflict, InvalidInput
from core.identity.models import Role
from core.identity.service import Principal, require
from core.logging import get_logger
from core.reports.pushes import catalogues
from core.settings import Settings
from core.storage.sealed import seal, unseal
from core.webhooks import repository, service, signing
from core.webhooks.addresses import MAX_URL_CHARACTERS, Rules, Target, checked_url
from core.webhooks.models import EventType, WebhookEndpoint
from core.webhooks.signing import Secret
from core.workflows.common import paging
from core.workflows.common.context import Services
from core.workflows.common.derived_keys import CATALOGUE_TOKENS, WEBHOOK_SECRETS, derived_key
from graphveil.models.webhooks import Webhook, Webhooks

ROLES = (Role.CURATOR, Role.OPERATOR)
MAX_SECRETS = 4
PUSHED = (EventType.JOB_PUBLISHED,)
"""What a catalogue is sent: each release. A test would be an entry of it, and is refused."""
_PATHS = 200
"""Characters of an address that are left for what a catalogue's calls append."""

log = get_logger(__name__)


class NewWebhook(BaseModel):
    """Where to tell what."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str = Field(
        max_length=MAX_URL_CHARACTERS,
        description="An https address that can be reached from the internet.",
        examples=["https://hooks.example.org/graphveil"],
    )
    events: list[str] = Field(
        default=[],
        max_length=len(EventType),
        description="What to be told of: at least one event; none for a catalogue, which is sent releases.",
        examples=[["job.published", "job.failed"]],
    )
    catalogue: str | None = Field(
        default=None,
        max_length=32,
        description="The catalogue at the address, to be sent each release in its own form.",
        examples=["openlineage"],
    )
    token: str | None = Field(
        default=None,
        repr=False,
        pattern="^[!-~]{1,4096}$",
        description="The catalogue's bearer token; stored encrypted, and never shown.",
    )


def add_webhook(services: Services, principal: Principal, request: NewWebhook) -> Webhook:
    """Add an endpoint for events from now on. Its secret is in the answer, this once.

    Raises InvalidInput with ``field``, and Conflict while the tenant has as many as the settings allow.
    """
    require(principal, *ROLES)
    target = checked_url(request.url, rules(services.settings))
    events = _checked_events(request, target)
    secret = signing.new_secret()
    endpoint_id = ids.new_id(ids.WEBHOOK)
    with services.db.transaction() as session:
        # Of two that are added at once the second counts the first.
        repository.lock_tenant(session, tenant=principal.tenant)
        limit = services.settings.max_webhooks
        if repository.count(session, tenant=principal.tenant) >= limit:
            raise Conflict(f"The tenant has {limit} webhooks; delete one first.")
        endpoint = WebhookEndpoint(
            id=endpoint_id,
            tenant=principal.tenant,
            url=target.url,
            secrets=_sealed(services.settings, endpoint_id, [secret]),
            events=events,
            catalogue=request.catalogue,
            token=_sealed_token(services.settings, endpoint_id, request.token),
            created_by=principal.key_id,
            failures=0,
        )
        session.add(endpoint)
        session.flush()
        session.refresh(endpoint)
    log.info("webhook_added", webhook_id=endpoint_id)
    return _view(endpoint, secret)


def list_webhooks(
    services: Services, principal: Principal, cursor: str | None = None, limit: int | None = None
) -> Webhooks:
    """One page of the tenant's endpoints, newest first. InvalidInput: bad cursor or limit."""
    require(principal, *ROLES)
    page = paging.paged(services, principal, "webhooks", cursor, limit)
    with services.db.transaction() as session:
        rows = repository.endpoints(session, tenant=principal.tenant, before=page.before, limit=page.size + 1)
    shown, more = page.cut(rows, paging.by_age)
    return Webhooks(items=[_view(row) for row in shown], next_cursor=more)


def get_webhook(services: Services, principal: Principal, endpoint_id: str) -> Webhook:
    """Return the tenant's endpoint; NotFound otherwise."""
    require(principal, *ROLES)
    with services.db.transaction() as session:
        return _view(service.get(session, tenant=principal.tenant, endpoint_id=endpoint_id))


def delete_webhook(services: Services, principal: Principal, endpoint_id: str) -> None:
    """Delete the endpoint. It receives nothing any more; what waits for it is dropped. NotFound when it is
    repeated."""
    require(principal, *ROLES)
    with services.db.transaction() as session:
        service.delete(session, tenant=principal.tenant, endpoint_id=endpoint_id)
    log.info("webhook_deleted", webhook_id=endpoint_id)


def enable_webhook(services: Services, principal: Principal, endpoint_id: str) -> Webhook:
    """Enable the endpoint, what waits first. Safe to repeat."""
    require(principal, *ROLES)
    with services.db.transaction() as session:
        endpoint = _locked(session, principal, endpoint_id)
        service.enabled(endpoint)
        return _view(endpoint)


def rotate_webhook(services: Services, principal: Principal, endpoint_id: str) -> Webhook:
    """Give the endpoint a new secret, shown this once. Deliveries are signed with it, and for a day with the
    one before as well.

    Conflict while a further one would have to be kept: a receiver that is not told in time must not be lost.
    """
    require(principal, *ROLES)
    settings = services.settings
    with services.db.transaction() as session:
        endpoint = _locked(session, principal, endpoint_id)
        now = database_now(session)
        until = now + timedelta(seconds=settings.webhook_rotation_seconds)
        kept = signing.rotated(secrets_of(settings, endpoint), now, until)
        if len(kept) > MAX_SECRETS:
            raise Conflict(f"{MAX_SECRETS} secrets are valid; wait until an earlier one has run out.")
        endpoint.secrets = _sealed(settings, endpoint.id, kept)
        view = _view(endpoint, kept[0])
    log.info("webhook_rotated", webhook_id=endpoint_id)
    return view


def secrets_of(settings: Settings, endpoint: WebhookEndpoint) -> list[Secret]:
    """Every secret that the endpoint has kept, the present one first. StorageError: another master key."""
    key = derived_key(settings, WEBHOOK_SECRETS)
    return signing.loads(b"".join(unseal([endpoint.secrets], key, context=_context(endpoint.id))))


def token_of(settings: Settings, endpoint: WebhookEndpoint) -> str | None:
    """Read the catalogue's bearer token. StorageError: another master key."""
    if endpoint.token is None:
        return None
    key = derived_key(settings, CATALOGUE_TOKENS)
    return b"".join(unseal([endpoint.token], key, context=_context(endpoint.id))).decode()


def rules(settings: Settings) -> Rules:
    """Return where webhooks may be sent."""
    return Rules(settings.webhook_ports, settings.webhook_private_addresses)


def _checked_events(request: NewWebhook, target: Target) -> list[str]:
    """What the endpoint is told of. InvalidInput for what the kind of endpoint cannot have."""
    if request.catalogue is None:
        if request.token is not None:
            raise InvalidInput(
                "A token is for a catalogue; name the catalogue, or leave the token out.", field="token"
            )
        return service.checked_events(request.events)
    if request.catalogue not in catalogues():
        raise InvalidInput(
            f"There is no such catalogue; name one of {', '.join(catalogues())}, or none for plain events.",
            field="catalogue",
            accepted=[*catalogues(), None],
        )
    if not set(request.events) <= set(PUSHED):
        raise InvalidInput(
            "A catalogue is sent releases alone; leave the events out.", field="events", accepted=[*PUSHED]
        )
    if "?" in target.path or len(target.url) > MAX_URL_CHARACTERS - _PATHS:
        raise InvalidInput(
            "Paths are appended to a catalogue's address; give the address of its service, without a query.",
            field="url",
        )
    return [*map(str, PUSHED)]


def _sealed_token(settings: Settings, endpoint_id: str, token: str | None) -> bytes | None:
    if token is None:
        return None
    key = derived_key(settings, CATALOGUE_TOKENS)
    return b"".join(seal([token.encode()], key, context=_context(endpoint_id)))


def _sealed(settings: Settings, endpoint_id: str, secrets: Iterable[Secret]) -> bytes:
    key = derived_key(settings, WEBHOOK_SECRETS)
    return b"".join(seal([signing.dumps(list(secrets))], key, context=_context(endpoint_id)))


def _context(endpoint_id: str) -> str:
    """What sealed secrets are bound to: those of one endpoint cannot be given to another."""
    return f"webhook/{endpoint_id}"


def _locked(session: Session, principal: Principal, endpoint_id: str) -> WebhookEndpoint:
    return service.get_locked(session, tenant=principal.tenant, endpoint_id=endpoint_id)


def _view(row: WebhookEndpoint, secret: Secret | None = None) -> Webhook:
    return Webhook(
        id=row.id,
        url=row.url,
        events=row.events,
        catalogue=row.catalogue,
        state="enabled" if row.disabled_at is None else "disabled",
        disabled_reason=row.disabled_reason,
        failures=row.failures,
        created_by=row.created_by,
        created_at=row.created_at,
        disabled_at=row.disabled_at,
        secret=None if secret is None else secret.text,
    )
