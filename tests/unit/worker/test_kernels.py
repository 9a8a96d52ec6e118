"""A worker starts what compiles missing kernels; there is a graph for every method."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from core.methods import registry
from core.publishing import kernels as made_up
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
    assert started == [[sys.executable, "-m", "worker.kernels"]] * begun
