"""API keys and callers, as operators and callers see them."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from graphveil.models.base import Answer, NextCursor
from graphveil.models.roles import Role


class Key(Answer):
    """One API key; never its token."""

    id: str
    name: str
    person: str = Field(description="Whose it is.")
    team: str | None = Field(description="Whose quota it draws on.")
    roles: tuple[Role, ...]
    state: str = Field(description="active, revoked or expired.", examples=["active"])
    created_at: datetime
    created_by: str | None = Field(description="The key that made it; null: it was made on the service host.")
    expires_at: datetime | None
    revoked_at: datetime | None


class CreatedKey(Key):
    """A new key, with its token: this is the only time that it is shown."""

    token: str = Field(repr=False, description="Send it as `Authorization: Bearer ...`. It is not stored.")


class Keys(Answer):
    items: list[Key]
    next_cursor: NextCursor


class OpenSession(Answer):
    """A browser that somebody is signed in at; never its cookie."""

    id: str
    key_id: str = Field(description="The key that opened it; `oidc:` and a hash for a subject of the issuer.")
    person: str
    created_at: datetime
    seen_at: datetime = Field(description="When it was last used, to a minute.")
    ends_at: datetime = Field(description="When it ends at the latest.")


class OpenSessions(Answer):
    items: list[OpenSession]
    next_cursor: NextCursor


class RateLimit(Answer):
    """How the caller stands with one limit. It moves along: no minute sees more than `limit` requests."""

    limit: int = Field(description="Requests in any minute.")
    remaining: int
    reset_seconds: int = Field(description="Until the oldest counted request is forgotten.")


class OpenJobs(Answer):
    """Jobs that have not ended, samples and snapshots among them. At `limit` no further one is taken."""

    open: int
    limit: int


class Me(Answer):
    """Who is calling, as the service sees it."""

    tenant: str
    key_id: str = Field(description="The key; or, for a token, `oidc:` and a hash of issuer and subject.")
    name: str
    person: str = Field(description="Tells a first from a second person.")
    team: str | None
    roles: tuple[Role, ...]
    expires_at: datetime | None = Field(description="When the key or token ends; null: never.")
    requests: RateLimit | None = Field(description="The limit of all requests; null: there is none.")
    jobs: RateLimit | None = Field(description="The limit of requests that make jobs; null: there is none.")
    open_jobs: OpenJobs = Field(description="Of those that this caller asked for.")
    tenant_open_jobs: OpenJobs = Field(description="Of the whole tenant's.")
