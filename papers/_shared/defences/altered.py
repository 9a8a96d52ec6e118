"""The model of a defence: weighted, directed pairs. How it is made from a graph, and sampled from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from core.errors import PrivacyViolation
from core.graphs.graph import Graph
from core.graphs.views.pseudonyms import Permuter
from core.graphs.views.sensitive import SensitiveLinks, stored_links, write_sensitive
from core.methods._shared.frame.model import StoredCells, drawn_by_cell, load_stored
from core.methods._shared.matching.pairs import pack
from core.methods.base import FittedModel, Parameters, Progress, Training
from core.privacy.entropy import Generator as Rng
from core.privacy.entropy import noise_generator
from papers._shared.defences.visible import REASON, Altered, DefenceParams, Visible, merged
from papers._shared.progress import Ticks

if TYPE_CHECKING:
    from core.methods._shared.frame.columns import Columns
    from core.privacy.accounting.plan import CellKey
    from core.privacy.session.private_graph import PrivateGraph

FORWARD, BACKWARD = 1, 2
"""Bits of a pair's directions: from its lower node to its higher one, and back; 0 where it was added."""

Alter = Callable[[Visible, DefenceParams, Rng, Progress], Altered]
"""How a defence alters one relation: ``Defence.altered``."""

TRAINING = "training.json"
WEIGHTED = "weighted"


def drawn_share(graph: Graph, relations: Iterable[str], share: float, rng: Permuter) -> SensitiveLinks:
    """Draw a share of each relation's links at random, rounded down: for evaluation. O(m)."""
    drawn = {}
    for name in relations:
        table = graph.edges[name]
        chosen = np.sort(rng.permutation(table.count)[: int(share * table.count)])
        drawn[name] = (table.source[chosen].astype(np.int64), table.target[chosen].astype(np.int64))
    return SensitiveLinks.of(graph, drawn)


@dataclass(frozen=True)
class AlteredModel(StoredCells, FittedModel):
    """Cells have the columns ``key`` (int64), ``weight`` (float32) and ``direction`` (uint8).

    ``hidden``: the links that were taken for sensitive, for the curators' comparison; a sample needs none.
    ``named``: they are a list of the curators', so that no figure computed from them may be published.
    """

    told: Training = field(default_factory=Training)
    hidden: SensitiveLinks = field(default_factory=lambda: SensitiveLinks({}), repr=False, compare=False)
    named: bool = False

    def training(self) -> Training:
        """Return the publishable account of how weights were learned.

        It is nothing where links were named. Losses and AUCs are functions of the list; an AUC is a fraction
        whose denominator tells its length.
        """
        return Training() if self.named else self.told

    def hidden_links(self) -> SensitiveLinks:
        """Return the links that were taken for sensitive."""
        return self.hidden

    def edge_weights(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Return every relation's keys and weights, if published; else nothing."""
        if not self._weighted:
            return {}
        return {name: (columns["key"], columns["weight"]) for (name, _), columns in self.cells.items()}

    @property
    def _weighted(self) -> bool:
        return getattr(self.params, "release", None) == WEIGHTED

    def sample(self, rng: Rng, progress: Progress) -> Graph:
        """Sample one graph, pairs independent by their weights.

        Every pair is a link with its weight for probability; ids are left out. Where weights are published,
        every pair is sampled. The same ``rng`` state gives the same graph. Weights of one give the same links
        in every sample.
        """

        def draw(name: str, columns: Columns) -> np.ndarray:
            return self._keys(name, columns, rng)

        return drawn_by_cell(self.schema, self.nodes, self.cells, draw, rng, progress)

    def _keys(self, name: str, columns: Columns, rng: Rng) -> np.ndarray:
        nodes = self.shape(name).source_count
        kept = (rng.random(len(columns["key"])) < columns["weight"]) | self._weighted
        keys, direction = columns["key"][kept], columns["direction"][kept]
        if not self.schema.edge_type(name).directed:
            return keys
        coin = rng.integers(FORWARD, BACKWARD + 1, len(keys))
        direction = np.where(direction > 0, direction, coin)
        low, high = keys // nodes, keys % nodes
        forward, backward = (direction & FORWARD) > 0, (direction & BACKWARD) > 0
        return np.sort(np.append(keys[forward], high[backward] * nodes + low[backward]))

    def save(self, folder: Path) -> None:
        """Write the model to ``folder``. :func:`load_altered` gives back an equal one."""
        super().save(folder)
        text = {
            "curves": {k: list(v) for k, v in self.told.curves.items()},
            "notes": list(self.told.notes),
            "named": self.named,
        }
        (folder / TRAINING).write_text(json.dumps(text, allow_nan=False) + "\n", encoding="utf-8")
        write_sensitive(self.hidden, folder)


def load_altered(folder: Path, method: str, params: type[Parameters]) -> AlteredModel:
    """Read the model that its ``save`` wrote. ValueError where its files contradict one another."""
    stored = load_stored(folder, method, params)
    text = json.loads((folder / TRAINING).read_text(encoding="utf-8"))
    told = Training({k: tuple(v) for k, v in text["curves"].items()}, tuple(text["notes"]))
    hidden = stored_links(folder)
    if hidden is None:
        raise ValueError("a stored defence does not say what it hid")
    return AlteredModel(**vars(stored), told=told, hidden=hidden, named=bool(text["named"]))


def fit_altered(
    method: str, alter: Alter, graph: PrivateGraph, params: DefenceParams, progress: Progress
) -> AlteredModel:
    """Fit ``method`` on all relations that ``alter`` takes. Sensitive links are taken out before."""
    raw = graph.unprotected(REASON)
    taken = [each for each in raw.schema.edge_types if each.homogeneous and not each.public]
    names = [each.name for each in taken]
    rng = noise_generator()
    sensitive = graph.sensitive_links()
    named = sensitive is not None
    if sensitive is None:
        sensitive = drawn_share(raw, names, params.sensitive_share, rng)
    ticks = Ticks(progress, "alter")
    cells: dict[CellKey, Columns] = {}
    trainings: dict[str, Training] = {}
    for number, name in enumerate(names):
        visible, direction = taken_apart(raw, name, sensitive.of_relation(name))
        found = alter(visible, params, rng, _Part(ticks, number, len(names)))
        if np.isin(found.keys, visible.sensitive, assume_unique=True).any():
            raise PrivacyViolation("a defence gives out a sensitive link")
        at = np.searchsorted(visible.links, found.keys).clip(max=max(len(visible.links) - 1, 0))
        own = np.zeros(len(found.keys), dtype=np.uint8)
        if len(visible.links):
            own = np.where(visible.links[at] == found.keys, direction[at], 0).astype(np.uint8)
        weight = found.weights.astype(np.float32)
        cells[name, None] = {"key": found.keys, "weight": weight, "direction": own}
        trainings[name] = found.training
    ticks.finish()
    counts = {kind: table.count for kind, table in raw.nodes.items()}
    told, hidden = merged(trainings), hidden_of(sensitive, names)
    return AlteredModel(method, raw.schema, counts, params, cells, told, hidden, named)


def hidden_of(sensitive: SensitiveLinks, names: Sequence[str]) -> SensitiveLinks:
    """Pick the sensitive links that a defence hid. They are of the relations that it takes."""
    return SensitiveLinks({k: v for k, v in sensitive.pairs.items() if k in names}, sensitive.list_id)


def taken_apart(
    graph: Graph, name: str, sensitive: tuple[np.ndarray, np.ndarray]
) -> tuple[Visible, np.ndarray]:
    """Separate the relation's pairs from its sensitive ones.

    Returned are their directions too. O(m log m).
    """
    relation = graph.schema.edge_type(name)
    table, cell = graph.nodes[relation.source], graph.cell(name, None)
    source, target = cell.source.astype(np.int64), cell.target.astype(np.int64)
    keys, place = np.unique(pack(source, target, table.count), return_inverse=True)
    direction = np.zeros(len(keys), dtype=np.uint8)
    np.bitwise_or.at(direction, place, np.where(source <= target, FORWARD, BACKWARD).astype(np.uint8))
    hidden = np.unique(pack(*sensitive, table.count))
    shown = ~np.isin(keys, hidden, assume_unique=True)
    kind = graph.schema.node_type(relation.source)
    return Visible(table.count, keys[shown], hidden, kind, table), direction[shown]


class _Part:
    """The ticks of one of several relations."""

    def __init__(self, ticks: Ticks, number: int, parts: int) -> None:
        self._ticks, self._number, self._parts = ticks, number, parts

    def __call__(self, stage: str, done: int, total: int) -> None:
        self._ticks(stage, self._number * total + done, self._parts * total)
