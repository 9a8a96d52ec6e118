"""Rows that carry classes are classified, rows of noise are not, and blocks count alike."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.representations import (
    predicted_classes,
    row_classification,
    side_by_side,
    split_nodes,
    unit_features,
)

CLASSES = np.repeat([0, 1, 2], 100)


def planted(strength: float, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(300, 8)) + strength * np.eye(8)[CLASSES]


def test_rows_with_the_class_in_them_beat_rows_of_noise():
    micro, macro = row_classification([planted(6)], CLASSES, 0.2, 1)
    assert min(micro, macro) > 0.95
    # 240 tested nodes: a standard error of 0.03 around a third.
    assert row_classification([planted(0)], CLASSES, 0.2, 1)[0] == pytest.approx(1 / 3, abs=0.15)
    assert row_classification([planted(6), planted(0, 5)], CLASSES, 0.2, 1)[0] > 0.9


def test_a_split_keeps_shares_and_leaves_nobody_out():
    classes = np.append(CLASSES, [-1, -1])
    known, tested = split_nodes(classes, 0.2, 7)
    assert np.bincount(classes[known]).tolist() == [20, 20, 20]
    assert sorted(np.append(known, tested)) == list(range(300))
    assert np.array_equal(known, split_nodes(classes, 0.2, 7)[0])
    assert not np.array_equal(known, split_nodes(classes, 0.2, 8)[0])
    with pytest.raises(ValueError, match="two classes"):
        split_nodes(np.zeros(10, dtype=np.int64), 0.2, 1)


def test_a_class_with_too_few_known_nodes_for_folds_is_no_fault():
    classes = np.array([0] * 40 + [1] * 40 + [2] * 5)
    rows = 6 * np.eye(3)[classes]
    known, _ = split_nodes(classes, 0.2, 1)
    assert np.bincount(classes[known]).tolist() == [8, 8, 1]
    assert np.array_equal(predicted_classes(rows, classes, known), classes)


def test_blocks_stand_side_by_side_as_they_are():
    first, second = np.array([[1.0, 2.0]]), np.array([[300.0]])
    found = side_by_side(first, second)
    assert isinstance(found, np.ndarray)
    assert found.tolist() == [[1.0, 2.0, 300.0]]
    sparse = side_by_side(np.eye(20), np.zeros((20, 0)))
    assert isinstance(sparse, sp.csr_array)
    assert np.array_equal(sparse.toarray(), np.eye(20))


def test_features_are_unit_rows():
    found = unit_features(np.array([[3.0, 4.0], [0.0, 0.0]], dtype=np.float32))
    assert found.tolist() == [[0.6, 0.8], [0.0, 0.0]]
    assert found.dtype == np.float64
