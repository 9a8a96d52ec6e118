"""Mixing in a relation between two node types.

The read, and what either side learns from it. Post-processing but for the read itself
(:mod:`core.privacy.reads.mixing_between`), of which caps, groups and budgets are public or paid for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from core.methods._shared.node_values.ends import Ends, OneSide
from core.privacy.accounting.events import NANO
from core.privacy.reads.mixing_between import MixingBetween, Side
from core.privacy.reads.node_values import EDGE_MOVES, MOST_CAP, ROW_MOVES

CAPS = 24
DEGREES = 64
"""Classes of degree of the other side, by which it is told how many edges both caps keep."""


class Marked(NamedTuple):
    """A side with values. The attribute, the group of each bin, and a row's nano-epsilon."""

    attribute: str
    groups: np.ndarray
    nano_epsilon: int


class Crossing(NamedTuple):
    """Noisy counts between groups of two node types.

    They are (source groups, target groups), with the noise's scale, and what either side learns; None for one
    without values.
    """

    counts: np.ndarray
    scale: float
    sides: tuple[OneSide | None, OneSide | None]


def read_between(
    reads: MixingBetween,
    relation: str,
    sides: tuple[Marked | None, Marked | None],
    ends: Ends,
    edge_nano_epsilon: int,
    lost: float,
) -> Crossing:
    """Count edges between groups of sources and of targets.

    Caps suit the paid degrees.

    ``lost``: what capping costs, see :func:`caps_for`. O(m log m).
    """
    assert ends.target is not None
    own = ends.source, ends.target
    rows = [None if side is None else side.nano_epsilon for side in sides]
    cells = [1 if side is None else int(side.groups.max()) + 1 for side in sides]
    of_edges = EDGE_MOVES * reads.multiplicity, edge_nano_epsilon
    caps, scale = caps_for(own, rows, cells, of_edges, lost)
    source, target = (
        None if side is None or cap is None else Side(side.attribute, side.groups, cap, side.nano_epsilon)
        for side, cap in zip(sides, caps, strict=True)
    )
    named = " and ".join(dict.fromkeys(side.attribute for side in sides if side is not None))
    counts = reads.read(source, target, edge_nano_epsilon=edge_nano_epsilon, purpose=f"{relation} by {named}")
    read: list[OneSide | None] = []
    for place, side in enumerate(sides):
        if side is None:
            read.append(None)
            continue
        other = _classes_of(own[1 - place])
        turned = counts if place == 0 else counts.T
        read.append(OneSide(turned, caps[place], caps[1 - place], scale, Ends(own[place]), *other))
    return Crossing(counts, scale, (read[0], read[1]))


def caps_for(
    degrees: tuple[np.ndarray, np.ndarray],
    rows: list[int | None],
    groups: list[int],
    edges: tuple[int, int],
    lost: float,
) -> tuple[tuple[int | None, int | None], float]:
    """Choose caps on edges of either side's nodes, and noise.

    The noise is given by its scale; both are from paid numbers.

    ``rows``: nano-epsilon of a row of each side, None where it has no values, and no cap then; ``edges``: how
    far an edge moves the counts, and its nano-epsilon; ``lost``: how far off a matrix is from which all edges
    but few are missing. A scale of noise allows either side as many edges as its rows pay for, so that
    one number is chosen: more edges tell more, and make more noise.
    """
    total = max(float(degrees[0].sum()), float(degrees[1].sum()), 1.0)
    held = [(own, row) for own, row in zip(degrees, rows, strict=True) if row is not None]
    # Less noise than the budgets of edges and of single ends pay for cannot be had, however small caps are.
    least = max(edges[0] * NANO / edges[1], *(ROW_MOVES * NANO / row for _, row in held))
    most = max(ROW_MOVES * NANO / row * max(1.0, float(own.max(initial=1))) for own, row in held)
    scales = np.geomspace(least, max(least, most), CAPS)
    like_cells = min(groups[0] * groups[1], 2 * max(groups))  # cells of a matrix in which like meets like
    best, found = np.inf, scales[0]
    for scale in scales:
        # An edge counts about where either end keeps it: in shares of their degrees, both independently.
        kept = np.prod([np.minimum(own, _cap(scale, row)).sum() / total for own, row in held])
        # What capping loses, and the noise relative to what is kept: neither is measured on data.
        off = lost * (1 - kept) + like_cells * scale / max(kept * total, 1e-9)
        if off < best:
            best, found = off, scale
    caps = tuple(None if row is None else _cap(found, row) for row in rows)
    return (caps[0], caps[1]), float(found)


def _cap(scale: float, row_nano_epsilon: int) -> int:
    """As many edges of a node as noise of that scale lets its row pay for."""
    # A hair more, as scales are made of caps: rounding down must not lose one.
    return int(np.clip(np.floor(scale * row_nano_epsilon / (ROW_MOVES * NANO) * (1 + 1e-12)), 1, MOST_CAP))


def _classes_of(degrees: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Divide a side's edge ends by the degree of their nodes: mean degree and share of each class."""
    own = np.sort(degrees[degrees > 0])
    if not len(own):
        return np.ones(1), np.ones(1)
    # Each class has about as many ends: those decide how many edges caps keep.
    place = np.minimum(np.cumsum(own) / own.sum() * DEGREES, DEGREES - 1).astype(np.int64)
    ends = np.bincount(place, weights=own, minlength=DEGREES)
    nodes = np.bincount(place, minlength=DEGREES)
    used = nodes > 0
    return ends[used] / nodes[used], ends[used] / own.sum()
