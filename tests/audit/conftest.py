"""What the audits of several methods share."""

import pytest

from core.privacy import mechanisms, randomised_response


@pytest.fixture
def double_epsilon(monkeypatch):
    """Coins, counts and degrees are drawn at twice the epsilon that the transcript says."""
    flip, laplace = randomised_response.flip, mechanisms.discrete_laplace

    def bold(source, target, shape, flips, **options):
        louder = randomised_response.Flips.symmetric(2 * flips.nano_epsilon)
        return flip(source, target, shape, louder, **options)

    def quiet(values, l1_sensitivity, nano_epsilon, **options):
        return laplace(values, l1_sensitivity, 2 * nano_epsilon, **options)

    monkeypatch.setattr(randomised_response, "flip", bold)
    monkeypatch.setattr(mechanisms, "discrete_laplace", quiet)
