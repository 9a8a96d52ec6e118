"""Kernels over edges whose values have scores.

What a node's edges are on the average, and sampled bins. A node has a tilt: an edge's weight of a bin is
exp(score times the sum of its two nodes' tilts), times the factors of its pair of classes and its period.
Scores are whole numbers within SCORE of 0, so that few powers serve all bins; and an edge's mean score
depends on nothing but its pair, its period and that sum, so that :func:`moments_of` works it out beforehand,
on a grid.

``ends``: (source, target, step), the last empty without time. ``rows``: (of sources, of targets), of
:func:`node_rows`. ``where``: (number of target classes, period of each step, number of pairs). ``by_score``
(periods * pairs, 2 SCORE + 1): factors of pair and period, all bins of a score together.
"""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel
from core.methods._shared.values.bins import SCORE

BATCH = 128
"""Edges whose nodes are looked up one after another, before anything is computed: rows far apart arrive
together."""
TILT, CLASS, MEAN, VARIANCE = range(4)
"""Columns of a node of a relation whose values have scores: one row for each, as rows are far apart."""
GRID = 128
"""Parts of the range of an edge's tilts. Between their ends means are cubic, off by less than a hundredth of
a score and far less where many scores are likely."""
HEED = 0.5
"""Of what a node is owed, how much its next edge makes good, if it can."""
_LINE = 64
"""Bytes that a processor fetches at once."""


def node_rows(classes: np.ndarray) -> np.ndarray:
    """Make the rows of a side's nodes, with tilts of 0.

    None lies across two lines of the processor's cache.
    """
    width = 4 * 8
    held = np.zeros(len(classes) * width + _LINE, dtype=np.uint8)
    # From a multiple of 64 bytes rows of 32 never lie across two lines.
    start = -held.ctypes.data % _LINE
    rows = held[start : start + len(classes) * width].view(np.float64).reshape(-1, 4)
    rows[:, CLASS] = classes
    return rows


def moments_of(by_score: np.ndarray, reach: float) -> np.ndarray:
    """Compute an edge's mean score and variance by tilt.

    The result is float32 (groups, GRID + 1, 2). At tilts evenly spaced from -``reach`` to ``reach``. Zeros
    where all factors are.
    """
    scores = np.arange(-SCORE, SCORE + 1.0)
    power = np.exp(np.linspace(-reach, reach, GRID + 1)[:, None] * scores)
    total = by_score @ power.T
    found = np.zeros((*total.shape, 2), dtype=np.float32)
    some = total > 0
    mean = np.divide(by_score @ (power * scores).T, total, out=np.zeros_like(total), where=some)
    square = np.divide(by_score @ (power * scores**2).T, total, out=np.zeros_like(total), where=some)
    # Rounding may put a variance a hair below 0.
    found[..., 0], found[..., 1] = mean, np.maximum(square - mean**2, 0)
    return found


def tilts_for(means: np.ndarray, by_score: np.ndarray, furthest: float) -> np.ndarray:
    """Solve for the tilts at which scores have these means.

    They are within ``furthest`` of 0; scores are of factors ``by_score``.
    """
    known = moments_of(by_score[None, :], furthest)[0, :, 0]
    # The mean rises with the tilt, so that interpolation inverts it.
    tilts: np.ndarray = np.interp(means, known, np.linspace(-furthest, furthest, GRID + 1))
    return tilts


@kernel(fastmath=True, inline="always")
def powers(ratio: float, power: np.ndarray) -> None:
    """Compute powers from -SCORE to SCORE by doubling."""
    known, step = 1, ratio
    power[0] = 1.0
    while known < SCORE:
        for k in range(known):
            power[known + k] = power[k] * step
        known, step = 2 * known, step * step
    for k in range(SCORE):  # from here on the number to the power of SCORE is known: ``step``
        power[SCORE + k] = power[k] * step
    power[2 * SCORE] = step * step
    # So far from 0 to 2 SCORE: shifted to begin at -SCORE.
    back = 1.0 / step
    for k in range(2 * SCORE + 1):
        power[k] *= back


@kernel
def _looked_up(
    first: int,
    size: int,
    ends: tuple[np.ndarray, ...],
    rows: tuple[np.ndarray, np.ndarray],
    where: tuple[int, np.ndarray, int],
    tilt: np.ndarray,
    at: np.ndarray,
) -> None:
    """Write the sum of both ends' tilts, and the row of period and pair, of a batch of edges."""
    (sources, targets), (classes, period_of, pairs), timed = rows, where, ends[2].size > 0
    for i in range(size):
        u, v = ends[0][first + i], ends[1][first + i]
        tilt[i] = sources[u, TILT] + targets[v, TILT]
        at[i] = np.int64(sources[u, CLASS]) * classes + np.int64(targets[v, CLASS])
        at[i] += pairs * (period_of[ends[2][first + i]] if timed else 0)


@kernel(fastmath=True)
def add_scores(
    ends: tuple[np.ndarray, ...],
    rows: tuple[np.ndarray, np.ndarray],
    where: tuple[int, np.ndarray, int],
    moments: np.ndarray,
    reach: float,
) -> None:
    """Add edges' mean scores and variances to every node's row.

    They are what its edges' scores are on the average. MEAN and VARIANCE of ``rows`` are added to.
    ``moments``: by :func:`moments_of`, for ``reach``, which no edge's tilt exceeds.
    """
    sources, targets = rows
    tilt, at = np.empty(BATCH, np.float64), np.empty(BATCH, np.int64)
    parts = GRID / (2 * reach)
    for first in range(0, ends[0].size, BATCH):
        size = min(BATCH, ends[0].size - first)
        _looked_up(first, size, ends, rows, where, tilt, at)
        for i in range(size):
            place = (tilt[i] + reach) * parts
            # Rounding may lead past the last part.
            part = max(0, min(GRID - 1, int(place)))
            f, known = place - part, moments[at[i], part]
            after = moments[at[i], part + 1]
            # Cubic by Hermite: the variance is the mean's derivative by the tilt, so that both slopes are
            # known.
            rise = after[0] - known[0]
            one, other = known[1] / parts - rise, after[1] / parts - rise  # of both slopes, beyond the rise
            mean = known[0] + f * (rise + (1.0 - f) * ((1.0 - f) * one - f * other))
            variance = known[1] + f * (after[1] - known[1])
            u, v = ends[0][first + i], ends[1][first + i]
            sources[u, MEAN] += mean
            sources[u, VARIANCE] += variance
            targets[v, MEAN] += mean
            targets[v, VARIANCE] += variance


@kernel(fastmath=True, inline="always")
def _lean(power: np.ndarray, owed: float) -> float:
    """Scale weights of scores to add up to 1, then lean them to the side that is owed; return their mean.

    Linear in what is owed, as long as that is little: what is owed to no one on the average changes nothing
    on the average.
    """
    total, mean, square = 0.0, 0.0, 0.0
    for k in range(2 * SCORE + 1):
        away = np.float64(k - SCORE)
        total += power[k]
        mean += power[k] * away
        square += power[k] * (away * away)
    part = 1.0 / total if total > 0.0 else 0.0
    mean *= part
    most = 1.0 / (SCORE + abs(mean))  # no weight becomes negative
    # Linear in the score: a lean of one moves the mean by the variance.
    lean = HEED * owed / (square * part - mean * mean + 1e-9)
    lean = min(max(lean, -most), most)
    for k in range(2 * SCORE + 1):
        power[k] *= part * (1.0 + lean * (np.float64(k - SCORE) - mean))
    return mean


@kernel(fastmath=True)
def chosen_by_score(
    ends: tuple[np.ndarray, ...],
    rows: tuple[np.ndarray, np.ndarray],
    where: tuple[int, np.ndarray, int],
    by_score: np.ndarray,
    inside: np.ndarray,
    score: np.ndarray,
    uniform: np.ndarray,
) -> np.ndarray:
    """Sample one bin for each edge, by its score.

    A score is sampled by the edge's weights, then one of its bins by ``inside`` (periods * pairs, bins), the
    factors of both. ``uniform`` in [0, 1). MEAN of ``rows`` is what a node's edges are owed: how much more
    their scores should have been so far, on the average, than they are. An edge leans towards what both its
    nodes are owed, so that nodes have what is expected of them nearly, and not by chance. All other expected
    numbers stay as they are.
    """
    sources, targets = rows
    found, power = np.zeros(ends[0].size, np.int32), np.empty(2 * SCORE + 1, np.float64)
    tilt, place = np.empty(BATCH, np.float64), np.empty(BATCH, np.int64)
    for first in range(0, ends[0].size, BATCH):
        size = min(BATCH, ends[0].size - first)
        _looked_up(first, size, ends, rows, where, tilt, place)
        for i in range(size):
            at, u, v = place[i], ends[0][first + i], ends[1][first + i]
            powers(np.exp(tilt[i]), power)
            for k in range(2 * SCORE + 1):
                power[k] *= by_score[at, k]
            mean = _lean(power, sources[u, MEAN] + targets[v, MEAN])
            left, last = uniform[first + i], SCORE
            for k in range(2 * SCORE + 1):
                # As in :func:`kernels.chosen`: rounding must not lead to a score that is impossible.
                if power[k] > 0.0:
                    last = k
                    if left < power[k]:
                        break
                    left -= power[k]
            sources[u, MEAN] += mean - (last - SCORE)
            targets[v, MEAN] += mean - (last - SCORE)
            # What is left of the uniform is uniform inside the score: no second one is needed.
            share = min(max(left / power[last], 0.0), 1.0) if power[last] > 0.0 else 0.0
            left = share * by_score[at, last]
            for b in range(score.size):
                if score[b] == last and inside[at, b] > 0.0:
                    found[first + i] = b
                    if left < inside[at, b]:
                        break
                    left -= inside[at, b]
    return found
