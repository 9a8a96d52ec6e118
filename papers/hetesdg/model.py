"""The fitted model. Noisy tables of every relation, what is sampled from them, and vectors of nodes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from core.graphs.graph import EdgeTable, Graph
from core.methods._shared.frame.declared import drawn_graph
from core.methods._shared.frame.model import StoredCells, load_stored
from core.methods.base import FittedModel, Parameters, Progress, Training
from core.privacy.entropy import Generator as Rng
from papers.hetesdg.params import HeteParams
from papers.hetesdg.sides import Sides, sides_of
from papers.hetesdg.sound.joining import joined, joined_within
from papers.hetesdg.sound.joint import together
from papers.hetesdg.sound.profiles import drawn_profiles, held_to, with_degrees
from papers.hetesdg.sound.sums import pair_products
from papers.hetesdg.sound.tables import Table, expected, mix

if TYPE_CHECKING:
    from core.methods._shared.frame.columns import Columns

VECTORS, TOLD = "vectors.safetensors", "training.json"
MAX_ROUNDS = 200
"""Draws of the published form, after which a relation has fewer links than the original."""
EXCHANGES = 32
"""Proposals of the chain for every link."""
ENDS = ("latent-source", "latent-target")


@dataclass(frozen=True)
class HeteModel(StoredCells, FittedModel):
    """Paid-for output only in variant sound.

    A cell's columns: ``histogram`` (n * k,), ``scale`` of its noise and ``groups`` k; ``label`` of the
    grouped nodes, and ``membership`` (n * k,), how far each belongs to every cluster; ``grouped`` and
    ``counted``, the ends' degrees in ascending order, empty where they were not read. With gaussian-sums:
    ``rows`` of the grouped nodes, ``sums`` of the counted ones, ``width`` of both. ``found`` maps what is
    released besides the graph to float32 (n, d) by node type. ``latents``:
    of learned relations, the two ends' vectors whose products are logits; ``curves``: of their training.
    """

    params: HeteParams
    found: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)
    latents: Mapping[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    curves: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def training(self) -> Training:
        """Return how link predictors were trained, where they were."""
        return Training(self.curves, self.notes)

    def vectors(self) -> Mapping[str, Mapping[str, np.ndarray]]:
        """Return the requested released vectors, by node type. They are "features" and "embedding"."""
        return self.found

    def scores(self, edge_type: str, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Score how likely each pair is linked.

        Larger is likelier, comparable within a relation. By the predictor where one was trained, else by the
        tables, or by the sums. float64, of the pairs' length. O(n + pairs), of tables times the constants of
        :mod:`.sound.joint`. Post-processing.
        """
        columns = self.cells[edge_type, None]
        sides = self.sides(edge_type)
        source, target = np.asarray(source), np.asarray(target)
        if edge_type in self.latents:
            return _products(self.latents[edge_type], source, target, sides.undirected)
        if "sums" in columns:
            return pair_products(columns, sides, source, target)
        table = table_of(columns)
        # Of a cluster's nodes any may be the neighbour: the larger the cluster, the less likely each.
        rows = together(table) / np.maximum(table.share, 1e-9)
        member = columns["membership"].reshape(-1, rows.shape[1])
        counted, grouped = (source, target) if sides.counted_side == "source" else (target, source)
        found = np.einsum("ij,ij->i", rows[counted], member[grouped])
        return np.asarray(
            found + np.einsum("ij,ij->i", rows[grouped], member[counted]) if sides.undirected else found
        )

    def sides(self, edge_type: str) -> Sides:
        """Return the relation's two ends."""
        return sides_of(self.schema, self.schema.edge_type(edge_type), self.params.rows)

    def sample(self, rng: Rng, progress: Progress) -> Graph:
        """Sample one synthetic graph over the same universe.

        Nodes are aligned by index and without ids. The same ``rng`` state gives the same graph. Without
        "graph" in the release it has no edges.
        """
        edges = {}
        for done, ((name, _), columns) in enumerate(self.cells.items()):
            progress("sample", done, len(self.cells))
            if "graph" in self.params.release:
                published = self.params.variant == "paper"
                edges[name] = self._likeliest(name, rng) if published else self._drawn(name, columns, rng)
                if self.params.links == "predictor" and not published:
                    edges[name] = self._exchanged(name, edges[name], rng)
        progress("sample", len(self.cells), len(self.cells))
        return drawn_graph(self.schema, self.nodes, edges, rng)

    def _drawn(self, name: str, columns: Columns, rng: Rng) -> EdgeTable:
        sides, table, label = self.sides(name), table_of(columns), columns["label"]
        size = self.nodes[sides.counted]
        if sides.undirected:
            degrees = np.empty(size, dtype=np.int64)
            order = np.lexsort((rng.random(size), expected(table).sum(axis=1)))
            degrees[order] = columns["counted"]
            ends = np.stack([table.noisy[label == k].sum(axis=0) for k in range(table.noisy.shape[1])])
            return EdgeTable(*np.divmod(joined_within(degrees, label, ends, rng), max(size, 1)))
        counted = columns["counted"]
        if len(counted):
            profiles = drawn_profiles(table, mix(table), counted, rng)
        else:  # a small type: its noisy rows themselves
            profiles = held_to(table.noisy, self.nodes[sides.grouped])
            counted = np.sort(profiles.sum(axis=1))
        stubs = with_degrees(profiles, counted, rng)
        loops = sides.grouped != sides.counted
        a, b = joined(columns["grouped"], label, stubs, size, loops, rng)
        return EdgeTable(a, b) if sides.grouped_side == "source" else EdgeTable(b, a)

    def _exchanged(self, name: str, table: EdgeTable, rng: Rng) -> EdgeTable:
        """Exchange links' ends by the predictor's odds in a Metropolis chain, at the same degrees.

        O(EXCHANGES * links).
        """
        from core.methods._shared.slots.markov_chain import rewired

        shape = self.shape(name)
        left, right = self.latents[name]
        if shape.undirected:  # both ways to name a pair count
            left, right = np.concatenate([left, right], axis=1), np.concatenate([right, left], axis=1)
        ends = table.source.astype(np.int64), table.target.astype(np.int64)
        if shape.undirected:
            ends = np.minimum(*ends), np.maximum(*ends)
        keys = ends[0] * shape.target_count + ends[1]
        keys = rewired(keys, {}, shape, EXCHANGES * len(keys), rng, score=(left, right))
        return EdgeTable(*np.divmod(keys, max(shape.target_count, 1)))

    def _likeliest(self, name: str, rng: Rng) -> EdgeTable:
        """Draw as many links as the original has: uniform pairs, each kept with its predicted probability."""
        from scipy.special import expit

        declared = self.schema.edge_type(name)
        sizes, wanted = (
            [self.nodes[end] for end in (declared.source, declared.target)],
            self.cells[name, None],
        )
        keys = np.empty(0, dtype=np.int64)
        for _ in range(MAX_ROUNDS):
            short = int(wanted["count"][0]) - len(keys)
            if short <= 0 or not all(sizes):
                break
            source, target = (rng.integers(0, size, 4 * short + 16) for size in sizes)
            if declared.homogeneous and not declared.directed:
                source, target = np.minimum(source, target), np.maximum(source, target)
            kept = rng.random(len(source)) < expit(self.scores(name, source, target))
            kept &= (source != target) | (not declared.homogeneous)
            fresh = np.setdiff1d(source[kept] * sizes[1] + target[kept], keys)
            keys = np.concatenate([keys, rng.permutation(fresh)[:short]])
        return EdgeTable(*np.divmod(keys, max(sizes[1], 1)))

    def save(self, folder: Path) -> None:
        """Write the model to ``folder``. :func:`load` gives back an equal one."""
        from safetensors.numpy import save_file

        super().save(folder)
        flat = {f"{what}.{kind}": v for what, each in self.found.items() for kind, v in each.items()}
        for name, both in self.latents.items():
            flat |= {f"{end}.{name}": v for end, v in zip(ENDS, both, strict=True)}
        save_file({name: np.ascontiguousarray(values) for name, values in flat.items()}, folder / VECTORS)
        told = {"curves": {name: list(v) for name, v in self.curves.items()}, "notes": list(self.notes)}
        (folder / TOLD).write_text(json.dumps(told, allow_nan=False) + "\n", encoding="utf-8")


def load(folder: Path, method: str, params: type[Parameters]) -> HeteModel:
    """Read the model that its ``save`` wrote. ValueError where its files contradict one another."""
    from safetensors.numpy import load_file

    stored = load_stored(folder, method, params)
    found: dict[str, dict[str, np.ndarray]] = {}
    for name, values in load_file(folder / VECTORS).items():
        what, kind = name.split(".", 1)
        found.setdefault(what, {})[kind] = values
    first, second = (found.pop(end, {}) for end in ENDS)
    latents = {name: (first[name], second[name]) for name in first}
    told = json.loads((folder / TOLD).read_text(encoding="utf-8"))
    curves = {name: tuple(values) for name, values in told["curves"].items()}
    return HeteModel(**vars(stored), found=found, latents=latents, curves=curves, notes=tuple(told["notes"]))


def _products(
    latents: tuple[np.ndarray, np.ndarray], source: np.ndarray, target: np.ndarray, undirected: bool
) -> np.ndarray:
    """Compute the logits of the pairs; of an undirected relation the sum over both ways to name a pair."""
    left, right = (each.astype(np.float64) for each in latents)
    found = (left[source] * right[target]).sum(axis=1)
    return np.asarray(found + (left[target] * right[source]).sum(axis=1) if undirected else found)


def table_of(columns: Columns) -> Table:
    """Read the relation's histogram, as its columns hold it."""
    groups = int(columns["groups"][0])
    label = columns["label"]
    share = np.bincount(label, minlength=groups) / max(len(label), 1)
    return Table(columns["histogram"].reshape(-1, groups), float(columns["scale"][0]), share)
