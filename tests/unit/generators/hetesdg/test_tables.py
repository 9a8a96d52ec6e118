"""Noisy tables: what they say of likeness, scores, attention and splits."""

import numpy as np
import pytest

from core.generators.hetesdg.inputs import grouped, matrix_of
from core.generators.hetesdg.sound.attention import neighbour_attention, semantic_weights
from core.generators.hetesdg.sound.split import histogram_share
from core.generators.hetesdg.sound.tables import Table, expected, gate, laplace_variance, mix, pair_scores
from core.privacy.mechanisms import discrete_laplace


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


@pytest.mark.parametrize(("alike", "low", "high"), [(True, 0.9, 1.0), (False, 0.0, 0.05)])
def test_likeness_survives_the_noise(alike, low, high):
    assert low <= mix(noisy(planted(alike), 1.0)).likeness <= high


def test_likeness_is_not_read_where_noise_is_wide():
    assert mix(noisy(planted(True), 0.1)).likeness == 0


def test_expected_counts_are_nearer_than_noisy_ones():
    rows = planted(True)
    table = noisy(rows, 1.0)
    assert np.square(expected(table) - rows).mean() < 0.7 * np.square(table.noisy - rows).mean()


def test_scores_rank_own_clusters_and_larger_nodes():
    rows = np.array([[9, 0], [0, 9], [1, 0], [0, 1]] * 50)
    table = noisy(rows, 20.0)
    scores = pair_scores(table, expected(table), mix(table))
    assert scores[0, 0] > scores[0, 1]
    assert scores[0, 0] > scores[2, 0] > scores[2, 1]
    alone = Table(table.noisy[:, :1], table.scale, np.ones(1))
    single = pair_scores(alone, expected(alone), mix(alone))
    assert single[0, 0] > single[2, 0] > single[1, 0]


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


def test_equal_columns_give_equal_clusters():
    matrix = np.random.default_rng(5).random((300, 30))
    one, other = grouped(matrix, 300, 4), grouped(matrix.copy(), 300, 4)
    np.testing.assert_array_equal(one.label, other.label)
