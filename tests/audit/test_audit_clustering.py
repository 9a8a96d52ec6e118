"""The clustering ladder by itself on two neighbouring graphs; half the noise and narrow rungs are caught."""

import numpy as np
import pytest

from core.privacy.accounting.audit import audit_epsilon
from core.privacy.accounting.events import NANO
from core.privacy.mechanisms.clustering import Damping, damped_clustering
from core.privacy.mechanisms.ladder import climbed
from tests.support.auditing import SOUND, caught

EPSILON = 2.0
DAMPING = Damping(4, 32)
# Two nodes that share thirty others: their edge closes thirty triangles at once.
SHARED = [(end, x) for end in (0, 1) for x in range(2, 32)]


def told(pairs):
    return damped_clustering(*np.array(pairs).T, 32, DAMPING)


def run_of(factor):
    rng = np.random.default_rng(20260101)

    def run(numbers, count):
        nano = int(EPSILON * NANO) * factor
        return np.array([climbed(*numbers, DAMPING.grain, None, nano, rng=rng) for _ in range(count)])[
            :, None
        ]

    return run


@pytest.mark.parametrize("factor", [1, 2])
def test_the_clustering_ladder(factor):
    """``factor`` 2 asks for half the noise: the broken copy."""
    one, other = told([*SHARED, (0, 1)]), told(SHARED)
    bound = audit_epsilon(run_of(factor), one, other, runs=20_000, confidence=SOUND).lower_bound
    assert 0.5 < bound <= EPSILON if factor == 1 else bound > 0.75 * EPSILON


def test_a_local_sensitivity_of_linked_pairs_alone_is_caught():
    """Unlinked, no linked pair shares a neighbour, and rungs too narrow tell that triangles are absent."""
    one, other = ((told(pairs)[0], DAMPING.ends) for pairs in ([*SHARED, (0, 1)], SHARED))

    def measured(runs, confidence):
        return audit_epsilon(run_of(1), one, other, runs=runs, confidence=confidence).lower_bound

    assert caught(measured, EPSILON, 5_000)
