"""Exact integer samplers as compiled kernels. They are for vectors that are too long for OpenDP.

Bernoulli(exp(-gamma)), the discrete Laplace and the discrete Gaussian follow Canonne, Kamath and Steinke,
"The discrete Gaussian for differential privacy" (2020), Algorithms 1 to 3: integers and fair uniform
integers only, no floating point anywhere, so the output law is the stated one. The one departure is named:
a run of more than MAX_RUN successes of Bernoulli(exp(-1)) is cut, which changes a draw with probability
exp(-MAX_RUN) = 2^-5909.

Bounds: every product stays below 2^62 for the arguments that :mod:`core.privacy.mechanisms.noise` admits.
Sums with the data saturate at +-2^62; that is post-processing.
"""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel
from core.privacy.entropy import Generator

MAX_RUN = 4096
LIMIT = 2**62
PLAIN = 2**32


@kernel
def below(rng: Generator, n: int) -> int:
    """Draw one of 0..n-1, each equally likely. n lies in 1 <= n <= 2^62; fewer than 2 draws expected.

    Numba's own draw follows Lemire, "Fast random integer generation in an interval" (2019), Algorithm 5, up
    to 2^32; above, it does not reject every word that it must. So there the next power of two is drawn from,
    where no word needs rejecting, until the draw lies below n.
    """
    if n <= PLAIN:
        return int(rng.integers(0, n))
    power = PLAIN
    while power < n:
        power *= 2
    x = int(rng.integers(0, power))
    while x >= n:
        x = int(rng.integers(0, power))
    return x


@kernel
def bernoulli_exp_unit(rng: Generator, numerator: int, denominator: int) -> bool:
    """Draw True with probability exp(-numerator/denominator), for 0 <= numerator <= denominator < 2^62.

    Algorithm 1: A_K ~ Bernoulli(gamma / K), here as Bernoulli(gamma) and Bernoulli(1 / K), until one fails
    at K; true when that K is odd. About 2 draws.
    """
    k = 1
    while True:
        if k > 1 and below(rng, k) != 0:
            break
        if below(rng, denominator) >= numerator:
            break
        k += 1
    return k % 2 == 1


@kernel
def bernoulli_inverse_e(rng: Generator) -> bool:
    """Draw True with probability exp(-1). It is Algorithm 1 at gamma = 1, where the first trial always
    succeeds."""
    k = 2
    while below(rng, k) == 0:
        k += 1
    return k % 2 == 1


@kernel
def bernoulli_exp(rng: Generator, numerator: int, denominator: int) -> bool:
    """Draw True with probability exp(-numerator/denominator), numerator >= 0. Runs are cut at MAX_RUN."""
    whole = numerator // denominator
    if whole > MAX_RUN:
        return False
    for _ in range(whole):
        if not bernoulli_inverse_e(rng):
            return False
    return bernoulli_exp_unit(rng, numerator - whole * denominator, denominator)


@kernel
def geometric_draw(rng: Generator, t: int, s: int) -> int:
    """Draw one integer from the geometric distribution. It is y >= 0 with probability proportional to exp(-y
    s / t); 1 <= t < 2^50, s >= 1.

    The magnitude of Algorithm 2, before its sign.
    """
    u = below(rng, t)
    while u != 0 and not bernoulli_exp_unit(rng, u, t):
        u = below(rng, t)
    v = 0
    while v < MAX_RUN and bernoulli_inverse_e(rng):
        v += 1
    return (u + t * v) // s


@kernel
def discrete_laplace_draw(rng: Generator, t: int, s: int) -> int:
    """Draw one integer from the discrete Laplace. It is x with probability proportional to exp(-|x| s / t); 1
    <= t < 2^50, s >= 1. Algorithm 2."""
    while True:
        y = geometric_draw(rng, t, s)
        if below(rng, 2) == 0:
            return y
        if y != 0:
            return -y


@kernel
def discrete_gaussian_draw(rng: Generator, a: int, b: int, t: int) -> int:
    """Draw x with probability proportional to exp(-x^2 b / (2 a)). Algorithm 3, proposals of scale t.

    A proposal beyond 60 t is refused outright: it would be accepted with probability below exp(-1700). Needs
    60 max(a, t^2 b) < 2^31.5 and 2 a b t^2 < 2^62.
    """
    while True:
        y = discrete_laplace_draw(rng, t, 1)
        if abs(y) > 60 * t:
            continue
        gap = abs(y) * t * b - a
        if bernoulli_exp(rng, gap * gap, 2 * a * b * t * t):
            return y


@kernel
def discrete_gaussian_wide_draw(rng: Generator, t: int) -> int:
    """Draw one integer from the discrete Gaussian. It is x with probability proportional to exp(-x^2 / (2
    t^2)), for integer t < 2^25."""
    while True:
        y = discrete_laplace_draw(rng, t, 1)
        if abs(y) > 60 * t:
            continue
        gap = abs(y) - t
        if bernoulli_exp(rng, gap * gap, 2 * t * t):
            return y


@kernel
def saturating_sum(a: int, b: int) -> int:
    """Add a and b, held within +-2^62."""
    a = min(max(a, -LIMIT), LIMIT)
    b = min(max(b, -LIMIT), LIMIT)
    return min(max(a + b, -LIMIT), LIMIT)


@kernel
def add_discrete_laplace(rng: Generator, values: np.ndarray, t: int, s: int) -> np.ndarray:
    """Add discrete Laplace noise of scale t / s. It is independent, and added to ``values``; int64, a new
    array."""
    noisy = np.empty(values.size, np.int64)
    for i in range(values.size):
        noisy[i] = saturating_sum(values[i], discrete_laplace_draw(rng, t, s))
    return noisy


@kernel
def add_discrete_gaussian(rng: Generator, values: np.ndarray, a: int, b: int, t: int) -> np.ndarray:
    """Add discrete Gaussian noise of variance a / b. It is independent, a / b its variance parameter, and
    added to ``values``; int64, new."""
    noisy = np.empty(values.size, np.int64)
    for i in range(values.size):
        noisy[i] = saturating_sum(values[i], discrete_gaussian_draw(rng, a, b, t))
    return noisy


@kernel
def add_discrete_gaussian_wide(rng: Generator, values: np.ndarray, t: int) -> np.ndarray:
    """Add discrete Gaussian noise of scale t to ``values``. It is independent, t its scale parameter; int64,
    a new array."""
    noisy = np.empty(values.size, np.int64)
    for i in range(values.size):
        noisy[i] = saturating_sum(values[i], discrete_gaussian_wide_draw(rng, t))
    return noisy
