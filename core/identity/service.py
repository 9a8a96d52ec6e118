"""Keys are made, checked and revoked; roles are required."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from core import clock, ids
from core.errors import Forbidden, InvalidInput, NotFound, Unauthenticated
from core.identity import repository
from core.identity.models import ApiKey, Role

TOKEN_PREFIX = "gv_"
SECRET_BYTES = 32
MAX_NAME = 128

_TOKEN = re.compile(r"gv_[A-Za-z0-9_-]{43}")
_TENANT = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")


@dataclass(frozen=True)
class Principal:
    """Who calls: one key of one tenant, whose it is, and what it may do there.

    ``person`` tells a first from a second person; two principals without one count as the same.
    """

    tenant: str
    key_id: str
    name: str
    roles: frozenset[Role]
    person: str = ""
    team: str | None = None


def create_key(
    session: Session,
    *,
    tenant: str,
    name: str,
    roles: Iterable[Role | str],
    expires_at: datetime | None = None,
    person: str | None = None,
    team: str | None = None,
) -> tuple[ApiKey, str]:
    """A new key is stored as its SHA-256; the token, 256 random bits, is returned this once.

    ``person``: whose it is, the key's name by default.

    Raises InvalidInput with ``field``: a tenant that is no slug, an empty or long name, no or unknown roles,
    an expiry that has passed or has no time zone.
    """
    _check_tenant(tenant)
    if not name.strip() or len(name) > MAX_NAME:
        raise InvalidInput(f"a key needs a name of 1 to {MAX_NAME} characters", field="name")
    granted = _roles(roles)
    if expires_at is not None and (expires_at.tzinfo is None or expires_at <= clock.now()):
        raise InvalidInput("expires_at must be a future time with a time zone", field="expires_at")
    token = TOKEN_PREFIX + base64.urlsafe_b64encode(secrets.token_bytes(SECRET_BYTES)).rstrip(b"=").decode()
    key = ApiKey(
        id=ids.new_id(ids.KEY),
        tenant=tenant,
        name=name,
        person=person or name,
        team=team,
        roles=sorted(granted),
        key_hash=_hash(token),
        expires_at=expires_at,
    )
    repository.add(session, key)
    return key, token


def authenticate(session: Session, token: str) -> Principal:
    """The principal of a live key; Unauthenticated, with one text for every cause, otherwise.

    The look-up is by the hash of 256 random bits: how long it takes says nothing about any stored token.
    """
    key = repository.usable(session, _hash(token)) if _TOKEN.fullmatch(token) else None
    if key is None:
        raise Unauthenticated("the API key is unknown, revoked or expired")
    roles = frozenset(Role(role) for role in key.roles)
    return Principal(key.tenant, key.id, key.name, roles, key.person, key.team)


def revoke_key(session: Session, tenant: str, key_id: str) -> None:
    """The key opens nothing from the commit on. Safe to repeat. NotFound when the tenant has no such key."""
    if repository.revoke(session, tenant, key_id) is None:
        raise NotFound("no such API key", id=key_id)


def list_keys(session: Session, tenant: str) -> list[ApiKey]:
    """The tenant's keys, revoked and expired ones included, oldest first."""
    return repository.of_tenant(session, tenant)


def require(principal: Principal, *roles: Role) -> None:
    """Returns when the principal has any of ``roles``; raises Forbidden otherwise."""
    if principal.roles.isdisjoint(roles):
        needed = sorted(role.value for role in roles)
        raise Forbidden(f"this needs the role {' or '.join(needed)}", required_roles=needed)


def _check_tenant(tenant: str) -> None:
    if not _TENANT.fullmatch(tenant):
        raise InvalidInput("a tenant is 1 to 64 lower-case letters, digits and inner hyphens", field="tenant")


def _roles(roles: Iterable[Role | str]) -> set[Role]:
    try:
        granted = {Role(role) for role in roles}
    except ValueError as error:
        raise InvalidInput(f"unknown role; known are {', '.join(Role)}", field="roles") from error
    if not granted:
        raise InvalidInput("a key needs at least one role", field="roles")
    return granted


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
