"""Amounts of budget as people read them. The ledger keeps integers: nano-epsilon, and delta in 1e-18."""

from __future__ import annotations

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


def _format(amount: int, digits: int) -> str:
    whole, rest = divmod(abs(amount), 10**digits)
    fraction = f"{rest:0{digits}d}".rstrip("0")
    return ("-" if amount < 0 else "") + (f"{whole}.{fraction}" if fraction else f"{whole}")
