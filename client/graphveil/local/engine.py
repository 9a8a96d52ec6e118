"""Lazy loading of the engine. It is loaded when something of it is first used."""

from __future__ import annotations

from typing import Any

from graphveil.errors import EngineMissing
from graphveil.loading import loaded

INSTALL = "pip install 'graphveil[engine]'"


def part(name: str) -> Any:
    """Load a module of the engine: ``part("graphs.graph")``. EngineMissing where there is no engine."""
    try:
        return loaded(f"core.{name}")
    except ModuleNotFoundError as error:
        missing = (error.name or "").split(".")[0]
        if missing in ("graphveil", ""):
            raise
        raise EngineMissing(
            f"Releases on this machine need the engine, of which {missing!r} is not installed: {INSTALL}"
        ) from error
