"""A database that was lent to a test is as new when it is lent again, or it is dropped."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from core.db.session import Database
from core.identity.service import Principal
from core.settings import Settings
from core.workflows.common.context import open_services
from tests.support import postgres
from tests.support.postgres import MADE_OF, PostgresCluster
from tests.support.releases import queued_job, ready_dataset, violations

pytestmark = pytest.mark.extras
TABLES = "SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND oid >= 16384"


@pytest.fixture
def lent(postgres_cluster: PostgresCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresCluster]:
    """The session's server, which has no database to lend but those of the test."""
    monkeypatch.setattr(postgres_cluster, "_free", [])
    yield postgres_cluster
    for name in postgres_cluster._free:
        postgres_cluster.drop(name)


def filled(cluster: PostgresCluster, settings: Settings, principal: Principal, name: str) -> set[str]:
    """Make a dataset and a job; return the tables that have rows."""
    services = open_services(settings.model_copy(update={"database_url": cluster.address(name)}))
    queued_job(services, principal, ready_dataset(services, principal).id)
    assert violations(services) == []
    services.close()
    return with_rows(cluster, name)


def with_rows(cluster: PostgresCluster, name: str) -> set[str]:
    """The tables of a database that have rows."""
    with cluster._inside(name) as connection:
        tables = [table for (table,) in connection.execute(TABLES)]
        return {each for each in tables if connection.execute(f"SELECT FROM {each} LIMIT 1").fetchall()}


def test_what_is_lent_again_has_no_rows_and_begins_to_count_anew(
    lent: PostgresCluster, settings: Settings, principal: Principal
):
    new, name = with_rows(lent, postgres.TEMPLATE), lent.lend()
    assert new == {"alembic_version"}
    for _ in range(3):
        assert filled(lent, settings, principal, name) > {"jobs", "ledger_entries", "outbox", *new}
        lent.take_back(name)
        [again] = lent._free
        assert again != name
        assert with_rows(lent, again) == new
        with lent._inside(again) as connection:
            assert set(connection.execute(MADE_OF)) == lent._made_of
            assert connection.execute("SELECT last_value, is_called FROM outbox_id_seq").fetchone() == (
                1,
                False,
            )
        name = lent.lend()
    lent.take_back(name)


def test_who_is_left_over_finds_no_database(lent: PostgresCluster):
    name = lent.lend()
    left = Database(lent.address(name))
    with left.transaction() as session:
        session.execute(text("SELECT 1"))
    lent.take_back(name)
    assert len(lent._free) == 1
    with (
        pytest.raises(OperationalError, match=r"terminating connection|does not exist"),
        left.transaction() as session,
    ):
        session.execute(text("SELECT 1"))
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        lent._inside(name)
    left.dispose()


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TABLE mine (id integer)",
        "DROP VIEW recent_ledger_entries",
        "ALTER TABLE ledger_entries DISABLE TRIGGER ALL",
        "ALTER TABLE ledger_entries ENABLE TRIGGER ledger_entries_append_only",
        "ALTER TABLE budget_balances DROP CONSTRAINT ck_budget_balances_within_capacity",
        "ALTER TABLE jobs ALTER COLUMN state SET DEFAULT 'queued'",
        "GRANT SELECT ON jobs TO public",
        "CREATE INDEX mine ON jobs (state)",
        "CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql"
        " AS 'BEGIN RETURN NULL; END'",
        "CREATE SCHEMA mine",
        "UPDATE alembic_version SET version_num = 'none'",
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET lock_timeout = 1', current_database()); END $$",
        "DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO public', current_database()); END $$",
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I CONNECTION LIMIT 7', current_database()); END $$",
        "INSERT INTO outbox (topic, subject_id) SELECT 'run', n FROM generate_series(1, 5001) AS n",
    ],
)
def test_what_a_test_has_changed_is_dropped(change: str, lent: PostgresCluster):
    name = lent.lend()
    with lent._inside(name) as connection:
        connection.execute(change)
    lent.take_back(name)
    assert lent._free == []
