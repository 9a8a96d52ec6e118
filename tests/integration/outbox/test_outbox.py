"""The outbox: a message leaves if and only if its transaction committed."""

from __future__ import annotations

import psycopg
import pytest
from sqlalchemy import make_url, text

from core.db.session import Database
from core.errors import InvalidInput
from core.outbox import service
from core.outbox.models import Topic
from tests.support.ledger import call
from tests.support.patience import PATIENCE_SECONDS


def unsent(database: Database) -> list[tuple[str, str]]:
    with database.transaction() as session:
        return [(message.topic, message.subject_id) for message in service.take_unsent(session, 100)]


def test_messages_leave_in_order_and_once(database: Database) -> None:
    call(database, service.ring, Topic.RUN, "job_1")
    call(database, service.ring, Topic.INGEST, "dv_1")
    with database.transaction() as session:
        taken = service.take_unsent(session, 1)
        assert [(message.topic, message.subject_id) for message in taken] == [("run", "job_1")]
        service.mark_sent(session, [message.id for message in taken])
    assert unsent(database) == [("ingest", "dv_1")]
    assert unsent(database) == [("ingest", "dv_1")]  # taking without marking is no sending


def test_what_another_sender_holds_is_left_out(database: Database) -> None:
    for number in range(4):
        call(database, service.ring, Topic.RUN, f"job_{number}")
    with database.transaction() as one, database.transaction() as other:
        first = {message.subject_id for message in service.take_unsent(one, 2)}
        second = {message.subject_id for message in service.take_unsent(other, 10)}
    assert first == {"job_0", "job_1"}
    assert second == {"job_2", "job_3"}


def test_a_message_waits_for_its_time(database: Database) -> None:
    call(database, service.ring, Topic.RUN, "job_later", 3600)
    assert unsent(database) == []
    with database.transaction() as session:
        session.execute(text("UPDATE outbox SET not_before = now()"))
    assert unsent(database) == [("run", "job_later")]


def test_what_is_rolled_back_was_never_said(database: Database) -> None:
    def half_done() -> None:
        with database.transaction() as session:
            service.ring(session, Topic.RUN, "job_1")
            raise ConnectionError("lost")

    with pytest.raises(ConnectionError):
        half_done()
    assert unsent(database) == []


def test_listeners_hear_of_it_after_the_commit(database: Database, database_url: str) -> None:
    address = make_url(database_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(address, autocommit=True) as listener:
        listener.execute(f"LISTEN {service.CHANNEL}")
        with database.transaction() as session:
            service.ring(session, Topic.EVALUATE, "job_1")
            assert list(listener.notifies(timeout=0.1)) == []
        heard = list(listener.notifies(timeout=PATIENCE_SECONDS, stop_after=1))
    assert [(each.channel, each.payload) for each in heard] == [("graphveil_outbox", "")]


def test_old_messages_are_purged_once_sent(database: Database) -> None:
    call(database, service.ring, Topic.RUN, "job_sent")
    call(database, service.ring, Topic.RUN, "job_waiting")
    with database.transaction() as session:
        taken = service.take_unsent(session, 1)
        service.mark_sent(session, [message.id for message in taken])
        session.execute(
            text("UPDATE outbox SET sent_at = now() - interval '2 hours' WHERE sent_at IS NOT NULL")
        )
    assert call(database, service.purge_sent, 3 * 3600) == 0
    assert call(database, service.purge_sent, 3600) == 1
    assert unsent(database) == [("run", "job_waiting")]


def test_nonsense_is_refused(database: Database) -> None:
    with pytest.raises(InvalidInput):
        call(database, service.ring, "stream", "job_1")
    with pytest.raises(InvalidInput):
        call(database, service.ring, Topic.RUN, "job_1", -1)
