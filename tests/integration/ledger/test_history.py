"""The statement of an earlier moment: what the account held then, whatever has happened since."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from unittest import mock

import pytest
from sqlalchemy import text

from core.db.session import Database
from core.errors import InvalidInput, NotFound
from core.ids import new_id
from core.ledger import history, holdings, service
from graphveil.models.ledger import Budget
from tests.support.ledger import call, charge, give_back, grant, open_account, reserve
from tests.support.patience import PATIENCE_SECONDS


def now(database: Database) -> datetime:
    with database.transaction() as session:
        return session.execute(text("SELECT clock_timestamp()")).scalar_one()


def test_every_moment_is_told_as_it_was(module_database: Database) -> None:
    stream = open_account(module_database, domain=new_id("d"), unit="w-event", window=3, nano_epsilon=20)
    told: list[tuple[datetime, Budget, int]] = []

    def look() -> None:
        moment, found = now(module_database), call(module_database, service.statement, stream.id)
        account, _ = call(module_database, holdings.snapshot, stream.id)
        told.append((moment, found, account.consecutive_give_backs))

    look()
    for step in range(8):
        reservation = reserve(module_database, stream, {f"step/{step}": 5, f"step/{step + 1}": 1})
        look()
        if step % 3 == 1:
            give_back(module_database, reservation, block_after=9)
        else:
            charge(module_database, reservation)
        look()
    grant(module_database, stream, 7)
    note = {"job_id": "job_1", "digests": {}, "actor": "worker", "reason": "unprotected"}
    call(module_database, service.expose, stream.id, **note)
    look()
    with mock.patch.object(holdings, "STEPS_SHOWN", 4):
        present = call(module_database, service.statement, stream.id, steps=(1, 7))
        again = call(
            module_database, service.statement_at, stream.id, steps=(1, 7), as_of=now(module_database)
        )
        assert again.model_copy(update={"as_of": None}) == present
        assert again.steps is not None
        assert (again.steps.steps, again.steps.complete) == ((1, 2, 3, 4), False)
    for moment, then, give_backs in told:
        again = call(module_database, service.statement_at, stream.id, as_of=moment)
        assert again.as_of == moment
        assert again.model_copy(update={"as_of": None}) == then
        account, _ = call(module_database, history.snapshot, stream.id, moment)
        assert account.consecutive_give_backs == give_backs
    assert told[0][1].capacity.nano_epsilon == 20
    assert told[-1][1].exposed
    assert not told[0][1].exposed


def test_a_moment_that_is_none_is_refused(module_database: Database) -> None:
    before = now(module_database)
    account = open_account(module_database, domain=new_id("d"))
    for moment in (before, datetime.now(UTC) + timedelta(hours=1), datetime.now()):
        with pytest.raises(InvalidInput) as refused:
            call(module_database, service.statement_at, account.id, as_of=moment)
        assert refused.value.members["field"] == "as_of"
    with pytest.raises(NotFound):
        call(module_database, service.statement_at, "acc_none", as_of=before)


def test_a_past_moment_waits_for_what_is_being_written(module_database: Database) -> None:
    account = open_account(module_database, domain=new_id("d"))
    with ThreadPoolExecutor(1) as pool:
        with module_database.transaction() as session:
            terms = {"unit": "edge", "window": None, "job_id": "job_1", "actor": "requester"}
            service.reserve(session, account.id, amounts={"epsilon": 5}, expires_in_seconds=None, **terms)
            moment = now(module_database)
            asked = pool.submit(call, module_database, service.statement_at, account.id, as_of=moment)
            with pytest.raises(TimeoutError):
                asked.result(timeout=0.5)
        assert asked.result(timeout=PATIENCE_SECONDS).reserved.nano_epsilon == 5
