"""NetworKit without its optional libraries. It imports them, and nothing here needs them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

OPTIONAL = ("sklearn", "networkx", "matplotlib", "pandas", "tabulate")
"""For its link prediction, its adapter, its plots and what it prints. They take five times as long to load as
NetworKit."""


def networkit() -> Any:
    """Import the package ``networkit``. Of ``OPTIONAL``, nothing is loaded that was not loaded before.

    Later imports of them work as usual. Not to be called while another thread first imports one of them.
    """
    if loaded := sys.modules.get("networkit"):
        return loaded
    hidden = [name for name in OPTIONAL if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: importing it raises ImportError
    try:
        return importlib.import_module("networkit")
    finally:
        for name in hidden:
            del sys.modules[name]


@contextmanager
def one_thread() -> Iterator[Any]:
    """Give NetworKit one thread for a while. Its results then repeat; it has its threads back afterwards."""
    nk = networkit()
    threads = nk.getMaxNumberOfThreads()
    nk.setNumberOfThreads(1)
    try:
        yield nk
    finally:
        nk.setNumberOfThreads(threads)
