"""API keys and sessions of the console. They are hashed at rest, shown once, revocable, expiring."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ARRAY, Index, LargeBinary, String, func
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, CreatedAt
from graphveil.models.roles import Role

__all__ = ["ApiKey", "ConsoleSession", "Role"]


class ApiKey(CreatedAt, Base):
    """One key: only the SHA-256 of its 256 random bits is stored.

    ``person`` is whose it is: a second person is one of another name. ``team`` is whose quota it draws on.
    ``created_by`` is the key or token that asked for it; None for a key made on the service host.
    """

    __tablename__ = "api_keys"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    tenant: Mapped[str] = mapped_column(String(64), index=True)
    name: Mapped[str] = mapped_column(String(128))
    person: Mapped[str] = mapped_column(String(128))
    team: Mapped[str | None] = mapped_column(String(64), default=None)
    roles: Mapped[list[str]] = mapped_column(ARRAY(String(16)))
    key_hash: Mapped[bytes] = mapped_column(LargeBinary(32), unique=True)
    expires_at: Mapped[datetime | None] = mapped_column(default=None)
    revoked_at: Mapped[datetime | None] = mapped_column(default=None)
    created_by: Mapped[str | None] = mapped_column(String(128), default=None)


class ConsoleSession(CreatedAt, Base):
    """One browser that somebody signed in at: only the SHA-256 of its cookie's 256 random bits is stored.

    ``key_id`` is the API key that opened it, or ``oidc:`` and a hash of the subject. Of a key's session the
    names and roles are read from the key at every request; those here are what the sign-in found.
    """

    __tablename__ = "console_sessions"
    __table_args__ = (Index("ix_console_sessions_tenant", "tenant", "created_at"),)

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    token_hash: Mapped[bytes] = mapped_column(LargeBinary(32), unique=True)
    tenant: Mapped[str] = mapped_column(String(64))
    key_id: Mapped[str] = mapped_column(String(64), index=True)
    name: Mapped[str] = mapped_column(String(128))
    person: Mapped[str] = mapped_column(String(128))
    team: Mapped[str | None] = mapped_column(String(64), default=None)
    roles: Mapped[list[str]] = mapped_column(ARRAY(String(16)))
    seen_at: Mapped[datetime] = mapped_column(server_default=func.now())
    ends_at: Mapped[datetime] = mapped_column(index=True)
