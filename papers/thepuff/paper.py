"""THEPUFF's perturbation as published.

What it claims, what it reads, and what it really costs. Algorithm 1 with Eq. 2-4 of He et al. (ICLR 2025).
The probabilities come from exact edge counts, so no epsilon is guaranteed; every plan made here says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext
from typing import TYPE_CHECKING

from core.methods.base import Claimed
from core.privacy.accounting.events import NANO
from core.privacy.accounting.plan import CellKey

if TYPE_CHECKING:
    import numpy as np

    from core.graphs.graph import Graph
    from core.privacy.accounting.flips import Flips

PUBLISHED_EPSILON_MINUS = 8.0
"""What the paper sets for all of its datasets (appendix A.5)."""
LARGEST_EPSILON_MINUS = 40.0
"""Beyond, a 64-bit coin cannot tell e^-eps_minus from nothing."""

TRAINING_REASON = (
    "THEPUFF as published trains a discriminator on raw walks and takes its coins from exact edge counts."
)
SOURCE = "He et al., THEPUFF (ICLR 2025), Theorem 4.1, sections 5.2 and 5.4, appendix A.5"
REMARK = (
    "The figure is eps_minus, which the paper varies as its budget. Theorem 4.1 states the bound "
    "2 max(e^eps_plus, e^eps_minus), and its proof looks at one direction of the ratio. An edge that is "
    "reported tells up to ln((1 - p_drop) / p_add), about eps_plus; the notes on the fit give that number. "
    "It would be a guarantee only if the probabilities did not follow from exact edge counts."
)


def claim_of(epsilon_minus: float) -> Claimed:
    """Return what the paper claims for ``epsilon_minus``. It says too why it is no epsilon."""
    return Claimed(f"{epsilon_minus:g}", None, SOURCE, REMARK)


@dataclass(frozen=True)
class Published:
    """One cell perturbed as published.

    Its sorted keys, and the probabilities in units of 2^-64.

    ``add`` is 0 where the cell has no edge: Eq. 4 then adds none.
    """

    keys: np.ndarray
    add: int
    drop: int


def perturbed(graph: Graph, edge_types: tuple[str, ...], epsilon_minus: float) -> dict[CellKey, Published]:
    """Perturb every cell of the named relations by Algorithm 1. The graph is raw. O(edges in and out)."""
    import numpy as np

    from core.privacy.mechanisms.randomised_response import flip
    from core.privacy.queries import Shape

    found = {}
    for name in edge_types:
        for step in graph.schema.steps_of(name):
            cell = graph.cell(name, step)
            shape = Shape(cell.edge_type, cell.source_count, cell.target_count)
            if not cell.count:
                found[name, step] = Published(np.empty(0, dtype=np.int64), 0, _drop(epsilon_minus))
                continue
            flips = published_flips(epsilon_minus, cell.count, shape.slots)
            source, target = flip(cell.source, cell.target, shape, flips)
            found[name, step] = Published(source * shape.target_count + target, flips.add, flips.drop)
    return found


def published_flips(epsilon_minus: float, edges: int, slots: int) -> Flips:
    """Compute p_drop = exp(-eps_minus), p_add = edges p_drop / (slots - edges): Eq. 4, rounded up to 64 bits.

    ``edges`` at least 1. Where Eq. 4 asks for more than 1 - p_drop, as in dense cells at a small eps_minus,
    p_add is that.
    """
    from core.privacy.accounting.flips import WORD, Flips

    drop = _drop(epsilon_minus)
    room = WORD - drop
    add = room if edges >= slots else min(room, -(-drop * edges // (slots - edges)))
    return Flips(max(1, add), drop)


def _drop(epsilon_minus: float) -> int:
    from core.privacy.accounting.flips import WORD

    with localcontext(prec=60):
        share = (-Decimal(epsilon_minus)).exp() * WORD
    return min(WORD - 1, int(share.to_integral_value(ROUND_CEILING)))


def cost_notes(cells: Mapping[CellKey, tuple[int, int]], epsilon_minus: float) -> tuple[str, ...]:
    """Say what the cells' probabilities come to.

    They are (add, drop), for the report of a release without guarantee. Neighbours differ in one slot, so the
    largest epsilon per slot is that of the whole perturbation.
    """
    from core.privacy.accounting.flips import Flips

    known = {cell: Flips(add, drop).nano_epsilon for cell, (add, drop) in cells.items() if add}
    if len(known) < len(cells):
        return (
            "Some cells have no edge, so that none appears there: what that tells has no finite epsilon.",
        )
    (name, step), nano = max(known.items(), key=lambda item: item[1])
    where = name if step is None else f"{name}, step {step}"
    return (
        f"With eps_minus = {epsilon_minus:g} the perturbation's own probabilities allow a ratio of "
        f"exp({nano / NANO:.3f}) for one slot, in the cell {where}; in the cell where it is least, "
        f"exp({min(known.values()) / NANO:.3f}).",
    )
