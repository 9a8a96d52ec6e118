"""Which nodes are active in a step, told from noisy degrees of all steps."""

from itertools import product

import numpy as np
import pytest

from core.methods._shared.degrees import active_steps
from core.methods._shared.degrees.active_steps import over_steps
from core.methods._shared.degrees.sides import fitted_sides
from core.methods._shared.degrees.step_numbers import memberships
from core.privacy.entropy import public_generator
from core.privacy.mechanisms.noise import discrete_laplace

NANO = 800_000_000


def test_weighed_coins_are_those_of_all_outcomes():
    rng = np.random.default_rng(1)
    chance, weight = rng.random((3, 4)), rng.random(5)
    numbers, found = memberships(chance, weight)
    plain_numbers, plain = np.zeros(5), np.zeros((3, 4))
    for row in range(3):
        law = {}
        for outcome in product((0, 1), repeat=4):
            coins = np.where(outcome, chance[row], 1 - chance[row])
            law[outcome] = coins.prod() * weight[sum(outcome)]
        total = sum(law.values())
        for outcome, mass in law.items():
            plain_numbers[sum(outcome)] += mass / total
            plain[row] += np.array(outcome) * mass / total
    np.testing.assert_allclose(numbers, plain_numbers)
    np.testing.assert_allclose(found, plain)


def one_step_each(nodes=2_000, steps=6, seed=2):
    """Every node is active in one step, with 1 to 40 edges; and its noisy degrees."""
    rng = np.random.default_rng(seed)
    true = np.zeros((steps, nodes), dtype=np.int64)
    true[rng.integers(0, steps, nodes), np.arange(nodes)] = rng.integers(1, 41, nodes)
    noisy = [discrete_laplace(values, 1, NANO, rng=rng) for values in true]
    return true, noisy, fitted_sides(noisy, NANO, public_generator(3), most=400)


def test_all_steps_together_tell_in_how_many_a_node_is_active():
    true, noisy, fitted = one_step_each()
    found = over_steps(noisy, fitted, 1e9 / NANO, public_generator(4))
    off = [
        np.abs(np.bincount((np.array(each) > 0).sum(axis=0), minlength=7) - [0, 2_000, 0, 0, 0, 0, 0]).sum()
        for each in (fitted, found)
    ]
    assert off[1] < 0.5 * off[0]
    wrong = [((np.array(each) > 0) != (true > 0)).sum() for each in (fitted, found)]
    assert wrong[1] < wrong[0]


def test_the_degrees_of_a_step_stay_what_they_were():
    _, noisy, fitted = one_step_each(300)
    found = over_steps(noisy, fitted, 1e9 / NANO, public_generator(4))
    for before, after, read in zip(fitted, found, noisy, strict=True):
        np.testing.assert_array_equal(np.sort(before), np.sort(after))
        active = np.flatnonzero(after)
        assert (np.diff(after[active[np.lexsort((after[active], read[active]))]]) >= 0).all()


def test_the_same_state_tells_the_same():
    _, noisy, fitted = one_step_each(300)
    one, two = (over_steps(noisy, fitted, 1.25, public_generator(5)) for _ in range(2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("active", [0, 5])
def test_nobody_and_everybody_stay_as_they_are(active):
    fitted = [np.full(5, active)] * 3
    found = over_steps([np.full(5, active)] * 3, fitted, 1.0, public_generator(6))
    np.testing.assert_array_equal(found, fitted)


def test_a_single_step_and_too_much_work_are_left_alone(monkeypatch):
    _, noisy, fitted = one_step_each(300)
    assert over_steps(noisy[:1], fitted[:1], 1.25, public_generator(7))[0] is fitted[0]
    monkeypatch.setattr(active_steps, "MOST_WORK", 300 * 36 - 1)
    assert over_steps(noisy, fitted, 1.25, public_generator(7)) is fitted


def test_values_far_from_all_degrees_are_held():
    noisy = [np.array([-(10**9), 10**9, 3, 0]), np.array([0, 10**12, -5, 4])]
    found = over_steps(noisy, [np.array([0, 9, 2, 0]), np.array([0, 7, 0, 3])], 1.0, public_generator(8))
    assert found[0][1] == 9
    assert found[1][1] == 7
