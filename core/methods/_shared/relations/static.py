"""The static recipe: a posterior for each row.

It is for a relation without time whose every slot can be looked at. Rows are the nodes of one side (the
source of a functional relation, else the larger side), columns those of the other. Paid for: the columns'
degrees, how many rows have how many columns, and, where it could tell true pairs from false ones, symmetric
randomised response on all slots. A row's set of columns is sampled from its posterior: a law of its size, and
the evidence on every slot. Offsets of the columns are fitted so that the expected column degrees are the paid
ones; what chance leaves is put right by single moves, and where there is evidence a degree-preserving chain
has the last word.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from core.methods._shared.degrees.counts import integers, to_total
from core.methods._shared.relations import column_sets as kernels
from core.methods._shared.relations.budget import StaticShares, proposals_for
from core.methods._shared.relations.column_sets import expected
from core.methods._shared.relations.small import rows_are_sources, sides
from core.methods._shared.slots import evidence
from core.methods._shared.slots.markov_chain import rewired
from core.privacy.accounting.events import NANO
from core.privacy.entropy import Generator as Rng
from core.privacy.queries import Shape
from core.privacy.session.private_graph import PrivateCell

Columns = Mapping[str, np.ndarray]

ROUNDS = 40  # of fitting the offsets
CLOSE = 1e-3  # edges by which an expected column degree may miss
_CERTAIN = 1e-9
_GOLDEN = (math.sqrt(5) - 1) / 2
_STEEPEST = 2.0  # the most that an offset moves in a round


def fit(cell: PrivateCell, budget: StaticShares, rng: Rng, *, deconvolve: bool = True) -> Columns:
    """Pay for the recipe's columns, within ``budget``.

    It costs what that sums to at most; paid-for output only. The evidence, where it has a share;
    ``column_degree`` int64, fitted to the noisy ones; ``sizes`` float64: the law of a row's number of
    columns, from 0 on. ``deconvolve=False`` only cuts noisy numbers to what is possible. Needs a cell that is
    small, see :mod:`core.methods._shared.relations.small`. Sensitivities: column degrees 1, the histogram of
    row degrees 2 (a functional relation's follows from the column degrees); slots: see the evidence.
    """
    shape = cell.shape
    rows, columns = sides(shape)
    functional = shape.edge_type.functional
    side = ("target", "source") if rows_are_sources(shape) else ("source", "target")
    noisy = cell.laplace("degrees", nano_epsilon=budget.columns, purpose="degrees of one side", side=side[0])
    # The deviation of a sum of so many Laplace values.
    spread = math.sqrt(2 * columns) * cell.multiplicity * NANO / budget.columns
    kept = noisy if deconvolve else np.clip(noisy, 0, rows)
    total = int(np.clip(kept.sum(), 0, rows if functional else rows * columns))
    if deconvolve and functional and total >= rows - 2 * spread:
        total = rows  # within two standard deviations of every row having its one column
    fitted = integers(to_total(kept, total, most=rows), rng)
    if functional:
        sizes = np.array([1 - total / rows, total / rows])
    else:
        seen = cell.laplace(
            "degree_histogram",
            nano_epsilon=budget.sizes,
            purpose="number of nodes of each degree",
            side=side[1],
            most=columns,
        )
        # A changed edge moves its row from one degree to the next: two entries change by one each.
        scale = 2 * cell.multiplicity * NANO / budget.sizes if deconvolve else 0.0
        sizes = _law(seen, rows, fitted, scale)
    measured = evidence.measure(cell, budget.evidence) if budget.evidence else {}
    return {**measured, "column_degree": fitted, "sizes": sizes}


def draw(columns: Columns, shape: Shape, proposals_per_edge: float, rng: Rng) -> np.ndarray:
    """Sample one cell.

    The result is sorted int64 keys ``source * target_count + target``; the same ``rng`` state, the same keys.
    Column degrees are those of the fit, wherever the rows' sizes leave room. O(rounds * slots * size of the
    largest row + proposals).
    """
    row_count, column_count = sides(shape)
    loop, by_source = shape.edge_type.homogeneous, rows_are_sources(shape)
    wanted, sizes = columns["column_degree"], columns["sizes"]
    marked = np.zeros((row_count, column_count), dtype=np.uint8)
    ratio = absent = 0.0
    if len(columns.get("flips", ())):
        flips = evidence.flips_of(columns)
        ratio = evidence.log_likelihood_ratio(flips)
        absent = evidence.log_likelihood_of_absence(flips)
        source, target = np.divmod(columns["y"], shape.target_count)
        marked[(source, target) if by_source else (target, source)] = 1
    prior = _logit(wanted / row_count)
    # Coins by themselves would give the number of columns a law of its own: it is divided out.
    weights = _log(sizes) - _log(_number_law(prior, len(sizes) - 1))
    # Every slot as if it were not marked: a mark adds ``ratio``, the difference between both.
    offset = fitted_offsets(marked, prior + absent, ratio, weights, loop, wanted)
    laws = kernels.size_laws(marked, offset, ratio, weights, loop)
    chosen = kernels.drawn(marked, offset, ratio, _sizes(laws, rng), loop, rng)
    # Only expected degrees were met: what chance left is put right by moves.
    _settle(chosen, wanted, marked, ratio, _log(sizes), loop, rng)
    one, other = np.nonzero(chosen)
    source, target = (one, other) if by_source else (other, one)
    keys = np.sort(source * np.int64(shape.target_count) + target)
    if not ratio:
        return keys
    return rewired(keys, columns, shape, proposals_for(len(keys), proposals_per_edge), rng)


def fitted_offsets(
    marked: np.ndarray, start: np.ndarray, ratio: float, weights: np.ndarray, loop: bool, wanted: np.ndarray
) -> np.ndarray:
    """Fit columns' log odds to the ``wanted`` expected degrees.

    The result is float64 (columns,). Newton's steps on each column by itself, shortened where they grow:
    sizes of rows tie the columns together.
    """
    offset, step, before = start.copy(), 1.0, math.inf
    aimed = wanted > 0
    for _ in range(ROUNDS):
        mean, variance = expected(marked, offset, ratio, weights, loop)
        miss = np.where(aimed, wanted - mean, 0.0)
        worst = np.abs(miss).sum()
        if np.abs(miss).max(initial=0.0) <= CLOSE:
            break
        step = max(0.1, step / 2) if worst > before else min(1.0, step * 1.2)
        before = worst
        # Newton: a column's expected degree grows with its offset by the variance.
        offset += step * np.clip(miss / np.maximum(variance, 0.1), -_STEEPEST, _STEEPEST)
    return offset


def _sizes(laws: np.ndarray, rng: Rng) -> np.ndarray:
    """Draw a size for each row by its own law, all together nearly what the laws sum to; int64 (rows,).

    Rows stand in the order of their means; their uniforms are steps of the golden ratio round a circle from a
    random start: even over any stretch of neighbours. O(rows * (log rows + sizes)).
    """
    # Ties at random, else rows of equal law would get their sizes by their place.
    order = np.argsort(laws @ np.arange(laws.shape[1]) + 1e-9 * rng.random(len(laws)))
    even = np.empty(len(laws))
    # Steps of the golden ratio fill the circle evenly over any stretch, so that neighbours' sizes sum to
    # nearly what their laws do.
    even[order] = (rng.random() + np.arange(len(laws)) * _GOLDEN) % 1.0
    reached = np.cumsum(laws, axis=1)[:, :-1]
    sizes: np.ndarray = (even[:, None] >= reached).sum(axis=1)
    return sizes


def _settle(
    chosen: np.ndarray,
    wanted: np.ndarray,
    marked: np.ndarray,
    ratio: float,
    sizes: np.ndarray,
    loop: bool,
    rng: Rng,
) -> None:
    """Move ``chosen`` to the wanted column degrees: inside rows first, then by rows that gain or lose one.

    Rows are picked by their posterior odds (Gumbel keys). O(slots + moves).
    """
    excess = chosen.sum(axis=0) - wanted
    rows = np.arange(len(chosen))
    for a in np.flatnonzero(excess > 0):
        for b in np.flatnonzero(excess < 0):
            moves = int(min(excess[a], -excess[b]))
            if moves <= 0:
                continue
            free = chosen[:, a] & ~chosen[:, b] & ~(loop & (rows == b))
            gain = ratio * (marked[:, b].astype(np.float64) - marked[:, a])
            picked = _picked(free, gain, moves, rng)
            chosen[picked, a], chosen[picked, b] = False, True
            excess[a] -= len(picked)
            excess[b] += len(picked)
    for column in np.flatnonzero(excess):
        leave = excess[column] > 0
        now = chosen.sum(axis=1)
        after = now - 1 if leave else now + 1
        free = chosen[:, column] == leave
        free &= (after < len(sizes)) & ~(loop & (rows == column))
        # Log posterior odds of the row at its new size, then those of the evidence on the slot.
        gain = sizes[np.minimum(after, len(sizes) - 1)] - sizes[now]
        gain += ratio * marked[:, column] * (-1.0 if leave else 1.0)
        picked = _picked(free, gain, abs(int(excess[column])), rng)
        chosen[picked, column] = not leave


def _picked(free: np.ndarray, gain: np.ndarray, number: int, rng: Rng) -> np.ndarray:
    """Pick up to ``number`` of the free rows, without replacement, odds exp(gain)."""
    among = np.flatnonzero(free)
    # Gumbel-top-k: the largest of log weights with Gumbel noise are a sample without replacement.
    lots = gain[among] + rng.gumbel(size=len(among))
    return among[np.argsort(-lots, kind="stable")[:number]]


def _law(noisy: np.ndarray, rows: int, degrees: np.ndarray, scale: float) -> np.ndarray:
    """Estimate the law of a row's size: noisy numbers where they stand out, else independent columns'.

    ``scale`` of the noise: what ``scale * ln(entries)`` does not reach, noise alone reaches about once.
    """
    base = _number_law(_logit(degrees / rows), len(noisy) - 1)
    # Of so many entries noise alone is beyond scale * ln(entries) about once.
    clear = noisy > scale * math.log(len(noisy))
    kept = np.where(clear, noisy, 0.0)
    rest = max(rows - kept.sum(), 0.0)
    other = np.where(clear, 0.0, base)
    law = kept + (other * (rest / other.sum()) if other.sum() > 0 else 0.0)
    law = law / law.sum() if law.sum() > 0 else base
    likely = np.flatnonzero(law > _CERTAIN)
    # Sizes that hardly occur would lengthen the tables of every row.
    scaled: np.ndarray = law[: likely[-1] + 1] / law[: likely[-1] + 1].sum()
    return scaled


def _number_law(log_odds: np.ndarray, most: int) -> np.ndarray:
    """Compute the law of how many columns succeed by independent coins; float64 (``most`` + 1,)."""
    law = np.zeros(most + 1)
    law[0] = 1.0
    for p in 1 / (1 + np.exp(-log_odds)):
        law[1:] = law[1:] * (1 - p) + law[:-1] * p
        law[0] *= 1 - p
    return law


def _logit(share: np.ndarray) -> np.ndarray:
    held = np.clip(share, _CERTAIN, 1 - _CERTAIN)
    logits: np.ndarray = np.log(held) - np.log1p(-held)
    return logits


def _log(values: np.ndarray) -> np.ndarray:
    """Take logarithms; what is nought or too small to be told from it is as unlikely as can be written."""
    logs: np.ndarray = np.log(np.maximum(values, 1e-300))
    return logs
