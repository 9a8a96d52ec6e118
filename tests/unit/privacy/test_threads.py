"""Noise and triangles on several threads: the same law, the same counts, no stream of randomness twice."""

import threading

import numpy as np
import pytest
from scipy import stats

from core.privacy import entropy
from core.privacy.accounting.events import NANO
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.mechanisms import threads, triangle_kernels
from tests.support.groups import in_part
from tests.support.patience import PATIENCE_SECONDS

COUNT = 200_000


@pytest.fixture(params=[1, 3])
def on(request):
    threads.allow(request.param)
    yield request.param
    threads.allow(1)


def test_pieces_cover_all_once(on):
    for length in (0, 1, 99, 100, 1_000, 12_345):
        pieces = threads.cut(length, 100)
        assert pieces[0][0] == 0
        assert pieces[-1][1] == length
        assert [low for low, _ in pieces[1:]] == [high for _, high in pieces[:-1]]
        assert len(pieces) == 1 or min(high - low for low, high in pieces) >= 100
        assert len(pieces) <= on * threads.PIECES_A_THREAD
        assert on > 1 or len(pieces) == 1


def test_work_is_done_side_by_side_and_no_thread_is_left(on):
    together, before = threading.Barrier(on), {*threading.enumerate()}
    found = threads.on_threads(
        lambda low, high: (together.wait(PATIENCE_SECONDS), high - low)[1], [(k, k + 1) for k in range(on)]
    )
    assert found == [1] * on
    assert {*threading.enumerate()} <= before


def test_an_error_of_a_piece_is_the_works(on):
    def fails(low, high):
        if low:
            raise ZeroDivisionError
        return high

    with pytest.raises(ZeroDivisionError):
        threads.on_threads(fails, [(0, 1), (1, 2)])


@in_part("kind", ["laplace", "gaussian", "wide"], 2)
def test_every_piece_has_a_generator_of_its_own_and_the_law_is_the_same(on, kind, monkeypatch):
    made, true = [], entropy.noise_generator

    def keyed():
        made.append(true())
        return made[-1]

    monkeypatch.setattr(entropy, "noise_generator", keyed)
    zeros, draw = np.zeros(COUNT, dtype=np.int64), mechanisms.discrete_laplace
    if kind == "laplace":
        noisy, alone = draw(zeros, 1, NANO // 2), draw(zeros, 1, NANO // 2, rng=true())
    else:
        sigma = 5.0 if kind == "gaussian" else 5_000.0
        noisy, alone = (mechanisms.discrete_gaussian(zeros, 1, sigma, rng=rng) for rng in (None, true()))
    pieces = len(threads.cut(COUNT, mechanisms.LEAST_VALUES))
    assert len(made) == pieces
    assert noisy.dtype == np.int64
    assert noisy.shape == (COUNT,)
    assert stats.ks_2samp(noisy, alone).pvalue > 1e-4
    first = [part[:50].tobytes() for part in np.array_split(noisy, pieces)]
    assert len(set(first)) == pieces


def test_triangles_are_the_same(on, monkeypatch):
    monkeypatch.setattr(triangle_kernels, "LEAST_ENTRIES", 50)
    rng = np.random.default_rng(4)
    keys = np.unique(np.sort(rng.integers(0, 300, (3_000, 2)), axis=1) @ [400, 1])
    source, target = (part[(keys // 400) != keys % 400] for part in np.divmod(keys, 400))
    count, found = triangle_kernels.triangles(source, target, 400), np.zeros((400, 400), dtype=np.int64)
    found[source, target] = found[target, source] = 1
    at_nodes = triangle_kernels.triangles_and_common(source, target, 400)[0]
    np.testing.assert_array_equal(at_nodes, np.diagonal(found @ found @ found) // 2)
    assert at_nodes.sum() == 3 * count > 0
