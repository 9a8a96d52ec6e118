"""One flipped byte in any column of any ledger row is found, whatever the database's own guards would say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import JSON, Boolean, DateTime, LargeBinary, Numeric, inspect, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Session

from core.db.base import Base
from core.db.session import Database
from core.errors import NotFound
from core.ledger import service
from core.ledger.invariants import INVARIANTS
from core.ledger.models import BudgetAccount
from tests.support.ledger import adjust, call, charge, give_back, grant, open_account, open_quota, reserve
from tests.support.postgres import PostgresCluster

TABLES = ("budget_accounts", "budget_balances", "budget_holds", "ledger_entries")


@pytest.fixture(scope="module")
def bare(postgres_cluster: PostgresCluster) -> Iterator[Database]:
    """A ledger with a row of every kind, whose tables have lost their guards: no check and no trigger stands.

    A disk that flips a bit asks no constraint.
    """
    name = postgres_cluster.create()
    database = Database(postgres_cluster.address(name))
    _fill(database)
    with database.transaction() as session:
        for table in TABLES:
            session.execute(text(f"ALTER TABLE {table} DISABLE TRIGGER ALL"))
        rows = session.execute(
            text(
                "SELECT conrelid::regclass::text, conname FROM pg_constraint "
                "WHERE conrelid::regclass::text = ANY(:tables) AND contype IN ('c', 'f', 'u')"
            ),
            {"tables": list(TABLES)},
        ).all()
        for table, constraint in rows:
            session.execute(text(f'ALTER TABLE {table} DROP CONSTRAINT "{constraint}"'))
    yield database
    database.dispose()
    postgres_cluster.drop(name)


def _fill(database: Database) -> None:
    account = open_account(database, nano_epsilon=100, delta_atto=10)
    open_quota(database, account, "team", "a", 50, 5)
    charge(database, reserve(database, account, {"epsilon": 3, "delta": 1}, team="a"))
    give_back(database, reserve(database, account, {"epsilon": 2}, expires_in_seconds=None))
    reserve(database, account, {"epsilon": 7}, team="a")
    adjust(database, account, {"epsilon": 1})
    grant(database, account, 20, 1)
    call(
        database,
        service.expose,
        account.id,
        job_id="job_2",
        digests={"a": "ab" * 32},
        actor="worker",
        reason="none",
    )
    stream = open_account(database, domain="stream", unit="w-event", window=2, nano_epsilon=100)
    # Steps whose last digits do not become one another: two rows of one name are no single flipped byte.
    charge(database, reserve(database, stream, {"step/5": 30, "step/6": 20}))
    give_back(database, reserve(database, stream, {"step/9": 1}), block_after=1)
    open_account(database, domain="curve", filter="renyi", delta_atto=10**12, orders=[2, 32])


def flipped(column: Any) -> str:
    """SQL for the column's value with one byte, digit or bit of it changed; NULL where that says nothing."""
    name = f'"{column.name}"'
    match column.type:
        case LargeBinary():
            return f"set_byte({name}, length({name}) - 1, get_byte({name}, length({name}) - 1) # 1)"
        case DateTime():
            return f"{name} + interval '1 microsecond'"
        case Boolean():
            return f"NOT {name}"
        case JSONB() | JSON():
            # One character within the document's text: a digit where it has one, else a letter of a name.
            later = f"regexp_replace({name}::text, '[0-8](?=[^0-9]*$)', '9')"
            other = f"regexp_replace({name}::text, '[a-y](?=[^a-z]*$)', 'z')"
            kind = "jsonb" if isinstance(column.type, JSONB) else "json"
            first = f"CASE WHEN {name}::text ~ '[0-8]' THEN {later} ELSE {other} END"
            return f"CASE WHEN {name}::text ~ '[0-9]' THEN ({first})::{kind} END"
        case Numeric():
            return f"{name} + 1"
        case _ if column.type.python_type is int:
            return f"{name} # 1"
    return (
        f"CASE WHEN {name} = '' THEN NULL ELSE overlay({name} placing "
        f"chr(ascii(right({name}, 1)) # 1) from length({name})) END"
    )


EVERY = 4
"""In ``make test``, one column of so many of each table; every column with the audits."""

COLUMNS = [
    pytest.param(
        table,
        column,
        id=f"{table}.{column.name}",
        marks=[pytest.mark.audits] if number % EVERY else [],
    )
    for table in TABLES
    for number, column in enumerate(Base.metadata.tables[table].columns)
]


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_one_flipped_byte_is_found(bare: Database, table: str, column: Any) -> None:
    with bare.engine.connect() as connection:
        rows = connection.execute(text(f"SELECT ctid::text FROM {table}")).scalars().all()
        changed = 0
        for row in rows:
            connection.rollback()
            changed += _flip_and_look(Session(connection), table, column, row)
        connection.rollback()
    assert changed, "no row of the fixture has a value in this column"


def _flip_and_look(session: Session, table: str, column: Any, row: str) -> bool:
    """True when the row had a value to flip; the flip must then be found by verify, and by the verifier."""
    value = flipped(column)
    before = {account.id for account in session.query(BudgetAccount)}
    statement = text(
        f'UPDATE {table} SET "{column.name}" = {value} WHERE ctid = CAST(:row AS tid) '
        f'AND ({value})::text IS DISTINCT FROM "{column.name}"::text AND ({value}) IS NOT NULL'
    )
    if session.execute(statement, {"row": row}).rowcount == 0:  # type: ignore[attr-defined]
        return False
    session.expire_all()
    assert any(invariant.check(session) for invariant in INVARIANTS), (table, column.name, row)
    assert any(_verified(session, account_id) is False for account_id in before), (table, column.name, row)
    return True


def _verified(session: Session, account_id: str) -> bool:
    try:
        return service.verify(session, account_id).intact
    except NotFound:
        return False


def test_the_columns_are_all_of_them(bare: Database) -> None:
    found = inspect(bare.engine)
    for table in TABLES:
        named = {column.name for name, column in (p.values for p in COLUMNS) if name == table}
        assert {column["name"] for column in found.get_columns(table)} == named


def test_the_untouched_ledger_is_sound(bare: Database) -> None:
    for invariant in INVARIANTS:
        assert call(bare, invariant.check) == []
