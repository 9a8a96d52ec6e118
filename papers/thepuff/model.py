"""The fitted model of ``thepuff``. What was paid for in every cell, and a generator of walks."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path

from core.graphs.graph import Graph
from core.methods._shared.frame.declared import drawn_graph
from core.methods._shared.frame.model import StoredCells, edge_table, load_stored
from core.methods._shared.relations.draw import Relation as Base
from core.methods._shared.relations.params import AnchoredParams
from core.methods.base import FittedModel, Progress, Training
from core.privacy.entropy import Generator as Rng
from papers._shared import tensor_files
from papers._shared.progress import Ticks
from papers._shared.walks.layout import Layout
from papers.thepuff.algorithm4 import assembled_as_published
from papers.thepuff.assembler import Scores, assembled
from papers.thepuff.collapse import Collapse, collapse_of
from papers.thepuff.params import ThepuffParams
from papers.thepuff.schedule import Settings
from papers.thepuff.training import Trained

WEIGHTS = "weights.safetensors"
WALKS_AT_ONCE = 2**20
"""Walks that are held at once; about 50 MiB."""
LOOKED_OVER = 2**17
"""Walks that are generated to look for a collapse, at most."""


@dataclass(frozen=True)
class ThepuffModel(StoredCells, FittedModel):
    """Paid-for output only in variant sound.

    Cells of scored relations have the columns ``count`` int64 (1,), ``source_degrees`` and
    ``target_degrees``; the others those of :mod:`core.methods.anchored`. ``edge_types``: the relations, in
    the plan's order.
    """

    params: ThepuffParams
    edge_types: tuple[str, ...]
    trained: Trained
    notes: tuple[str, ...] = ()
    collapsed: bool | None = None

    @property
    def layout(self) -> Layout:
        """The public half of the graph."""
        return Layout.of(self.schema, self.nodes, self.edge_types)

    def training(self) -> Training:
        """Return the curves, and whether the generator has collapsed."""
        curves = {name: tuple(values) for name, values in self.trained.curves.items()}
        return Training(curves, self.notes, self.collapsed)

    @property
    def _walks(self) -> int:
        """How many walks are generated for one graph."""
        return round(self.params.walks_per_edge * int(self.trained.step_counts.sum()))

    def scores(self, rng: Rng, progress: Progress, share: float = 1.0) -> Scores:
        """Count the pairs of freshly generated walks.

        There are ``walks_per_edge`` walks for each edge to be made.

        ``share`` of that many, to look the generator over.
        Anchors count in learned relations. In variant paper the relations without time are scored too, by the
        other pairs of the walks. O(walks * length) and what a step of the generator costs.
        """
        layout = self.layout
        every = self.params.variant == "paper"
        scored = tuple(each for each in layout.relations if every or each.learned)
        scores = Scores(layout, scored)
        walker = self.trained
        if not every:  # nothing is asked of a walk but its anchor
            walker = replace(walker, settings=replace(walker.settings, length=2))
        wanted = round(share * self._walks)
        for done in range(0, wanted, WALKS_AT_ONCE):
            steps, nodes = walker.generate(min(WALKS_AT_ONCE, wanted - done), rng)
            if steps.ndim == 2:  # across steps: a pair is of both
                for place in range(nodes.shape[1] - 1):
                    for at in (place, place + 1):
                        scores.add(steps[:, at], nodes[:, place], nodes[:, place + 1])
                continue
            scores.add(steps, nodes[:, 0], nodes[:, 1], learned=True)
            for place in range(1, nodes.shape[1] - 1) if every else ():
                scores.add(steps, nodes[:, place], nodes[:, place + 1], learned=False)
            progress("generate", min(done + WALKS_AT_ONCE, wanted), wanted)
        return scores

    def collapse(self, rng: Rng, progress: Progress) -> Collapse:
        """Measure the collapse of freshly generated walks. LOOKED_OVER of them are measured at most."""
        share = min(1.0, LOOKED_OVER / max(self._walks, 1))
        return collapse_of(self.scores(rng, progress, share), self.cells, share)

    def sample(self, rng: Rng, progress: Progress) -> Graph:
        """Sample one synthetic graph over the same universe.

        Nodes are aligned by index and without ids. Learned relations by the generated walks, the others by
        their own columns; in variant paper all of them by Algorithm 4, whose cells do not keep to a count. On
        the CPU, whatever the model was trained on. The same ``rng`` state gives the same graph.
        """
        ticks, layout = Ticks(progress, "sample"), self.layout
        if self.params.variant == "paper":
            wanted = sum(int(columns["count"][0]) for columns in self.cells.values())
            found = assembled_as_published(layout, *self.trained.generate(self._walks, rng), wanted, rng)
        else:
            keep = self.params.keep_degrees
            found = assembled(self.scores(rng, ticks), self.cells, rng, keep_degrees=keep)
            for relation in layout.relations:
                base = Base(layout.shape(relation), AnchoredParams())
                for step in layout.schema.steps_of(relation.name) if not relation.learned else ():
                    found[relation.name, step] = base.draw(self.cells[relation.name, step], rng)
        edges = {}
        for relation in layout.relations:
            drawn = [(step, found[relation.name, step]) for step in layout.schema.steps_of(relation.name)]
            edges[relation.name] = edge_table(drawn, layout.shape(relation).target_count)
        ticks.finish()
        return drawn_graph(self.schema, self.nodes, edges, rng)

    def save(self, folder: Path) -> None:
        """Write the model to ``folder``. :func:`load` gives back an equal one."""
        super().save(folder)
        facts = {
            "settings": asdict(self.trained.settings),
            "curves": {name: list(values) for name, values in self.trained.curves.items()},
            "edge_types": list(self.edge_types),
            "notes": list(self.notes),
            "collapsed": self.collapsed,
        }
        tensor_files.save(folder / WEIGHTS, self.trained.tensors(), facts)


def load(folder: Path, method: str) -> ThepuffModel:
    """Read the model that its ``save`` wrote. ValueError where its files contradict one another."""
    stored = load_stored(folder, method, ThepuffParams)
    tensors, facts = tensor_files.load(folder / WEIGHTS)
    trained = Trained.of(Settings(**facts["settings"]), tensors, facts["curves"])
    told = {"notes": tuple(facts["notes"]), "collapsed": facts["collapsed"]}
    return ThepuffModel(**vars(stored), edge_types=tuple(facts["edge_types"]), trained=trained, **told)
