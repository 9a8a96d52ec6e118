"""Keys are made, checked and revoked; roles are required."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import func
from sqlalchemy.orm import Session

from core import ids
from core.errors import Forbidden, InvalidInput, NotFound, Unauthenticated
from core.identity import repository
from core.identity.models import ApiKey, Role
from core.settings import Settings
from graphveil.models.identity import Key

TOKEN_PREFIX = "gv_"
SECRET_BYTES = 32
MAX_NAME = 128
REFUSED = "the key or token is unknown, revoked, expired or not valid here"
"""The one text for every cause of a 401: it tells a guesser nothing."""

_TOKEN = re.compile(r"gv_[A-Za-z0-9_-]{43}")
_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")


@dataclass(frozen=True)
class Principal:
    """Who calls. It is one key or token of one tenant, says who owns it, and what it may do there.

    ``person`` tells a first from a second person; two principals without one count as the same.
    """

    tenant: str
    key_id: str
    name: str
    roles: frozenset[Role]
    person: str = ""
    team: str | None = None
    expires_at: datetime | None = None


def create_key(
    session: Session,
    *,
    tenant: str,
    name: str,
    roles: Iterable[Role | str],
    lifetime: timedelta | None = None,
    person: str | None = None,
    team: str | None = None,
    created_by: str | None = None,
) -> tuple[ApiKey, str]:
    """Store a new key as its SHA-256, and return it. Its token, 256 random bits, comes with it, this once.

    ``person``: whose it is, the key's name by default. ``lifetime`` counts by PostgreSQL's clock; None: it
    never expires.

    Raises InvalidInput with ``field``: a tenant or team that is no slug; a name or person that is empty,
    long, padded or not printable; no or unknown roles; no lifetime.
    """
    check_slug(tenant, "tenant")
    check_name(name, "name")
    if person is not None:
        check_name(person, "person")
    if team is not None:
        check_slug(team, "team")
    granted = _roles(roles)
    if lifetime is not None and lifetime <= timedelta(0):
        raise InvalidInput("a key needs a lifetime that lies ahead", field="lifetime")
    token = TOKEN_PREFIX + base64.urlsafe_b64encode(secrets.token_bytes(SECRET_BYTES)).rstrip(b"=").decode()
    key = ApiKey(
        id=ids.new_id(ids.KEY),
        tenant=tenant,
        name=name,
        person=person or name,
        team=team,
        roles=sorted(granted),
        key_hash=token_hash(token),
        # PostgreSQL's clock, as it decides later whether the key lives; hosts' clocks differ.
        expires_at=None if lifetime is None else func.now() + lifetime,
        created_by=created_by,
    )
    repository.add(session, key)
    return key, token


def lifetime_of(settings: Settings, days: int | None) -> timedelta:
    """Return the life of a requested key. It is requested with ``days``, or has the settings' default.

    Raises InvalidInput when the settings allow no key to live as long.
    """
    longest = settings.max_key_days
    if days is not None and not 1 <= days <= longest:
        raise InvalidInput(f"a key lives for 1 to {longest} days", field="days")
    return timedelta(days=min(settings.default_key_days, longest) if days is None else days)


def authenticate(session: Session, token: str) -> Principal:
    """Return the principal of a live key, or refuse. Unauthenticated has one text for every cause."""
    return look_up(session, token)[0]


def look_up(session: Session, token: str) -> tuple[Principal, float | None]:
    """Return the principal of a live key. The seconds until it expires come too (None: never). Else
    Unauthenticated.

    The look-up is by the hash of 256 random bits: how long it takes says nothing about any stored token.
    """
    # What has not the form of a key costs no query: such tokens can be sent by anybody, without end.
    key = repository.usable(session, token_hash(token)) if is_key(token) else None
    if key is None:
        raise Unauthenticated(REFUSED)
    roles = frozenset(Role(role) for role in key.roles)
    principal = Principal(key.tenant, key.id, key.name, roles, key.person, key.team, key.expires_at)
    return principal, None if key.left is None else float(key.left)


def revoke_key(session: Session, tenant: str, key_id: str) -> None:
    """Revoke the key from the commit on.

    Processes that remember it hear of it then, or ask again within ``key_cache_seconds``.

    Safe to repeat. NotFound when the tenant has no such key.
    """
    if repository.revoke(session, tenant, key_id) is None:
        raise NotFound("no such API key", id=key_id)


def list_keys(
    session: Session, tenant: str, *, before: tuple[datetime, str] | None = None, limit: int | None = None
) -> list[Key]:
    """List the tenant's keys, revoked and expired ones included, newest first."""
    return [_view(*key) for key in repository.of_tenant(session, tenant, before=before, limit=limit)]


def get_key(session: Session, tenant: str, key_id: str) -> Key:
    """Return the tenant's key of that id; NotFound otherwise."""
    key = repository.get(session, tenant, key_id)
    if key is None:
        raise NotFound("no such API key", id=key_id)
    return _view(*key)


def require(principal: Principal, *roles: Role) -> None:
    """Raise Forbidden unless the principal has any of ``roles``."""
    if principal.roles.isdisjoint(roles):
        needed = sorted(role.value for role in roles)
        raise Forbidden(f"this needs the role {' or '.join(needed)}", required_roles=needed)


def require_own(principal: Principal, *, person: str, team: str | None) -> None:
    """Check that the principal may stop something. Raises Forbidden unless that is the principal's own or its
    team's, or the principal is a curator.

    Curators answer for the tenant's data and its budget; a requester for what its own team has asked for.
    """
    own = principal.person == person or (team is not None and principal.team == team)
    if not own and Role.CURATOR not in principal.roles:
        raise Forbidden(
            "this is another team's: its own members stop it, or a curator",
            required_roles=[Role.CURATOR.value],
        )


def is_key(token: str) -> bool:
    """Tell whether the token has the form of an API key."""
    return _TOKEN.fullmatch(token) is not None


def token_hash(token: str) -> bytes:
    """Compute the SHA-256 of the token as it is sent. It is all that is ever kept of it."""
    return hashlib.sha256(token.encode()).digest()


def check_slug(value: str, field: str) -> None:
    """Check that the value may name a tenant or a team. InvalidInput otherwise."""
    if not _SLUG.fullmatch(value):
        raise InvalidInput(f"a {field} is 1 to 64 lower-case letters, digits and inner hyphens", field=field)


def check_name(value: str, field: str) -> None:
    """Check that the value may name a key or a person. InvalidInput otherwise.

    Spaces around a name and characters that cannot be seen are refused: they would make two persons of one.
    """
    if not 1 <= len(value) <= MAX_NAME or value != value.strip() or not value.isprintable():
        raise InvalidInput(
            f"a {field} is 1 to {MAX_NAME} printable characters, without spaces around it", field=field
        )


def _roles(roles: Iterable[Role | str]) -> set[Role]:
    try:
        granted = {Role(role) for role in roles}
    except ValueError as error:
        raise InvalidInput(f"unknown role; known are {', '.join(Role)}", field="roles") from error
    if not granted:
        raise InvalidInput("a key needs at least one role", field="roles")
    return granted


def _view(key: ApiKey, expired: bool) -> Key:
    return Key(
        id=key.id,
        name=key.name,
        person=key.person,
        team=key.team,
        roles=tuple(Role(role) for role in key.roles),
        state="revoked" if key.revoked_at else "expired" if expired else "active",
        created_at=key.created_at,
        created_by=key.created_by,
        expires_at=key.expires_at,
        revoked_at=key.revoked_at,
    )
