"""Functions that are loaded when they are first called, by their path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphveil.loading import loaded


def late(path: str, **fixed: Any) -> Callable[..., Any]:
    """Return a function that loads ``module:function`` when it is called, and gives it ``fixed`` too.

    For what describes work and is read everywhere, and loads the work itself only where it is done. That
    every path leads to a function is tested (``tests/unit/test_late.py``).
    """
    module, name = path.split(":")

    def called(*args: Any, **given: Any) -> Any:
        return getattr(loaded(module), name)(*args, **fixed, **given)

    called.__name__ = called.__qualname__ = name
    called.__module__ = module
    return called
