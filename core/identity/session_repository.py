"""The SQL of the console's sessions."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row, delete, extract, func, literal, or_, select, update
from sqlalchemy.orm import Session

from core.db.base import newest_first
from core.identity.models import ApiKey, ConsoleSession
from core.identity.oidc import KEY_ID_PREFIX

SEEN_SECONDS = 60
"""How far ``seen_at`` may be behind: a row that every request wrote would be written for nothing."""

_OF_ISSUER = ConsoleSession.key_id.startswith(KEY_ID_PREFIX, autoescape=True)


def add(session: Session, row: ConsoleSession) -> None:
    """Store the session, and load the database's times."""
    session.add(row)
    session.flush()
    session.refresh(row, ["created_at", "seen_at", "ends_at"])


def live(session: Session, token_hash: bytes, idle_seconds: int) -> Row[*tuple[Any, ...]] | None:
    """Load the live session of that hash. None where it has ended, stood idle, or its key opens nothing any
    more.

    One look-up in an index, by PostgreSQL's clock. Columns: id, tenant, key_id, name, person, team, roles,
    which are the key's own as it is now; ``unseen``: seconds since it was last noted as seen.
    """
    kept, key = ConsoleSession, ApiKey
    unseen = extract("epoch", func.now() - kept.seen_at).label("unseen")
    statement = (
        select(
            kept.id,
            kept.tenant,
            kept.key_id,
            # The key's own words as they are now; a session of
            # an issuer's token has no key, and goes by its own.
            func.coalesce(key.name, kept.name).label("name"),
            func.coalesce(key.person, kept.person).label("person"),
            func.coalesce(key.team, kept.team).label("team"),
            func.coalesce(key.roles, kept.roles).label("roles"),
            kept.ends_at,
            unseen,
        )
        .outerjoin(key, (key.id == kept.key_id) & (key.tenant == kept.tenant))
        .where(
            kept.token_hash == token_hash,
            kept.ends_at > func.now(),
            kept.seen_at > func.now() - timedelta(seconds=idle_seconds),
            # A session whose key is gone opens nothing.
            or_(_OF_ISSUER, key.id.is_not(None)),
            key.revoked_at.is_(None),
            or_(key.expires_at.is_(None), key.expires_at > func.now()),
        )
    )
    return session.execute(statement).one_or_none()


def seen(session: Session, session_id: str) -> None:
    """Record that the session was used now."""
    session.execute(update(ConsoleSession).where(ConsoleSession.id == session_id).values(seen_at=func.now()))


def end(session: Session, token_hash: bytes) -> None:
    """End the session of that hash."""
    session.execute(delete(ConsoleSession).where(ConsoleSession.token_hash == token_hash))


def end_one(session: Session, tenant: str, session_id: str) -> bool:
    """End the tenant's session of that id; whether there was one."""
    statement = delete(ConsoleSession).where(ConsoleSession.id == session_id, ConsoleSession.tenant == tenant)
    return session.execute(statement.returning(literal(1))).one_or_none() is not None


def forget(session: Session, key_id: str, most: int) -> None:
    """Delete all but the newest sessions of the key. Only the ``most`` newest stay; those of any key that are
    over are gone."""
    newest = (
        select(ConsoleSession.id)
        .where(ConsoleSession.key_id == key_id)
        .order_by(ConsoleSession.created_at.desc(), ConsoleSession.id.desc())
        .limit(most)
    )
    beyond = (ConsoleSession.key_id == key_id) & ConsoleSession.id.not_in(newest)
    session.execute(delete(ConsoleSession).where(or_(ConsoleSession.ends_at <= func.now(), beyond)))


def of_tenant(
    session: Session,
    tenant: str,
    idle_seconds: int,
    *,
    before: tuple[datetime, str] | None = None,
    limit: int | None = None,
) -> list[ConsoleSession]:
    """Load the tenant's sessions that have not ended, newest first."""
    statement = select(ConsoleSession).where(
        ConsoleSession.tenant == tenant,
        ConsoleSession.ends_at > func.now(),
        ConsoleSession.seen_at > func.now() - timedelta(seconds=idle_seconds),
    )
    return list(session.scalars(newest_first(statement, ConsoleSession, before, limit)))
