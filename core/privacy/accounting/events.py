"""The closed vocabulary of privacy events. A metered operation may be said to cost one of them.

Every event is understood under the plan's adjacency: one unit added or removed, or, where a unit is replaced,
one in the place of another. Sampling amplifies the first only (see ``sampled``). Meanings never change; a
new mechanism gets a new class. Amounts of pure events are integers (nano-epsilon, 1e-9), so that sums and
comparisons are exact.
An object outside the vocabulary is an error wherever it turns up. No NumPy and no dp-accounting: the
api reads events without them.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from core.errors import InvalidInput

NANO = 10**9
MAX_NANO_EPSILON = 1_000 * NANO
MAX_TEXT = 200
MAX_BRANCHES = 100_000
MAX_REPEATS = 10_000_000
MAX_DEPTH = 16
LAZY_RESPONSE = "randomised_response/lazy"
"""The mechanism whose coins come from a pseudo-random function: what it promises is computational."""

_EXACT = re.compile(r"[0-9]{1,99}(/[0-9]{1,99})?", re.ASCII)


class Event:
    """Base of the vocabulary; not an event itself."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Pure(Event):
    """A mechanism with pure epsilon ``nano_epsilon`` (Laplace, exponential, randomised response)."""

    nano_epsilon: int
    mechanism: str

    def __post_init__(self) -> None:
        check_nano_epsilon(self.nano_epsilon)
        check_text(self.mechanism, "mechanism")


@dataclass(frozen=True, slots=True)
class GaussianEvent(Event):
    """Gaussian noise of standard deviation ``noise_multiplier`` times the query's L2 sensitivity.

    Continuous or discrete: the discrete Gaussian's Rényi divergences are bounded by the continuous ones
    (Canonne, Kamath, Steinke 2020, Theorem 14). Privacy losses are counted on fine grids only
    (:mod:`core.privacy.accounting.losses`).
    """

    noise_multiplier: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "noise_multiplier", positive_fraction(self.noise_multiplier, "noise_multiplier")
        )


@dataclass(frozen=True, slots=True)
class PoissonSampled(Event):
    """``event`` on a sample that keeps each unit independently with probability ``rate``."""

    rate: Fraction
    event: Event

    def __post_init__(self) -> None:
        rate = positive_fraction(self.rate, "rate")
        if rate > 1:
            raise InvalidInput("a sampling rate lies in (0, 1]", field="rate")
        object.__setattr__(self, "rate", rate)
        check_event(self.event)
        if not isinstance(self.event, GaussianEvent | Pure):
            raise InvalidInput("only a Gaussian or a pure event can be Poisson-sampled", field="event")


@dataclass(frozen=True, slots=True)
class Repeated(Event):
    """``event`` run ``times`` times, adaptively."""

    event: Event
    times: int

    def __post_init__(self) -> None:
        check_event(self.event)
        if type(self.times) is not int or not 1 <= self.times <= MAX_REPEATS:
            raise InvalidInput(f"times is an integer in [1, {MAX_REPEATS}]", field="times")


@dataclass(frozen=True, slots=True)
class Composed(Event):
    """The events one after another, adaptively."""

    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", _check_many(self.events, "events"))


@dataclass(frozen=True, slots=True)
class Parallel(Event):
    """Branches over disjoint data: every privacy unit lies wholly in one of them."""

    branches: tuple[Event, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "branches", _check_many(self.branches, "branches"))


@dataclass(frozen=True, slots=True)
class Unprotected(Event):
    """The raw data was handed out: no finite epsilon. ``reason`` is public."""

    reason: str

    def __post_init__(self) -> None:
        check_text(self.reason, "reason")


def check_nano_epsilon(value: int) -> int:
    """Return ``value`` unchanged if it is an int in [1, MAX_NANO_EPSILON]; InvalidInput otherwise."""
    # Not isinstance: True is an int.
    if type(value) is not int or not 1 <= value <= MAX_NANO_EPSILON:
        raise InvalidInput(
            f"an epsilon, and each share of it, lies from 1e-9 to {MAX_NANO_EPSILON // NANO}", field="epsilon"
        )
    return value


def positive_fraction(value: Any, field: str) -> Fraction:
    """Return ``value`` as an exact fraction > 0. InvalidInput for zero, negatives, NaN and infinities."""
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        raise InvalidInput(f"{field} must be a number", field=field)
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(f"{field} must be finite", field=field)
    exact = Fraction(value)
    # The bounds keep every later conversion to float finite and non-zero.
    if not Fraction(1, 10**12) <= exact <= 10**12 or exact.denominator > 2**200:
        raise InvalidInput(f"{field} must lie in [1e-12, 1e12]", field=field)
    return exact


def check_event(event: Any) -> None:
    """Check that ``event`` belongs to the vocabulary. InvalidInput otherwise, and where it nests more than
    MAX_DEPTH deep."""
    _depth(event, 0)


def _depth(event: Any, depth: int) -> None:
    # Events are read from callers' JSON: recursion over them must end.
    if depth >= MAX_DEPTH:
        raise InvalidInput(f"events nest at most {MAX_DEPTH} deep", field="event")
    match event:
        case Pure() | GaussianEvent() | Unprotected():
            return
        case PoissonSampled(event=inner) | Repeated(event=inner):
            _depth(inner, depth + 1)
        case Composed(events=inner) | Parallel(branches=inner):
            for part in inner:
                _depth(part, depth + 1)
        case _:
            raise InvalidInput(f"unknown privacy event: {type(event).__name__}", field="event")


def check_text(text: Any, field: str) -> None:
    """Check a printable text of 1 to MAX_TEXT characters; InvalidInput otherwise."""
    if not isinstance(text, str) or not 1 <= len(text) <= MAX_TEXT or not text.isprintable():
        raise InvalidInput(f"{field} is a text of 1 to {MAX_TEXT} printable characters", field=field)


def _check_many(events: Any, field: str) -> tuple[Event, ...]:
    if not isinstance(events, tuple | list) or not 1 <= len(events) <= MAX_BRANCHES:
        raise InvalidInput(f"{field} holds 1 to {MAX_BRANCHES} events", field=field)
    for event in events:
        check_event(event)
    return tuple(events)


def pure_nano_epsilon(event: Event) -> int | None:
    """Compute the pure epsilon of ``event`` in nano. It is rounded up; None when it has no finite one."""
    match event:
        case Pure():
            return event.nano_epsilon
        case GaussianEvent() | Unprotected():
            return None
        case PoissonSampled(rate=rate, event=inner):
            nano = pure_nano_epsilon(inner)
            return None if nano is None else _amplified(nano, rate)
        case Repeated(event=inner, times=times):
            once = pure_nano_epsilon(inner)
            return None if once is None else once * times
        case Composed(events=events):
            return _combined(sum, events)
        case Parallel(branches=branches):
            return _combined(max, branches)
        case _:
            raise InvalidInput(f"unknown privacy event: {type(event).__name__}", field="event")


def parts(event: Event) -> tuple[int, Counter[Event]]:
    """Split ``event`` into pure parts and others. Returned are the nano-epsilon of its pure parts, added up,
    and how often each other part happens.

    Only what is composed or repeated comes apart; branches stay together.
    """
    pure = pure_nano_epsilon(event)
    if pure is not None:
        return pure, Counter()
    match event:
        case Repeated(event=inner, times=times):
            nano, others = parts(inner)
            return nano * times, Counter({part: count * times for part, count in others.items()})
        case Composed(events=events):
            split = [parts(part) for part in events]
            return sum(nano for nano, _ in split), sum((others for _, others in split), Counter())
        case PoissonSampled(rate=rate, event=inner) if rate == 1:
            # A sample that keeps everything is the event itself.
            return 0, Counter([inner])
        case _:
            return 0, Counter([event])


def _combined(how: Callable[[list[int]], int], events: Sequence[Event]) -> int | None:
    parts = [pure for pure in map(pure_nano_epsilon, events) if pure is not None]
    return how(parts) if len(parts) == len(events) else None


def _amplified(nano: int, rate: Fraction) -> int:
    """Compute ln(1 + q (e^eps - 1)), rounded up (Li, Qardaji, Su 2012, Theorem 1); at most ``nano``."""
    epsilon = nano / NANO
    # e^epsilon nears the end of floats (709); the epsilon without sampling bounds it too.
    if epsilon > 500:
        return nano
    # Raised past the error of log1p and expm1, so that rounding up rounds the true value up.
    amplified = math.log1p(float(rate) * math.expm1(epsilon)) * (1 + 1e-12)
    return min(nano, max(1, math.ceil(amplified * NANO)))


def unprotected_reasons(event: Event) -> tuple[str, ...]:
    """List the reasons of every Unprotected inside ``event``, in order."""
    match event:
        case Unprotected(reason=reason):
            return (reason,)
        case PoissonSampled(event=inner) | Repeated(event=inner):
            return unprotected_reasons(inner)
        case Composed(events=events) | Parallel(branches=events):
            return tuple(reason for part in events for reason in unprotected_reasons(part))
        case _:
            check_event(event)
            return ()


def sampled(event: Event) -> bool:
    """Tell whether anything inside ``event`` is Poisson-sampled.

    Its curves, losses and amplified epsilons are those of a unit that is there or absent: where one unit
    stands in the place of another, both may be drawn, and the bounds do not hold.
    """
    match event:
        case PoissonSampled():
            return True
        case Repeated(event=inner):
            return sampled(inner)
        case Composed(events=events) | Parallel(branches=events):
            return any(sampled(part) for part in events)
        case _:
            check_event(event)
            return False


def to_json(event: Event) -> dict[str, Any]:
    """Write ``event`` as JSON-able values; exact: fractions are texts 'p/q'."""
    match event:
        case Pure(nano_epsilon=nano, mechanism=mechanism):
            return {"kind": "pure", "nano_epsilon": nano, "mechanism": mechanism}
        case GaussianEvent(noise_multiplier=sigma):
            return {"kind": "gaussian", "noise_multiplier": str(sigma)}
        case PoissonSampled(rate=rate, event=inner):
            return {"kind": "poisson_sampled", "rate": str(rate), "event": to_json(inner)}
        case Repeated(event=inner, times=times):
            return {"kind": "repeated", "event": to_json(inner), "times": times}
        case Composed(events=events):
            return {"kind": "composed", "events": [to_json(e) for e in events]}
        case Parallel(branches=branches):
            return {"kind": "parallel", "branches": [to_json(e) for e in branches]}
        case Unprotected(reason=reason):
            return {"kind": "unprotected", "reason": reason}
        case _:
            raise InvalidInput(f"unknown privacy event: {type(event).__name__}", field="event")


def from_json(value: Any, depth: int = 0) -> Event:
    """Read the event that :func:`to_json` wrote; InvalidInput for anything else."""
    if depth >= MAX_DEPTH:
        raise InvalidInput(f"events nest at most {MAX_DEPTH} deep", field="event")
    match value:
        # Nothing may be left over: a key that is not known here belongs to another event.
        case {"kind": "pure", "nano_epsilon": nano, "mechanism": mechanism, **rest} if not rest:
            return Pure(nano, mechanism)
        case {"kind": "gaussian", "noise_multiplier": sigma, **rest} if not rest:
            return GaussianEvent(_fraction(sigma))
        case {"kind": "poisson_sampled", "rate": rate, "event": inner, **rest} if not rest:
            return PoissonSampled(_fraction(rate), from_json(inner, depth + 1))
        case {"kind": "repeated", "event": inner, "times": times, **rest} if not rest:
            return Repeated(from_json(inner, depth + 1), times)
        case {"kind": "composed", "events": [*inner], **rest} if not rest:
            return Composed(tuple(from_json(e, depth + 1) for e in inner))
        case {"kind": "parallel", "branches": [*inner], **rest} if not rest:
            return Parallel(tuple(from_json(e, depth + 1) for e in inner))
        case {"kind": "unprotected", "reason": reason, **rest} if not rest:
            return Unprotected(reason)
        case _:
            raise InvalidInput("not a privacy event of the known vocabulary", field="event")


def _fraction(text: Any) -> Fraction:
    try:
        # No exponents: "1e999999999" would be computed digit by digit.
        if isinstance(text, str) and _EXACT.fullmatch(text):
            return Fraction(text)
    except ZeroDivisionError as error:
        raise InvalidInput("not a fraction", field="event") from error
    raise InvalidInput("a fraction is written as a text 'p/q'", field="event")
