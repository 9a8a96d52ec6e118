"""The pool: as many connections as it may have, kept open, and none of them dead when it is used."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from unittest import mock

import pytest
from sqlalchemy import text

from core.db import session as pools
from core.db.session import Database
from tests.support.patience import PATIENCE_SECONDS

SIZE = 4


@pytest.fixture
def pool(database_url: str) -> Iterator[Database]:
    opened = Database(database_url, pool_size=SIZE)
    yield opened
    opened.dispose()


def backend(database: Database, meeting: Barrier | None = None) -> int:
    """The server's process behind a transaction, which lasts until it has met the others."""
    with database.transaction() as session:
        pid = session.execute(text("SELECT pg_backend_pid()")).scalar_one()
        if meeting is not None:
            meeting.wait(PATIENCE_SECONDS)
        return pid


def at_once(database: Database, count: int) -> set[int]:
    """The processes behind that many transactions, of which ``SIZE`` at a time are under way together."""
    meeting = Barrier(SIZE)
    with ThreadPoolExecutor(count) as threads:
        return set(threads.map(lambda _: backend(database, meeting), range(count)))


def test_a_burst_waits_for_the_connections_there_are_and_closes_none(pool: Database):
    first = at_once(pool, SIZE)
    assert len(first) == SIZE
    assert at_once(pool, 5 * SIZE) == first


@pytest.mark.parametrize("rested_seconds", [60.0, 0.0], ids=["just used", "rested"])
def test_connections_that_the_server_ended_are_not_used(
    pool: Database, database: Database, rested_seconds: float
):
    with mock.patch.object(pools, "RESTED_SECONDS", rested_seconds):
        ended = at_once(pool, SIZE)
        with database.transaction() as session:
            for pid in ended:
                assert session.execute(text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": pid}).scalar()
        following = at_once(pool, SIZE)
    assert len(following) == SIZE
    assert not following & ended


def test_only_a_rested_connection_is_asked(pool: Database):
    backend(pool)
    with mock.patch.object(pool.engine.dialect, "do_ping", wraps=pool.engine.dialect.do_ping) as asked:
        with mock.patch.object(pools, "RESTED_SECONDS", PATIENCE_SECONDS):
            backend(pool)
        assert asked.call_count == 0
        with mock.patch.object(pools, "RESTED_SECONDS", 0.0):
            backend(pool)
        assert asked.call_count == 1


def test_a_word_of_the_server_does_not_cost_the_connection(pool: Database):
    """A notice, or a reload of the configuration, reaches a connection unasked; it is asked, and stays."""
    pid = backend(pool)
    with (
        mock.patch.object(pools, "_heard", return_value=True),
        mock.patch.object(pool.engine.dialect, "do_ping", wraps=pool.engine.dialect.do_ping) as asked,
    ):
        assert backend(pool) == pid
    assert asked.call_count == 1


def test_results_name_their_columns_and_changes_have_none(pool: Database):
    with pool.transaction() as session:
        rows = session.execute(text("SELECT 1 AS one, 'zwei' AS \"größe\"")).mappings().all()
        assert [dict(row) for row in rows] == [{"one": 1, "größe": "zwei"}]
        cursor = session.connection().connection.cursor()
        assert cursor.description is None
        cursor.execute("SELECT 1::int8 AS one, now() AS two")
        assert [(column[0], column[1], len(column)) for column in cursor.description] == [
            ("one", 20, 7),
            ("two", 1184, 7),
        ]
        cursor.execute("CREATE TEMPORARY TABLE brief (a int)")
        assert cursor.description is None
