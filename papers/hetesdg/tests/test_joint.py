"""Posterior means of thin rows: nearer than those of single entries; other rows stay as they are."""

import numpy as np
import pytest

from core.privacy.mechanisms.noise import discrete_laplace
from papers.hetesdg.sound.joint import LARGEST, SUPPORT, rows_of, together
from papers.hetesdg.sound.tables import Table, expected


def noisy(rows: np.ndarray, epsilon: float) -> Table:
    flat = discrete_laplace(rows.ravel(), 1, int(epsilon * 1e9))
    return Table(flat.reshape(rows.shape), 1 / epsilon, np.full(rows.shape[1], 1 / rows.shape[1]))


def planted(nodes: int = 2_000, columns: int = 4) -> np.ndarray:
    """Rows of a few links each, all in one column."""
    rng = np.random.default_rng(2)
    return np.eye(columns, dtype=np.int64)[rng.integers(0, columns, nodes)] * rng.geometric(0.4, (nodes, 1))


@pytest.mark.parametrize(("columns", "largest"), [(1, LARGEST), (2, LARGEST), (3, 20), (4, 12), (64, 1)])
def test_the_support_is_every_row_of_a_small_sum(columns, largest):
    rows = rows_of(columns)
    assert len(np.unique(rows, axis=0)) == len(rows) <= SUPPORT
    assert rows.min() == 0
    assert rows.sum(axis=1).max() == largest
    one_more = np.zeros(columns, dtype=np.int64)
    one_more[-1] = largest
    assert (rows == one_more).all(axis=1).any()


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 3.0])
def test_entries_together_say_more_than_each_by_itself(epsilon):
    rows = planted()
    table = noisy(rows, epsilon)
    errors = [np.square(found - rows).mean() for found in (together(table), expected(table))]
    assert errors[0] < 0.95 * errors[1]


def test_without_noise_counts_keep_their_order_and_neighbours_elsewhere_tell():
    rows = planted()
    found = together(noisy(rows, 50.0))
    ones = [found[(rows == count).any(axis=1)].max(axis=1).mean() for count in (1, 2, 4)]
    assert ones == sorted(ones)
    assert np.abs(found - rows).mean() < 0.3


def test_neighbours_elsewhere_make_an_empty_entry_likelier():
    """Half the nodes have no neighbour, the others five or so, in any cluster; no noise stands in the way."""
    rng = np.random.default_rng(4)
    rows = np.concatenate([rng.multinomial(5, [0.25] * 4, 1_000), np.zeros((1_000, 4), dtype=np.int64)])
    table = noisy(rows, 50.0)
    found, empty = together(table), rows == 0
    assert found[:1_000][empty[:1_000]].mean() > 5 * found[1_000:].mean()
    alone = expected(table)
    assert alone[:1_000][empty[:1_000]].mean() == pytest.approx(alone[1_000:].mean(), abs=1e-6)


def test_rows_that_are_not_thin_keep_their_own_entries():
    rows = planted(500)
    rows[:20] = 100
    table = noisy(rows, 1.0)
    found = together(table)
    np.testing.assert_array_equal(found[:20], expected(table)[:20])
    assert not np.array_equal(found[20:], expected(table)[20:])
    single = Table(table.noisy[:, :1], table.scale, np.ones(1))
    np.testing.assert_array_equal(together(single), expected(single))


def test_equal_rows_have_equal_means():
    table = noisy(planted(), 1.0)
    distinct, place = np.unique(table.noisy, axis=0, return_inverse=True)
    found = together(table)
    for number in range(0, len(distinct), 50):
        assert len(np.unique(found[place.ravel() == number], axis=0)) == 1


@pytest.mark.parametrize("rows", [np.zeros((1, 4)), np.zeros((5, 4)), np.full((3, 2), -4)])
def test_little_or_nothing_is_told_of(rows):
    found = together(Table(rows.astype(np.int64), 1.0, np.full(rows.shape[1], 1 / rows.shape[1])))
    assert found.shape == rows.shape
    assert np.isfinite(found).all()
    assert (found >= 0).all()
