"""A worker starts what compiles missing kernels; there is a graph for every method."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from core.methods import registry
from core.publishing import kernels as made_up
from tests.support.patience import PATIENCE_SECONDS
from worker import app


@pytest.mark.parametrize("name", sorted(registry.generators()))
def test_every_method_has_a_graph_on_which_its_kernels_are_compiled(name: str) -> None:
    assert list(made_up._shapes(registry.get(name)))


@pytest.mark.parametrize(
    ("queues", "begun"),
    [((app.UPLOADS, app.WORK, app.CHECKS), 1), ((app.WORK,), 1), ((app.CHECKS,), 1), ((app.UPLOADS,), 0)],
)
def test_a_worker_compiles_as_it_starts_and_a_validator_does_not(
    monkeypatch: pytest.MonkeyPatch, queues: tuple[str, ...], begun: int
) -> None:
    started: list[Any] = []
    monkeypatch.setattr(app.subprocess, "Popen", lambda command: started.append(command))
    monkeypatch.setattr(app, "_beside", [])
    monkeypatch.setattr(app.app.amqp.queues, "_consume_from", dict.fromkeys(queues))
    app._start_compiling()
    assert started == [[sys.executable, "-m", "worker.kernels", str(os.getpid())]] * begun


def test_a_worker_that_is_asked_to_stop_while_it_starts_leaves_nothing_that_compiles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[subprocess.Popen[bytes]] = []

    def begin(_: Any) -> subprocess.Popen[bytes]:
        process = real([sys.executable, "-c", "import time; time.sleep(600)"])
        begun.append(process)
        app._start_draining()  # the signal comes before the process is on the list
        return process

    real = subprocess.Popen
    monkeypatch.setattr(app, "_drain", bytearray(1))
    monkeypatch.setattr(app.subprocess, "Popen", begin)
    monkeypatch.setattr(app, "_beside", [])
    monkeypatch.setattr(app.app.amqp.queues, "_consume_from", dict.fromkeys((app.WORK,)))
    app._start_compiling()
    assert begun[0].wait(timeout=PATIENCE_SECONDS) == -signal.SIGKILL


@pytest.mark.faults
def test_compiling_ends_where_the_worker_is_gone() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    command = [sys.executable, "-m", "worker.kernels", str(gone.pid)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert (ended.returncode, "is gone" in ended.stderr) == (1, True)
