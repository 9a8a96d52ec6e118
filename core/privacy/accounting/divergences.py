"""Rényi divergences of events, and of what happens in one cell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from core.errors import InvalidInput
from core.late import late
from core.privacy.accounting.events import (
    MAX_NANO_EPSILON,
    NANO,
    Composed,
    Event,
    GaussianEvent,
    Parallel,
    PoissonSampled,
    Pure,
    Repeated,
    Unprotected,
    pure_nano_epsilon,
)

_accounted = late("core.privacy.accounting.reference:accounted")


def cell_curve(events: Sequence[Event], orders: Sequence[float]) -> np.ndarray:
    """Bound one cell's Rényi divergences. Its pure epsilons are added first, the other events at every
    order."""
    pure = sum(pure_nano_epsilon(e) or 0 for e in events)
    rows = [_curve(e, tuple(orders)) for e in events if pure_nano_epsilon(e) is None]
    if pure:
        # Pure events may add up to more than one event may carry; there min() is eps itself.
        whole, rest = divmod(pure, MAX_NANO_EPSILON)
        if whole:
            rows.append(np.full(len(orders), pure / NANO))
        elif rest:
            rows.append(rdp(Pure(rest, "sum"), orders))
    # fsum: its error does not grow with the number of events.
    return np.array([math.fsum(column) for column in zip(*rows, strict=True)])


def counted_curve(counts: Mapping[Event, int], orders: tuple[float, ...]) -> np.ndarray:
    """Bound the Rényi divergences of many equal events (DP-SGD's steps). Each distinct one is computed
    once."""
    rows = [_curve(event, orders) * count for event, count in counts.items()]
    return np.array([math.fsum(column) for column in zip(*rows, strict=True)])


@lru_cache(maxsize=1024)
def _curve(event: Event, orders: tuple[float, ...]) -> np.ndarray:
    curve = rdp(event, orders)
    # Shared by all that ask for it: nobody may write into it.
    curve.setflags(write=False)
    return curve


def rdp(event: Event, orders: Sequence[float]) -> np.ndarray:
    """Bound the Rényi divergence of ``event`` at each order > 1. float64; infinite for Unprotected.

    A pure epsilon maps to min(eps, alpha eps^2 / 2) (Bun and Steinke 2016, Proposition 1.4; Mironov 2017).
    Branches of Parallel map to their maximum at each order: neighbours differ in one branch only, whichever
    it is. Gaussian and Poisson-sampled Gaussian events are dp-accounting's, the latter at integer orders.
    """
    if len(orders) == 0 or not all(math.isfinite(a) and a > 1 for a in orders):
        raise InvalidInput("Rényi orders are finite and greater than 1", field="orders")
    match event:
        case Unprotected():
            return np.full(len(orders), np.inf)
        case GaussianEvent():
            return np.asarray(_accounted(event, orders, 1))
        case PoissonSampled(event=GaussianEvent()):
            return _sampled_gaussian(event, orders)
        case Pure() | PoissonSampled():
            epsilon = (pure_nano_epsilon(event) or 0) / NANO
            return np.minimum(epsilon, np.asarray(orders, dtype=float) * (epsilon * epsilon / 2))
        case Repeated(event=inner, times=times):
            return rdp(inner, orders) * times
        case Composed(events=events):
            return np.array(
                [math.fsum(column) for column in zip(*(rdp(e, orders) for e in events), strict=True)]
            )
        case Parallel(branches=branches):
            dearest: np.ndarray = np.max([rdp(e, orders) for e in branches], axis=0)
            return dearest
        case _:
            raise InvalidInput(f"unknown privacy event: {type(event).__name__}", field="event")


def _sampled_gaussian(event: PoissonSampled, orders: Sequence[float]) -> np.ndarray:
    """Take dp-accounting's bounds at integer orders, and the chord of (order - 1) * divergence between them.

    That product is convex in the order and 0 at 1 (van Erven and Harremoes 2014, Theorem 11 and Corollary 2),
    so the chord bounds it. The integer orders alone are what holds for discrete noise too
    (:mod:`.gradients`).
    """
    # Everything is kept at rate 1: the Gaussian's bound, which holds at every order.
    if event.rate == 1:
        return np.asarray(_accounted(event.event, orders, 1))
    grid = np.asarray(orders, dtype=float)
    whole = sorted({int(order) for order in (*np.floor(grid), *np.ceil(grid)) if order > 1})
    bounds = _accounted(event, whole, 1)
    # At order 1 the product is 0, where the first chord may begin.
    known = np.concatenate([[1.0], np.asarray(whole, dtype=float)])
    products = np.concatenate([[0.0], (known[1:] - 1) * bounds])
    between: np.ndarray = np.interp(grid, known, products) / (grid - 1)
    return between
