"""A random walk over the graphs with given degrees.

Its long-run law is the posterior under the evidence. Edges exchange ends in pairs, so that every node keeps
its degree. The prior is uniform over simple graphs with these degrees (and without the slots that are taken);
the likelihood is that of symmetric flips, so a graph's weight is exp(r * number of its edges that the
evidence calls present), r of :func:`core.methods._shared.slots.evidence.log_likelihood_ratio`, times exp of
its score where it has one. Metropolis: a proposal and its reverse are equally likely, and one is accepted
with probability min(1, ratio of weights). In sided cells every 16th proposal turns the targets of three
edges, without which a directed triangle could never be reversed. Swaps and such turns lead from any graph to
any other where no slot is taken; with taken slots, from any graph to all that they reach.

Reads public values and paid-for output only (of a lazy response, the answers of slots): post-processing.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from core.methods._shared.slots import occupied as slots
from core.methods._shared.slots import swaps
from core.methods._shared.slots.evidence import flips_of, log_likelihood_ratio
from core.privacy.entropy import Generator as Rng
from core.privacy.entropy import public_generator
from core.privacy.queries import Shape

MAP_SLOTS = 2**28  # up to so many slots a map of two bits a slot is made: 64 MiB
MAP_SLOTS_PER_KEY = 128  # and up to so many for each key of a table: 16 to 32 bytes as well

_NONE = np.empty(0, dtype=np.int64)


def rewired(
    keys: np.ndarray,
    columns: Mapping[str, np.ndarray],
    shape: Shape,
    proposals: int,
    rng: Rng,
    *,
    taken: np.ndarray | None = None,
    score: tuple[np.ndarray, np.ndarray] | None = None,
    weight: float = 1.0,
) -> np.ndarray:
    """Run ``proposals`` proposals of the chain.

    Returned are sorted int64 keys of a simple cell with the same degrees.

    ``keys``: distinct, canonical (``low * n + high`` where undirected), without loops and apart from
    ``taken``, keys that no edge may move to. ``columns``: evidence of this cell, with ``flips``; without any,
    every graph weighs the same. ``score``: (sources, r) and (targets, r); their product is added to a slot's
    log odds. ``weight`` multiplies the evidence's log likelihood: above 1 the walk leans towards the
    likeliest graphs, and its long-run law is no longer the posterior. ``proposals`` is a public constant
    times a paid-for number: nothing stops the walk earlier. The same ``rng`` state gives the same graph.
    O(proposals + keys); a map of the slots or a table of the keys.
    """
    keys = np.asarray(keys, dtype=np.int64)
    # One edge has no other to exchange ends with.
    if len(keys) < 2 or proposals < 1:
        return np.sort(keys)
    lazy = len(columns.get("prf_key", _NONE)) > 0  # a stored cell may hold columns of other cells, empty
    marked = np.asarray(columns.get("edge" if lazy else "y", _NONE), dtype=np.int64)
    flips = flips_of(columns) if len(columns.get("flips", _NONE)) else None
    taken = _NONE if taken is None else np.asarray(taken, dtype=np.int64)
    total, held = shape.source_count * shape.target_count, len(keys) + len(taken)
    paid = held + len(keys if lazy else marked)
    dense = total <= max(MAP_SLOTS, MAP_SLOTS_PER_KEY * paid)
    # Lazy evidence holds a paid-for number of keys: those beyond the true edges lie behind the last slot.
    known = slots.map_of(total + lazy * len(marked)) if dense else slots.table_for(held + len(marked))
    # A taken slot counts as occupied, so that no edge moves there; no edge ever leaves it.
    for group, bit in ((keys, slots.OCCUPIED), (taken, slots.OCCUPIED), (marked, slots.MARKED)):
        slots.tell(known, dense, group, bit)
    evidence = (lazy, _prf_key(columns), np.uint64(0 if flips is None else flips.add))
    first, second = np.divmod(keys, shape.target_count)
    # The answer for each edge is kept in it: a proposal then looks up only the two new slots.
    edges = swaps.pack(first, second, shape.target_count, known, dense, *evidence)
    left, right = (np.empty((0, 0)), np.empty((0, 0))) if score is None else score
    swaps.run(
        edges,
        shape.target_count,
        shape.undirected,
        shape.edge_type.homogeneous,
        known,
        dense,
        *evidence,
        0.0 if flips is None else weight * log_likelihood_ratio(flips),
        np.ascontiguousarray(left, dtype=np.float64),
        np.ascontiguousarray(right, dtype=np.float64),
        proposals,
        # All of it is post-processing, so a generator that is three times as fast will do.
        public_generator(int(rng.integers(0, 2**63))),
    )
    return np.sort(swaps.unpack(edges, shape.target_count, shape.undirected))


def _prf_key(columns: Mapping[str, np.ndarray]) -> np.ndarray:
    stored = columns.get("prf_key", _NONE)
    return np.ascontiguousarray(stored if len(stored) else np.zeros(4), dtype=np.uint64)
