"""A method's division of epsilon among its reads.

It is written as one: every read's share, and they sum to 1. A method's parameters hold a share for each of
its reads but one, which has what the others leave. A request may name them all at once instead (``shares``):
that is another way to write the same parameters; only these are kept, hashed and reported.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from core.errors import InvalidInput
from core.methods.base import Parameters

FIELD = "shares"
ROUNDING = 1e-9


def spread(model: type[Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Convert ``shares`` to each read's own parameter.

    Raises InvalidInput where the method has no reads of that sort, a read is unknown or set twice, a share
    is no number from 0 to 1, the shares do not sum to 1, or nothing is left for the last read.
    """
    if FIELD not in parameters:
        return dict(parameters)
    reads = model.READS if issubclass(model, Parameters) else ()
    rest = {name: value for name, value in parameters.items() if name != FIELD}
    if not reads:
        raise _refused("the method does not divide epsilon by such shares; leave shares out")
    given = parameters[FIELD]
    if not isinstance(given, dict) or not all(_is_share(each) for each in given.values()):
        raise _refused("shares are numbers from 0 to 1 by the name of a read; name each once")
    unknown = sorted(set(given) - set(reads))
    if unknown:
        raise _refused(f"there is no read {unknown[0]!r}; the reads are {', '.join(reads)}")
    twice = sorted(name for name in reads[:-1] if _parameter(name) in parameters)
    if twice:
        raise _refused(f"{_parameter(twice[0])} is set beside shares; leave one of them out")
    total = math.fsum(given.values())
    if abs(total - 1) > ROUNDING:
        raise _refused(f"the shares sum to {total:.10g}; let them sum to 1")
    if not given.get(reads[-1], 0):
        raise _refused(f"nothing is left for {reads[-1]}; give it a share")
    return {**rest, **{_parameter(name): float(given.get(name, 0)) for name in reads[:-1]}}


def shares_of(params: Any) -> dict[str, float]:
    """Return every read's share, in the method's order. It is empty for a method without any."""
    reads = params.READS if isinstance(params, Parameters) else ()
    named = {name: float(getattr(params, _parameter(name))) for name in reads[:-1]}
    return {**named, reads[-1]: round(1 - math.fsum(named.values()), 12)} if reads else {}


def _parameter(read: str) -> str:
    return f"{read}_share"


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _refused(text: str) -> InvalidInput:
    return InvalidInput(f"parameters.{FIELD}: {text}.", field=f"parameters.{FIELD}")
