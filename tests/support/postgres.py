"""A real PostgreSQL 18 for the tests: one server a session, one database a test, cloned from a template.

A test's database is lent to it: once taken back it is emptied under a new name and lent again, which costs
half as much as a new copy. One whose schema, settings or grants a test has changed is dropped instead.
"""

from __future__ import annotations

import shutil
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo
from sqlalchemy.engine import make_url

from core.db import migrate
from deploy.local.servers import postgres_wheel
from tests.support.patience import PATIENCE_SECONDS

TEMPLATE = "graphveil_template"
Row = tuple[Any, ...]
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

OWN = 16384
"""The first number of what the server did not bring."""
MOST_ROWS = 5_000
"""Rows that a database is emptied of in all: they leave room in its tables, which searches then read."""

# The tables that were written to, and how each is emptied: triggers that fire always sleep meanwhile.
WRITTEN = f"""
SELECT pg_stat_get_tuples_inserted(c.oid), concat_ws('; ',
    (SELECT string_agg(format('ALTER TABLE %s DISABLE TRIGGER %I', c.oid::regclass, tgname), '; ')
        FROM pg_trigger WHERE tgrelid = c.oid AND tgenabled = 'A'),
    format('DELETE FROM %s', c.oid::regclass),
    (SELECT string_agg(format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %I', c.oid::regclass, tgname), '; ')
        FROM pg_trigger WHERE tgrelid = c.oid AND tgenabled = 'A'),
    (SELECT string_agg(format('SELECT setval(%s, seqstart, false) FROM pg_sequence WHERE seqrelid = %s',
            objid, objid), '; ')
        FROM pg_depend JOIN pg_sequence ON seqrelid = objid WHERE refobjid = c.oid))
FROM pg_class AS c
WHERE relkind = 'r' AND oid >= {OWN} AND relname <> 'alembic_version' AND pg_stat_get_tuples_inserted(oid) > 0
"""

# All but rows. A change of these writes one of a later transaction, or takes one away.
_CHANGES = {
    **dict.fromkeys(("pg_class", "pg_constraint", "pg_proc", "pg_type", "pg_policy"), f"oid >= {OWN}"),
    "pg_attribute": f"attrelid >= {OWN}",
    **dict.fromkeys(("pg_namespace", "pg_default_acl", "pg_extension", "pg_event_trigger"), "true"),
    "pg_db_role_setting": "setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())",
}
MADE_OF = " UNION ALL ".join(
    [
        *(
            f"SELECT '{catalogue}', count(*), max(xmin::text::bigint) FROM {catalogue} WHERE {rows}"
            for catalogue, rows in _CHANGES.items()
        ),
        "SELECT tgname || tgenabled::text, tgrelid, 0 FROM pg_trigger WHERE NOT tgisinternal",
        "SELECT concat(datdba, datacl, datallowconn), datconnlimit, 0 FROM pg_database"
        " WHERE datname = current_database()",
        "SELECT version_num, 0, 0 FROM alembic_version",
    ]
)


class PostgresCluster:
    """A running server, and the databases on it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._asked: psycopg.Connection[Row] | None = None
        self._free: list[str] = []
        self._emptied_of: Counter[str] = Counter()
        self._made_of: set[Row] = set()
        self._killed = False

    def lend(self) -> str:
        """A database as the template is, for one test; returns its name."""
        return self._free.pop() if self._free else self.create()

    def take_back(self, name: str) -> None:
        """The database may be lent again, under a name that nobody knows who is still at work."""
        fresh = _fresh_name()
        self._await_none_in(name)
        rename = sql.SQL("ALTER DATABASE {} RENAME TO {}")
        try:
            self._run(rename.format(sql.Identifier(name), sql.Identifier(fresh)))
        except psycopg.errors.ObjectInUse:  # somebody who was left over has come back
            return self.drop(name)
        self._emptied_of[fresh] = self._emptied_of.pop(name, 0)
        return self._free.append(fresh) if self._emptied(fresh) else self.drop(fresh)

    def address(self, database: str) -> str:
        """SQLAlchemy's address of one database, as the superuser."""
        url = make_url(self.url).set(drivername="postgresql+psycopg", database=database)
        return url.render_as_string(hide_password=False)

    def create(self, template: str = TEMPLATE) -> str:
        """A fresh database, a copy of ``template``; returns its name. About 30 ms."""
        name = _fresh_name()
        # Files are copied as they are: block by block through the log, the default, takes twice as long.
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
        self._run(statement.format(sql.Identifier(name), sql.Identifier(template)))
        return name

    def drop(self, name: str) -> None:
        """The database is gone, whoever is still connected."""
        self._await_none_in(name)
        self._run(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def make_template(self) -> None:
        """The template exists and carries the newest schema."""
        self._run(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(TEMPLATE)))
        migrate.upgrade(self.address(TEMPLATE))
        with self._inside(TEMPLATE) as connection:
            self._made_of = set(connection.execute(MADE_OF).fetchall())

    def _emptied(self, name: str) -> bool:
        """Empty the tables that were written to; False where more than rows was changed."""
        with self._inside(name) as connection:
            written = connection.execute(WRITTEN).fetchall()
            self._emptied_of[name] += sum(rows for rows, _ in written)
            if self._killed or self._emptied_of[name] > MOST_ROWS:
                return False
            if set(connection.execute(MADE_OF).fetchall()) != self._made_of:
                return False
            quiet = "SET session_replication_role = replica"  # no foreign keys: all rows go
            connection.execute("; ".join([quiet, *(emptying for _, emptying in written)]))
            connection.execute("SELECT pg_stat_reset()")
            return True

    def _inside(self, name: str) -> psycopg.Connection[Row]:
        return psycopg.connect(make_conninfo(self.url, dbname=name), autocommit=True)

    def _await_none_in(self, name: str) -> None:
        """Nobody is connected to the database. The server's own waits look ten times a second."""
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self._run(ended, name).fetchall():
            assert time.monotonic() < deadline, f"{name} is still in use"
            time.sleep(0.002)

    def _run(self, statement: str | sql.Composed, *values: str) -> psycopg.Cursor[Row]:
        """Ask the server over one connection; over a new one where a test has killed the server since."""
        if self._asked is not None:
            try:
                return self._asked.execute(statement, values)
            except psycopg.OperationalError:
                if not self._asked.closed:
                    raise
                self._killed = True  # with it, what was counted as written
        self._asked = psycopg.connect(self.url, autocommit=True)
        return self._asked.execute(statement, values)

    def close(self) -> None:
        """The server is asked nothing more."""
        if self._asked is not None:
            self._asked.close()


def _fresh_name() -> str:
    return f"test_{uuid.uuid4().hex[:16]}"


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
        with closing(PostgresCluster(server.get_uri())) as running:
            running.make_template()
            yield running
    finally:
        server.cleanup()
        shutil.rmtree(home, ignore_errors=True)
