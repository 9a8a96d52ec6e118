"""The data folder of an embedded stack: what survives a restart, and the lock that keeps it single."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shlex
from collections.abc import Mapping
from pathlib import Path

from core.errors import InstanceRunning

SECRETS = ("master_key", "fingerprint_key", "redis_password", "head_signing_key", "postgres_password")


class DataFolder:
    """A folder of one stack. ``lock`` refuses a second instance; its secrets are the owner's only."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.path.mkdir(parents=True, exist_ok=True)
        self.logs.mkdir(exist_ok=True)
        self._lock_file: int | None = None

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def token_file(self) -> Path:
        """Where the first API key stays, for the owner of the folder only."""
        return self.path / "token"

    @property
    def _instance_file(self) -> Path:
        return self.path / "instance.json"

    def lock(self) -> None:
        """This process is the only stack on the folder until :meth:`unlock`; InstanceRunning otherwise."""
        handle = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise InstanceRunning(self._who_runs()) from None
        self._lock_file = handle

    def announce(self, url: str) -> None:
        """A second instance will be told this URL and this process id."""
        self._instance_file.write_text(json.dumps({"pid": os.getpid(), "url": url}))

    def unlock(self) -> None:
        """The folder is free again."""
        self._instance_file.unlink(missing_ok=True)
        if self._lock_file is not None:
            os.close(self._lock_file)
            self._lock_file = None

    def secrets(self) -> dict[str, str]:
        """The stack's own secrets (64 hex digits each), made when first asked for, kept with mode 0600."""
        file = self.path / "secrets.json"
        kept = json.loads(file.read_text()) if file.exists() else {}
        missing = {name: secrets.token_hex(32) for name in SECRETS if name not in kept}
        if missing:
            _write_private(file, json.dumps(kept | missing))
        return kept | missing

    def keep_token(self, token: str) -> None:
        """The first API key is kept in the folder, readable by its owner only."""
        _write_private(self.token_file, token)

    @property
    def environment_file(self) -> Path:
        """What a shell needs to run the service's own commands beside the stack; of the owner only."""
        return self.path / "environment.sh"

    def keep_environment(self, environment: Mapping[str, str]) -> None:
        """The file sets these variables, secrets included."""
        lines = (f"export {name}={shlex.quote(value)}\n" for name, value in sorted(environment.items()))
        _write_private(self.environment_file, "".join(lines))

    def _who_runs(self) -> str:
        running = json.loads(self._instance_file.read_text()) if self._instance_file.exists() else {}
        where = f" at {running['url']} (process {running['pid']})" if running else ""
        return (
            f"A Graphveil stack already runs on {self.path}{where}. "
            "Use that one, stop it, or give another folder with --data."
        )


def _write_private(file: Path, text: str) -> None:
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as out:
        out.write(text)
