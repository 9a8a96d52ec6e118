"""The migrations and the models say the same."""

from __future__ import annotations

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import CheckConstraint, inspect, text
from sqlalchemy.exc import DBAPIError

import core.audits.models
import core.datasets.models
import core.identity.models
import core.jobs.models
import core.ledger.models
import core.outbox.models
import core.streams.models  # noqa: F401  (imported so that Base.metadata knows every table)
from core.db import migrate
from core.db.base import Base
from core.db.session import Database


def test_the_migrated_database_is_the_models(module_database: Database) -> None:
    with module_database.engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True}
        )
        assert compare_metadata(context, Base.metadata) == []


def test_every_check_constraint_was_migrated(module_database: Database) -> None:
    found = inspect(module_database.engine)
    for table in Base.metadata.tables.values():
        declared = {
            str(constraint.name).removeprefix(f"ck_{table.name}_")
            for constraint in table.constraints
            if isinstance(constraint, CheckConstraint)
        }
        migrated = {
            str(check["name"]).removeprefix(f"ck_{table.name}_")
            for check in found.get_check_constraints(table.name)
        }
        assert migrated == declared, table.name


def test_upgrading_twice_changes_nothing(database_url: str) -> None:
    migrate.upgrade(database_url)


@pytest.mark.parametrize("table", ["ledger_entries", "metered_reads"])
@pytest.mark.parametrize("statement", ["DELETE FROM {}", "TRUNCATE {}", "UPDATE {} SET created_at = now()"])
def test_append_only_tables_refuse_change_even_to_the_superuser(
    module_database: Database, table: str, statement: str
) -> None:
    with pytest.raises(DBAPIError, match="append-only"), module_database.transaction() as session:
        session.execute(text(statement.format(table)))


def test_triggers_fire_for_replication_roles_too(module_database: Database) -> None:
    statements = "SET LOCAL session_replication_role = replica; DELETE FROM ledger_entries"
    with pytest.raises(DBAPIError, match="append-only"), module_database.transaction() as session:
        session.execute(text(statements))
