"""deploy/postgres/roles.sql, applied to a real server: what each role can do, and what it cannot."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import TextClause, make_url, text
from sqlalchemy.exc import DBAPIError, ProgrammingError

from core.db.session import Database
from core.ledger import service
from deploy.grafana.budget import ENTRIES, GRANTS
from tests.support import ledger
from tests.support.postgres import PostgresCluster

ROLES = Path(__file__).resolve().parents[3] / "deploy" / "postgres" / "roles.sql"


def apply(url: str) -> None:
    """The file as psql would send it."""
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain) as connection:
        connection.execute(ROLES.read_bytes())


def statements() -> Iterator[str]:
    """What psql sends one after another, each on its own."""
    statement, quoted = "", False
    for line in ROLES.read_text().splitlines():
        if line.startswith("--"):
            continue
        statement += line + "\n"
        quoted ^= line.count("$$") % 2 == 1
        if line.endswith(";") and not quoted:
            yield statement
            statement = ""
    assert not statement.strip()


def as_role(url: str, role: str) -> Database:
    return Database(make_url(url).set(username=role).render_as_string(hide_password=False))


@pytest.fixture(scope="module")
def url(postgres_cluster: PostgresCluster) -> Iterator[str]:
    name = postgres_cluster.create()
    address = postgres_cluster.address(name)
    apply(address)
    apply(address)  # it may be repeated
    yield address
    postgres_cluster.drop(name)


@pytest.fixture(scope="module")
def app(url: str) -> Iterator[Database]:
    database = as_role(url, "graphveil_app")
    yield database
    database.dispose()


@pytest.fixture(scope="module")
def verifier(url: str) -> Iterator[Database]:
    database = as_role(url, "graphveil_verifier")
    yield database
    database.dispose()


def test_repeating_it_refuses_nothing_to_what_runs_meanwhile(url: str, app: Database):
    """A release that is charged at that moment must not find its rights gone."""
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    asked = text("SELECT has_table_privilege('ledger_entries', 'INSERT')")
    with psycopg.connect(plain, autocommit=True) as connection:
        for statement in statements():
            connection.execute(statement.encode())
            with app.transaction() as session:
                assert session.execute(asked).scalar_one(), statement


def test_a_database_that_knows_the_verifier_by_its_old_name_keeps_the_role(url: str):
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    asked = "SELECT rolname, oid FROM pg_roles WHERE rolname IN ('graphveil_auditor', 'graphveil_verifier')"
    with psycopg.connect(plain) as connection:
        before = connection.execute(asked.encode()).fetchall()
        connection.execute(b"ALTER ROLE graphveil_verifier RENAME TO graphveil_auditor")
        naming = next(each for each in statements() if "RENAME TO" in each)
        connection.execute(naming.encode())
        assert connection.execute(asked.encode()).fetchall() == before
        connection.rollback()


def test_repeating_it_does_not_wait_for_those_who_read(url: str, app: Database):
    """A dump reads every table for hours; behind a table's lock everything else would wait as long."""
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with app.transaction() as session, psycopg.connect(plain) as connection:
        session.execute(text("SELECT count(*) FROM jobs"))
        connection.execute("SET lock_timeout = '1s'")
        connection.execute(ROLES.read_bytes())


def refused(database: Database, statement: str) -> None:
    with (
        pytest.raises(ProgrammingError, match=r"permission denied|must be owner"),
        database.transaction() as s,
    ):
        s.execute(text(statement))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ledger_entries SET reason = 'other'",
        "DELETE FROM ledger_entries",
        "TRUNCATE ledger_entries",
        "ALTER TABLE ledger_entries DISABLE TRIGGER ALL",
        "DROP TRIGGER ledger_entries_append_only ON ledger_entries",
        "DROP FUNCTION refuse_change() CASCADE",
        "DELETE FROM metered_reads",
        "DROP TABLE ledger_entries",
        "CREATE TABLE mine (id integer)",
        "UPDATE budget_balances SET capacity = capacity * 2",
        "UPDATE budget_balances SET binding = false",
        "DELETE FROM budget_accounts",
        "SET session_replication_role = replica",
    ],
)
def test_the_app_cannot_bend_the_ledger(app: Database, statement: str) -> None:
    refused(app, statement)


def test_the_app_can_do_all_of_its_ledger_work(app: Database) -> None:
    account = ledger.open_account(app)
    kept = ledger.reserve(app, account, {"epsilon": 10})
    ledger.call(app, service.keep, kept)
    ledger.charge(app, kept)
    ledger.give_back(app, ledger.reserve(app, account, {"epsilon": 10}))
    stream = ledger.open_account(app, domain="stream", unit="w-event", window=2)
    ledger.charge(app, ledger.reserve(app, stream, {"untimed": 1, "step/4": 2}))
    for each in (account, stream):
        assert ledger.call(app, service.verify, each.id).intact


@pytest.mark.parametrize(
    "table", ["dataset_keys", "datasets", "dataset_parts", "dataset_versions", "api_keys"]
)
def test_the_verifier_reads_no_content_and_no_keys(verifier: Database, table: str) -> None:
    refused(verifier, f"SELECT count(*) FROM {table}")


def test_the_verifier_verifies_a_ledger_and_writes_nothing(app: Database, verifier: Database) -> None:
    account = ledger.open_account(app, domain="audited")
    ledger.charge(app, ledger.reserve(app, account, {"epsilon": 10}))
    report = ledger.call(verifier, service.verify, account.id)
    assert report.intact
    assert report.entries == 3
    refused(verifier, "INSERT INTO outbox (topic, subject_id) VALUES ('run', 'x')")
    refused(verifier, "UPDATE budget_balances SET charged = 0")


@pytest.fixture(scope="module")
def tables(url: str) -> list[str]:
    """Every table of the database, whatever models this process has imported."""
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain) as connection:
        found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    assert len(found) > 25
    return [name for (name,) in found]


def test_every_table_is_granted_to_the_app(app: Database, tables: list[str]) -> None:
    with app.transaction() as session:
        for table in tables:
            session.execute(text(f"SELECT count(*) FROM {table}"))


@pytest.fixture(scope="module")
def reader(url: str) -> Iterator[Database]:
    database = as_role(url, "graphveil_reader")
    yield database
    database.dispose()


def test_the_dashboards_role_reads_recent_entries_with_amounts_and_no_hashes(
    app: Database, reader: Database
) -> None:
    account = ledger.open_account(app, domain="shown", delta_atto=10**12)
    reservation = ledger.reserve(app, account, {"epsilon": 250_000_000, "delta": 10**11})
    ledger.charge(app, reservation)
    stream = ledger.open_account(app, domain="shown-stream", unit="w-event", window=2)
    ledger.reserve(app, stream, {"untimed": 1, "step/4": 2})
    with reader.transaction() as session:
        rows = session.execute(
            text("SELECT * FROM recent_ledger_entries WHERE account_id = ANY(:ids) ORDER BY sequence"),
            {"ids": [account.id, stream.id]},
        ).all()
    told = [(row.account_id == account.id, row.kind, row.epsilon, row.delta) for row in rows]
    assert (True, "charge", Decimal("0.25"), Decimal("1e-7")) in told
    assert (False, "reserve", None, None) in told
    assert {row.amounts["step/4"] for row in rows if row.kind == "reserve" and row.epsilon is None} == {2}
    assert not {name for name in rows[0]._fields if "hash" in name or "digest" in name}


def test_entries_on_the_dashboards_stand_beside_the_name_of_their_account(
    app: Database, reader: Database
) -> None:
    account = ledger.open_account(app, domain="calls of 2024")
    team = ledger.open_quota(app, account, "team", "a", 500_000_000)
    names = {account.id: "calls of 2024", team.id: "calls of 2024, team a"}
    for id, name in names.items():
        with reader.transaction() as session:
            entries, grants = (session.execute(asked(query), {"id": id}).all() for query in (ENTRIES, GRANTS))
        assert {(row.account, row.name) for row in entries} == {(id, name)}
        assert all(row.text.startswith(f"{name} ({id}): ") for row in grants)
        assert grants


def asked(query: str) -> TextClause:
    """A dashboard's query as Grafana would send it."""
    return text(query.replace("$__timeFilter(created_at)", "true").replace("${account:sqlstring}", ":id"))


def test_the_dashboards_role_reads_no_table(reader: Database, tables: list[str]) -> None:
    for table in tables:
        refused(reader, f"SELECT count(*) FROM {table}")


def test_the_dashboards_role_writes_nothing(reader: Database) -> None:
    with pytest.raises(DBAPIError, match=r"read-only|permission denied"), reader.transaction() as session:
        session.execute(text("CREATE TABLE mine (id integer)"))
