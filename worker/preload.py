"""What a fork server loads before any job. It is every library that most jobs use, none that starts to work.

A fork copies one thread. What others hold at that moment, a lock or half-written memory, stays as it is for
good in the copy, and what one generator would draw next is drawn twice. So nothing here draws, opens a file
of a job, computes with several threads, or asks a GPU; torch, which takes the longest and which few methods
use, is loaded after the fork.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator

from worker.limits import ROOT

OURS = (
    *(f"core/{room}" for room in ("graphs", "privacy", "methods", "evaluation", "reports", "publishing")),
    "papers",
    "worker/children",
)
LIBRARIES = (
    *("numba", "randomgen", "polars", "scipy.special", "scipy.sparse.csgraph"),
    *("pyarrow.compute", "pyarrow.csv", "pyarrow.dataset", "pyarrow.json", "pyarrow.parquet"),
    *("opendp.domains", "opendp.measurements", "opendp.metrics", "opendp.mod", "opendp._data"),
)
LATER = ("torch", "torch_geometric", "sklearn", "networkx", "matplotlib", "pandas")
"""Not loaded, nor any module of ours that begins by loading one of them."""


def load() -> None:
    """Load libraries and our own modules. What cannot be loaded is left to children, who say so."""
    for library in LIBRARIES:
        _loaded(library)
    hidden = [name for name in LATER if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: importing it raises ImportError
    try:
        for module in _modules():
            _loaded(module)
    finally:
        for name in hidden:
            del sys.modules[name]
    _know_methods()
    _read_kernels()
    _end_threads()
    os.register_at_fork(after_in_child=_forget_random_states)


def _loaded(name: str) -> bool:
    try:
        importlib.import_module(name)
    except Exception:
        return False
    return True


def _modules() -> Iterator[str]:
    for package in OURS:
        for path in sorted((ROOT / package).rglob("*.py")):
            if {"tests", "benchmarks"} & set(path.relative_to(ROOT).parts):
                continue  # they stand beside a method, and are no part of it
            yield ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _know_methods() -> None:
    """Find methods, formats and versions, which is done once a process."""
    from core.graphs.formats import formats
    from core.graphs.views.networkit import networkit
    from core.methods import registry
    from core.reports import build
    from core.version import package_version

    registry.generators()
    formats()
    networkit()
    build.versions()
    package_version()


def _read_kernels() -> None:
    """Read what was compiled of every kernel by its types: no kernel is called."""
    from core.kernels.store import Store

    for kept in list(Store.every):
        kept.read()


def _forget_random_states() -> None:
    from core.privacy import entropy

    entropy.forget_random_states()


def _end_threads() -> None:
    """Let OpenBLAS end the threads that it started when it was imported: it does before any fork.

    It starts others when it next computes, in a child its own.
    """
    if (child := os.fork()) == 0:
        os._exit(0)
    os.waitpid(child, 0)
