"""Figures of a whole temporal graph, published and repaired.

THEPUFF's six with EO-Rate, and a repaired form of each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core.evaluation.metric import Suite
from core.evaluation.utility import relative
from core.evaluation.whole import meta_paths, paper_paths
from core.evaluation.whole.definitions import SERIES, STANDARD
from core.evaluation.whole.layers import Layer
from core.evaluation.whole.mmd import squared_mmd, squared_mmd_of_counts
from core.evaluation.whole.overlap import overlap_rate

# THEPUFF's sequences, by the scalar of a row that they follow.
PAPER_SERIES = {
    "thepuff_cluster_mmd": "mean_local_clustering",
    "thepuff_triangle_mmd": "triangles",
    "thepuff_largest_component_mmd": "largest_component",
}

Scalars = Mapping[str, float | None]


def sequence_error(x: Sequence[float | None], y: Sequence[float | None]) -> float | None:
    """Average ``|x - y| / max(|x|, |y|)`` over defined steps. Both are defined there; 0 where both are 0."""
    pairs = [(a, b) for a, b in zip(x, y, strict=True) if a is not None and b is not None]
    return relative.mean([abs(a - b) / max(abs(a), abs(b), relative.FLOOR) for a, b in pairs])


def sequence_correlation(x: Sequence[float | None], y: Sequence[float | None]) -> float | None:
    """Compute Pearson's correlation over defined steps.

    Both are defined there; None below three, or constant.
    """
    pairs = [(a, b) for a, b in zip(x, y, strict=True) if a is not None and b is not None]
    if len(pairs) < 3:
        return None
    ours, theirs = np.array(pairs, dtype=np.float64).T
    if not np.ptp(ours) or not np.ptp(theirs):
        return None
    return float(np.clip(np.corrcoef(ours, theirs)[0, 1], -1.0, 1.0))


class Sequences:
    """Collects sequences step by step. :meth:`found` then has every figure of ``suite``."""

    def __init__(self, suite: Suite, pairs: paper_paths.Paths, chains: paper_paths.Paths) -> None:
        self._standard = suite.includes(STANDARD)
        self._pairs, self._chains = pairs, chains
        self._scalars: tuple[list[Scalars], list[Scalars]] = ([], [])
        self._means: dict[str, list[float | None]] = {}
        self._typed = False

    def add(self, original: Layer, synthetic: Layer, ours: Scalars, theirs: Scalars) -> None:
        """Add one more step. It is both layers, and the scalars of either (at least those of the series)."""
        self._scalars[0].append(ours)
        self._scalars[1].append(theirs)
        if not self._standard:
            return
        layers = (original, synthetic)
        degrees = [np.bincount(layer.view.degrees) for layer in layers]
        self._note("thepuff_degree_mmd", squared_mmd_of_counts(*degrees))
        self._note("thepuff_degree_mmd_self", squared_mmd_of_counts(degrees[0], degrees[0]))
        self._note("edge_overlap_rate", overlap_rate(*layers))
        if len(original.layout.names) < 2:  # one node type has no meta-paths to compare
            return
        targets = paper_paths.directed_shares(original, self._pairs, self._chains)
        for suffix, layer in (("", synthetic), ("_self", original)):
            logits = paper_paths.symmetrised_shares(layer, self._pairs, self._chains)
            for name, target, logit in zip(("meta2", "meta3"), targets, logits, strict=True):
                self._note(f"thepuff_{name}{suffix}", paper_paths.cross_entropy(target, logit))

    def _note(self, name: str, value: float | None) -> None:
        self._means.setdefault(name, []).append(value)

    def _series(self, scalar: str) -> list[list[float | None]]:
        return [[scalars.get(scalar) for scalars in side] for side in self._scalars]

    def found(self) -> dict[str, float | None]:
        """Compute every sequence figure of the suite.

        Excepted are the meta-path distances and the typed overlap.
        """
        figures: dict[str, float | None] = {}
        for name, scalar, _ in SERIES:
            figures[f"{name}_sequence_error"] = sequence_error(*self._series(scalar))
            figures[f"{name}_sequence_correlation"] = sequence_correlation(*self._series(scalar))
        if not self._standard:
            return figures
        for name in ("degree_mmd", "meta2", "meta3"):
            for suffix in ("", "_self"):
                key = f"thepuff_{name}{suffix}"
                figures[key] = relative.mean(self._means.get(key, []))
        for key, scalar in PAPER_SERIES.items():
            ours, theirs = self._series(scalar)
            figures[key] = _mmd(ours, theirs)
            figures[f"{key}_self"] = _mmd(ours, ours)
        figures["edge_overlap_rate"] = relative.mean(self._means.get("edge_overlap_rate", []))
        return figures


def _mmd(x: Sequence[float | None], y: Sequence[float | None]) -> float | None:
    defined = [np.array([value for value in side if value is not None]) for side in (x, y)]
    return squared_mmd(*defined)


_Shares = dict[tuple[int, ...], float]


class MetaPaths:
    """Collects both graphs' meta-path shares, step by step."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._lengths = meta_paths.lengths_of(len(names))
        self._tables: dict[int, tuple[list[_Shares | None], list[_Shares | None]]] = {
            length: ([], []) for length in self._lengths
        }

    def add(self, original: Layer, synthetic: Layer) -> None:
        for length, tables in self._tables.items():
            for table, layer in zip(tables, (original, synthetic), strict=True):
                table.append(meta_paths.shares(meta_paths.counts(layer, length)))

    def distances(self) -> dict[str, float | None]:
        """Compute the total variation of every length.

        It is the mean over steps; None where it was not counted.
        """
        return {
            f"meta_path_total_variation_{length}": relative.mean(
                [
                    meta_paths.total_variation(ours, theirs)
                    for ours, theirs in zip(*self._tables.get(length, ((), ())), strict=True)
                ]
            )
            for length in meta_paths.LENGTHS
        }

    def listed(self) -> list[dict[str, Any]]:
        """List the mean shares over steps, for the report."""
        return meta_paths.listed(self._names, self._tables)
