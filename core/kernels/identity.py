"""What a kernel's machine code follows from. It is a digest of code, constants, and what its names stand
for."""

from __future__ import annotations

import builtins
import hashlib
import sys
from collections.abc import Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba.core.dispatcher import Dispatcher
from numba.extending import _Intrinsic

VERSIONS = f"{numba.__version__}/{np.__version__}/{sys.implementation.cache_tag}"


def identity(kernel: Dispatcher) -> str:
    """Name all that a kernel's machine code follows from. Types and the processor are left out; hex digits.

    Kernels that it calls are a part of it: their code stands in its own. Comments and docstrings are none.
    Raises TypeError where a name stands for something of a kind that is not known here.
    """
    digest = hashlib.sha256(VERSIONS.encode())
    # NUL keeps parts apart: no two lists of them run together to one text.
    for part in _parts(kernel, set()):
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()


def _parts(value: Any, seen: set[int]) -> Iterator[str]:
    """Yield what tells the value from others; functions that were seen by their names alone."""
    if isinstance(value, Dispatcher):
        yield repr(sorted(value.targetoptions.items()))
        yield from _parts(value.py_func, seen)
    elif isinstance(value, _Intrinsic):
        yield from _parts(value._defn, seen)
    elif isinstance(value, FunctionType):
        yield f"{value.__module__}.{value.__qualname__}"
        # Once: functions may call themselves, and each other.
        if id(value) not in seen and not _of_numba(value.__module__):
            seen.add(id(value))
            yield from _of_function(value, seen)
    elif isinstance(value, CodeType):
        # No line numbers and no file's name: what only moves a function leaves its machine code as it is.
        yield from (value.co_code.hex(), repr((value.co_argcount, value.co_varnames, value.co_freevars)))
        for constant in value.co_consts:
            yield from _parts(constant, seen)
    elif isinstance(value, tuple | list):
        yield f"{len(value)} in all"
        for each in value:
            yield from _parts(each, seen)
    elif isinstance(value, np.ndarray):
        yield from (str(value.dtype), str(value.shape), value.tobytes().hex())
    elif isinstance(value, ModuleType):
        yield value.__name__
    elif isinstance(value, type | BuiltinFunctionType | np.ufunc):
        yield f"{value.__module__}.{value.__qualname__}" if isinstance(value, type) else value.__name__
    elif value is None or value is ... or isinstance(value, int | float | complex | str | bytes | np.generic):
        yield f"{type(value).__name__} {value!r}"
    else:
        raise TypeError(f"a kernel uses {value!r}: what it is made of cannot be told")


def _of_function(function: FunctionType, seen: set[int]) -> Iterator[str]:
    code = function.__code__
    # A docstring is the first constant of its function's code.
    documented = function.__doc__ is not None and code.co_consts[:1] == (function.__doc__,)
    yield from (code.co_code.hex(), repr((code.co_argcount, code.co_varnames, code.co_freevars)))
    yield from _parts(code.co_consts[1:] if documented else code.co_consts, seen)
    yield from _parts(function.__defaults__ or (), seen)
    for cell in function.__closure__ or ():
        yield from _parts(cell.cell_contents, seen)
    for name in code.co_names:
        yield name
        if name in function.__globals__:
            yield from _parts(function.__globals__[name], seen)
        elif not hasattr(builtins, name):
            yield "an attribute"


def _of_numba(module: str) -> bool:
    return module.partition(".")[0] in ("numba", "numpy", "llvmlite", "math")
