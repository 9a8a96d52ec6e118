"""Amounts of budget are integers. They are nano-epsilon, and delta in units of 1e-18 (atto).

Costs round up and capacities round down, so that rounding never favours the spender.
"""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from numbers import Integral, Rational, Real

from core.errors import InvalidInput
from graphveil.amounts import DELTA_DIGITS, EPSILON_DIGITS

Number = str | int | float | Decimal

MAX_EPSILON = 1_000_000
MAX_STEP = 999_999_999

# Bounded: a few characters of exponent must not become a number of a million digits.
_TEXT = re.compile(r"[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,4})?")
# More digits than any number has that passes the bounds: the one rounding is that of ``quantize``.
_EXACT = Context(prec=120)


def epsilon_cost(value: Number, *, field: str = "epsilon") -> int:
    """Convert a cost to nano-epsilon, rounded up.

    ``value`` is a decimal text, an integer, a Decimal, or a float, which stands for the shortest decimal that
    reads back as that float. Raises InvalidInput (``field``) for NaN, infinities, zero, negatives, booleans,
    any other text, and more than 1e6.
    """
    return _scaled(_epsilon(value, field), EPSILON_DIGITS, ROUND_CEILING)


def epsilon_capacity(value: Number, *, field: str = "epsilon") -> int:
    """Convert a capacity to nano-epsilon, rounded down. InvalidInput as in :func:`epsilon_cost`, and below
    1e-9.
    """
    nano = _scaled(_epsilon(value, field), EPSILON_DIGITS, ROUND_FLOOR)
    if nano == 0:
        raise InvalidInput("epsilon is too small: the smallest capacity is 1e-9", field=field)
    return nano


def delta_cost(value: Number, *, field: str = "delta") -> int:
    """Convert a cost to atto-delta, rounded up. Zero is allowed. InvalidInput below 0, from 1 on, for
    non-numbers.
    """
    return _scaled(_delta(value, field), DELTA_DIGITS, ROUND_CEILING)


def delta_capacity(value: Number, *, field: str = "delta") -> int:
    """Convert a capacity to atto-delta, rounded down. InvalidInput as in :func:`delta_cost`."""
    return _scaled(_delta(value, field), DELTA_DIGITS, ROUND_FLOOR)


def check_delta(requested_atto: int, capacity_atto: int) -> None:
    """Refuse a delta of an account that has none: InvalidInput."""
    if requested_atto and not capacity_atto:
        raise InvalidInput(
            "the budget of this dataset has delta 0, so that a release can take none; leave delta out",
            field="delta",
        )


def _epsilon(value: Number, field: str) -> Decimal:
    number = _number(value, field)
    if number <= 0:
        raise InvalidInput("epsilon must be greater than zero", field=field)
    if number > MAX_EPSILON:
        raise InvalidInput(f"epsilon must be at most {MAX_EPSILON}", field=field)
    return number


def _delta(value: Number, field: str) -> Decimal:
    number = _number(value, field)
    if number < 0 or number >= 1:
        raise InvalidInput("delta must be at least 0 and less than 1", field=field)
    return number


def _number(value: Number, field: str) -> Decimal:
    match value:
        # A bool is Integral too: it is refused first.
        case bool():
            raise InvalidInput("a number is needed, not a truth value", field=field)
        case str() if _TEXT.fullmatch(value.strip()):
            number = Decimal(value.strip())
        case Decimal():
            number = value
        case Integral():
            number = Decimal(int(value))
        case Real() if isinstance(value, float) or not isinstance(value, Rational):
            number = Decimal(str(value))  # NumPy's scalars have another repr, and float32 its own digits
        case _:
            raise InvalidInput("a non-negative decimal number is needed", field=field)
    if not number.is_finite():
        raise InvalidInput("a finite number is needed", field=field)
    return number


def _scaled(number: Decimal, digits: int, rounding: str) -> int:
    """Compute ``number * 10**digits`` as an integer, rounded once, from all its digits."""
    rounded = number.quantize(Decimal(1).scaleb(-digits), rounding=rounding, context=_EXACT)
    return int(rounded.scaleb(digits, context=_EXACT))
