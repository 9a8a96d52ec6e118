"""Noise on integers, exact to the last bit: discrete Laplace and discrete Gaussian.

Up to OPENDP_VALUES values are noised by OpenDP's samplers, longer vectors by the kernels of
:mod:`core.privacy.mechanisms.samplers`; how many values a read has is public. Both sample the same families
of integer laws from operating-system entropy. Noise is never smaller than asked: a scale that must be rounded
is rounded up, by OpenDP's samplers to a float, by the kernels as each function says.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

# Not opendp.prelude: with it comes scikit-learn, and every release would import it for two seconds.
from opendp import domains, measurements, metrics, mod

from core.errors import InvalidInput, NotAccepted
from core.privacy import entropy, limits
from core.privacy.accounting.accountant import FINEST, Accountant
from core.privacy.accounting.events import NANO, check_nano_epsilon, positive_fraction
from core.privacy.entropy import Generator
from core.privacy.limits import MAX_SIGMA
from core.privacy.mechanisms import samplers
from core.privacy.mechanisms.threads import cut, on_threads

OPENDP_VALUES = 1024  # 6 microseconds each, .4 in a kernel; fewer are not worth its loading
LEAST_VALUES = 2**15  # in a piece that a thread draws for
_NARROW_SIGMA = 2**12
_WORK = 2**25
_SAFE = 2**62


def discrete_laplace(
    values: np.ndarray, l1_sensitivity: int, nano_epsilon: int, *, rng: Generator | None = None
) -> np.ndarray:
    """Add independent discrete Laplace noise to ``values``. It has P(x) proportional to exp(-|x| eps /
    l1_sensitivity); int64.

    Sensitivity: the caller's, L1, an integer in [1, 2^20]. Unit: whatever moves the values by that much.
    Proof: pure epsilon, Ghosh, Roughgarden, Sundararajan (2009); the ratio of two outputs' probabilities is
    at most exp(eps / l1 * L1 distance). Adding to the data saturates at +-2^62, which is post-processing.
    O(values), about 0.4 microseconds each (6 with OpenDP). ``rng`` is for tests of the law alone.
    """
    check_nano_epsilon(nano_epsilon)
    values = _checked(values)
    limits.check_sensitivity(l1_sensitivity)
    scale = Fraction(l1_sensitivity * NANO, nano_epsilon)
    if rng is None and values.size <= OPENDP_VALUES:
        return _opendp_noise("laplace", _float_above(scale), values)
    # numerator <= 2^20 * 10^9 < 2^50 and denominator <= 10^12: the kernel's bounds hold, nothing is rounded
    return _by_threads(
        lambda own, part: samplers.add_discrete_laplace(own, part, scale.numerator, scale.denominator),
        values,
        rng,
    )


def discrete_gaussian(
    values: np.ndarray,
    l2_squared: int,
    noise_multiplier: Fraction | float,
    *,
    rng: Generator | None = None,
) -> np.ndarray:
    """Add independent discrete Gaussian noise of sigma = noise_multiplier * sqrt(l2_squared) to ``values``;
    int64.

    Sensitivity: the caller's, ``l2_squared`` the square of the L2 distance, an integer.
    Proof: Rényi divergence alpha / (2 noise_multiplier^2) at every order, Canonne, Kamath, Steinke (2020),
    Theorem 14. The kernels round sigma up: above 4096 to the next integer, below by less than 2^-23 of the
    variance, or by less than 2^-25 where that is below 1. Raises InvalidInput when sigma exceeds 2^24.
    O(values). ``rng`` is for tests of the law alone.
    """
    values = _checked(values)
    variance = check_gaussian(l2_squared, noise_multiplier)
    if rng is None and values.size <= OPENDP_VALUES:
        return _opendp_noise("gaussian", _root_above(variance), values)
    floor_sigma = math.isqrt(variance.numerator // variance.denominator)
    if floor_sigma >= _NARROW_SIGMA:
        # Rounded up to an integer, for which the wide sampler is made.
        sigma = floor_sigma if floor_sigma**2 == variance else floor_sigma + 1
        return _by_threads(
            lambda own, part: samplers.add_discrete_gaussian_wide(own, part, sigma), values, rng
        )
    t = floor_sigma + 1
    # a / b is the variance rounded up, on the finest grid whose products stay below 2^62.
    b = max(1, _WORK // (t * t))
    a = math.ceil(variance * b)
    return _by_threads(lambda own, part: samplers.add_discrete_gaussian(own, part, a, b, t), values, rng)


def _by_threads(
    add: Callable[[Generator, np.ndarray], np.ndarray], values: np.ndarray, rng: Generator | None
) -> np.ndarray:
    """What ``add`` makes of ``values``: with ``rng``, or in pieces, each with a generator of its own.

    Generators are keyed by the operating system one by one, so that noise is as independent as with one.
    """
    if rng is not None:
        return add(rng, values)

    def noisy(low: int, high: int) -> np.ndarray:
        return add(entropy.noise_generator(), values[low:high])

    parts = on_threads(noisy, cut(len(values), LEAST_VALUES))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def check_gaussian(
    l2_squared: int, noise_multiplier: Fraction | float, accountant: Accountant = Accountant.RENYI
) -> Fraction:
    """Compute sigma squared, exactly; InvalidInput when an argument lies outside the samplers' bounds.

    Raises NotAccepted where the plan counts privacy losses, and sigma is below FINEST: their proof is for a
    finer grid (:mod:`core.privacy.accounting.losses`).
    """
    limits.check_sensitivity(l2_squared, field="l2_squared")
    variance = l2_squared * positive_fraction(noise_multiplier, "noise_multiplier") ** 2
    if variance > MAX_SIGMA**2:
        raise InvalidInput(f"a standard deviation is at most {MAX_SIGMA}", field="noise_multiplier")
    if accountant is not Accountant.RENYI and variance < FINEST**2:
        raise NotAccepted("on integers, so little noise is accounted for by Rényi divergences only")
    return variance


def _checked(values: np.ndarray) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise InvalidInput("values are a vector of integers", field="values")
    return np.ascontiguousarray(array, dtype=np.int64)


def _float_above(exact: Fraction) -> float:
    """Return the smallest convenient float that is not below ``exact``."""
    value = float(exact)
    # The nearest float may lie below the fraction: one step up, so that noise is no less than asked.
    return value if Fraction(value) >= exact else math.nextafter(value, math.inf)


def _root_above(variance: Fraction) -> float:
    """Return a float whose square is not below ``variance``."""
    root = math.sqrt(_float_above(variance))
    # The root is rounded as well: up until its square is enough.
    while Fraction(root) ** 2 < variance:
        root = math.nextafter(root, math.inf)
    return root


def _opendp_noise(kind: str, scale: float, values: np.ndarray) -> np.ndarray:
    if values.size == 0:
        return values.copy()
    noisy = np.asarray(_measurement(kind, scale)(values), dtype=np.int64)
    return np.clip(noisy, -_SAFE, _SAFE)


@lru_cache(maxsize=256)
def _measurement(kind: str, scale: float) -> Any:
    mod.enable_features("contrib")
    domain = domains.vector_domain(domains.atom_domain(T="i64"))
    if kind == "laplace":
        return measurements.make_laplace(domain, metrics.l1_distance(T="i64"), scale=scale)
    return measurements.make_gaussian(domain, metrics.l2_distance(T="i64"), scale=scale)
