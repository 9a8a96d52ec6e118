"""How often a small job and its comparison go to the database: each transaction waits for the disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import event, select

from core.identity.service import Principal
from core.jobs.events import Step
from core.jobs.models import Evaluation, JobEvent
from core.outbox.models import Topic
from core.settings import Settings
from core.workflows.common.context import Services
from tests.support import inline
from tests.support.patience import PATIENCE_SECONDS
from tests.support.releases import job_row, queued_job, ready_dataset
from worker.process import WorkerProcess, open_process
from worker.work import take_turn


@contextmanager
def counted(services: Services) -> Iterator[list[list[str]]]:
    """The statements of each transaction that commits meanwhile."""
    done: list[list[str]] = []
    open_: list[str] = []

    def note(connection: object, cursor: object, statement: str, *_: object) -> None:
        open_.append(" ".join(statement.split()))

    def commit(connection: object) -> None:
        done.append(open_.copy())
        open_.clear()

    event.listen(services.db.engine, "before_cursor_execute", note)
    event.listen(services.db.engine, "commit", commit)
    try:
        yield done
    finally:
        event.remove(services.db.engine, "before_cursor_execute", note)
        event.remove(services.db.engine, "commit", commit)


@pytest.fixture
def process(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerProcess]:
    """A worker whose children end within a second: all of their steps are the last."""

    def keep(self: inline._Channel, stage: str, done: int, total: int) -> None:
        assert self._orders.last is not None
        self._orders.last([Step(stage, done, total)])

    monkeypatch.setattr(inline._Channel, "progress", keep)
    # A heartbeat is a transaction too: however slow the machine, none is due meanwhile.
    opened = open_process(settings.model_copy(update={"heartbeat_seconds": 2 * PATIENCE_SECONDS}))
    with inline.children_inline():
        yield opened
    opened.services.close()


def told(done: list[list[str]]) -> str:
    return "\n".join(f"{number}: {each[:90]}" for number, of in enumerate(done) for each in of)


def test_a_small_job_and_its_comparison_take_few_transactions(
    services: Services, principal: Principal, process: WorkerProcess
) -> None:
    dataset = ready_dataset(services, principal)
    job = queued_job(services, principal, dataset.id, method="edgerand")
    with counted(process.services) as done:
        assert take_turn(process, Topic.RUN, lambda: False)
    assert job_row(services, job.id).state == "published"
    # The claim, the opening, two reads, what was read, the charge, the publication.
    assert len(done) <= 7, told(done)
    assert sum(len(each) for each in done) <= 43, told(done)
    with counted(process.services) as done:
        assert take_turn(process, Topic.EVALUATE, lambda: False)
    # The claim, and the end.
    assert len(done) <= 2, told(done)
    assert sum(len(each) for each in done) <= 16, told(done)
    with services.db.transaction() as session:
        compared = session.get_one(Evaluation, job.id)
        stages = set(session.scalars(select(JobEvent.stage).where(JobEvent.job_id == job.id)))
    assert (compared.state, compared.done) == ("done", compared.total)
    assert {"load", "fit", "sample"} <= stages
