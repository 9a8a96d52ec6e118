"""A real PostgreSQL 18 for the tests: one server a session, one database a test, cloned from a template."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql
from sqlalchemy.engine import make_url

from core.db import migrate
from deploy.local.servers import postgres_wheel

TEMPLATE = "graphveil_template"
MEMORY, ROOM_BYTES = Path("/dev/shm"), 4 * 2**30
"""A database is five hundred files: to copy them in memory costs half as much as on a disk."""

# Tests need no durability, and races need more than the default hundred connections.
OPTIONS = """
fsync = off
full_page_writes = off
synchronous_commit = off
max_connections = 300
shared_buffers = 64MB
"""


class PostgresCluster:
    """A running server, and the databases on it."""

    def __init__(self, url: str) -> None:
        self.url = url

    def address(self, database: str) -> str:
        """SQLAlchemy's address of one database, as the superuser."""
        url = make_url(self.url).set(drivername="postgresql+psycopg", database=database)
        return url.render_as_string(hide_password=False)

    def create(self, template: str = TEMPLATE) -> str:
        """A fresh database, a copy of ``template``; returns its name. About 30 ms."""
        name = f"test_{uuid.uuid4().hex[:16]}"
        # Files are copied as they are: block by block through the log, the default, takes twice as long.
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
        self._run(statement.format(sql.Identifier(name), sql.Identifier(template)))
        return name

    def drop(self, name: str) -> None:
        """The database is gone, whoever is still connected."""
        self._run(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def make_template(self) -> None:
        """The template exists and carries the newest schema."""
        self._run(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(TEMPLATE)))
        migrate.upgrade(self.address(TEMPLATE))

    def _run(self, statement: sql.Composed) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement)


def _place() -> Path:
    """Memory, where it has room for the databases of several clusters."""
    roomy = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= ROOM_BYTES
    return MEMORY if roomy else Path("/tmp")


@contextmanager
def cluster() -> Iterator[PostgresCluster]:
    """A server that lives as long as the context, in a folder of its own."""
    # As root the server runs under another user, which must be able to walk to its folder: not pytest's 0700.
    home = Path(tempfile.mkdtemp(prefix="gv-pg-", dir=_place()))
    home.chmod(0o755)
    server = postgres_wheel().get_server(
        home / "data", cleanup_mode="delete", start=False, postgres_version=18
    )
    server.ensure_pgdata_inited()
    with (home / "data" / "postgresql.conf").open("a") as options:
        options.write(OPTIONS)
    server.start()
    try:
        running = PostgresCluster(server.get_uri())
        running.make_template()
        yield running
    finally:
        server.cleanup()
        shutil.rmtree(home, ignore_errors=True)
