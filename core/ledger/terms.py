"""What an account is opened with, and which dimensions follow from it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Context, Decimal

from core.errors import InvalidInput
from core.ledger.amounts import MAX_STEP
from core.ledger.kinds import Filter
from core.orders import ORDERS
from graphveil.amounts import DELTA_DIGITS, EPSILON_DIGITS

W_EVENT = "w-event"
UNITS = ("edge", "event", W_EVENT, "pair", "node")

# Few, since the toll of each grows with the grid: low orders serve a large epsilon, high ones a small.
DEFAULT_ORDERS: tuple[int | float, ...] = (1.25, 1.5, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256, 512)
# Within the 38 digits of a balance's column, with room for sums.
MAX_AMOUNT = 10**30

# Nine digits as in MAX_STEP, and no leading zero: one step has one name.
_STEP = re.compile(r"step/(0|[1-9][0-9]{0,8})")
_PRECISE = Context(prec=60)


@dataclass(frozen=True)
class Terms:
    """What an account was opened with. ``delta_atto`` is in 1e-18; ``orders`` is empty unless RENYI."""

    account_id: str
    unit: str
    window: int | None
    filter: str
    nano_epsilon: int
    delta_atto: int
    orders: tuple[int | float, ...] = ()


def checked_terms(terms: Terms) -> Terms:
    """Return the terms, with their grid in canonical form. Raises InvalidInput for terms that no filter can
    keep.
    """
    if terms.unit not in UNITS:
        raise InvalidInput(f"unknown unit; known are {', '.join(UNITS)}", field="unit")
    if terms.filter not in tuple(Filter):
        raise InvalidInput(f"unknown filter; known are {', '.join(Filter)}", field="filter")
    if (terms.window is not None) != (terms.unit == W_EVENT):
        raise InvalidInput("a window is given for the unit w-event and for no other", field="window")
    if terms.window is not None and not 1 <= terms.window <= MAX_STEP:
        raise InvalidInput("a window spans at least one step", field="window")
    if type(terms.nano_epsilon) is not int or not 0 < terms.nano_epsilon <= 10**15:
        raise InvalidInput("epsilon lies above 0 and at 1e6 at most", field="epsilon")
    if type(terms.delta_atto) is not int or not 0 <= terms.delta_atto < 10**18:
        raise InvalidInput("delta lies from 0 to below 1", field="delta")
    if terms.filter == Filter.BASIC:
        if terms.orders:
            raise InvalidInput("only the Rényi filter has orders", field="orders")
        return terms
    return _checked_grid(terms)


def _checked_grid(terms: Terms) -> Terms:
    if terms.unit == W_EVENT:
        raise InvalidInput("a w-event account keeps the basic filter", field="filter")
    if terms.delta_atto == 0:
        raise InvalidInput("the Rényi filter needs a delta above zero", field="delta")
    orders = terms.orders or DEFAULT_ORDERS
    if not all(type(a) in (int, float) and a in ORDERS for a in orders):
        known = ", ".join(f"{a:g}" for a in ORDERS)
        raise InvalidInput(f"an account counts at orders that plans are metered at: {known}", field="orders")
    # 2 and 2.0 would be named as two dimensions.
    grid = tuple(int(a) if a == int(a) else float(a) for a in sorted(set(orders)))
    checked = replace(terms, orders=grid)
    if max(dimensions(checked).values()) <= 0:
        raise InvalidInput("no order of the grid leaves any room at this epsilon and delta", field="epsilon")
    return checked


def order_dimension(order: float) -> str:
    """Name the dimension of one Rényi order: ``rdp/2``, ``rdp/1.5``."""
    return f"rdp/{order}"


def renyi_capacity(nano_epsilon: int, delta_atto: int, order: float, grid_size: int) -> int:
    """Compute an order's capacity in nano, rounded down. It is ``eps - ln(|A|/delta) / (order - 1)``, and may
    be negative.

    The logarithm pays for choosing the order after the fact: the union bound over a grid of ``grid_size``
    orders, each converted at delta/|A| (Mironov, CSF 2017, Proposition 3).
    """
    ratio = _PRECISE.divide(Decimal(grid_size).scaleb(DELTA_DIGITS, _PRECISE), Decimal(delta_atto))
    toll = _PRECISE.divide(_PRECISE.ln(ratio), _PRECISE.subtract(Decimal(order), Decimal(1)))
    # The margin covers the last digit of the logarithm, so that the floor errs to the safe side only.
    exact = _PRECISE.subtract(Decimal(nano_epsilon), toll.scaleb(EPSILON_DIGITS, _PRECISE)) - Decimal("1e-30")
    return int(exact.to_integral_value(rounding=ROUND_FLOOR))


def dimensions(terms: Terms) -> dict[str, int]:
    """Compute the capacity of each initial dimension. These are there from the start; ``step/<t>`` comes with
    its first spend.
    """
    if terms.filter == Filter.RENYI:
        size = len(terms.orders)
        return {
            order_dimension(a): renyi_capacity(terms.nano_epsilon, terms.delta_atto, a, size)
            for a in terms.orders
        }
    return {epsilon_dimension(terms): terms.nano_epsilon, "delta": terms.delta_atto}


def epsilon_dimension(terms: Terms) -> str:
    """Name the dimension of epsilon without a step. A basic filter counts there what is spent at no step in
    particular."""
    return "untimed" if terms.unit == W_EVENT else "epsilon"


def checked_amounts(terms: Terms, amounts: Mapping[str, int]) -> dict[str, int]:
    """Return the positive amounts. Empty means that no guarantee is claimed.

    Raises InvalidInput (``field`` amounts) for a dimension that the account does not have, a negative, huge
    or non-integer amount, a delta without epsilon, and a Rényi request that leaves out an order.
    """
    known = dimensions(terms)
    for dimension, amount in amounts.items():
        if dimension not in known and not (terms.unit == W_EVENT and _STEP.fullmatch(dimension)):
            raise InvalidInput(f"the account has no dimension {dimension!r}", field="amounts")
        if type(amount) is not int or not 0 <= amount <= MAX_AMOUNT:
            raise InvalidInput(f"the amount of {dimension!r} is no integer from 0 to 1e30", field="amounts")
    positive = {dimension: amount for dimension, amount in amounts.items() if amount}
    # The roomiest order decides: a request could pass at one that it left out.
    if terms.filter == Filter.RENYI and positive and amounts.keys() != known.keys():
        raise InvalidInput("an amount is needed at every order of the account's grid", field="amounts")
    if positive.keys() == {"delta"}:
        raise InvalidInput("a delta needs an epsilon", field="amounts")
    return positive
