"""How modules are loaded whose memory stays until the process ends."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause Python's collector of cycles: what modules make when they are loaded stays."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            if not gc.get_freeze_count():
                # All is old from here on, which costs nothing. The next two looks would go through all of it.
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def loaded(name: str) -> ModuleType:
    """Load a module, and what it imports, without a look for garbage."""
    if name in sys.modules:
        return import_module(name)
    with uncollected():
        return import_module(name)
