"""API keys over HTTP. An operator makes, sees and revokes the keys of its own tenant."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from core.identity import service as identity
from core.identity.models import Role
from core.identity.service import Principal, require
from core.logging import get_logger
from core.workflows.common import paging
from core.workflows.common.context import Services
from graphveil.models.identity import CreatedKey, Key, Keys

log = get_logger(__name__)


class NewKey(BaseModel):
    """What an operator asks for. The tenant is the operator's own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(
        min_length=1, max_length=128, description="What the key is for, as the ledger and the logs call it."
    )
    roles: list[Role] = Field(min_length=1, max_length=4, description="What it may do.")
    person: str | None = Field(
        default=None,
        min_length=1,
        max_length=128,
        description="Whose it is; the name, if left out. A second person is one of another name.",
    )
    team: str | None = Field(
        default=None,
        pattern=r"^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$",
        description="Whose quota it draws on.",
    )
    days: int | None = Field(
        default=None, ge=1, description="Days until it expires; the service has a default and a longest."
    )


def create_key(services: Services, principal: Principal, new: NewKey) -> CreatedKey:
    """Create the key. Its token is in the answer, this once. Any role may be given, by operators only.

    Raises Forbidden, and InvalidInput with ``field``.
    """
    require(principal, Role.OPERATOR)
    with services.db.transaction() as session:
        key, token = identity.create_key(
            session,
            tenant=principal.tenant,
            name=new.name,
            roles=new.roles,
            lifetime=identity.lifetime_of(services.settings, new.days),
            person=new.person,
            team=new.team,
            created_by=principal.key_id,
        )
        view = CreatedKey(**dict(identity.get_key(session, principal.tenant, key.id)), token=token)
    log.info("key_created", key_id=view.id, created_by=principal.key_id, roles=list(view.roles))
    return view


def list_keys(services: Services, principal: Principal, *, cursor: str | None, limit: int | None) -> Keys:
    """List a page of the tenant's keys, newest first. Raises Forbidden, InvalidInput."""
    require(principal, Role.OPERATOR)
    page = paging.paged(services, principal, "keys", cursor, limit)
    with services.db.transaction() as session:
        found = identity.list_keys(session, principal.tenant, before=page.before, limit=page.size + 1)
    shown, more = page.cut(found, paging.by_age)
    return Keys(items=list(shown), next_cursor=more)


def get_key(services: Services, principal: Principal, key_id: str) -> Key:
    """One key of the tenant. Raises Forbidden, NotFound."""
    require(principal, Role.OPERATOR)
    with services.db.transaction() as session:
        return identity.get_key(session, principal.tenant, key_id)


def revoke_key(services: Services, principal: Principal, key_id: str) -> None:
    """Revoke the key: it opens nothing any more. Safe to repeat. Raises Forbidden, NotFound."""
    require(principal, Role.OPERATOR)
    with services.db.transaction() as session:
        identity.revoke_key(session, principal.tenant, key_id)
    log.info("key_revoked", key_id=key_id, revoked_by=principal.key_id)
