"""The fitted model of ``profiles``. Columns of every relation, and graphs sampled from them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.graphs.graph import EdgeTable, Graph
from core.graphs.schema import GraphSchema
from core.methods._shared.degrees.counts import integers
from core.methods._shared.frame.columns import Columns
from core.methods._shared.frame.declared import drawn_graph
from core.methods._shared.frame.model import StoredCells, load_stored
from core.methods.base import FittedModel, Progress
from core.methods.profiles.draw import Drawing, Frame, persons_of
from core.methods.profiles.params import NAME, ProfilesParams
from core.methods.profiles.persons import active_bins, spread_over_steps
from core.privacy.entropy import Generator as Rng
from core.privacy.queries import Shape


@dataclass(frozen=True)
class ProfilesModel(StoredCells, FittedModel):
    """Paid-for output only. Of every relation: ``degrees`` counts of persons by bin of degrees, ``activity``
    by first period and number of active steps, ``classes`` by class (the first entry: none); ``things`` what
    things have in each period; ``tastes`` (things, r) how tastes count. What a relation has not is empty."""

    params: ProfilesParams

    def sample(self, rng: Rng, progress: Progress) -> Graph:
        """Sample one synthetic graph over the universes, without ids. O(edges log edges + proposals)."""
        tables: dict[str, EdgeTable] = {}
        for done, ((name, _), columns) in enumerate(self.cells.items()):
            progress("sample", done, len(self.cells))
            tables[name] = self._drawn(frame_of(self.schema, self.shape(name)), columns, rng)
        progress("sample", len(self.cells), len(self.cells))
        return drawn_graph(self.schema, self.nodes, tables, rng)

    def _drawn(self, frame: Frame, columns: Columns, rng: Rng) -> EdgeTable:
        if len(columns["classes"]):
            return _of_classes(frame, columns, rng)
        things = columns["things"].reshape(frame.things, -1)
        drawing = Drawing(frame, persons_of(frame, columns, rng), things, rng)
        drawing.swap(columns["tastes"].reshape(frame.things, -1), self.params.sweeps)
        return _table(frame, np.concatenate(drawing.keys), [len(keys) for keys in drawing.keys])


def frame_of(schema: GraphSchema, shape: Shape) -> Frame:
    """Return the public frame of a relation's cells."""
    protected = schema.protected_type
    first = protected is not None and shape.edge_type.source == protected.name
    return Frame(shape, first, schema.steps)


def _of_classes(frame: Frame, columns: Columns, rng: Rng) -> EdgeTable:
    """Give every person a class, or none, by the paid counts; with time, in the steps of a paid activity."""
    counts = integers(columns["classes"], rng)
    thing = np.full(frame.persons, -1, dtype=np.int64)
    drawn = np.repeat(np.arange(len(counts)) - 1, counts)[: frame.persons]
    thing[: len(drawn)] = drawn
    thing = rng.permutation(thing)
    person = np.flatnonzero(thing >= 0)
    if not len(columns["activity"]):
        return _table(frame, frame.keys(person, thing[person]), [len(person)])
    many = np.where(thing >= 0, frame.steps, 0)
    active = spread_over_steps(many, columns["activity"], frame.periods, active_bins(frame.steps), rng)
    order = np.lexsort((active.person, active.step))
    sizes = np.bincount(active.step, minlength=frame.steps)
    who = active.person[order]
    return _table(frame, frame.keys(who, thing[who]), list(sizes))


def _table(frame: Frame, keys: np.ndarray, sizes: list[int]) -> EdgeTable:
    source, target = np.divmod(keys, frame.shape.target_count)
    if not frame.timed:
        return EdgeTable(source, target)
    return EdgeTable(source, target, np.repeat(np.arange(len(sizes), dtype=np.int32), sizes))


def load(folder: Path) -> ProfilesModel:
    """Read the model that its ``save`` wrote. ValueError where its files contradict one another."""
    return ProfilesModel(**vars(load_stored(folder, NAME, ProfilesParams)))
