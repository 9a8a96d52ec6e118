"""Whether a generator has collapsed. It is judged by what it generates and by paid counts only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from core.methods._shared.frame.columns import Columns
    from core.privacy.accounting.plan import CellKey
    from papers.thepuff.assembler import Scores

MISSING = 0.1
"""A generator has collapsed when it leaves more than this share of all edges to be made without it."""
MOST_NAMED = 3


@dataclass(frozen=True)
class Collapse:
    """A generator's shortage of pairs.

    ``missing``: by cell, how many distinct pairs it has less than edges are wanted; cells that have enough
    are left out. ``wanted``: edges in all. ``nodes``: the share of nodes with a degree that were seen.
    """

    missing: Mapping[CellKey, int]
    wanted: int
    nodes: float

    @property
    def collapsed(self) -> bool:
        """Tell whether more than MISSING of the wanted edges are missing."""
        return sum(self.missing.values()) > MISSING * self.wanted

    def notes(self) -> tuple[str, ...]:
        """Write sentences for the report."""
        seen = f"Generated walks start in {self.nodes:.1%} of the nodes that have a degree."
        if not self.missing:
            return (f"Every cell has as many distinct generated pairs as edges. {seen}",)
        worst = sorted(self.missing.items(), key=lambda item: -item[1])[:MOST_NAMED]
        named = "; ".join(
            f"{name}{'' if step is None else f', step {step}'}: {count}" for (name, step), count in worst
        )
        total = sum(self.missing.values())
        return (
            f"{len(self.missing)} cells have fewer distinct generated pairs than edges, {total} of "
            f"{self.wanted} edges in all (most: {named}); these are drawn from degrees instead. {seen}",
        )


def collapse_of(scores: Scores, cells: Mapping[CellKey, Columns], share: float = 1.0) -> Collapse:
    """Measure every scored cell's shortage.

    Returned too is the share of active nodes seen. O(scored pairs).

    ``share``: where the scores come from that part of the walks that a graph takes, so many edges are wanted.
    """
    missing: dict[CellKey, int] = {}
    wanted = active = met = 0
    for relation in scores.relations:
        shape = scores.layout.shape(relation)
        for step in scores.layout.schema.steps_of(relation.name):
            cell = relation.name, step
            keys, _ = scores.of(cell)
            count = int(share * int(cells[cell]["count"][0]))
            wanted += count
            if len(keys) < count:
                missing[cell] = count - len(keys)
            source, target = np.divmod(keys, shape.target_count)
            seen = [np.bincount(source, minlength=shape.source_count)]
            sides = [cells[cell]["source_degrees"]]
            if shape.undirected:
                seen[0] += np.bincount(target, minlength=shape.source_count)
            else:
                seen.append(np.bincount(target, minlength=shape.target_count))
                sides.append(cells[cell]["target_degrees"])
            for degrees, found in zip(sides, seen, strict=True):
                active += int((degrees > 0).sum())
                met += int(((degrees > 0) & (found > 0)).sum())
    return Collapse(missing, wanted, met / active if active else 1.0)
