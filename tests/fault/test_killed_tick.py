"""Processes of a live stream are killed between and in its ticks: nothing is lost, nothing is paid twice."""

from __future__ import annotations

import os
import signal
from datetime import timedelta

import pytest

from core import clock
from core.errors import SnapshotConflict
from core.identity.service import Principal
from core.ledger import service as ledger
from core.outbox.models import Topic
from core.streams.models import Stream as StreamRow
from core.workflows.common.context import Services
from core.workflows.operations import recover
from core.workflows.streams import snapshots
from graphveil.models.streams import Stream
from tests.support import victims
from tests.support.children import child_of
from tests.support.faults import Kill, Processes, assert_sound, endings, killed_at, lapse
from tests.support.patience import PATIENCE_SECONDS
from tests.support.releases import job_row, stored_keys, violations
from tests.support.streams import open_stream, publish, rows, seen, send, stream_dataset
from worker.reaper import reap_once

KEPT = ["reserve", "charge"]
ANEW = ["reserve", "release", "reserve", "charge"]

# where the worker dies, the tick's ledger entries in the end, and whether a second attempt was needed
POINTS = [
    ("after_claim", KEPT, True),
    ("before_snapshot_kept", KEPT, True),
    ("after_snapshot_kept", KEPT, True),
    ("after_open", ANEW, True),
    ("after_staging", ANEW, True),
    ("before_charge_commit", ANEW, True),
    ("after_charge", KEPT, False),
    ("before_published", KEPT, False),
]
ALWAYS = {"after_snapshot_kept", "before_charge_commit", "after_charge"}


@pytest.fixture(scope="module")
def stream(fault_services: Services, caller: Principal) -> Stream:
    """A stream whose every window is full once its steps are published."""
    dataset = stream_dataset(fault_services, caller, epsilon="3")
    return open_stream(fault_services, caller, dataset.id)


def next_step(services: Services, stream: Stream) -> int:
    with services.db.transaction() as session:
        return session.get_one(StreamRow, stream.id).next_step


def fullest(services: Services, stream: Stream) -> int:
    """Charged and reserved in the account's fullest window."""
    with services.db.transaction() as session:
        statement = ledger.statement(session, stream.account_id)
    return statement.charged.nano_epsilon + statement.reserved.nano_epsilon


def sweep(services: Services, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many uploads without a name the reaper would delete some minutes from now; they are gone."""
    later = clock.now() + timedelta(seconds=3 * services.settings.lease_seconds)
    with monkeypatch.context() as patch:
        patch.setattr(snapshots.clock, "now", lambda: later)
        return recover.recover_snapshots(services)


@killed_at("point, entries, again", POINTS, ALWAYS, {"after_snapshot_kept"})
def test_a_worker_killed_in_a_tick_leaves_a_stream_that_goes_on(
    point: str,
    entries: list[str],
    again: bool,
    stream: Stream,
    killed: Kill,
    fault_services: Services,
    caller: Principal,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    step = next_step(fault_services, stream)
    view, _ = send(fault_services, caller, stream, step)
    following, _ = send(fault_services, caller, stream, step + 1)
    killed(Topic.RUN, view.job_id, point)
    assert_sound(fault_services, view.job_id)
    assert fullest(fault_services, stream) <= 3 * 10**9
    if job_row(fault_services, view.job_id).state != "published":
        assert not publish(fault_services, following.job_id)  # it waits, whatever became of the one before

    lapse(fault_services)
    reap_once(fault_services)
    assert job_row(fault_services, view.job_id).state == ("queued" if again else "published")
    if again:
        assert publish(fault_services, view.job_id)
    assert publish(fault_services, following.job_id)
    for each in (step, step + 1):
        found = seen(fault_services, caller, stream, each)
        assert (found.state, found.epsilon) == ("published", "1")
        assert_sound(fault_services, found.job_id)
    assert endings(fault_services, view.job_id) == entries
    # what the dead worker could not delete any more has no name, and is swept
    assert sweep(fault_services, monkeypatch) == (1 if point == "after_snapshot_kept" else 0)
    assert stored_keys(fault_services, "uploads") == []
    assert fullest(fault_services, stream) <= 3 * 10**9
    assert violations(fault_services) == []


def test_a_killed_child_costs_its_tick_and_the_stream_goes_on(
    stream: Stream, processes: Processes, fault_services: Services, caller: Principal
) -> None:
    step = next_step(fault_services, stream)
    view, _ = send(fault_services, caller, stream, step)
    worker = processes.stopped("worker.run_one", "run", view.job_id, failpoints="after_open:stop")
    os.kill(child_of(worker.pid), signal.SIGKILL)
    worker.send_signal(signal.SIGCONT)
    assert worker.wait(timeout=PATIENCE_SECONDS) == 0, processes.output()
    failed = seen(fault_services, caller, stream, step)
    assert (failed.state, failed.reason, failed.epsilon) == ("failed", "generator_failed", "1")
    assert endings(fault_services, view.job_id) == ["reserve", "forfeit"]
    with pytest.raises(SnapshotConflict):
        send(fault_services, caller, stream, step, rows(step + 1))
    following, _ = send(fault_services, caller, stream, step + 1)
    assert publish(fault_services, following.job_id)
    assert fullest(fault_services, stream) <= 3 * 10**9


@pytest.mark.parametrize("point", ["after_snapshot_stored", "before_snapshot_commit"])
def test_a_sender_killed_before_its_answer_has_sent_nothing(
    point: str,
    stream: Stream,
    fault_services: Services,
    caller: Principal,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    step = next_step(fault_services, stream)
    before = fullest(fault_services, stream)
    assert victims.killed(victims.start(victims.sending, fault_services.settings, stream, step, points=point))
    assert (next_step(fault_services, stream), fullest(fault_services, stream)) == (step, before)
    assert len(stored_keys(fault_services, "uploads")) == 1
    assert sweep(fault_services, monkeypatch) == 1
    view, repeated = send(fault_services, caller, stream, step)
    assert not repeated
    assert publish(fault_services, view.job_id)
    assert violations(fault_services) == []
