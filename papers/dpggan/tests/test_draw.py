"""Graphs from scores, from degrees and triangles, and from both."""

import numpy as np
import pytest

from core.graphs.schema import EdgeType
from core.privacy.accounting.flips import Flips
from core.privacy.entropy import public_generator
from core.privacy.queries import Shape
from papers.dpggan import draw as drawing
from papers.dpggan.draw import by_score, draw, largest
from papers.dpggan.params import LinkParams

NODES = 60
SHAPE = Shape(EdgeType(), NODES, NODES)
SIDE = np.where(np.arange(NODES) < NODES // 2, 1.0, -1.0)[:, None]


def within(keys: np.ndarray) -> float:
    """The share of edges inside the two halves."""
    return float((SIDE[keys // NODES, 0] == SIDE[keys % NODES, 0]).mean())


def frame(edges: int, triangles: float = 0.0) -> dict[str, np.ndarray]:
    return {
        "degrees": np.full(NODES, 2 * edges / NODES),
        "triangles": np.array([triangles]),
        "covariance": np.empty(0),
        "count": np.array([edges]),
    }


@pytest.mark.parametrize("exact", [2000, 10])
def test_pairs_are_drawn_by_their_scores_to_the_paid_number(exact, monkeypatch):
    monkeypatch.setattr(drawing, "EXACT_NODES", exact)
    monkeypatch.setattr(drawing, "CANDIDATES_AN_EDGE", 8)
    keys = by_score({"count": np.array([120])}, SHAPE, (2 * SIDE, SIDE), public_generator(1))
    assert len(np.unique(keys)) == 120
    assert (keys // NODES < keys % NODES).all()
    assert within(keys) > 0.9
    plain = by_score({"count": np.array([120])}, SHAPE, None, public_generator(1))
    assert len(np.unique(plain)) == 120
    assert 0.3 < within(plain) < 0.7


@pytest.mark.parametrize("wanted", [0, 1, NODES * (NODES - 1) // 2])
def test_any_number_of_pairs_can_be_drawn(wanted):
    for scores in (None, (SIDE, SIDE)):
        assert len(by_score({"count": np.array([wanted])}, SHAPE, scores, public_generator(2))) == wanted
    assert len(largest((SIDE, SIDE), NODES, wanted)) == wanted


def test_a_noisy_graph_s_pairs_are_preferred_by_what_they_say():
    marked = np.array([key for key in range(NODES) if key // NODES < key % NODES])[:50]
    flips = Flips.balanced(6_000_000_000, 50, NODES * (NODES - 1) // 2)
    columns = {
        "count": np.array([50]),
        "y": marked,
        "flips": np.array([flips.add, flips.drop], dtype=np.uint64),
    }
    keys = by_score(columns, SHAPE, None, public_generator(3))
    assert np.isin(keys, marked).mean() > 0.7


def test_the_largest_scores_win_whatever_the_blocks(monkeypatch):
    monkeypatch.setattr(drawing, "BLOCK", 7)
    rows = np.random.default_rng(4).normal(size=(NODES, 3))
    low, high = np.triu_indices(NODES, 1)
    score = (rows @ rows.T)[low, high]
    expected = (low * NODES + high)[np.argsort(-score)[:100]]
    np.testing.assert_array_equal(largest((rows, rows), NODES, 100), np.sort(expected))


def test_scores_move_edges_and_leave_degrees():
    params = LinkParams.varied(proposals=0)
    columns = frame(240)
    scored = draw(columns, SHAPE, params, (SIDE, SIDE), public_generator(5))
    plain = draw(columns, SHAPE, params, None, public_generator(5))
    for keys in (scored, plain):
        degrees = np.bincount(np.concatenate(np.divmod(keys, NODES)), minlength=NODES)
        assert (degrees == 8).all()
    assert within(scored) > 0.75 > 0.65 > within(plain)


def test_without_a_score_the_frame_is_drawn_as_degree_triangle_draws_it():
    from core.methods._shared.triangles.draw import draw as degree_triangle

    columns, params = frame(200, triangles=90), LinkParams()
    ours = draw(columns, SHAPE, params, None, public_generator(6))
    np.testing.assert_array_equal(ours, degree_triangle(columns, NODES, params, public_generator(6)))
