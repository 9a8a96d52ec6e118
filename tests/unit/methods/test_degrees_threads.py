"""Laws of degrees are fitted on one thread of linear algebra, and others get theirs back."""

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from core.methods._shared.degrees.smooth import newton_mode


def threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_the_mode_is_sought_on_one_thread():
    seen = []

    def derivatives(log_mass):
        seen.append(threads())
        return log_mass, np.eye(len(log_mass))

    with threadpool_limits(limits=2, user_api="blas"):
        before = threads()
        mass = newton_mode(np.array([1.0, -1.0]), lambda at: float(at @ at) / 2, derivatives, steps=50)
        assert threads() == before == {2}
    assert seen
    assert set.union(*seen) == {1}
    np.testing.assert_allclose(mass, 0.5, atol=1e-3)
