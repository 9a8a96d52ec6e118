"""The laws of a graph's cells, each sampled in strips. A shard is of one cell."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from core.graphs.schema.partable import Part, Slots, divided, part_name
from core.methods._shared.shards.draw import write_strips
from core.methods._shared.shards.law import StripLaw, load_law
from core.methods._shared.shards.values import ValueLaw, load_values
from core.privacy.accounting.plan import CellKey

CELLS, VALUES = "cells.json", "values.json"


@dataclass(frozen=True)
class CellLaws:
    """The law of every cell, in their order. ``cells``: the relation and the step of each; ``values``: of
    every relation whose edges carry some, the laws of its attributes."""

    cells: tuple[CellKey, ...]
    laws: tuple[StripLaw, ...]
    values: Mapping[str, tuple[ValueLaw, ...]] = field(default_factory=dict)

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """How many pairs each cell samples, and in how many shards it can be sampled at most."""
        return [(law.edges, law.most_shards) for law in self.laws]

    def save(self, folder: Path) -> None:
        """Write them to ``folder``. Of one cell nothing but its law stands there."""
        folder.mkdir(parents=True, exist_ok=True)
        named = {
            name: [_file(n, k) for k in range(len(own))] for n, (name, own) in enumerate(self.values.items())
        }
        for name, own in self.values.items():
            for each, file in zip(own, named[name], strict=True):
                each.save(folder / file)
        if named:
            (folder / VALUES).write_text(json.dumps(named), encoding="utf-8")
        if len(self.laws) == 1:
            self.laws[0].save(folder)
            return
        for number, law in enumerate(self.laws):
            law.save(folder, f"{number}-")
        rows = [[*key, law.edges, law.most_shards] for key, law in zip(self.cells, self.laws, strict=True)]
        (folder / CELLS).write_text(json.dumps(rows), encoding="utf-8")


def draw_shard(folder: Path, number: int, shards: int, out: Path) -> tuple[Part, Slots]:
    """Sample one of so many shards of the laws in ``folder``; with it the pairs that its cell may have. Only
    that cell's law is read.

    It has the same bytes each time. ValueError where there is no such shard.
    """
    path = out / part_name(number, shards)
    if not (folder / CELLS).exists():
        law, values = load_law(folder), _values(folder)
        (own,) = values.values() or ((),)
        return write_strips(law, number, shards, path, own), _carrying(law, own)
    rows = json.loads((folder / CELLS).read_bytes())
    place = number
    for cell, count in enumerate(divided([each[2] for each in rows], [each[3] for each in rows], shards)):
        if place < count:
            law, values, (name, step, *_) = load_law(folder, f"{cell}-"), _values(folder), rows[cell]
            carried, others = values.pop(name, ()), [each for own in values.values() for each in own]
            names = {each.attribute.name for each in carried}
            apart = {each.attribute.name: each.attribute for each in others}
            null = [each for each in apart.values() if each.name not in names]
            part = write_strips(law, place, count, path, carried, cell=cell, of=(name, step), others=null)
            return part, _carrying(law, carried)
        place -= count
    raise ValueError(f"shards are numbered from 0 to {shards - 1}")


def _file(relation: int, place: int) -> str:
    return f"values-{relation}-{place}.npz"


def _values(folder: Path) -> dict[str, tuple[ValueLaw, ...]]:
    """Read the laws of what edges carry, by relation."""
    if not (folder / VALUES).exists():
        return {}
    named = json.loads((folder / VALUES).read_bytes())
    return {name: tuple(load_values(folder / file) for file in files) for name, files in named.items()}


def _carrying(law: StripLaw, values: tuple[ValueLaw, ...]) -> Slots:
    """Return the pairs that a cell may have, and what they carry."""
    return replace(law.slots, attributes=tuple(each.attribute for each in values))
