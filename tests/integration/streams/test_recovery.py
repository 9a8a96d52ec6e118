"""What becomes of a stream's snapshots when workers are lost, and what the reaper does for them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import func, select, update

from core import clock
from core.errors import StreamClosed
from core.identity.service import Principal
from core.jobs.models import Stop
from core.outbox.models import OutboxMessage
from core.workflows.common.context import Services
from core.workflows.operations import recover
from core.workflows.releases.publish import begin_job, hand_back, record_opening
from core.workflows.streams import snapshots
from core.workflows.streams.lifecycle import close_stream
from tests.support.releases import stored_keys, violations
from tests.support.streams import (
    ledger_spent,
    open_stream,
    publish,
    rows,
    seen,
    send,
    stream_dataset,
    with_settings,
)


@pytest.fixture
def dataset_id(services: Services, principal: Principal) -> str:
    return stream_dataset(services, principal).id


@pytest.mark.parametrize("opened", [False, True], ids=["unread", "opened"])
@pytest.mark.parametrize("content", [rows(0), rows(1)], ids=["same", "other"])
def test_a_step_that_lost_its_workers_may_be_sent_again(
    services: Services, principal: Principal, dataset_id: str, content: bytes, opened: bool
) -> None:
    stream = open_stream(services, principal, dataset_id)
    first, _ = send(services, principal, stream, 0)
    send(services, principal, stream, 1)
    once = with_settings(services, max_attempts=1)
    work = begin_job(once, first.job_id, "tests")
    assert work is not None
    if opened:
        record_opening(once, work)
    hand_back(once, work, Stop.WORKER_LOST)
    lost = seen(services, principal, stream, 0)
    assert (lost.state, lost.reason, lost.epsilon) == ("failed", "worker_lost", "0")
    again, repeated = send(services, principal, stream, 0, content)
    assert (again.number, again.state, repeated) == (1, "queued", False)
    assert publish(services, again.job_id)
    assert seen(services, principal, stream, 0).state == "published"
    assert ledger_spent(services, first.job_id) == 0
    assert ledger_spent(services, again.job_id) == 10**9
    assert violations(services) == []


def test_a_lost_step_of_a_closed_stream_stays_lost(
    services: Services, principal: Principal, dataset_id: str
) -> None:
    stream = open_stream(services, principal, dataset_id)
    view, _ = send(services, principal, stream, 0)
    once = with_settings(services, max_attempts=1)
    work = begin_job(once, view.job_id, "tests")
    assert work is not None
    hand_back(once, work, Stop.WORKER_LOST)
    close_stream(services, principal, stream.id)
    with pytest.raises(StreamClosed):
        send(services, principal, stream, 0)


def test_waiting_ticks_do_not_expire(services: Services, principal: Principal, dataset_id: str) -> None:
    stream = open_stream(services, principal, dataset_id)
    hasty = with_settings(services, reservation_seconds=0.01)
    view, _ = send(hasty, principal, stream, 0)
    assert recover.expire_reservations(services) == 0
    assert seen(services, principal, stream, 0).job_id == view.job_id


def test_uploads_without_a_name_are_swept(
    services: Services, principal: Principal, dataset_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = open_stream(services, principal, dataset_id)
    send(services, principal, stream, 0)
    services.store.put(f"uploads/{stream.id}/stray", [b"left behind"])
    assert recover.recover_snapshots(services) == 0  # it may still be given its name
    later = clock.now() + timedelta(seconds=3 * services.settings.lease_seconds)
    monkeypatch.setattr(snapshots.clock, "now", lambda: later)
    assert recover.recover_snapshots(services) == 1
    assert len(stored_keys(services, "uploads")) == 1
    assert f"uploads/{stream.id}/stray" not in stored_keys(services, "uploads")


def test_uploads_that_wait_do_not_hide_one_without_a_name(
    services: Services, principal: Principal, dataset_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = open_stream(services, principal, dataset_id)
    for step in range(3):
        send(services, principal, stream, step)
    services.store.put(f"uploads/{stream.id}/zzz-stray", [b"left behind"])  # listed after all that wait
    later = clock.now() + timedelta(seconds=3 * services.settings.lease_seconds)
    monkeypatch.setattr(snapshots.clock, "now", lambda: later)
    assert recover.recover_snapshots(with_settings(services, sweep_limit=1)) == 1
    assert len(stored_keys(services, "uploads")) == 3


def test_ticks_that_wait_for_another_do_not_hide_a_job_that_is_to_be_rung_again(
    services: Services, principal: Principal, dataset_id: str
) -> None:
    streams = [open_stream(services, principal, dataset_id, f"s{n}", epsilon="1.5") for n in range(2)]
    ticks = [send(services, principal, stream, step)[0] for stream in streams for step in range(3)]
    with services.db.transaction() as session:
        session.execute(update(OutboxMessage).values(sent_at=func.now()))
    short = with_settings(services, ring_again_seconds=0.0001, sweep_limit=2)
    assert recover.ring_again(short) == 2
    with services.db.transaction() as session:
        query = select(OutboxMessage.subject_id).where(OutboxMessage.sent_at.is_(None))
        assert set(session.scalars(query)) == {ticks[0].job_id, ticks[3].job_id}
