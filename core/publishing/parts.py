"""What is known of a release in parts. It has every part verified, and its statistics merged from theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from core.evaluation.utility import degrees
from core.graphs.schema.partable import Part, Slots, divided, inside
from core.graphs.stored.parts import checked_part, require_apart, require_whole
from core.privacy.queries import tally


@dataclass(frozen=True)
class Described:
    """What all parts say of a release. ``degrees`` (n,) int64 are of the whole graph; ``parts`` stand in the
    order of their sources."""

    edges: int
    degrees: np.ndarray
    parts: tuple[Part, ...]

    def to_json(self) -> dict[str, Any]:
        """Return what is published of them: only numbers of the synthetic graph."""
        return {
            "nodes": len(self.degrees),
            "edges": self.edges,
            "degrees": {
                **degrees.summary(self.degrees),
                "bins": degrees.doubling_bins(np.bincount(self.degrees).astype(np.float64)),
            },
            "parts": [vars(part) for part in self.parts],
        }


def described(folder: Path, parts: Sequence[Part], nodes: int) -> Described:
    """Verify all parts of an undirected relation, and add up their facts. It adds up what each says of edges
    and degrees, with one row group in memory.

    A degree has edges in several parts, those of its smaller neighbours: so degrees are added up, and the
    histogram is made of the sums. ValueError where a part is not what was written or is missing, or where two
    may share a pair.
    O(m + n) time, O(n) memory.
    """
    require_whole(parts)
    found = degrees_of(folder, parts, inside(nodes))[0]
    return Described(int(found.sum()) // 2, found, tuple(sorted(parts, key=_place)))


def placed(parts: Sequence[Part], sizes: Sequence[tuple[int, int]]) -> list[list[Part]]:
    """Give every cell its parts. ``sizes``: how shards were divided, see
    :func:`~core.graphs.schema.partable.divided`. ValueError where these are not all parts of one graph."""
    require_whole(parts)
    by_number = iter(sorted(parts, key=lambda part: part.name))
    counts = divided([edges for edges, _ in sizes], [most for _, most in sizes], len(parts))
    return [list(islice(by_number, count)) for count in counts]


def degrees_of(folder: Path, parts: Sequence[Part], slots: Slots) -> list[np.ndarray]:
    """Verify the parts of one cell, and add up the degrees of its nodes: of sources and targets apart, but of
    a mirrored one together.

    ValueError where a part is not what was written, or where two may share a pair. O(m + n) time, O(n)
    memory.
    """
    ordered, found = sorted(parts, key=_place), [np.zeros(slots.sources, dtype=np.int64)]
    if not slots.mirrored:
        found.append(np.zeros(slots.targets, dtype=np.int64))
    require_apart(ordered)
    for part in ordered:
        for source, target in checked_part(folder, part, slots):
            tally(found[0], source)
            tally(found[-1], target)
    return found


def _place(part: Part) -> tuple[int, str]:
    return part.first_source, part.name
