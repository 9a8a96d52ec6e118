"""The laws of a graph's cells, each sampled in strips. A shard is of one cell."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from core.graphs.schema.partable import Part, Slots, divided, part_name
from core.methods._shared.shards.draw import write_strips
from core.methods._shared.shards.law import StripLaw, load_law
from core.privacy.accounting.plan import CellKey

CELLS = "cells.json"


@dataclass(frozen=True)
class CellLaws:
    """The law of every cell, in their order. ``cells``: the relation and the step of each."""

    cells: tuple[CellKey, ...]
    laws: tuple[StripLaw, ...]

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """How many pairs each cell samples, and in how many shards it can be sampled at most."""
        return [(law.edges, law.most_shards) for law in self.laws]

    def save(self, folder: Path) -> None:
        """Write them to ``folder``. Of one cell nothing but its law stands there."""
        folder.mkdir(parents=True, exist_ok=True)
        if len(self.laws) == 1:
            self.laws[0].save(folder)
            return
        for number, law in enumerate(self.laws):
            law.save(folder, f"{number}-")
        told = [[*key, law.edges, law.most_shards] for key, law in zip(self.cells, self.laws, strict=True)]
        (folder / CELLS).write_text(json.dumps(told), encoding="utf-8")


def draw_shard(folder: Path, number: int, shards: int, out: Path) -> tuple[Part, Slots]:
    """Sample one of so many shards of the laws in ``folder``; with it the pairs that its cell may have. Only
    that cell's law is read.

    It has the same bytes each time. ValueError where there is no such shard.
    """
    if not (folder / CELLS).exists():
        law = load_law(folder)
        return write_strips(law, number, shards, out / part_name(number, shards)), law.slots
    told = json.loads((folder / CELLS).read_bytes())
    own = number
    for cell, count in enumerate(divided([each[2] for each in told], [each[3] for each in told], shards)):
        if own < count:
            law, path = load_law(folder, f"{cell}-"), out / part_name(number, shards)
            part = write_strips(law, own, count, path, cell=cell, of=(told[cell][0], told[cell][1]))
            return part, law.slots
        own -= count
    raise ValueError(f"shards are numbered from 0 to {shards - 1}")
