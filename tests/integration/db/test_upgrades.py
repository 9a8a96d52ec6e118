"""From every earlier schema, with data in place, a database comes to the newest one and loses nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import text

from core.db import migrate
from core.db.session import Database
from core.ledger import service as ledger
from core.ledger.models import BudgetAccount
from tests.support.ledger import charge, give_back, open_account, reserve
from tests.support.postgres import PostgresCluster

SCRIPTS = ScriptDirectory.from_config(migrate.configuration("postgresql://nowhere"))
REVISIONS = [script.revision for script in SCRIPTS.walk_revisions("base", "heads")][::-1]


def a_ledger(database: Database) -> dict[str, object]:
    """Two accounts with a charge, a release and an open reservation; what is to be found again."""
    for domain in ("patients", "staff"):
        account = open_account(database, domain=domain)
        charge(database, reserve(database, account, {"epsilon": 100}))
        give_back(database, reserve(database, account, {"epsilon": 50}))
        reserve(database, account, {"epsilon": 25})
    return seen(database)


def seen(database: Database) -> dict[str, object]:
    """Every entry's hash and every balance, and that all of it holds together."""
    with database.transaction() as session:
        accounts = session.query(BudgetAccount).order_by(BudgetAccount.id).all()
        assert all(ledger.verify(session, account.id).intact for account in accounts)
        return {
            "entries": session.execute(
                text("SELECT account_id, sequence, encode(hash, 'hex') FROM ledger_entries ORDER BY 1, 2")
            ).all(),
            "balances": session.execute(
                text("SELECT account_id, dimension, charged, reserved FROM budget_balances ORDER BY 1, 2")
            ).all(),
            "holds": session.execute(text("SELECT reservation_id FROM budget_holds ORDER BY 1")).all(),
        }


# What stands in a database of each revision before the newest; a revision without an entry fails the test.
FILLED: dict[str, Callable[[Database], dict[str, object]]] = {"0000": a_ledger}


@pytest.fixture
def empty(postgres_cluster: PostgresCluster) -> Iterator[str]:
    """The address of a database without a table."""
    name = postgres_cluster.create(template="template0")
    yield postgres_cluster.address(name)
    postgres_cluster.drop(name)


def test_there_is_one_line_of_revisions():
    assert SCRIPTS.get_heads() == [REVISIONS[-1]]
    assert set(FILLED) == set(REVISIONS[:-1])


@pytest.mark.parametrize("revision", REVISIONS[:-1])
def test_an_earlier_database_comes_to_the_newest_schema_with_all_it_holds(empty: str, revision: str):
    migrate.upgrade(empty, revision)
    database = Database(empty, pool_size=1)
    before = FILLED[revision](database)
    assert before["entries"]
    migrate.upgrade(empty)
    assert seen(database) == before
    with database.transaction() as session:
        assert session.scalar(text("SELECT version_num FROM alembic_version")) == REVISIONS[-1]
    database.dispose()


@pytest.mark.parametrize("revision", ["base", *REVISIONS[:-1]])
def test_there_is_no_way_back(empty: str, revision: str):
    migrate.upgrade(empty)
    with pytest.raises(RuntimeError, match="taken back"):
        command.downgrade(migrate.configuration(empty), revision)
    migrate.upgrade(empty)
