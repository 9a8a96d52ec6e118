"""The SQL of API keys."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from core.identity.models import ApiKey


def add(session: Session, key: ApiKey) -> None:
    """The key is stored, and carries the database's time of creation."""
    session.add(key)
    session.flush()
    session.refresh(key, ["created_at"])


def usable(session: Session, key_hash: bytes) -> ApiKey | None:
    """The key of that hash, unless it is revoked or, by PostgreSQL's clock, expired. One round trip."""
    statement = select(ApiKey).where(
        ApiKey.key_hash == key_hash,
        ApiKey.revoked_at.is_(None),
        ApiKey.expires_at.is_(None) | (ApiKey.expires_at > func.now()),
    )
    return session.scalars(statement).one_or_none()


def of_tenant(session: Session, tenant: str) -> list[ApiKey]:
    """All keys of a tenant, oldest first."""
    return list(session.scalars(select(ApiKey).where(ApiKey.tenant == tenant).order_by(ApiKey.id)))


def revoke(session: Session, tenant: str, key_id: str) -> datetime | None:
    """When the key was revoked (now, or before); None when the tenant has no such key."""
    statement = (
        update(ApiKey)
        .where(ApiKey.id == key_id, ApiKey.tenant == tenant)
        .values(revoked_at=func.coalesce(ApiKey.revoked_at, func.now()))
        .returning(ApiKey.revoked_at)
        .execution_options(synchronize_session="fetch")
    )
    return session.scalars(statement).one_or_none()
