"""Where machine code lies. It is first what was shipped with this code, then the user's own."""

from __future__ import annotations

import os
from pathlib import Path

SHIPPED = Path(__file__).parent / "compiled"
"""Made by ``python -m core.publishing.ship_kernels``, carried by the wheel and the images."""


def own() -> Path:
    """Find where this user's compiled kernels are kept. It is ``NUMBA_CACHE_DIR``, or among the user's
    caches."""
    if place := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(place)
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    # A user without a home keeps nothing: what is relative would land in whatever folder is the current one.
    return Path(caches if os.path.isabs(caches) else os.devnull) / "graphveil" / "kernels"
