"""Notifications: after a commit and never without one, once for many, over whatever connection there is."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock

import psycopg
import pytest
from sqlalchemy import make_url, text

from core.db import commit_notify
from core.db.session import Database, notify_at_commit
from tests.support.faults import until
from tests.support.patience import PATIENCE_SECONDS

CHANNEL = "graphveil_test"
SECONDS = PATIENCE_SECONDS


@pytest.fixture
def listener(database_url: str) -> Iterator[psycopg.Connection]:
    """A connection that listens."""
    address = make_url(database_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"LISTEN {CHANNEL}")
        yield connection


def heard(listener: psycopg.Connection, seconds: float, *, at_most: int | None = None) -> list[str]:
    """The channels of what was heard within that time; earlier, once there are ``at_most``."""
    return [each.channel for each in listener.notifies(timeout=seconds, stop_after=at_most)]


def commit(database: Database) -> None:
    with database.transaction() as session:
        notify_at_commit(session, CHANNEL)


def notifying(database: Database) -> list[int]:
    """The server's processes that notified last."""
    with database.transaction() as session:
        found = session.execute(
            text(
                "SELECT pid FROM pg_stat_activity "
                "WHERE datname = current_database() AND query LIKE '%pg_notify%' AND pid <> pg_backend_pid()"
            )
        )
        return list(found.scalars())


def test_nothing_is_heard_before_the_commit(database: Database, listener: psycopg.Connection):
    with database.transaction() as session:
        notify_at_commit(session, CHANNEL)
        session.execute(text("SELECT 1"))
        assert heard(listener, 0.2) == []
    assert heard(listener, SECONDS, at_most=1) == [CHANNEL]


def test_nothing_is_heard_after_a_rollback(database: Database, listener: psycopg.Connection):
    def half_done() -> None:
        with database.transaction() as session:
            notify_at_commit(session, CHANNEL)
            session.execute(text("SELECT 1"))
            raise ConnectionError("lost")

    with pytest.raises(ConnectionError):
        half_done()
    assert heard(listener, 0.2) == []


def test_nothing_is_heard_of_a_commit_that_the_database_refuses(
    database: Database, listener: psycopg.Connection
):
    def refused() -> None:
        with database.transaction() as session:
            notify_at_commit(session, CHANNEL)
            session.execute(text("CREATE TEMPORARY TABLE once (a int UNIQUE DEFERRABLE INITIALLY DEFERRED)"))
            session.execute(text("INSERT INTO once VALUES (1), (1)"))

    with pytest.raises(Exception, match="duplicate key"):
        refused()
    assert heard(listener, 0.2) == []


def test_many_commits_are_told_by_a_few_notifications(database: Database, listener: psycopg.Connection):
    gathered = threading.Event()
    with mock.patch.object(commit_notify.time, "sleep", side_effect=lambda _: gathered.wait(SECONDS)):
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(lambda _: commit(database), range(400)))
        gathered.set()  # the time in which commits gather is over
        database.dispose()  # the last is told
    told = heard(listener, SECONDS, at_most=1) + heard(listener, 0.5)
    assert 1 <= len(told) <= 3


def test_a_transaction_tells_once_however_often_it_asks(database: Database, listener: psycopg.Connection):
    with database.transaction() as session:
        for _ in range(10):
            notify_at_commit(session, CHANNEL)
    assert heard(listener, SECONDS, at_most=1) == [CHANNEL]
    assert heard(listener, 0.3) == []


def test_a_connection_that_the_server_ended_is_replaced(database: Database, listener: psycopg.Connection):
    commit(database)
    assert heard(listener, SECONDS, at_most=1) == [CHANNEL]
    first = notifying(database)
    assert len(first) == 1
    with database.transaction() as session:
        session.execute(text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": first[0]})
    commit(database)
    assert heard(listener, SECONDS, at_most=1) == [CHANNEL]
    assert notifying(database) not in ([], first)


def test_while_nobody_can_be_told_a_commit_stands_and_does_not_wait(
    database: Database, database_url: str, listener: psycopg.Connection
):
    nowhere = make_url(database_url).update_query_dict({"host": "/nonexistent"})
    deaf = Database(nowhere.render_as_string(hide_password=False))
    heard_of, told = threading.Event(), commit_notify._notify

    def late(*given: Any) -> None:
        assert heard_of.wait(SECONDS)  # until the commit stands: one that waited would stand still
        told(*given)

    with mock.patch.object(commit_notify, "_notify", late):
        unheard, database.notifier = database.notifier, deaf.notifier
        commit(database)
        heard_of.set()
        deaf.notifier.close()
    database.notifier = unheard
    commit(database)
    assert heard(listener, SECONDS, at_most=1) == [CHANNEL]


def test_a_commit_stands_where_no_thread_can_be_had(
    database: Database, listener: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
):
    """What is committed must not look as if it were not: the listener looks by himself."""

    def none_left(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as crowded:
        crowded.setattr(threading.Thread, "start", none_left)
        commit(database)
    assert heard(listener, 0.2) == []
    commit(database)
    assert heard(listener, SECONDS, at_most=1) == [CHANNEL]


def test_closing_sends_what_waits_and_a_closed_notifier_notifies_again(
    database: Database, listener: psycopg.Connection
):
    for _ in range(2):
        commit(database)
        database.dispose()
        # Its process on the server ends when it sees the socket closed: a moment later.
        until(lambda: not notifying(database), seconds=SECONDS, what="the notifier's end")
        assert heard(listener, SECONDS, at_most=1) == [CHANNEL]


def _notify_after_fork(database: Database) -> None:
    """In a child: its own notifier notifies, and the parent's connection is left alone."""
    database.notifier.notify(CHANNEL)
    database.notifier.close()


def test_a_forked_process_has_a_notifier_of_its_own(database: Database, listener: psycopg.Connection):
    commit(database)
    assert heard(listener, SECONDS, at_most=1) == [CHANNEL]
    parent = notifying(database)
    child = multiprocessing.get_context("fork").Process(target=_notify_after_fork, args=(database,))
    child.start()
    child.join(SECONDS)
    assert child.exitcode == 0
    assert heard(listener, SECONDS, at_most=1) == [CHANNEL]
    commit(database)
    assert heard(listener, SECONDS, at_most=1) == [CHANNEL]
    assert notifying(database) == parent
