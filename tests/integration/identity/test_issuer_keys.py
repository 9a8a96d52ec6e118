"""The issuer's keys: found, cached, rotated; and what an issuer in trouble does to callers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from jwt.algorithms import RSAAlgorithm
from structlog.testing import capture_logs

from core.errors import IssuerUnavailable, Unauthenticated
from core.identity.jwks import RETRY_SECONDS
from core.identity.oidc import Issuer
from core.settings import Settings
from tests.integration.identity.conftest import Clock
from tests.support import issuer
from tests.support.issuer import DISCOVERY, KEYS
from tests.support.logged import events
from tests.support.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.extras

Trusting = Callable[..., Settings]


def opens(checker: Issuer, idp: issuer.Issuer, key_id: str = "r1") -> None:
    assert checker.principal(idp.token(key_id)).tenant == "acme"


def test_keys_are_fetched_once_and_used_again(idp: issuer.Issuer, trusting: Trusting):
    checker = Issuer(trusting())
    assert idp.served == {DISCOVERY: 0, KEYS: 0}  # a service starts without its issuer
    for _ in range(5):
        opens(checker, idp)
    assert idp.served == {DISCOVERY: 1, KEYS: 1}


def test_a_new_key_is_fetched_when_a_token_names_it(idp: issuer.Issuer, trusting: Trusting, clock: Clock):
    checker = Issuer(trusting(refetch_seconds=10))
    opens(checker, idp)
    idp.add_rsa("r2")
    idp.remove("r1")
    clock.now += 10
    opens(checker, idp, "r2")
    with pytest.raises(Unauthenticated):
        opens(checker, idp, "r1")  # withdrawn by the issuer


def test_unknown_key_ids_cause_one_fetch_in_the_pause(idp: issuer.Issuer, trusting: Trusting):
    checker = Issuer(trusting(refetch_seconds=60))
    opens(checker, idp)
    idp.add_rsa("unpublished")
    idp.remove("unpublished")
    for number in range(20):
        token = idp.sign(idp.claims(), idp.private["unpublished"], "RS256", f"unknown-{number}")
        with pytest.raises(Unauthenticated):
            checker.principal(token)
    assert idp.served[KEYS] == 1


def test_old_keys_are_renewed(idp: issuer.Issuer, trusting: Trusting, clock: Clock):
    checker = Issuer(trusting(keys_seconds=60, refetch_seconds=10))
    opens(checker, idp)
    idp.remove("r1")
    idp.add_rsa("r2")
    clock.now += 61
    with pytest.raises(Unauthenticated):
        opens(checker, idp, "r1")
    opens(checker, idp, "r2")


def test_keys_are_kept_while_the_issuer_is_down_but_not_for_ever(
    idp: issuer.Issuer, trusting: Trusting, clock: Clock
):
    checker = Issuer(trusting(keys_seconds=60, refetch_seconds=10, stale_seconds=600))
    opens(checker, idp)
    idp.status = 503
    clock.now += 61
    with capture_logs() as lines:
        opens(checker, idp)
    assert events(lines, "core.identity.jwks") == ["issuer_keys_not_fetched"]
    with pytest.raises(IssuerUnavailable):  # it may be a new key: nobody can tell now
        checker.principal(idp.sign(idp.claims(), idp.add_rsa("r2"), "RS256", "r2"))
    clock.now += 530
    opens(checker, idp)
    clock.now += 10
    with pytest.raises(IssuerUnavailable):
        opens(checker, idp)
    idp.status = 200
    clock.now += 10
    opens(checker, idp)
    opens(checker, idp, "r2")


def test_a_known_key_never_waits_for_a_slow_issuer(idp: issuer.Issuer, trusting: Trusting, clock: Clock):
    checker = Issuer(trusting(keys_seconds=60, refetch_seconds=10))
    opens(checker, idp)
    idp.open.clear()
    clock.now += 61
    fetching = threading.Thread(target=opens, args=(checker, idp))
    fetching.start()
    until(lambda: idp.served[DISCOVERY] == 2)
    opens(checker, idp)
    assert fetching.is_alive()  # it waits for the issuer still
    idp.open.set()
    fetching.join()
    assert idp.served == {DISCOVERY: 2, KEYS: 2}


def test_many_first_callers_cause_one_fetch(idp: issuer.Issuer, trusting: Trusting):
    checker = Issuer(trusting())
    idp.pause_seconds = 0.1
    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(opens, checker, idp) for _ in range(8)]:
            done.result()
    assert idp.served == {DISCOVERY: 1, KEYS: 1}


def test_callers_do_not_pile_up_behind_a_hanging_issuer(idp: issuer.Issuer, trusting: Trusting):
    checker = Issuer(trusting(timeout_seconds=60))
    idp.open.clear()
    with ThreadPoolExecutor(30) as pool:
        waiting = [pool.submit(opens, checker, idp) for _ in range(30)]
        try:
            until(lambda: sum(done.done() for done in waiting) >= 30 - 9)  # one fetches, eight wait
        finally:
            refused = [done for done in waiting if done.done()]
            idp.open.set()
    for done in waiting:
        if done in refused:  # they are told to come again
            with pytest.raises(IssuerUnavailable):
                done.result()
        else:
            done.result()
    assert len(refused) < 30
    assert idp.served == {DISCOVERY: 1, KEYS: 1}


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize(
    "trouble",
    [
        {"status": 500},
        {"status": 404},
        {"status": 204},
        {"redirect": "/elsewhere"},
        {"pause_seconds": 1.0},
        {"padding": 300 * 1024},
        {"raw": b""},
        {"raw": b"<html>"},
        {"raw": b"[]"},
        {"raw": b"[" * 50_000},
        {"raw": b"\xff\xfe"},
        {"jwks": []},
        {"jwks": "none"},
        {"jwks": [None, 7, {"kid": "r1"}, {"kid": "r1", "kty": "RSA", "n": "!", "e": "!"}]},
        {"document": {"issuer": "https://another.example"}},
        {"document": {"issuer": None}},
        {"document": {"jwks_uri": "http://another.example/keys"}},
        {"document": {"jwks_uri": "file:///etc/passwd"}},
        {"document": {"jwks_uri": 7}},
        {"document": {"jwks_uri": None}},
    ],
)
def test_an_issuer_in_trouble_cannot_open_the_service(
    idp: issuer.Issuer, trusting: Trusting, trouble: dict[str, Any]
):
    token = idp.token("r1")
    for name, value in trouble.items():
        setattr(idp, name, value)
    with capture_logs() as lines, pytest.raises(IssuerUnavailable):
        Issuer(trusting(timeout_seconds=0.3)).principal(token)
    assert events(lines, "core.identity.jwks") == ["issuer_keys_not_fetched"]
    assert idp.url not in str(lines)
    assert "/elsewhere" not in idp.served


def test_an_issuer_that_is_not_there(trusting: Trusting, idp: issuer.Issuer):
    token = idp.token("r1")
    with pytest.raises(IssuerUnavailable):
        Issuer(trusting(issuer="http://127.0.0.1:1")).principal(token)


def test_a_service_that_found_no_issuer_tries_again_soon(
    idp: issuer.Issuer, trusting: Trusting, clock: Clock
):
    checker = Issuer(trusting(refetch_seconds=60))
    idp.status = 503
    for _ in range(3):
        with pytest.raises(IssuerUnavailable):
            opens(checker, idp)
    assert idp.served[DISCOVERY] == 1
    idp.status = 200
    clock.now += RETRY_SECONDS
    opens(checker, idp)


def test_a_private_key_that_was_published_is_not_loaded(idp: issuer.Issuer, trusting: Trusting):
    whole = RSAAlgorithm.to_jwk(idp.private["r1"], as_dict=True)
    assert "d" in whole
    idp.jwks = [{**whole, "kid": "r1", "use": "sig", "key_ops": ["verify"]}]
    opens(Issuer(trusting()), idp)
