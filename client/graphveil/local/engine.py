"""Lazy loading of the engine. It is loaded when something of it is first used."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from graphveil.errors import EngineMissing

INSTALL = "pip install 'graphveil[engine]'"


def part(name: str) -> Any:
    """Load a module of the engine: ``part("graphs.graph")``. EngineMissing where there is no engine."""
    try:
        with _uncollected():
            return import_module(f"core.{name}")
    except ModuleNotFoundError as error:
        missing = (error.name or "").split(".")[0]
        if missing in ("graphveil", ""):
            raise
        raise EngineMissing(
            f"Releases on this machine need the engine, of which {missing!r} is not installed: {INSTALL}"
        ) from error


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pause Python's collector of cycles: what modules make when they are loaded stays."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()
