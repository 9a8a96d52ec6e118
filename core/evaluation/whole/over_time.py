"""Figures of a graph's memory from step to step.

Edges that stay, who is active and when, and how fast it fills.

All protected relations with time together, over every step of the grid; an edge is a relation and its two
ends as stored. Kept edges per node are the temporal correlation of Tang et al. (2010) and Nicosia et al.
(2013); novelty is that of Poursafaei et al. (2022, arXiv 2207.10128), burstiness that of Goh and Barabasi
(2008), without the correction for few gaps of Kim and Jo (2016).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from core.evaluation.utility import relative
from core.evaluation.whole.definitions import BURSTY_STEPS, FEWEST, LOST, RISE, TOP
from core.evaluation.whole.layers import Layout
from core.graphs.graph import Graph
from core.graphs.schema import EdgeType


@dataclass(frozen=True)
class Presence:
    """Which things are there in which steps. They are distinct pairs, sorted by thing, then step; int64."""

    thing: np.ndarray
    step: np.ndarray
    steps: int

    @classmethod
    def of(cls, thing: np.ndarray, step: np.ndarray, steps: int) -> Presence:
        """Sort the pairs and drop repeats. O(k log k)."""
        order = np.lexsort((step, thing))
        thing, step = thing[order], step[order]
        new = np.ones(len(thing), dtype=bool)
        new[1:] = (np.diff(thing) != 0) | (np.diff(step) != 0)
        return cls(thing[new], step[new], steps)

    @cached_property
    def count(self) -> np.ndarray:
        """Things of every step, int64 (steps,)."""
        return np.bincount(self.step, minlength=self.steps)

    @cached_property
    def _again(self) -> np.ndarray:
        """True where the next pair is of the same thing; bool (k,)."""
        return np.append(self.thing[1:] == self.thing[:-1], np.zeros(min(1, len(self.thing)), dtype=bool))

    @cached_property
    def gaps(self) -> np.ndarray:
        """Compute the steps between successive presences of things. They are int64, thing after thing."""
        gaps: np.ndarray = np.diff(self.step)[self._again[:-1]]
        return gaps

    def persistence(self) -> list[float | None]:
        """Compute the share of things that the next step keeps.

        It is of every step's; None unless both have some.
        """
        stay = self._again.copy()
        # The next presence of the same thing, one step on.
        stay[:-1] &= np.diff(self.step) == 1
        kept = np.bincount(self.step[stay], minlength=self.steps)
        following = np.append(self.count[1:], 0)
        return _shares(kept, np.where(following > 0, self.count, 0))

    def novelty(self) -> list[float | None]:
        """Compute the share of every step's new things.

        No earlier step had these; None for the first step.
        """
        first = np.ones(len(self.thing), dtype=bool)
        first[1:] = ~self._again[:-1]
        fresh = np.bincount(self.step[first], minlength=self.steps)
        return [None, *_shares(fresh, self.count)[1:]]

    def burstiness(self) -> float | None:
        """Average (s - m) / (s + m) of the gaps. It is over things that are there in enough steps."""
        seen = np.bincount(self.thing)
        owner = self.thing[self._again]
        often = np.flatnonzero(seen >= BURSTY_STEPS)
        number = np.maximum(np.bincount(owner, minlength=len(seen)), 1)
        mean = np.bincount(owner, weights=self.gaps, minlength=len(seen)) / number
        square = np.bincount(owner, weights=self.gaps.astype(np.float64) ** 2, minlength=len(seen)) / number
        spread = np.sqrt(np.maximum(square - mean**2, 0))
        # Rounding may put a variance a hair below 0.
        return relative.mean(((spread - mean)[often] / (spread + mean)[often]).tolist())


def _shares(part: np.ndarray, whole: np.ndarray) -> list[float | None]:
    return [a / b if b else None for a, b in zip(part.tolist(), whole.tolist(), strict=True)]


@dataclass(frozen=True)
class Timeline:
    """One graph's protected edges with time, and their nodes.

    They join these.

    ``end`` and ``when`` int64 have an entry for every end of an edge, nodes numbered over all types.
    """

    nodes: int
    edges: Presence
    active: Presence
    end: np.ndarray
    when: np.ndarray

    @classmethod
    def of(cls, graph: Graph, relations: Sequence[EdgeType]) -> Timeline:
        """Collect all steps of ``relations``, which all have time. O(m log m)."""
        layout, steps = Layout.of(graph), graph.schema.steps
        start = dict(zip(layout.names, layout.starts, strict=False))
        nothing = np.empty(0, dtype=np.int64)
        keys, ends, when, first = [nothing], [nothing], [nothing], 0
        for edge_type in relations:
            table = graph.edges[edge_type.name]
            source, target = table.source.astype(np.int64), table.target.astype(np.int64)
            width = max(graph.nodes[edge_type.target].count, 1)
            keys.append(first + source * width + target)
            ends += [source + start[edge_type.source], target + start[edge_type.target]]
            assert table.step is not None
            when.append(table.step.astype(np.int64))
            first += graph.nodes[edge_type.source].count * width
        of_ends = np.concatenate([np.concatenate([each, each]) for each in when])
        nodes = np.concatenate(ends)
        return cls(
            layout.node_count,
            _numbered(np.concatenate(keys), np.concatenate(when), steps),
            Presence.of(nodes, of_ends, steps),
            nodes,
            of_ends,
        )

    def series(self) -> dict[str, list[float | None]]:
        """Compute every scalar that a step has, by step."""
        return {
            "timed_edges": [float(count) for count in self.edges.count],
            "active_nodes": [float(count) for count in self.active.count],
            "edge_persistence": self.edges.persistence(),
            "edge_novelty": self.edges.novelty(),
            "activity_persistence": self.active.persistence(),
        }

    def means(self, series: dict[str, list[float | None]]) -> dict[str, float | None]:
        """Average the series over steps. What only the whole grid has is added."""
        return {name: relative.mean(found) for name, found in series.items()} | {
            "burstiness": self.active.burstiness()
        }

    def degrees(self, steps: Sequence[int]) -> Iterator[np.ndarray]:
        """Yield all nodes' degrees at each of ``steps``. They are int64 (nodes,). O(nodes) a step."""
        order = np.argsort(self.when, kind="stable")
        end, when = self.end[order], self.when[order]
        for low, high in zip(
            *(np.searchsorted(when, steps, side) for side in ("left", "right")), strict=True
        ):
            yield np.bincount(end[low:high], minlength=self.nodes)

    def active_steps(self) -> np.ndarray:
        """Count the steps in which every node is active, int64 (nodes,)."""
        return np.bincount(self.active.thing, minlength=self.nodes)


def _numbered(key: np.ndarray, step: np.ndarray, steps: int) -> Presence:
    return Presence.of(np.unique(key, return_inverse=True)[1].reshape(-1), step, steps)


def timed(relations: Sequence[EdgeType]) -> list[EdgeType]:
    """Choose the relations that are followed: protected ones with time."""
    return [each for each in relations if each.temporal and not each.public]


def described_over_time(graph: Graph, steps: Sequence[int]) -> dict[str, Any] | None:
    """Describe one graph over time. It has rows for ``steps``; None without time or in one step only."""
    relations = timed(graph.schema.edge_types)
    if not relations or graph.schema.steps < 2:
        return None
    line = Timeline.of(graph, relations)
    series = line.series()
    rows = [{"step": step, "scalars": {name: series[name][step] for name in series}} for step in steps]
    return {"means": line.means(series), "rows": rows}


def compared_over_time(
    original: Graph, synthetic: Graph, relations: Sequence[EdgeType], steps: Sequence[int]
) -> dict[str, Any] | None:
    """Compare both graphs over time.

    There is a row of the whole grid, and one for each of ``steps``.

    Figures are of all steps, but those of degrees and the rows, which are of the chosen ones. O(m log m + n)
    a step.
    """
    chosen = timed(relations)
    if not chosen or original.schema.steps < 2:
        return None
    ours, theirs = (Timeline.of(graph, chosen) for graph in (original, synthetic))
    series = ours.series(), theirs.series()
    hubs = [
        {"degree_correlation": correlation(a, b), "top_degree_overlap": top_overlap(a, b)}
        for a, b in zip(ours.degrees(steps), theirs.degrees(steps), strict=True)
    ]
    means = ours.means(series[0]), theirs.means(series[1])
    counts = [(line.edges.count, line.active.count) for line in (ours, theirs)]
    distances = {
        "active_steps_ks": kolmogorov_smirnov(ours.active_steps(), theirs.active_steps()),
        "activity_gaps_ks": kolmogorov_smirnov(ours.active.gaps, theirs.active.gaps),
    }
    for name, true, drawn in zip(("edge_series", "active_series"), *counts, strict=True):
        distances |= {
            f"{name}_error": pooled_error(true, drawn),
            f"{name}_step_error": step_error(true, drawn),
        }
    distances |= {"lost_rises": lost_rises(counts[0][0], counts[1][0]), **relative.mean_by_name(hubs)}
    return {
        "means": {"step": None, "scalars": _beside(*means), "distances": distances},
        "rows": [
            {
                "step": step,
                "scalars": _beside(*({name: each[name][step] for name in each} for each in series)),
                "distances": alike,
            }
            for step, alike in zip(steps, hubs, strict=True)
        ],
    }


def _beside(ours: dict[str, float | None], theirs: dict[str, float | None]) -> dict[str, Any]:
    return {name: relative.scalar(ours[name], theirs[name]) for name in ours}


def kolmogorov_smirnov(x: np.ndarray, y: np.ndarray) -> float | None:
    """Compute the largest difference of two integer distributions.

    They are of whole numbers; None for an empty one.
    """
    if not len(x) or not len(y):
        return None
    longest = int(max(x.max(), y.max())) + 1
    shares = [np.cumsum(np.bincount(each, minlength=longest)) / len(each) for each in (x, y)]
    return float(np.abs(shares[0] - shares[1]).max())


def pooled_error(true: np.ndarray, drawn: np.ndarray) -> float | None:
    """Divide all steps' summed errors by the summed truth. None where that is 0."""
    return float(np.abs(true - drawn).sum() / true.sum()) if true.any() else None


def step_error(true: np.ndarray, drawn: np.ndarray) -> float:
    """Average the steps' relative errors. Each is a share of its truth, or of ``FEWEST``."""
    return float(np.mean(np.abs(true - drawn) / np.maximum(true, FEWEST)))


def lost_rises(true: np.ndarray, drawn: np.ndarray) -> float | None:
    """Compute the share of steep rises that are lost. Less than half of these is drawn; None without one."""
    rises = np.flatnonzero((true[1:] >= RISE * np.maximum(true[:-1], 1)) & (true[1:] >= FEWEST)) + 1
    return float(np.mean(drawn[rises] < LOST * true[rises])) if len(rises) else None


def correlation(true: np.ndarray, drawn: np.ndarray) -> float | None:
    """Compute Pearson's correlation; None where either side is constant."""
    if len(true) < 2 or not np.ptp(true) or not np.ptp(drawn):
        return None
    return float(np.clip(np.corrcoef(true, drawn)[0, 1], -1.0, 1.0))


def top_overlap(true: np.ndarray, drawn: np.ndarray) -> float | None:
    """Compute the overlap of both tops of active nodes.

    It is how many of the top tenth both have, expected over random ties.
    """
    size = int(np.ceil(TOP * np.count_nonzero(true)))
    return float(_top(true, size) @ _top(drawn, size) / size) if size else None


def _top(degree: np.ndarray, size: int) -> np.ndarray:
    """Compute every node's chance to be among the ``size`` highest degrees above 0; float64 (n,)."""
    line = max(int(np.partition(degree, len(degree) - size)[len(degree) - size]), 1)
    chance = (degree > line).astype(np.float64)
    tied = np.flatnonzero(degree == line)
    chance[tied] = min(1.0, (size - chance.sum()) / max(len(tied), 1))
    return chance
