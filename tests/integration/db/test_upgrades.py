"""From every earlier schema, with data in place, a database comes to the newest one and loses nothing.

The data is written by this version's code, on the newest schema, and put into a database of the earlier one:
of each table that stands there the columns that stand there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from alembic import command
from alembic.script import ScriptDirectory
from psycopg import sql
from sqlalchemy import inspect, make_url, select, text

from core.datasets.models import Dataset
from core.db import migrate
from core.db.session import Database
from core.ledger import service as ledger
from core.ledger.models import BudgetAccount
from core.settings import Settings
from core.workflows.common.context import open_services
from core.workflows.datasets.sensitive_links import receive_list
from tests.support.ledger import charge, give_back, open_account, reserve
from tests.support.postgres import PostgresCluster
from tests.support.world import CALLER, open_world

SCRIPTS = ScriptDirectory.from_config(migrate.configuration("postgresql://nowhere"))
REVISION = "alembic_version"
REVISIONS = [script.revision for script in SCRIPTS.walk_revisions("base", "heads")][::-1]


def a_ledger(settings: Settings) -> None:
    """Two accounts with a charge, a release and an open reservation."""
    database = Database(settings.database_url, pool_size=1)
    for domain in ("patients", "staff"):
        account = open_account(database, domain=domain)
        charge(database, reserve(database, account, {"epsilon": 100}))
        give_back(database, reserve(database, account, {"epsilon": 50}))
        reserve(database, account, {"epsilon": 25})
    database.dispose()


def a_service(settings: Settings) -> None:
    """A published job, one that waits, a stream with a published step, an empty dataset, an audit."""
    world = open_world(settings)
    for piece in (world.job(), world.tick()):
        assert world.work(piece)
    world.job()
    world.empty_dataset()
    world.audit()
    world.close()


def a_service_with_a_list(settings: Settings) -> None:
    """The same, and a list of sensitive links that waits to be checked."""
    a_service(settings)
    services = open_services(settings)
    with services.db.transaction() as session:
        ready = session.scalars(select(Dataset.id).where(Dataset.name == "ring")).one()
    receive_list(
        services, CALLER, ready, format="csv", options={}, chunks=[b"source,target\n0,1\n"], length=None
    )
    services.close()


Rows = dict[str, list[dict[str, Any]]]


def rows_of(url: str) -> Rows:
    """Every row of every table, in an order of its own."""
    database = Database(url, pool_size=1)
    with database.transaction() as session:
        accounts = session.query(BudgetAccount).all()
        assert all(ledger.verify(session, account.id).intact for account in accounts)
        tables = [name for name in inspect(session.connection()).get_table_names() if name != REVISION]
        rows = {
            name: session.scalars(text(f"SELECT to_jsonb(t) FROM {name} t ORDER BY to_jsonb(t)::text")).all()
            for name in tables
        }
    database.dispose()
    return rows


def kept(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> bool:
    """Whether each row of ``before`` is there with every value it had; columns may have been added."""
    found = [{name: row.get(name) for name in before[0]} for row in after] if before else []
    return len(before) == len(after) and all(row in found for row in before)


# What stands in a database of each revision before the newest, and the tables that it must fill.
FILLED: dict[str, tuple[Callable[[Settings], None], frozenset[str]]] = {
    "0000": (a_ledger, frozenset({"budget_accounts", "budget_balances", "budget_holds", "ledger_entries"})),
    "0001": (
        a_service,
        frozenset({"datasets", "dataset_versions", "jobs", "job_events", "artifacts", "streams", "audits"}),
    ),
    "0002": (a_service_with_a_list, frozenset({"datasets", "jobs", "sensitive_lists"})),
    "0003": (a_service_with_a_list, frozenset({"datasets", "jobs", "sensitive_lists"})),
    "0004": (a_service_with_a_list, frozenset({"datasets", "jobs", "sensitive_lists"})),
    "0005": (a_service_with_a_list, frozenset({"datasets", "jobs", "sensitive_lists"})),
    "0006": (a_service_with_a_list, frozenset({"datasets", "jobs", "sensitive_lists"})),
    "0007": (a_service_with_a_list, frozenset({"datasets", "jobs", "sensitive_lists"})),
    "0008": (a_service_with_a_list, frozenset({"datasets", "jobs", "sensitive_lists"})),
    "0009": (a_service_with_a_list, frozenset({"datasets", "jobs", "sensitive_lists"})),
    "0010": (a_service_with_a_list, frozenset({"datasets", "jobs", "sensitive_lists"})),
    "0011": (a_service_with_a_list, frozenset({"datasets", "jobs", "sensitive_lists"})),
}


def put_over(newest: str, earlier: str) -> None:
    """The earlier schema's tables hold what the newest schema's do; no trigger has run for it."""
    addresses = (make_url(url).set(drivername="postgresql") for url in (newest, earlier))
    of, into = (psycopg.connect(each.render_as_string(hide_password=False)) for each in addresses)
    columns = """SELECT c.table_name, array_agg(c.column_name::text ORDER BY c.ordinal_position)
        FROM information_schema.columns AS c
        JOIN information_schema.tables AS t USING (table_schema, table_name)
        WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE' AND c.is_generated = 'NEVER'
        GROUP BY c.table_name"""
    with of, into:
        there = dict(of.execute(columns).fetchall())
        into.execute("SET session_replication_role = replica")  # neither triggers nor references
        for table, names in into.execute(columns).fetchall():
            if table == REVISION:
                continue
            named = sql.SQL(", ").join(sql.Identifier(name) for name in names if name in there[table])
            told = sql.SQL("{} ({})").format(sql.Identifier(table), named)
            with (
                of.cursor().copy(sql.SQL("COPY {} TO STDOUT").format(told)) as rows,
                into.cursor().copy(sql.SQL("COPY {} FROM STDIN").format(told)) as taken,
            ):
                for row in rows:
                    taken.write(row)


@pytest.fixture
def empty(settings: Settings, postgres_cluster: PostgresCluster) -> Iterator[Settings]:
    """Settings that lead to a database without a table."""
    name = postgres_cluster.create(template="template0")
    yield settings.model_copy(update={"database_url": postgres_cluster.address(name)})
    postgres_cluster.drop(name)


def test_there_is_one_line_of_revisions():
    assert SCRIPTS.get_heads() == [REVISIONS[-1]]
    assert set(FILLED) == set(REVISIONS[:-1])


# From the first every change is gone through, from the last one the newest; those between are soaked.
@pytest.mark.parametrize(
    "revision",
    [
        REVISIONS[0],
        *(pytest.param(each, marks=pytest.mark.faults) for each in REVISIONS[1:-2]),
        REVISIONS[-2],
    ],
)
def test_an_earlier_database_comes_to_the_newest_schema_with_all_it_holds(
    empty: Settings, settings: Settings, revision: str
):
    fill, filled = FILLED[revision]
    migrate.upgrade(empty.database_url, revision)
    fill(settings)
    put_over(settings.database_url, empty.database_url)
    before = rows_of(empty.database_url)
    assert {name for name, rows in before.items() if rows} >= filled
    migrate.upgrade(empty.database_url)
    after = rows_of(empty.database_url)
    assert [name for name, rows in before.items() if not kept(rows, after[name])] == []
    with Database(empty.database_url).engine.connect() as connection:
        assert connection.scalar(text(f"SELECT version_num FROM {REVISION}")) == REVISIONS[-1]


def test_there_is_no_way_back(empty: Settings):
    migrate.upgrade(empty.database_url)
    for revision in ("base", *REVISIONS[:-1]):
        with pytest.raises(RuntimeError, match="taken back"):
            command.downgrade(migrate.configuration(empty.database_url), revision)
        migrate.upgrade(empty.database_url)
