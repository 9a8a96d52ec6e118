"""A first release compiles nothing: in the library, and in a confined child, for every kind of graph."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from core.publishing import ship_kernels
from worker import limits
from worker.limits import ROOT

RELEASES = """
import gc, os, sys
from pathlib import Path
if sys.argv[1] == "child":
    from worker import landlock, limits
    assert landlock.version(), "this test needs a kernel with Landlock"
    limits.confine(os.getppid(), Path.cwd())
from core.publishing.first_releases import EPSILONS, kinds, release
from numba.core.dispatcher import Dispatcher
asked = [(kind, epsilon) for kind in kinds() for epsilon in EPSILONS]
if sys.argv[2] == "few":  # kinds of graphs in turn, each epsilon at some
    asked = asked[::13]
methods = [release(*kind, epsilon, 150, 900) for kind, epsilon in asked]
found = [each for each in gc.get_objects() if isinstance(each, Dispatcher)]
print(sum(sum(each.stats.cache_hits.values()) for each in found), len(set(methods)),
      *(each.py_func.__qualname__ for each in found if each.stats.cache_misses))
"""
LIBRARY = """
import gc, sys
import networkx as nx
from graphveil import Budget, synthesize
release = synthesize(nx.karate_club_graph(), 2, budget=Budget.unlimited(), progress=False)
assert release.graph.to_networkx().number_of_nodes() == 34
from numba.core.dispatcher import Dispatcher
found = [each for each in gc.get_objects() if isinstance(each, Dispatcher)]
print(sum(sum(each.stats.cache_hits.values()) for each in found), 1,
      *(each.py_func.__qualname__ for each in found if each.stats.cache_misses))
"""
LOADED = """
import sys
import networkx as nx
from graphveil import Budget, synthesize
release = synthesize(nx.karate_club_graph(), 2, budget=Budget.unlimited(), progress=False)
assert release.report["provenance"]["method"] == "dcsbm"
print(*sys.modules)
"""
SPARED = (
    *(
        "papers",
        "core.methods.keyframe",
        "core.methods.profiles",
        "core.methods.projection",
        "core.workflows",
    ),
    *("numba.cpython.numbers", "cffi", "tabulate"),  # Numba's, to compile by; NetworKit's
    *("scipy.stats", "scipy.optimize", "pyarrow.dataset", "sqlalchemy", "jinja2"),
)
MOST_LOADED = {"core": 310, "numba": 190, "graphveil": 18}
"""Modules of a package; each costs about a thousandth of a second."""
MEND = "not all kernels that a default uses are shipped: core.publishing.kernels must reach them"


@pytest.fixture(scope="module")
def shipped() -> None:
    """What ``make test`` did before; minutes where it did not."""
    subprocess.run([sys.executable, "-m", "core.publishing.ship_kernels"], cwd=ROOT, check=True)


@pytest.mark.usefixtures("shipped")
@pytest.mark.parametrize(
    ("program", "methods"), [pytest.param(RELEASES, 5, marks=pytest.mark.audits), (LIBRARY, 1)]
)
def test_a_first_release_compiles_nothing(program: str, methods: int, tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "empty"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", program, "library", "all"]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    read, used, *compiled = done.stdout.split()
    assert not compiled, MEND
    assert int(read) >= 15
    assert int(used) >= methods
    assert not (tmp_path / "empty").exists()


@pytest.mark.usefixtures("shipped")
def test_a_first_release_loads_what_it_needs(tmp_path: Path) -> None:
    """One method, and of Numba what reads kernels."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "empty"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", LOADED], env=environment, check=True, capture_output=True, text=True
    )
    modules = done.stdout.split()
    assert sorted({*SPARED} & {*modules}) == []
    loaded = Counter(name.partition(".")[0] for name in modules)
    assert not {name: loaded[name] for name, most in MOST_LOADED.items() if loaded[name] > most}


@pytest.mark.usefixtures("shipped")
@pytest.mark.parametrize("asked", ["few", pytest.param("all", marks=pytest.mark.audits)])
def test_a_first_release_in_a_child_compiles_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, asked: str
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "empty"))
    own = tmp_path / "own"
    own.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", RELEASES, "child", asked],
        cwd=own,
        env=limits.child_environment() | limits.folder_environment(own),
        check=True,
        capture_output=True,
        text=True,
    )
    read, _, *compiled = done.stdout.split()
    assert not compiled, MEND
    assert int(read) >= 15


def test_a_folder_is_filled_once_for_its_kernels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Again where a kernel is another; not where only other code is."""
    filled: list[str] = []

    def fill(command: list[str], env: dict[str, str], check: bool) -> None:
        filled.append(env["NUMBA_CPU_NAME"])
        folder = Path(command[-1])
        folder.mkdir(exist_ok=True)
        mark = f"{ship_kernels._digest(ship_kernels._sources())}\n{ship_kernels._of_all_kernels()}\n"
        (folder / ship_kernels.MARK).write_text(mark)

    (tmp_path / "code").mkdir()
    monkeypatch.setattr(ship_kernels.folders, "SHIPPED", tmp_path / "code" / "compiled")
    monkeypatch.setattr(ship_kernels.subprocess, "run", fill)
    kernels = ["first"]
    monkeypatch.setattr(ship_kernels, "_of_all_kernels", lambda: kernels[0])
    ship_kernels.ship(["one"])
    ship_kernels.ship(["one", "other"])
    assert filled == ["one", "other"]
    monkeypatch.setattr(ship_kernels, "VERSIONS", "of other code")
    ship_kernels.ship(["one"])
    assert filled == ["one", "other"]
    kernels[0] = "second"
    ship_kernels.ship(["one"])  # the files are those for which it was found complete
    monkeypatch.setattr(ship_kernels, "VERSIONS", "of yet other code")
    ship_kernels.ship(["one"])
    assert filled == ["one", "other", "one"]


def test_every_kernel_is_known_by_what_it_is_made_of() -> None:
    assert len(ship_kernels._of_all_kernels()) == 64
