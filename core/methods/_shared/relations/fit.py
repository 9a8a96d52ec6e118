"""The paid reads of one relation, and its model's numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.methods._shared.degrees.active_steps import over_steps
from core.methods._shared.degrees.counts import summed_variance
from core.methods._shared.degrees.fitted import fitted_degrees
from core.methods._shared.degrees.sides import fitted_sides, summing_to
from core.methods._shared.degrees.tails import Ends, counted_tails, law_with_tails, tails_tell, thresholds
from core.methods._shared.frame.columns import Columns
from core.methods._shared.relations import static
from core.methods._shared.relations.budget import Shares, is_static, shares, static_shares
from core.methods._shared.relations.params import AnchoredParams
from core.methods._shared.slots import evidence
from core.privacy.accounting.events import NANO
from core.privacy.entropy import Generator as Rng
from core.privacy.mechanisms.lazy_response import room_for
from core.privacy.session.private_graph import PrivateCell


def fit_relation(
    cells: list[PrivateCell],
    nano_epsilon: int,
    params: AnchoredParams,
    lazy: bool,
    rng: Rng,
    *,
    steps_together: bool = False,
) -> list[Columns]:
    """Pay for the columns of every step of one relation.

    Each costs ``nano_epsilon`` at most. By the static recipe: its own columns. Otherwise ``count`` int64
    (1,); ``source_degrees`` and ``target_degrees`` int64, which sum to the count (undirected: only the first,
    to twice the count); and the columns of :mod:`core.methods._shared.slots.evidence` where evidence is paid
    for. ``steps_together``: which nodes are active in a step is estimated from all steps
    (:mod:`core.methods._shared.degrees.active_steps`).
    """
    shape = cells[0].shape
    if is_static(shape, params):
        parts = static_shares(shape, nano_epsilon, cells[0].multiplicity, params)
        return [static.fit(cell, parts, rng, deconvolve=params.deconvolve) for cell in cells]
    budget = shares(shape, nano_epsilon, cells[0].multiplicity, params)
    usual = summed_variance(shape.source_count, budget.source, cells[0].multiplicity)
    decides = usual if budget.tail else None
    counts = [
        cell.laplace("edge_count", nano_epsilon=budget.count, purpose="edge count", decides=decides)
        for cell in cells
    ]
    # Tails that noise would drown are not read: their share goes to the degrees. Decided by paid numbers.
    if not tails_tell(shape.source_count, float(np.mean(counts)), budget.tail):
        budget = replace(budget, source=budget.source + budget.tail, tail=0)
    sides = ("both",) if shape.undirected else ("source", "target")
    noisy = {side: [_degrees(cell, side, budget) for cell in cells] for side in sides}
    seen: list[Columns] = [{} for _ in cells]
    multiplicity, functional = cells[0].multiplicity, shape.edge_type.functional
    if budget.evidence:
        for i, cell in enumerate(cells):
            room = room_for(int(counts[i][0]), budget.count, multiplicity, shape) if lazy else None
            seen[i] = evidence.measure(cell, budget.evidence, room=room)
    most = {
        # Most that a simple cell allows: noise beyond it is cut.
        "both": max(shape.source_count - 1, 0),
        "source": min(shape.target_count, 1) if functional else shape.target_count,
        "target": shape.source_count,
    }
    if budget.tail:
        fitted = {"both": _with_tails(cells, counts, noisy["both"], budget, rng)}
    else:
        fitted = {
            side: fitted_sides(
                noisy[side],
                _side_share(budget, side),
                rng,
                l1=multiplicity * (2 if side == "both" else 1),
                most=most[side],
                deconvolve=params.deconvolve,
            )
            for side in sides
        }
        if steps_together:
            for side, values in fitted.items():
                scale = multiplicity * (2 if side == "both" else 1) * NANO / _side_share(budget, side)
                fitted[side] = over_steps(noisy[side], values, scale, rng)
    columns: list[Columns] = []
    for i in range(len(cells)):
        ceiling = shape.source_count if functional else shape.slots
        count = paid_count(int(counts[i][0]), {side: noisy[side][i] for side in sides}, budget, ceiling)
        # An undirected edge has two ends in the one vector.
        total = 2 * count if shape.undirected else count
        whole = {side: summing_to(fitted[side][i], total, most[side], rng) for side in sides}
        columns.append(
            {
                "count": np.array([count], dtype=np.int64),
                "source_degrees": whole["both" if shape.undirected else "source"],
                "target_degrees": whole.get("target", np.empty(0, dtype=np.int64)),
                **seen[i],
            }
        )
    return columns


def paid_count(count: int, noisy: dict[str, np.ndarray], budget: Shares, ceiling: int) -> int:
    """Combine all edge-count reads by precision.

    The result is an integer in 0..``ceiling``. Each side's noisy degrees sum to it too (undirected: to twice
    it), with the noise of as many values.
    """
    # By precision: a Laplace read's variance goes with one over the square of its epsilon.
    weights = [float(budget.count) ** 2]
    guesses = [float(count)]
    for side, values in noisy.items():
        share = _side_share(budget, side)
        # "both": half the sum of values whose noise has twice the scale
        weights.append(float(share) ** 2 / max(len(values), 1))
        guesses.append(float(values.sum()) / (2 if side == "both" else 1))
    return int(np.clip(np.rint(np.average(guesses, weights=weights)), 0, ceiling))


def _with_tails(
    cells: list[PrivateCell], counts: list[np.ndarray], noisy: list[np.ndarray], budget: Shares, rng: Rng
) -> list[np.ndarray]:
    """Pay for the tail counts of every step, and fit its degrees by the law that explains all that was read.

    Sensitivity: L1 = 2 (:func:`counted_tails`). An undirected relation, of which a unit has one edge a cell.
    """
    fitted = []
    for cell, count, values in zip(cells, counts, noisy, strict=True):
        tails = counted_tails(cell, thresholds(values), budget.tail)
        ends = Ends.of_count(max(int(count[0]), 1), budget.count)
        law = law_with_tails(values, 2 * NANO / budget.source, tails, ends)
        fitted.append(fitted_degrees(values, budget.source, rng, law=law).astype(np.int64))
    return fitted


def _degrees(cell: PrivateCell, side: str, budget: Shares) -> np.ndarray:
    return cell.laplace(
        "degrees", nano_epsilon=_side_share(budget, side), purpose=f"degrees, {side}", side=side
    )


def _side_share(budget: Shares, side: str) -> int:
    return budget.target if side == "target" else budget.source
