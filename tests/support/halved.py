"""What the audits of several methods share."""

from collections.abc import Callable

import pytest

from core.privacy.mechanisms import noise as mechanisms
from core.privacy.mechanisms import randomised_response, samplers


@pytest.fixture
def double_epsilon(half_noise, monkeypatch):
    """Coins, counts and degrees are drawn at twice the epsilon that the transcript says."""
    flip = randomised_response.flip

    def bold(source, target, shape, flips, **options):
        louder = randomised_response.Flips.symmetric(2 * flips.nano_epsilon)
        return flip(source, target, shape, louder, **options)

    monkeypatch.setattr(randomised_response, "flip", bold)


@pytest.fixture
def half_noise(monkeypatch):
    """Every Laplace draw has half the scale that the transcript says."""
    true = mechanisms.discrete_laplace

    def broken(values, l1_sensitivity, nano_epsilon, **options):
        return true(values, l1_sensitivity, 2 * nano_epsilon, **options)

    monkeypatch.setattr(mechanisms, "discrete_laplace", broken)


@pytest.fixture
def divide_gaussian_noise(monkeypatch) -> Callable[[int], None]:
    """Called with a number, Gaussian noise has the scale that the transcript says over that number."""
    true = samplers.add_discrete_gaussian_wide

    def divide(divisor: int) -> None:
        monkeypatch.setattr(
            samplers, "add_discrete_gaussian_wide", lambda rng, x, s: true(rng, x, max(1, s // divisor))
        )

    return divide
