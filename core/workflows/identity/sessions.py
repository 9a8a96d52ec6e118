"""Signing in at the console. A key, or a code of the issuer, becomes a session; and sessions end."""

from __future__ import annotations

from core.errors import Unauthenticated
from core.identity import service as identity
from core.identity import sessions
from core.identity.models import Role
from core.identity.service import Principal, require
from core.logging import get_logger
from core.workflows.common import paging
from core.workflows.common.context import Services
from graphveil.models.identity import OpenSessions

log = get_logger(__name__)


def sign_in_with_key(services: Services, key: str, *, replacing: str | None = None) -> tuple[Principal, str]:
    """Open a session with a live API key. Returned are its principal, and the new session's token, this once.

    ``replacing``: the token of the browser's session before, which ends. Raises Unauthenticated, with one
    text for every cause. The key is looked up, never remembered: a revoked one signs nobody in.
    """
    with services.db.transaction() as session:
        principal = identity.authenticate(session, key)
    return principal, sign_in(services, principal, replacing=replacing)


def sign_in(services: Services, principal: Principal, *, replacing: str | None = None) -> str:
    """Open a session for a checked principal. It was checked a moment ago; returned is its token, this
    once."""
    with services.db.transaction() as session:
        # A new token at every sign-in: one that was planted before it is worth nothing.
        if replacing is not None:
            sessions.end(session, replacing)
        token = sessions.begin(session, services.settings, principal)
    log.info("signed_in", key_id=principal.key_id)
    return token


def signed_in(services: Services, token: str | None) -> Principal:
    """Return who is signed in by the token. It is as its key is now. One query. Raises Unauthenticated."""
    if token is None:
        raise Unauthenticated("sign in first")
    with services.db.transaction() as session:
        return sessions.look_up(session, services.settings, token)


def sign_out(services: Services, token: str) -> None:
    """End the session: it opens nothing any more. Safe to repeat."""
    with services.db.transaction() as session:
        sessions.end(session, token)


def list_sessions(
    services: Services, principal: Principal, *, cursor: str | None, limit: int | None
) -> OpenSessions:
    """One page of the tenant's open sessions, newest first, for operators. Raises Forbidden, InvalidInput."""
    require(principal, Role.OPERATOR)
    page = paging.paged(services, principal, "sessions", cursor, limit)
    with services.db.transaction() as session:
        found = sessions.list_open(
            session, services.settings, principal.tenant, before=page.before, limit=page.size + 1
        )
    shown, more = page.cut(found, paging.by_age)
    return OpenSessions(items=list(shown), next_cursor=more)


def end_session(services: Services, principal: Principal, session_id: str) -> None:
    """End the tenant's session. Its browser is out at the next request. Raises Forbidden, NotFound."""
    require(principal, Role.OPERATOR)
    with services.db.transaction() as session:
        sessions.end_one(session, principal.tenant, session_id)
    log.info("session_ended", session_id=session_id, ended_by=principal.key_id)
