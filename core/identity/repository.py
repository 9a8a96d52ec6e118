"""The SQL of API keys."""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast

from sqlalchemy import Row, Table, bindparam, extract, func, select, update
from sqlalchemy.orm import Session

from core.db.base import newest_first
from core.db.session import notify_at_commit
from core.identity.models import ApiKey

REVOKED = "graphveil_revoked"
"""The channel that is notified when a key was revoked."""

_EXPIRED = func.coalesce(ApiKey.expires_at <= func.now(), False)
_KEYS = cast(Table, ApiKey.__table__)
_USABLE = select(  # built once, of the table itself: it is on the way of requests
    *(_KEYS.c[name] for name in ("id", "tenant", "name", "person", "team", "roles", "expires_at")),
    extract("epoch", _KEYS.c.expires_at - func.now()).label("left"),
).where(
    _KEYS.c.key_hash == bindparam("key_hash"),
    _KEYS.c.revoked_at.is_(None),
    _KEYS.c.expires_at.is_(None) | (_KEYS.c.expires_at > func.now()),
)


def add(session: Session, key: ApiKey) -> None:
    """Store the key, and load its times. They are the database's times of creation and expiry."""
    session.add(key)
    session.flush()
    session.refresh(key, ["created_at", "expires_at"])


def usable(session: Session, key_hash: bytes) -> Row[*tuple[Any, ...]] | None:
    """Load the key of that hash, if it is usable. It is unless it is revoked or, by PostgreSQL's clock,
    expired. One look-up in an index.

    Columns: id, tenant, name, person, team, roles, expires_at; ``left``: seconds until it expires, or None.
    """
    return session.execute(_USABLE, {"key_hash": key_hash}).one_or_none()


def of_tenant(
    session: Session, tenant: str, *, before: tuple[datetime, str] | None = None, limit: int | None = None
) -> list[tuple[ApiKey, bool]]:
    """Load keys of a tenant, newest first. With each comes whether it has expired."""
    statement = select(ApiKey, _EXPIRED).where(ApiKey.tenant == tenant)
    rows = session.execute(newest_first(statement, ApiKey, before, limit))
    return [(key, expired) for key, expired in rows]


def get(session: Session, tenant: str, key_id: str) -> tuple[ApiKey, bool] | None:
    """Load the tenant's key of that id. With it comes whether it has expired."""
    statement = select(ApiKey, _EXPIRED).where(ApiKey.id == key_id, ApiKey.tenant == tenant)
    found = session.execute(statement).one_or_none()
    return None if found is None else (found[0], found[1])


def revoke(session: Session, tenant: str, key_id: str) -> datetime | None:
    """Revoke the key, and return when it was revoked. It is now, or before; None when the tenant has no
    such."""
    statement = (
        update(ApiKey)
        .where(ApiKey.id == key_id, ApiKey.tenant == tenant)
        # The first revocation's time stays.
        .values(revoked_at=func.coalesce(ApiKey.revoked_at, func.now()))
        .returning(ApiKey.revoked_at)
        .execution_options(synchronize_session="fetch")
    )
    notify_at_commit(session, REVOKED)
    return session.scalars(statement).one_or_none()
