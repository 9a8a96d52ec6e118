"""What is known of a release in parts. It has every part verified, and its statistics merged from theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from core.evaluation.utility import degrees
from core.graphs.schema.partable import Part
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
    """Verify all parts, and add up their facts. It adds up what each says of edges and degrees, with one row
    group in memory.

    A degree has edges in several parts, those of its smaller neighbours: so degrees are added up, and the
    histogram is made of the sums. ValueError where a part is not what was written or is missing, or where two
    may share a pair.
    O(m + n) time, O(n) memory.
    """
    ordered = sorted(parts, key=lambda part: (part.first_source, part.name))
    require_whole(ordered)
    require_apart(ordered)
    found, edges = np.zeros(nodes, dtype=np.int64), 0
    for part in ordered:
        for source, target in checked_part(folder, part, nodes):
            tally(found, source)
            tally(found, target)
            edges += len(source)
    return Described(edges, found, tuple(ordered))
