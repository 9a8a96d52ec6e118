"""API keys: shown once, hashed at rest, revocable, expiring."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, text

from core.db.session import Database
from core.errors import InvalidInput, NotFound, Unauthenticated
from core.identity import service
from core.identity.models import ApiKey, Role
from core.settings import Settings
from tests.support.ledger import call


def create(database: Database, **changes: Any) -> tuple[ApiKey, str]:
    asked = {"tenant": "acme", "name": "laptop", "roles": [Role.CURATOR, "requester"], **changes}
    return call(database, service.create_key, **asked)


def test_a_key_opens_as_its_tenant_with_its_roles(module_database: Database) -> None:
    key, token = create(module_database)
    assert re.fullmatch(r"gv_[A-Za-z0-9_-]{43}", token)
    found = call(module_database, service.authenticate, token)
    roles = frozenset({Role.CURATOR, Role.REQUESTER})
    assert found == service.Principal("acme", key.id, "laptop", roles, person="laptop")
    assert isinstance(key.created_at, datetime)


def test_only_the_hash_is_stored(module_database: Database) -> None:
    key, token = create(module_database)
    with module_database.transaction() as session:
        row = session.execute(text("SELECT api_keys::text FROM api_keys WHERE id = :id"), {"id": key.id})
        assert token.removeprefix("gv_") not in row.scalar_one()
        stored = session.scalars(select(ApiKey.key_hash).where(ApiKey.id == key.id)).one()
    assert stored == hashlib.sha256(token.encode()).digest()


def test_tokens_are_never_alike(module_database: Database) -> None:
    assert len({create(module_database)[1] for _ in range(20)}) == 20


def test_every_cause_of_refusal_reads_the_same(module_database: Database) -> None:
    revoked, revoked_token = create(module_database)
    call(module_database, service.revoke_key, "acme", revoked.id)
    expired, expired_token = create(module_database, lifetime=timedelta(hours=1))
    with module_database.transaction() as session:
        session.execute(text("UPDATE api_keys SET expires_at = now() WHERE id = :id"), {"id": expired.id})
    _, live = create(module_database)
    texts = set()
    for token in (
        revoked_token,
        expired_token,
        "gv_" + "A" * 43,
        "",
        "gv_",
        live + "A",
        live[:-1],
        live.upper(),
    ):
        with pytest.raises(Unauthenticated) as refused:
            call(module_database, service.authenticate, token)
        texts.add((refused.value.message, *refused.value.members))
    assert len(texts) == 1
    call(module_database, service.authenticate, live)


def test_a_key_opens_until_it_expires_by_the_databases_clock(module_database: Database) -> None:
    key, token = create(module_database, lifetime=timedelta(hours=1))
    assert key.expires_at is not None
    assert key.expires_at - key.created_at == timedelta(hours=1)
    principal, left = call(module_database, service.look_up, token)
    assert principal.expires_at == key.expires_at
    assert left is not None
    assert 3_500 < left <= 3_600


def test_person_team_and_maker_are_kept(module_database: Database) -> None:
    asked = {"tenant": "kept", "person": "requester-a", "team": "epidemiology", "created_by": "key_maker"}
    key, token = create(module_database, **asked)
    principal = call(module_database, service.authenticate, token)
    assert (principal.person, principal.team) == ("requester-a", "epidemiology")
    [view] = call(module_database, service.list_keys, "kept")
    assert (view.person, view.team, view.created_by) == ("requester-a", "epidemiology", "key_maker")
    assert (view.id, view.state, view.roles) == (key.id, "active", (Role.CURATOR, Role.REQUESTER))


def test_the_listing_tells_what_still_opens(module_database: Database) -> None:
    revoked, _ = create(module_database, tenant="states")
    call(module_database, service.revoke_key, "states", revoked.id)
    expired, _ = create(module_database, tenant="states", lifetime=timedelta(hours=1))
    with module_database.transaction() as session:
        session.execute(text("UPDATE api_keys SET expires_at = now() WHERE id = :id"), {"id": expired.id})
    create(module_database, tenant="states")
    listed = call(module_database, service.list_keys, "states")
    assert [view.state for view in listed] == ["active", "expired", "revoked"]


def test_how_long_a_key_may_live_is_a_setting() -> None:
    settings = Settings(default_key_days=30, max_key_days=60)
    assert service.lifetime_of(settings, None) == timedelta(days=30)
    assert service.lifetime_of(settings, 60) == timedelta(days=60)
    for days in (0, -1, 61):
        with pytest.raises(InvalidInput):
            service.lifetime_of(settings, days)
    assert service.lifetime_of(Settings(default_key_days=90, max_key_days=60), None) == timedelta(days=60)


def test_revoking_is_the_tenants_own_and_may_be_repeated(module_database: Database) -> None:
    key, token = create(module_database)
    with pytest.raises(NotFound):
        call(module_database, service.revoke_key, "other", key.id)
    call(module_database, service.authenticate, token)
    call(module_database, service.revoke_key, "acme", key.id)
    first = {k.id: k.revoked_at for k in call(module_database, service.list_keys, "acme")}[key.id]
    call(module_database, service.revoke_key, "acme", key.id)
    assert {k.id: k.revoked_at for k in call(module_database, service.list_keys, "acme")}[key.id] == first
    assert call(module_database, service.list_keys, "nobody") == []


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"tenant": "Acme"}, "tenant"),
        ({"tenant": ""}, "tenant"),
        ({"tenant": "-acme"}, "tenant"),
        ({"tenant": "acme\n"}, "tenant"),
        ({"tenant": "a" * 65}, "tenant"),
        ({"name": "  "}, "name"),
        ({"name": "n" * 129}, "name"),
        ({"roles": []}, "roles"),
        ({"roles": ["admin"]}, "roles"),
        ({"name": "padded "}, "name"),
        ({"name": "zero\u200bwidth"}, "name"),
        ({"person": ""}, "person"),
        ({"person": "curator-a "}, "person"),
        ({"person": "curator-a\x00"}, "person"),
        ({"person": "p" * 129}, "person"),
        ({"team": "Team A"}, "team"),
        ({"team": ""}, "team"),
        ({"lifetime": timedelta(0)}, "lifetime"),
        ({"lifetime": timedelta(seconds=-1)}, "lifetime"),
    ],
)
def test_what_makes_no_key(module_database: Database, changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        create(module_database, **changes)
    assert refused.value.members["field"] == field
