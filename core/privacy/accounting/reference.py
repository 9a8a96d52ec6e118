"""dp-accounting's bounds of the events that it knows, and its conversion to (epsilon, delta)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from dp_accounting import NeighboringRelation, dp_event
from dp_accounting.rdp import RdpAccountant

from core.errors import InvalidInput
from core.privacy.accounting.events import (
    Composed,
    Event,
    GaussianEvent,
    PoissonSampled,
    Repeated,
    Unprotected,
    check_event,
)


def to_dp_event(event: Event) -> Any:
    """Convert ``event`` to a dp-accounting DpEvent if one exists; InvalidInput otherwise (pure, parallel)."""
    match event:
        case GaussianEvent(noise_multiplier=sigma):
            return dp_event.GaussianDpEvent(float(sigma))
        case PoissonSampled(rate=rate, event=inner):
            return dp_event.PoissonSampledDpEvent(float(rate), to_dp_event(inner))
        case Repeated(event=inner, times=times):
            return dp_event.SelfComposedDpEvent(to_dp_event(inner), times)
        case Composed(events=events):
            return dp_event.ComposedDpEvent([to_dp_event(e) for e in events])
        case Unprotected():
            return dp_event.NonPrivateDpEvent()
        case _:
            check_event(event)
            raise InvalidInput(f"no dp-accounting event matches {type(event).__name__}", field="event")


def accounted(event: Event, orders: Sequence[float], times: int) -> np.ndarray:
    """Bound the Rényi divergence of an event that happens some times, at each order."""
    accountant = RdpAccountant(list(orders), NeighboringRelation.ADD_OR_REMOVE_ONE)
    accountant.compose(to_dp_event(event), times)
    # The accountant publishes no getter; its per-order sums are what a Rényi filter adds up.
    return np.asarray(accountant._rdp, dtype=float)
