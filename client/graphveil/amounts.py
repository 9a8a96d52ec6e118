"""Amounts of budget as people read them. The ledger keeps integers: nano-epsilon, and delta in 1e-18."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

EPSILON_DIGITS = 9
DELTA_DIGITS = 18


def format_epsilon(nano_epsilon: int) -> str:
    """Write the exact decimal, without trailing zeros.

    >>> format_epsilon(750_000_000)
    '0.75'
    """
    return _format(nano_epsilon, EPSILON_DIGITS)


def format_delta(delta_atto: int) -> str:
    """Write the exact decimal, without trailing zeros.

    >>> format_delta(10**12)
    '0.000001'
    """
    return _format(delta_atto, DELTA_DIGITS)


def plain(value: Any) -> Any:
    """Convert NumPy's numbers to Python's own.

    It does so in mappings and lists too; all else stays as it is.

    >>> plain({"window": 7, "names": ["a"]})
    {'window': 7, 'names': ['a']}
    """
    if isinstance(value, (bool, str, bytes)) or type(value) in (int, float):
        return value
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value)) if type(value) in (list, tuple) else value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real) and hasattr(value, "dtype"):
        return float(str(value))  # the shortest decimal, of float32 too
    if hasattr(value, "dtype") and getattr(value, "ndim", None) == 0:
        return value.item()
    return value


def _format(amount: int, digits: int) -> str:
    whole, rest = divmod(abs(amount), 10**digits)
    fraction = f"{rest:0{digits}d}".rstrip("0")
    return ("-" if amount < 0 else "") + (f"{whole}.{fraction}" if fraction else f"{whole}")
