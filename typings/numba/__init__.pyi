# What the project uses of Numba, which has no types of its own: a kernel has those it is written with.
from collections.abc import Callable
from typing import Any, Literal, TypeVar, overload

from numba import types as types

__version__: str

_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])

@overload
def njit(kernel: _Kernel, /) -> _Kernel: ...
@overload
def njit(
    *, cache: bool = ..., nogil: bool = ..., fastmath: bool = ..., inline: Literal["always"] = ...
) -> Callable[[_Kernel], _Kernel]: ...
