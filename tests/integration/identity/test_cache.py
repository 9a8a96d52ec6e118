"""What is remembered of callers, and for how long."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from core.errors import Unauthenticated
from core.identity import service
from core.identity.cache import PrincipalCache
from core.identity.models import Role
from core.identity.service import Principal, token_hash
from core.settings import Settings
from core.workflows.common.context import Services
from core.workflows.identity.authenticate import Authenticator
from tests.integration.identity.conftest import Clock
from tests.support import issuer

WHO = Principal("acme", "key_1", "k", frozenset({Role.CURATOR}))


def create(services: Services, lifetime: timedelta | None = None) -> tuple[str, str]:
    with services.db.transaction() as session:
        key, token = service.create_key(
            session, tenant="acme", name="k", roles=[Role.CURATOR], lifetime=lifetime
        )
        return key.id, token


def test_a_revoked_key_opens_nothing_after_the_time_it_is_remembered(services: Services, clock: Clock):
    authenticator = Authenticator(Settings(key_cache_seconds=5))
    key_id, token = create(services)
    assert authenticator.remembered(token) is None
    principal = authenticator.principal(services, token)
    assert authenticator.remembered(token) == principal
    with services.db.transaction() as session:
        service.revoke_key(session, "acme", key_id)
    clock.now += 4.9
    assert authenticator.remembered(token) == principal
    clock.now += 0.1
    with pytest.raises(Unauthenticated):
        authenticator.principal(services, token)


def test_a_key_that_is_forgotten_is_checked_again(services: Services):
    authenticator = Authenticator(Settings(key_cache_seconds=60))
    key_id, token = create(services)
    _, other = create(services)
    for one in (token, other):
        authenticator.principal(services, one)
    with services.db.transaction() as session:
        service.revoke_key(session, "acme", key_id)
    authenticator.forget()
    assert authenticator.remembered(other) is None
    with pytest.raises(Unauthenticated):
        authenticator.principal(services, token)


def test_a_key_is_not_remembered_past_its_expiry(services: Services, clock: Clock):
    authenticator = Authenticator(Settings(key_cache_seconds=60))
    _, token = create(services, lifetime=timedelta(seconds=40))
    authenticator.principal(services, token)
    assert authenticator.remembered(token) is not None
    clock.now += 40
    assert authenticator.remembered(token) is None


def test_a_token_is_not_remembered_past_its_end(
    idp: issuer.Issuer, trusting: Callable[..., Settings], services: Services, clock: Clock
):
    settings = trusting(leeway_seconds=0).model_copy(update={"key_cache_seconds": 60})
    authenticator = Authenticator(settings)
    token = idp.token("r1", exp=int(time.time()) + 40)
    principal = authenticator.principal(services, token)
    assert authenticator.remembered(token) == principal
    clock.now += 40
    assert authenticator.remembered(token) is None


def test_what_was_refused_is_not_remembered(services: Services):
    authenticator = Authenticator(Settings())
    for token in ("gv_" + "x" * 43, "a.b.c", ""):
        with pytest.raises(Unauthenticated):
            authenticator.principal(services, token)
        assert authenticator.remembered(token) is None


def test_nothing_is_remembered_where_the_setting_says_so(services: Services):
    authenticator = Authenticator(Settings(key_cache_seconds=0))
    _, token = create(services)
    authenticator.principal(services, token)
    assert authenticator.remembered(token) is None


def test_the_cache_holds_hashes_alone_and_no_more_than_its_limit():
    cache = PrincipalCache(seconds=60, entries=3)
    hashes = [token_hash(f"gv_{n}") for n in range(5)]
    for number, key_hash in enumerate(hashes):
        who = replace(WHO, key_id=f"key_{number}")
        cache.put(key_hash, who, checked_at=time.monotonic(), left=None)
    assert [cache.get(key_hash) is not None for key_hash in hashes] == [False, False, True, True, True]
    assert "gv_" not in repr(vars(cache))


def test_a_key_that_was_checked_again_is_kept_longest():
    cache = PrincipalCache(seconds=60, entries=2)
    first, second, third = (token_hash(name) for name in "abc")
    for key_hash in (first, second, first, third):
        cache.put(key_hash, WHO, checked_at=time.monotonic(), left=None)
    assert cache.get(first) == WHO
    assert cache.get(second) is None


def test_what_was_checked_before_all_was_forgotten_is_not_remembered():
    """Its key may have been revoked between the two."""
    cache = PrincipalCache(seconds=60, entries=2)
    asked_at = time.monotonic()
    cache.forget()
    cache.put(b"a", WHO, checked_at=asked_at, left=None)
    assert cache.get(b"a") is None
    cache.put(b"a", WHO, checked_at=time.monotonic(), left=None)
    assert cache.get(b"a") == WHO
