"""The decorator of what is compiled. Brings Numba: import it where that is paid for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar, overload

import numba

from core.kernels.store import Store

Function = TypeVar("Function", bound=Callable[..., Any])


@overload
def kernel(function: Function, /) -> Function: ...
@overload
def kernel(*, inline: Literal["always"] = ..., fastmath: bool = ...) -> Callable[[Function], Function]: ...
def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function for its argument types. What was compiled for them before is read.

    It runs without Python's lock. ``options``: of ``numba.njit``, such as ``inline="always"``.
    """
    if function is None:
        return lambda function: _compiled(function, options)
    return _compiled(function, options)


def _compiled(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    compiled: Any = numba.njit(nogil=True, **options)(function)
    # In the place of Numba's own cache, which goes by the source file's path and time.
    compiled._cache = Store(compiled)
    return compiled
