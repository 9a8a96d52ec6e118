"""One embedded stack: servers, migrations, first key, processes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from core.db import migrate
from core.db.session import Database
from core.errors import Unauthenticated
from core.identity.models import Role
from core.identity.service import authenticate, create_key
from deploy.local.folder import DataFolder
from deploy.local.processes import COMMANDS, Processes
from deploy.local.servers import LOOPBACK, EmbeddedPostgres, EmbeddedRedis, free_port

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 300.0
EVERYWHERE = ("", "0.0.0.0", "::")
"""Addresses to listen at that reach the loopback interface too."""
TENANT, TEAM, FIRST_PERSON = "local", "local", "owner"


class Stack:
    """A running Graphveil on one data folder. Use as a context manager; leaves nothing running behind.

    Attributes after start: ``url`` of the api, ``metrics_url``, ``exporter_url``, ``token`` of the first key,
    ``database_url``, ``first_start``. ``tell`` hears what is done next, in a line each.
    """

    def __init__(self, folder: Path, tell: Callable[[str], None] = lambda _: None) -> None:
        self.folder, self._tell = DataFolder(folder), tell
        self._exit = ExitStack()
        self.first_start = False

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            self.folder.lock()
            undo.callback(self.folder.unlock)
            environment = self._environment(undo)
            self.database_url = environment["GRAPHVEIL_DATABASE_URL"]
            self._tell("Bringing the database's tables up to date")
            migrate.upgrade(self.database_url)
            self.token = self._first_key(self.database_url)
            self.processes = Processes(environment, self.folder.logs, root=ROOT)
            undo.callback(self.processes.stop)
            self._tell(f"Starting {', '.join(COMMANDS)}")
            self.processes.start()
            self._tell(f"Waiting for the api's answer at {self.url}; logs are in {self.folder.logs}")
            self._wait_ready()
            self._tell(
                "The worker compiles missing kernels beside the work: minutes at the first start of all"
            )
            self.folder.keep_environment(environment)
            self.folder.announce(self.url)
            self._exit = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exit.close()

    def _environment(self, undo: ExitStack) -> dict[str, str]:
        """Addresses and secrets of the processes; what the caller's environment already sets is kept."""
        secrets = self.folder.secrets()
        port, metrics_port = _port("GRAPHVEIL_PORT", 8000), _port("GRAPHVEIL_METRICS_PORT", 9100)
        exporter_port = _port("GRAPHVEIL_EXPORTER_PORT", 9101)
        host = os.environ.get("GRAPHVEIL_HOST", LOOPBACK)
        at = LOOPBACK if host in EVERYWHERE else host
        self.url, self.metrics_url = f"http://{at}:{port}", f"http://{at}:{metrics_port}/metrics"
        self.exporter_url = f"http://{at}:{exporter_port}/metrics"
        own = {
            "GRAPHVEIL_STORAGE_URL": (self.folder.path / "objects").as_uri(),
            "GRAPHVEIL_MASTER_KEY": secrets["master_key"],
            "GRAPHVEIL_FINGERPRINT_KEY": secrets["fingerprint_key"],
            "GRAPHVEIL_HEAD_SIGNING_KEY": secrets["head_signing_key"],
            "GRAPHVEIL_WORK_FOLDER": str(self.folder.path / "work"),
            "GRAPHVEIL_PORT": str(port),
            "GRAPHVEIL_METRICS_PORT": str(metrics_port),
            "GRAPHVEIL_EXPORTER_PORT": str(exporter_port),
            "GRAPHVEIL_PUBLIC_URL": self.url,
            "GRAPHVEIL_GRACE_SECONDS": "5",
        }
        if "GRAPHVEIL_DATABASE_URL" not in os.environ:
            self._tell("Starting PostgreSQL; at a folder's first start its files are made")
            postgres = undo.enter_context(
                EmbeddedPostgres(self.folder.path / "postgres", password=secrets["postgres_password"])
            )
            own["GRAPHVEIL_DATABASE_URL"] = postgres.url
        if "GRAPHVEIL_REDIS_URL" not in os.environ:
            self._tell("Starting Redis")
            redis = EmbeddedRedis(
                self.folder.path / "redis",
                password=secrets["redis_password"],
                log=self.folder.logs / "redis.log",
            )
            own["GRAPHVEIL_REDIS_URL"] = undo.enter_context(redis).url
        return {**own, **{k: v for k, v in os.environ.items() if k.startswith("GRAPHVEIL_")}}

    def _first_key(self, url: str) -> str:
        """The key of the folder's owner: made at the first start, read back afterwards, while it opens.

        It never expires: who can read the folder could make another. One that opens nothing (revoked, or of
        another database) is replaced.
        """
        database = Database(url, pool_size=1)
        try:
            with database.transaction() as session:
                if self.folder.token_file.exists():
                    kept = self.folder.token_file.read_text()
                    with suppress(Unauthenticated):
                        authenticate(session, kept)
                        return kept
                _, token = create_key(
                    session,
                    tenant=TENANT,
                    name="first-key",
                    roles=frozenset(Role),
                    person=FIRST_PERSON,
                    team=TEAM,
                )
        finally:
            database.dispose()
        self.folder.keep_token(token)
        self.first_start = True
        return token

    def _wait_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            dead = self.processes.dead()
            if dead is not None:
                raise RuntimeError(str(dead))
            try:
                if httpx.get(f"{self.url}/readyz", timeout=2.0).status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.1)
        raise RuntimeError(
            f"the api was not ready after {START_SECONDS:.0f} s; logs are in {self.folder.logs}"
        )


def _port(name: str, preferred: int) -> int:
    """The port that the caller's environment names, or else a free one."""
    asked = os.environ.get(name)
    return free_port(preferred) if asked is None else int(asked)
