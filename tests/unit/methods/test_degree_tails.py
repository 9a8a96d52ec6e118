"""The law of degrees from noisy degrees and tail counts: thresholds, and how near it comes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.methods._shared.degrees.fitted import degree_law, fitted_degrees
from core.methods._shared.degrees.tails import Ends, Tails, law_with_tails, thresholds
from core.privacy.accounting.events import NANO
from core.privacy.entropy import public_generator
from tests.support.groups import examples

NODES = 4_000


def steep(seed: int = 1) -> np.ndarray:
    """Half the nodes have one edge or two, a few have hundreds."""
    return np.minimum(np.random.default_rng(seed).zipf(1.9, NODES), 400)


def laplace(rng, scale: float, size: int) -> np.ndarray:
    keep = 1 - np.exp(-1 / scale)
    return rng.geometric(keep, size) - rng.geometric(keep, size)


def off(law, degrees) -> float:
    """The total variation between a law's quantiles and true degrees."""
    found = law.quantiles(len(degrees)).astype(int)
    size = max(found.max(), degrees.max()) + 1
    return (
        abs(np.bincount(found, minlength=size) - np.bincount(degrees, minlength=size)).sum()
        / 2
        / len(degrees)
    )


def told(degrees, scale: float, tail_scale: float, seed: int):
    rng = np.random.default_rng(seed)
    noisy = degrees + laplace(rng, scale, len(degrees))
    at = thresholds(noisy)
    count = (degrees[:, None] >= at).sum(axis=0) + laplace(rng, tail_scale, len(at))
    return noisy, Tails(at, count, 2 * tail_scale**2), Ends(float(degrees.sum()), 100.0)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.integers(-50, 5_000), min_size=1, max_size=60))
def test_thresholds_increase_from_one(noisy):
    at = thresholds(np.array(noisy))
    assert at[0] >= 1
    assert (np.diff(at) >= 1).all()


def test_tail_counts_mend_the_law_of_a_steep_graph():
    degrees, with_tails, without = steep(), [], []
    for seed in range(2):
        noisy, tails, ends = told(degrees, 7.0, 33.0, seed)
        with_tails.append(off(law_with_tails(noisy, 7.0, tails, ends), degrees))
        without.append(off(degree_law(noisy, 7.0, degrees.mean()), degrees))
    assert max(with_tails) < 0.1 < 0.25 < min(without)


def test_without_noise_the_law_comes_back():
    degrees = steep(2)
    noisy, tails, ends = told(degrees, 0.05, 0.05, 3)
    np.testing.assert_array_equal(noisy, degrees)
    assert off(law_with_tails(noisy, 0.05, tails, ends), degrees) < 0.02


def test_hubs_keep_their_own_numbers():
    degrees = np.concatenate([np.full(NODES, 4), [900, 700, 500]])
    noisy, tails, ends = told(degrees, 3.0, 20.0, 4)
    law = law_with_tails(noisy, 3.0, tails, ends)
    found = fitted_degrees(noisy, int(2 / 3 * NANO), public_generator(1), law=law)
    assert np.abs(found[NODES:] - degrees[NODES:]).max() < 40


@pytest.mark.parametrize("noisy", [[0], [-3, -4], [1, 0], [5, 5, 5], [-1] * 20])
def test_laws_of_tiny_graphs(noisy):
    noisy = np.array(noisy)
    at = thresholds(noisy)
    law = law_with_tails(noisy, 4.0, Tails(at, np.zeros(len(at)), 200.0), Ends(-3.0, 50.0))
    assert law.mass.sum() == pytest.approx(1)
    assert (law.quantiles(len(noisy)) >= 0).all()


@pytest.mark.parametrize("seed", range(3))
def test_a_long_tail_is_not_made_up_by_nodes_of_middling_degree(seed):
    """A law that loses its hubs meets the sum of degrees elsewhere; the nodes' own numbers then add to it."""
    degrees = np.minimum(np.random.default_rng(seed).zipf(2.0, 6 * NODES), 2_500)
    noisy, tails, ends = told(degrees, 5.0, 13.0, seed)
    law = law_with_tails(noisy, 5.0, tails, ends)
    found = fitted_degrees(noisy, int(2 / 5 * NANO), public_generator(seed), law=law)
    assert found.sum() == pytest.approx(degrees.sum(), rel=0.02)
    middling = (degrees > 40) & (degrees < 500)
    between = (found > 40) & (found < 500)
    assert found[between].sum() == pytest.approx(degrees[middling].sum(), rel=0.15)
    far = np.sort(law.quantiles(len(degrees)))[-5:]
    assert far == pytest.approx(np.sort(degrees)[-5:], rel=0.05, abs=20)


@pytest.mark.parametrize("seed", range(3))
def test_few_hubs_are_kept_from_where_noise_alone_does_not_reach(seed):
    """Four nodes beyond its reach have most pairs of neighbours: a smooth law loses them."""
    degrees = np.minimum(np.random.default_rng(2).zipf(2.6, NODES), 30)
    degrees[:4] = 190, 180, 170, 160
    noisy, tails, ends = told(degrees, 9.0, 18.0, seed)
    law = law_with_tails(noisy, 9.0, tails, ends)
    found = fitted_degrees(noisy, round(NANO * 2 / 9), public_generator(seed), law=law)
    assert (abs(found[:4] - degrees[:4]) < 45).all()
    assert np.sort(found)[-5] < 100


def test_a_law_of_more_hubs_than_are_kept_apart():
    degrees = np.random.default_rng(5).integers(200, 3_000, NODES)
    noisy, tails, ends = told(degrees, 0.5, 2.0, 5)
    law = law_with_tails(noisy, 0.5, tails, ends)
    assert len(law.grid) < 2_000
    assert law.mass.sum() == pytest.approx(1)
    assert law.quantiles(NODES).mean() == pytest.approx(degrees.mean(), rel=0.02)
