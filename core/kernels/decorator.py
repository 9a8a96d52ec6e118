"""The decorator of what is compiled. Brings Numba: import it where that is paid for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

from core.kernels.store import Store


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function for the types that it is called with, or read what was compiled for them.

    It runs without Python's lock. ``options``: of ``numba.njit``, such as ``inline="always"``.
    """
    if function is None:
        return lambda function: kernel(function, **options)
    compiled = numba.njit(nogil=True, **options)(function)
    compiled._cache = Store(compiled)
    return compiled
