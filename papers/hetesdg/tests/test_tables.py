"""Noisy tables: what they say of likeness, scores, attention and splits."""

import numpy as np
import pytest

from core.privacy.mechanisms.noise import discrete_laplace
from papers.hetesdg.inputs import grouped, leading, matrix_of
from papers.hetesdg.sound.attention import neighbour_attention, semantic_weights
from papers.hetesdg.sound.split import histogram_share
from papers.hetesdg.sound.tables import Table, expected, gate, laplace_variance, mix


def planted(alike: bool, nodes: int = 3000, size: int = 8) -> np.ndarray:
    rng = np.random.default_rng(2)
    share = np.eye(4)[rng.integers(0, 4, nodes)] if alike else np.full((nodes, 4), 0.25)
    return rng.multinomial(size, share)


def noisy(rows: np.ndarray, epsilon: float) -> Table:
    flat = discrete_laplace(rows.ravel(), 1, int(epsilon * 1e9))
    return Table(flat.reshape(rows.shape), 1 / epsilon, np.full(rows.shape[1], 1 / rows.shape[1]))


def test_the_variance_is_that_of_the_noise():
    for epsilon in (0.2, 1.0, 3.0):
        found = discrete_laplace(np.zeros(200_000, dtype=np.int64), 1, int(epsilon * 1e9)).var()
        assert found == pytest.approx(laplace_variance(1 / epsilon), rel=0.05)


@pytest.mark.parametrize(("alike", "low", "high"), [(True, 0.9, 1.1), (False, -0.05, 0.05)])
def test_likeness_survives_the_noise(alike, low, high):
    found = mix(noisy(planted(alike), 1.0))
    assert low <= (found.same - found.chance) / (1 - found.chance) <= high


def test_expected_counts_are_nearer_than_noisy_ones():
    rows = planted(True)
    table = noisy(rows, 1.0)
    assert np.square(expected(table) - rows).mean() < 0.7 * np.square(table.noisy - rows).mean()


def test_the_gate_shuts_on_noise_and_opens_on_data():
    assert gate(noisy(np.zeros((3000, 4), dtype=int), 1.0)) < 0.1
    assert gate(noisy(planted(True, size=30), 4.0)) > 0.9


def test_attention_is_a_mean_of_neighbours():
    centre = np.random.default_rng(0).normal(size=(3, 6))
    found = neighbour_attention(np.array([[0.0, 4.0, 0.0], [0, 0, 0], [1, 1, 1]]), centre, heads=3)
    np.testing.assert_allclose(found[0], centre[1])
    assert not found[1].any()
    assert (found[2] <= centre.max(axis=0) + 1e-12).all()
    assert neighbour_attention(np.ones((2, 1)), np.empty((1, 0)), heads=4).shape == (2, 0)


def test_the_debias_weight_lowers_paths_to_everybody():
    plain = semantic_weights([0.5, 0.5], [1.0, 100.0], debias=False)
    np.testing.assert_allclose(plain, [0.5, 0.5])
    corrected = semantic_weights([0.5, 0.5], [1.0, 100.0], debias=True)
    assert corrected[0] > 0.9
    assert corrected.sum() == pytest.approx(1)
    assert len(semantic_weights([], [], debias=True)) == 0


def test_the_split_follows_what_is_unclear():
    """Sequences of many nodes need little; a dense table needs less than a thin one."""
    thin = histogram_share(4.0, 0.25, 1.0, 7000, sequences=2)
    dense = histogram_share(4.0, 10.0, 40.0, 7000, sequences=2)
    assert 0.7 < thin <= 0.95
    assert dense < thin
    assert histogram_share(1.0, 0.5, 3.0, 7000, sequences=0) == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("matrix", [None, np.empty((5, 0)), np.ones((5, 3)), np.zeros((5, 3))])
def test_nodes_that_are_alike_are_one_cluster(matrix):
    found = grouped(matrix, 5, 4)
    assert found.groups == 1
    assert found.label.tolist() == [0] * 5
    assert len(found.place) == 5


def test_columns_of_all_kinds_become_numbers():
    found = matrix_of(
        {
            "colour": np.array(["red", "blue", "red"]),
            "size": np.array([1.0, np.nan, 3.0]),
            "words": np.array([[1, 0], [0, 1], [np.inf, 1]], dtype=np.float32),
        }
    )
    assert found.shape == (3, 5)
    assert np.isfinite(found).all()
    assert matrix_of({}) is None


def test_a_column_of_few_nodes_tells_more():
    """Half the nodes share a word, a tenth of each half another one: those are the nearer to one another."""
    common, rare = np.arange(400) % 2, (np.arange(400) % 20) // 2 == 0
    found = leading(np.column_stack([common, 1 - common, rare]).astype(float))
    both = found[common.astype(bool) & rare][0]
    assert np.linalg.norm(both - found[~common.astype(bool) & rare][0]) < np.linalg.norm(
        both - found[common.astype(bool) & ~rare][0]
    )


def test_nodes_belong_to_clusters_by_distance():
    matrix = np.repeat(np.eye(3), 40, axis=0) + np.random.default_rng(1).normal(0, 0.2, (120, 3))
    found = grouped(matrix, 120, 3)
    member = found.membership()
    np.testing.assert_allclose(member.sum(axis=1), 1, rtol=1e-5)
    assert (member.argmax(axis=1) == found.label).mean() > 0.98
    far = np.linalg.norm(found.place - found.centre[found.label], axis=1)
    own = member[np.arange(120), found.label]
    assert own[far < 0.2].mean() > own[far > 0.5].mean()
    assert grouped(None, 5, 4).membership().tolist() == [[1.0]] * 5


def test_equal_columns_give_equal_clusters():
    matrix = np.random.default_rng(5).random((300, 30))
    one, other = grouped(matrix, 300, 4), grouped(matrix.copy(), 300, 4)
    np.testing.assert_array_equal(one.label, other.label)
