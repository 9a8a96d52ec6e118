"""Sampling of a strip law's strips. The law is a :class:`~core.methods._shared.shards.law.StripLaw`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from core.graphs.schema.partable import Part, part_name
from core.graphs.stored.parts import Ends, write_part
from core.methods._shared.shards.kernels import SPARE, guide_of, strip
from core.methods._shared.shards.law import MOST_STRIPS, StripLaw
from core.methods._shared.shards.values import ValueLaw
from core.privacy import entropy

GUIDE_BITS = 26  # the guide has so many places at most, four bytes each


def strips(law: StripLaw, numbers: Iterable[int]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Sample the strips of these numbers.

    They are (source, target) of each, sorted, each pair once; source < target but for a law of two sides. A
    strip is a function of only the law and its number. O(p) once and O(copies) each, in integers.
    """
    if not len(law.order):
        return
    total = int(law.cumulative[-1])
    # About as many places as nodes: a look-up then begins next to where it ends.
    shift = max(0, total.bit_length() - min(GUIDE_BITS, len(law.order).bit_length() + 1))
    table = law.order, law.cumulative, guide_of(law.cumulative, shift), shift
    for number in numbers:
        low, high = law.bounds[number], law.bounds[number + 1]
        copies, first = law.copies[number], law.first[[number, number + 1, -1]]
        drawn = int(copies.sum())
        words = entropy.keyed_words(law.key, number, 2 * drawn + SPARE + 1)
        words[-1] = SPARE + 1
        tally = np.zeros((high - low, copies.shape[0]), dtype=np.int32)
        pairs = np.empty((2, drawn), dtype=law.order.dtype)
        count = strip(table, first, low, copies, tally, pairs, words)
        source, target = pairs[0, :count], pairs[1, :count]
        if law.targets:
            target -= law.nodes
            if not law.loops:
                # Strips drop loops by number; of two sides a node has two numbers, so that its loops are
                # dropped here.
                kept = source != target
                source, target = source[kept], target[kept]
        yield source, target


def write_strips(
    law: StripLaw,
    number: int,
    shards: int,
    path: Path,
    values: Sequence[ValueLaw] = (),
    **told: Any,
) -> Part:
    """Sample one of so many shards of a law, and write it to ``path``.

    ``values``: the laws of what its edges carry. ``told``: whose part it is, see
    :func:`~core.graphs.stored.parts.write_part`. It has the same bytes each time. ValueError where there is
    no such shard. One strip is in memory, and the law.
    """
    numbers, (_, step) = law.shard(number, shards), told.get("of") or (None, None)
    first = told.get("cell", 0) * MOST_STRIPS

    def rows() -> Iterator[Ends]:
        for own, (source, target) in zip(numbers, strips(law, numbers), strict=False):
            yield source, target, *(each.sampled(source, target, step, first + own) for each in values)

    attributes = [each.attribute for each in values]
    return write_part(rows(), path, max(law.nodes, law.targets), attributes=attributes, **told)


def write_shard(law: StripLaw, number: int, shards: int, folder: Path) -> Part:
    """Sample one of so many shards of a graph of one cell, and write it to ``folder``."""
    return write_strips(law, number, shards, folder / part_name(number, shards))
