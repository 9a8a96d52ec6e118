"""Every basic mechanism is run many times on two neighbours; its measured epsilon stays under the stated one.

A copy with half the noise (or a doubled exponent) must be caught by the same audit.
"""

import numpy as np
import pytest
import scipy.sparse as sp

from core.privacy.accounting.accountant import ORDERS, nano_epsilon
from core.privacy.accounting.audit import audit_epsilon
from core.privacy.accounting.divergences import rdp
from core.privacy.accounting.events import NANO, GaussianEvent
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.mechanisms import samplers
from core.privacy.mechanisms.communities import exponential_pass

RUNS = 200_000
CONFIDENCE = 1 - 1e-6


def seeded():
    return np.random.default_rng(20260101)


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
@pytest.mark.parametrize("divisor", [1, 2])
def test_long_vector_laplace(epsilon, divisor):
    """divisor 2 asks the sampler for half the noise: the broken copy."""
    rng = seeded()
    noisy = int(epsilon * NANO) * divisor

    def run(value, count):
        return mechanisms.discrete_laplace(np.full(count, value), 1, noisy, rng=rng)

    bound = audit_epsilon(run, 1, 0, runs=RUNS, confidence=CONFIDENCE).lower_bound
    assert bound <= epsilon if divisor == 1 else bound > epsilon
    assert bound >= 0.9 * epsilon * divisor


@pytest.mark.parametrize("divisor", [1, 2])
def test_short_vector_laplace(divisor):
    """OpenDP's sampler through the same door; it draws from the operating system."""

    def run(value, count):
        parts = np.split(np.full(count, value), count // 1000)
        return np.concatenate([mechanisms.discrete_laplace(part, 1, NANO * divisor) for part in parts])

    bound = audit_epsilon(run, 1, 0, runs=60_000, confidence=CONFIDENCE).lower_bound
    assert bound <= 1.0 if divisor == 1 else bound > 1.0


@pytest.mark.parametrize("multiplier", [1.0, 0.5])
@pytest.mark.parametrize("opendp", [True, False])
def test_discrete_gaussian(multiplier, opendp):
    """sigma = 1 claims its own epsilon at delta 1e-3; half the noise (0.5) breaks that claim."""
    delta = 1e-3
    claimed = nano_epsilon(rdp(GaussianEvent(1), ORDERS), 10**15) / NANO
    rng = None if opendp else seeded()
    size = 1000 if opendp else 60_000

    def run(value, count):
        parts = np.split(np.full(count, value), count // size)
        return np.concatenate([mechanisms.discrete_gaussian(x, 1, multiplier, rng=rng) for x in parts])

    result = audit_epsilon(run, 1, 0, runs=60_000, delta=delta, confidence=CONFIDENCE)
    assert result.lower_bound <= claimed if multiplier == 1.0 else result.lower_bound > claimed


def test_wide_gaussian_sampler():
    """The kernel for large sigma: a shift by sigma stays within the claim, half the noise is not."""
    claimed = nano_epsilon(rdp(GaussianEvent(1), ORDERS), 10**15) / NANO
    rng = seeded()
    for t, sound in ((4096, True), (2048, False)):

        def run(value, count, t=t):
            return samplers.add_discrete_gaussian_wide(rng, np.full(count, value), t)

        result = audit_epsilon(run, 4096, 0, runs=60_000, delta=1e-3, confidence=CONFIDENCE)
        assert (result.lower_bound <= claimed) == sound


COMMUNITIES = 8
CLIQUE = 12


def cliques_and_two(linked):
    """Nodes 0 and 1, linked or not, in communities 0 and 1; a clique of its own holds each community."""
    size = 2 + COMMUNITIES * CLIQUE
    dense = np.zeros((size, size), dtype=np.int8)
    for c in range(COMMUNITIES):
        block = slice(2 + c * CLIQUE, 2 + (c + 1) * CLIQUE)
        dense[block, block] = 1
    np.fill_diagonal(dense, 0)
    dense[0, 1] = dense[1, 0] = linked
    return sp.csr_array(dense)


@pytest.mark.parametrize("factor", [1, 2])
def test_exponential_labels(factor):
    """0 joins 1, then 1 stays: both picks see the edge, so the measured epsilon comes near the stated one.

    ``factor`` 2 doubles kappa, the broken copy, and is caught.
    """
    rng = seeded()
    epsilon = 2.0
    labels = np.concatenate([[0, 1], np.repeat(np.arange(COMMUNITIES), CLIQUE)])
    order = np.arange(len(labels))
    nano = int(epsilon * factor * NANO)

    def run(linked, count):
        graph = cliques_and_two(linked)
        return np.stack([exponential_pass(graph, labels, order, nano, rng=rng)[:2] for _ in range(count)])

    bound = audit_epsilon(run, 1, 0, runs=12_000, confidence=CONFIDENCE).lower_bound
    assert 1.0 < bound <= epsilon if factor == 1 else bound > epsilon
