"""Sessions of the console. A cookie of 256 random bits stands for a key, or for a subject of the issuer."""

from __future__ import annotations

import base64
import secrets
from datetime import datetime, timedelta

from sqlalchemy import func
from sqlalchemy.orm import Session

from core import ids
from core.errors import NotFound, Unauthenticated
from core.identity import session_repository as repository
from core.identity.models import ConsoleSession, Role
from core.identity.service import REFUSED, SECRET_BYTES, Principal, token_hash
from core.settings import Settings
from graphveil.models.identity import OpenSession


def begin(session: Session, settings: Settings, principal: Principal) -> str:
    """Open a session of the principal. Returned is its token, this once: 256 random bits, stored as their
    SHA-256.

    Its end is fixed now; a principal that expires sooner takes its session along. The principal's oldest
    sessions beyond ``max_sessions`` end.
    """
    token = base64.urlsafe_b64encode(secrets.token_bytes(SECRET_BYTES)).rstrip(b"=").decode()
    row = ConsoleSession(
        id=ids.new_id(ids.SESSION),
        token_hash=token_hash(token),
        tenant=principal.tenant,
        key_id=principal.key_id,
        name=principal.name,
        person=principal.person,
        team=principal.team,
        roles=sorted(principal.roles),
        ends_at=func.now() + timedelta(seconds=settings.session_seconds),
    )
    repository.add(session, row)
    repository.forget(session, principal.key_id, settings.max_sessions)
    return token


def look_up(session: Session, settings: Settings, token: str) -> Principal:
    """Return who is signed in by the token. That the session was used is noted once a minute at most.

    Raises Unauthenticated, with one text for every cause: ended, idle for too long, its key revoked or
    expired, unknown. ``expires_at`` is the session's.
    """
    row = repository.live(session, token_hash(token), settings.session_idle_seconds)
    if row is None:
        raise Unauthenticated(REFUSED)
    # At half of the idle time at the latest: a session in use must never count as idle.
    if row.unseen > min(repository.SEEN_SECONDS, settings.session_idle_seconds / 2):
        repository.seen(session, row.id)
    roles = frozenset(Role(role) for role in row.roles)
    return Principal(row.tenant, row.key_id, row.name, roles, row.person, row.team, row.ends_at)


def end(session: Session, token: str) -> None:
    """End the session of the token. Safe to repeat."""
    repository.end(session, token_hash(token))


def end_one(session: Session, tenant: str, session_id: str) -> None:
    """End the tenant's session of that id. NotFound where it has none."""
    if not repository.end_one(session, tenant, session_id):
        raise NotFound("There is no such session.", id=session_id)


def list_open(
    session: Session,
    settings: Settings,
    tenant: str,
    *,
    before: tuple[datetime, str] | None = None,
    limit: int | None = None,
) -> list[OpenSession]:
    """List the tenant's sessions, newest first. They have not ended; a token is never listed."""
    rows = repository.of_tenant(session, tenant, settings.session_idle_seconds, before=before, limit=limit)
    return [
        OpenSession(
            id=row.id,
            key_id=row.key_id,
            person=row.person,
            created_at=row.created_at,
            seen_at=row.seen_at,
            ends_at=row.ends_at,
        )
        for row in rows
    ]
