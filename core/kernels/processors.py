"""The kinds of processor that kernels are compiled for."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from functools import cache
from typing import Any

from llvmlite import binding
from numba.core import config

GENERIC = "generic"
WIDE, NARROW = "x86-64-v3", "x86-64"
WIDE_NEEDS = (
    *("avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2", "xsave"),
)
"""What a processor must be able to do, by LLVM's names, to run what is compiled for ``x86-64-v3``."""


def runnable(features: Mapping[str, bool] | None = None) -> tuple[str, ...]:
    """Name the kinds of processor that this one is. Kernels are shipped for them; the best comes first.

    ``features``: what the processor can do, by LLVM's names; None: this machine's.
    """
    if platform.machine() != "x86_64":
        return (GENERIC,)
    able = binding.get_host_cpu_features() if features is None else features
    return (WIDE, NARROW) if all(able.get(each) for each in WIDE_NEEDS) else (NARROW,)


@cache
def read_for() -> tuple[str, ...]:
    """Name the kinds whose shipped code is read. This process reads it: of one only where ``NUMBA_CPU_NAME``
    says which."""
    named: str | None = getattr(config, "CPU_NAME", None)
    return runnable() if named is None else (named,)


def compiled_for(codegen: Any) -> str:
    """Name the processor that a compiler makes code for. Its name stands alone where it says what it can
    do."""
    _, name, features = codegen.magic_tuple()
    return str(name) if not features else f"{name}-{hashlib.sha256(features.encode()).hexdigest()[:16]}"
