"""Kernels are compiled when a worker starts, for every method, once for a place and a processor."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.methods import registry
from core.publishing import kernels as made_up
from worker import app, kernels, limits
from worker.limits import ROOT

FIT = """
import gc, os, sys
from pathlib import Path
from worker import landlock, limits
limits.confine(os.getppid(), Path(sys.argv[1]))
assert landlock.version(), "this test needs a kernel with Landlock"
from numba.core.dispatcher import Dispatcher
from core.evaluation.metric import Suite
from core.evaluation.suite import compare
from core.methods import registry
from core.methods.base import no_progress
from core.privacy.units import Unit
from core.publishing import kernels
kernels.NODES, kernels.LINKS = 500, 4000
for name in ("anchored", "dcsbm", "degree_triangle", "psgraph"):
    generator = registry.get(name)
    unit = Unit.EDGE if Unit.EDGE in generator.units else sorted(generator.units)[0]
    kernels._publish(generator, kernels.made_up(steps=3 if unit.temporal else None), unit)
graph = kernels.made_up()
compare(graph, graph, Suite.STANDARD, no_progress)
found = [each for each in gc.get_objects() if isinstance(each, Dispatcher)]
print(sum(sum(each.stats.cache_hits.values()) for each in found),
      *(each.py_func.__qualname__ for each in found if each.stats.cache_misses))
"""


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where kernels are kept."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    found = kernels.kernels_folder()
    assert found is not None
    return found


@pytest.mark.parametrize("name", sorted(registry.generators()))
def test_every_method_has_a_graph_on_which_its_kernels_are_compiled(name: str) -> None:
    assert list(made_up._shapes(registry.get(name)))


def test_kernels_are_compiled_once_for_a_place_and_a_processor(
    place: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    codes = [70, 0]
    monkeypatch.setattr(kernels, "_run", lambda folder: codes.pop(0))
    assert not kernels.compile_all(tmp_path)  # a failure is not taken for the work
    assert kernels.compile_all(tmp_path)
    assert kernels.compile_all(tmp_path)  # without another run
    monkeypatch.setattr(kernels, "processor", lambda: "another")
    with pytest.raises(IndexError):
        kernels.compile_all(tmp_path)


def test_one_of_several_workers_compiles(
    place: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kernels, "_run", lambda folder: pytest.fail("two at once"))
    place.mkdir(parents=True)
    with (place / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert not kernels.compile_all(tmp_path)


@pytest.mark.parametrize(
    ("queues", "begun"),
    [((app.UPLOADS, app.WORK, app.CHECKS), 1), ((app.WORK,), 1), ((app.CHECKS,), 1), ((app.UPLOADS,), 0)],
)
def test_a_worker_compiles_as_it_starts_and_a_validator_does_not(
    place: Path, monkeypatch: pytest.MonkeyPatch, queues: tuple[str, ...], begun: int
) -> None:
    started: list[Any] = []
    monkeypatch.setattr(app.subprocess, "Popen", lambda command: started.append(command))
    monkeypatch.setattr(app, "_beside", [])
    monkeypatch.setattr(app.app.amqp.queues, "_consume_from", dict.fromkeys(queues))
    app._start_compiling()
    assert started == [[sys.executable, "-m", "worker.kernels"]] * begun
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    app._start_compiling()
    assert len(started) == begun  # what has no place is not made


@pytest.mark.slow
def test_a_confined_child_after_it_compiles_nothing(place: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "GRAPHVEIL_WORK_FOLDER": str(tmp_path / "work")}
    subprocess.run([sys.executable, "-m", "worker.kernels"], cwd=ROOT, env=environment, check=True)
    assert [file.name for file in place.glob("compiled-*")] == [f"compiled-{kernels.processor()}"]
    own = tmp_path / "own"
    own.mkdir()
    found = subprocess.run(
        [sys.executable, "-c", FIT, str(own)],
        cwd=own,
        env=limits.child_environment() | limits.folder_environment(own),
        check=True,
        capture_output=True,
        text=True,
    )
    read, *compiled = found.stdout.split()
    assert not compiled
    assert int(read) > 10
