"""A Spark Connect server from a wheel, as a process of its own: an engine that tests may kill."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

from deploy.local.servers import free_port
from tests.support.patience import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[2]


# A process that runs tests beside others has no main file: the client would take it for its own doctests.
vars(sys.modules["__main__"]).setdefault("__file__", __file__)


class Sail:
    """The server at one port; it can be killed and started again there."""

    def __init__(self, folder: Path, port: int | None = None) -> None:
        self.folder, self.port = folder, port or free_port()
        self.address = f"sc://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """It answers."""
        command = [sys.executable, "-m", "pysail", "spark", "server", "--port", str(self.port)]
        paths = [str(ROOT), *(each for each in [os.environ.get("PYTHONPATH")] if each)]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "RUST_LOG": "error"}
        self._process = subprocess.Popen(
            [*command, "--directory", str(self.folder)],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        ends = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < ends:
            assert self._process.poll() is None, "the engine has ended"
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise AssertionError("the engine does not listen")

    def kill(self) -> None:
        """It is gone, and whatever it did."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Sail:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
