"""Runs the migrations, each in one transaction, against the address that the settings name."""

from __future__ import annotations

from alembic import context
from sqlalchemy import create_engine, pool

import core.audits.models
import core.checks.models
import core.datasets.models
import core.identity.models
import core.jobs.models
import core.ledger.models
import core.outbox.models
import core.proposals.models
import core.streams.models
import core.webhooks.models
import core.workers.models  # noqa: F401  (imported so that Base.metadata knows every table)
from core.db.base import Base
from core.settings import get_settings


def run() -> None:
    """The database at the configured address is at the requested revision."""
    url = context.config.attributes.get("url") or get_settings().database_url
    if context.is_offline_mode():
        context.configure(url=url, target_metadata=Base.metadata, literal_binds=True)
        with context.begin_transaction():
            context.run_migrations()
        return
    engine = create_engine(url, poolclass=pool.NullPool)
    with engine.connect() as connection:
        context.configure(connection=connection, target_metadata=Base.metadata)
        with context.begin_transaction():
            context.run_migrations()


run()
