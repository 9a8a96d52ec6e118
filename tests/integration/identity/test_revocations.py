"""A key that was revoked anywhere opens nothing in other processes from then on."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from unittest import mock

import psycopg
import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from api.serve.revocations import Revocations
from core.identity import service
from core.identity.models import Role
from core.settings import Settings
from core.workflows.common.context import Services
from core.workflows.identity.authenticate import Authenticator
from tests.support.logged import events
from tests.support.patience import PATIENCE_SECONDS

LISTENERS = text(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"
)
CUT = text(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND query LIKE 'LISTEN%'"
)


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def listeners(services: Services) -> int:
    with services.db.transaction() as session:
        return session.scalar(LISTENERS) or 0


@pytest.fixture
def elsewhere(services: Services, database_url: str) -> Iterator[Authenticator]:
    """What another process remembers of callers, a minute long, and hears of revocations."""
    authenticator, begun = Authenticator(Settings(key_cache_seconds=60)), threading.Event()

    def forget() -> None:
        authenticator.forget()
        begun.set()

    heard = Revocations(database_url, forget)
    heard.start()
    assert begun.wait(PATIENCE_SECONDS)  # the first connection forgets all
    until(lambda: listeners(services) == 1)
    yield authenticator
    heard.stop()
    until(lambda: listeners(services) == 0)


def created(services: Services, authenticator: Authenticator) -> tuple[str, str]:
    """A key that is remembered there."""
    with services.db.transaction() as session:
        key, token = service.create_key(session, tenant="acme", name="k", roles=[Role.CURATOR])
        key_id = key.id

    authenticator.principal(services, token)
    assert authenticator.remembered(token) is not None
    return key_id, token


def revoke(services: Services, key_id: str) -> None:
    with services.db.transaction() as session:
        service.revoke_key(session, "acme", key_id)


def test_a_revocation_is_heard(services: Services, elsewhere: Authenticator) -> None:
    key_id, token = created(services, elsewhere)
    _, other = created(services, elsewhere)
    revoke(services, key_id)
    until(lambda: elsewhere.remembered(token) is None)
    assert elsewhere.principal(services, other).tenant == "acme"


def test_a_revocation_while_nobody_hears_is_found_when_the_connection_is_back(
    services: Services, elsewhere: Authenticator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.db.session.CommitNotifier.notify", lambda self, channel: None)
    key_id, token = created(services, elsewhere)
    revoke(services, key_id)
    time.sleep(0.2)
    assert elsewhere.remembered(token) is not None
    with services.db.transaction() as session:
        session.execute(CUT)
    until(lambda: elsewhere.remembered(token) is None)
    until(lambda: listeners(services) == 1)


def test_who_cannot_connect_keeps_nobody_waiting_and_ends_without_a_word() -> None:
    """A database that takes the call and says nothing; its end is no news to one that was stopped."""
    with capture_logs() as logs:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = f"postgresql://nobody:none@127.0.0.1:{silent.getsockname()[1]}/none"
            heard = Revocations(address, lambda: None)
            heard.start()
            call, _ = silent.accept()
            began = time.monotonic()
            with mock.patch("api.serve.revocations.CLOSE_SECONDS", 0.1):
                heard.stop()
            assert time.monotonic() - began < PATIENCE_SECONDS
            assert heard.thread.is_alive()
            call.close()
        until(lambda: not heard.thread.is_alive())
    assert not events(logs, "api.serve.revocations")


def test_a_database_that_is_away_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def away(*asked: str) -> None:
        tried.append(asked[1])
        raise psycopg.OperationalError

    monkeypatch.setattr("api.serve.revocations.PAUSE_SECONDS", 0.01)
    monkeypatch.setattr("api.serve.revocations.listening", away)
    with capture_logs() as logs:
        heard = Revocations("postgresql://nobody/none", lambda: None)
        heard.start()
        until(lambda: len(tried) > 3)
        heard.stop()
    assert events(logs, "api.serve.revocations") == ["revocations_not_heard"]
