"""The fitted walk generator. How it is trained on a raw graph, and the graphs that its walks make."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from core.graphs.graph import Graph
from core.learning.devices import seeded
from core.methods._shared.frame.declared import drawn_graph
from core.methods._shared.frame.model import StoredCells, edge_table, load_stored
from core.methods.base import FittedModel, Progress, Training
from core.privacy.entropy import Generator as Rng
from core.privacy.entropy import noise_generator
from papers._shared import tensor_files
from papers._shared.progress import Ticks
from papers._shared.walks.counted import Counted
from papers._shared.walks.layout import Layout, keys_of
from papers._shared.walks.links import Labels, Links
from papers._shared.walks.network import Candidates, Network, network_of
from papers._shared.walks.params import WalkParams

if TYPE_CHECKING:
    from core.methods._shared.frame.columns import Columns
    from core.privacy.accounting.plan import CellKey

WEIGHTS = "weights.safetensors"
BATCH, LEAST_BATCH, BATCHES_AN_EPOCH = 1024, 16, 4
"""Walks of a batch; fewer in a small graph, so that an epoch has some batches."""
FASTEST = 1e-2
LONGEST_GRADIENT = 1.0
LOOKED_AT = 2**17
"""Walks whose labels are counted before training."""
MOST_ROUNDS = 4
"""How often walks are generated, while cells have too few distinct pairs."""
MISSING = 0.1
"""A generator has collapsed where more than this share of the edges has no pair."""


@dataclass(frozen=True)
class WalkModel(StoredCells, FittedModel):
    """``cells``: the true number of edges of each. ``weights``: of network and candidates, by name."""

    params: WalkParams
    typed: bool
    weights: dict[str, torch.Tensor]
    losses: tuple[float, ...]
    notes: tuple[str, ...] = ()
    collapsed: bool | None = None

    @property
    def labels(self) -> Labels:
        """How links are labelled; from public facts."""
        names = tuple(dict.fromkeys(name for name, _ in self.cells))
        return Labels(Layout.of(self.schema, self.nodes, names), self.typed)

    @property
    def wanted(self) -> dict[int, int]:
        """The number of edges of each group of cells."""
        found: dict[int, int] = {}
        for cell, group in self.labels.groups.items():
            found[group] = found.get(group, 0) + int(self.cells[cell]["count"][0])
        return found

    def training(self) -> Training:
        """Return every batch's loss, and whether walks lack pairs."""
        return Training({"negative log-likelihood": self.losses}, self.notes, self.collapsed)

    def counted(self, rng: Rng, progress: Progress) -> Counted:
        """Generate walks and count their pairs.

        This is repeated while a cell has too few, MOST_ROUNDS times at most. On the CPU, whatever the model
        was trained on. O(pairs * candidates of a label * dimensions).
        """
        counted, wanted = Counted.none(self.labels), self.wanted
        count = ceil(self.params.pairs_per_edge * sum(wanted.values()) / self.params.length)
        if not self.weights or not count:
            return counted
        candidates = Candidates(**tensor_files.part("candidates", self.weights))
        network = network_of(tensor_files.part("network", self.weights))
        with seeded(int(rng.integers(2**63)), torch.device("cpu")), torch.no_grad():
            for _ in range(MOST_ROUNDS):
                found = []
                for done in range(0, count, BATCH):
                    found.append(network.walk(candidates, min(BATCH, count - done), self.params.length))
                    progress("generate", min(done + BATCH, count), count)
                nodes, label = (torch.cat(part).numpy() for part in zip(*found, strict=True))
                counted = counted.with_walks(label, nodes)
                if not counted.short(wanted):
                    break
        return counted

    def sample(self, rng: Rng, progress: Progress) -> Graph:
        """Sample one synthetic graph over the same universe.

        Nodes are aligned by index and without ids. The same ``rng`` state gives the same graph.
        """
        ticks = Ticks(progress, "sample")
        keys = self.counted(rng, ticks).drawn(self.wanted, rng)
        ticks.finish()
        edges = {
            relation.name: edge_table(
                [(step, keys[relation.name, step]) for step in self.schema.steps_of(relation.name)],
                self.labels.layout.shape(relation).target_count,
            )
            for relation in self.labels.layout.relations
        }
        return drawn_graph(self.schema, self.nodes, edges, rng)

    def save(self, folder: Path) -> None:
        """Write the model to ``folder``. :func:`load` gives back an equal one."""
        super().save(folder)
        facts = {"losses": self.losses, "notes": self.notes, "collapsed": self.collapsed}
        tensor_files.save(folder / WEIGHTS, self.weights, facts)


def load(folder: Path, method: str, params: type[WalkParams], typed: bool) -> WalkModel:
    """Read the model that its ``save`` wrote. ValueError where its files contradict one another."""
    stored = load_stored(folder, method, params)
    weights, facts = tensor_files.load(folder / WEIGHTS)
    told = {"losses": tuple(facts["losses"]), "notes": tuple(facts["notes"]), "collapsed": facts["collapsed"]}
    return WalkModel(**vars(stored), typed=typed, weights=weights, **told)


def fit(method: str, raw: Graph, params: WalkParams, typed: bool, progress: Progress) -> WalkModel:
    """Train a network on walks, and check its walks.

    The walks are of every relation that is not public. Without an edge there is nothing to learn, and samples
    are empty.
    """
    names = tuple(relation.name for relation in raw.schema.edge_types if not relation.public)
    counts = {kind: table.count for kind, table in raw.nodes.items()}
    labels = Labels(Layout.of(raw.schema, counts, names), typed)
    keys = keys_of(raw, labels.layout)
    links = Links.of(labels, keys)
    cells: dict[CellKey, Columns] = {cell: {"count": np.array([len(keys[cell])])} for cell in keys}
    rng, ticks = noise_generator(), Ticks(progress, "train")
    weights, losses, batches = _trained(links, params, rng, ticks) if links.edges else ({}, [], 0)
    ticks.finish()
    lost = batches - len(losses)
    notes = [f"{lost / batches:.0%} of the batches diverged and changed nothing."] if lost else []
    ticks = Ticks(progress, "look over")
    model = WalkModel(method, raw.schema, counts, params, cells, typed, weights, tuple(losses))
    short = model.counted(rng, ticks).short(model.wanted)
    ticks.finish()
    # Shares alone: the edges are of all relations that walks go over, those outside the release among them.
    notes.append(f"Generated walks lack pairs for {short / max(links.edges, 1):.0%} of the edges.")
    collapsed = short > MISSING * links.edges or lost > MISSING * batches
    return replace(model, notes=tuple(notes), collapsed=collapsed)


def _trained(
    links: Links, params: WalkParams, rng: Rng, progress: Progress
) -> tuple[dict[str, torch.Tensor], list[float], int]:
    """Maximise the likelihood of fresh walks in every batch, by Adam at a rate that falls to nothing.

    Returns weights and candidates, the loss of every batch that had one, and the number of batches.
    """
    length, window = params.length, getattr(params, "window", 0)
    walked = links.walks(min(LOOKED_AT, BATCH + links.edges), length, window, rng)
    candidates, of_link = Candidates.of(links, walked)
    each = max(LEAST_BATCH, min(BATCH, links.edges // (BATCHES_AN_EPOCH * length)))
    batches = min(params.most_batches, params.epochs * ceil(links.edges / (each * length)))
    losses = []
    with seeded(int(rng.integers(2**63))) as place:
        kept = candidates.on(place)
        sizes = links.labels.layout.nodes, links.labels.count, len(candidates.nodes)
        network = Network(*sizes, params.dimensions).to(place)
        optimiser = torch.optim.Adam(network.parameters(), lr=FASTEST, fused=True)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, FASTEST, batches + 1)
        for done in range(batches):
            found = links.walks(each, length, window, rng)
            back = links.back[found[:, :1]]
            tokens = np.concatenate([back, found], axis=1)
            loss = network.loss(
                kept,
                torch.from_numpy(of_link[tokens]).to(place),
                torch.from_numpy(links.label[tokens]).to(place),
            )
            if np.isfinite(value := float(loss.detach())):
                losses.append(value)
                optimiser.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(network.parameters(), LONGEST_GRADIENT)
                optimiser.step()
            schedule.step()
            progress("train", done + 1, batches)
    named = {f"candidates.{name}": column for name, column in vars(candidates).items()}
    return named | tensor_files.of_module("network", network.cpu()), losses, batches
