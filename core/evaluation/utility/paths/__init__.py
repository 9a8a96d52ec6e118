"""Shortest paths: mean, longest, and distribution. The distribution is over pairs of nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.evaluation.metric import Estimate, Metric, Suite, Value
from core.evaluation.utility import degrees
from core.evaluation.view import UndirectedView
from core.late import late
from core.privacy.entropy import public_generator

if TYPE_CHECKING:
    from core.evaluation.utility.paths.layout import Layout

_laid_out = late("core.evaluation.utility.paths.layout:laid_out")
_search = late("core.evaluation.utility.paths.layout:Search")
_diameter = late("core.evaluation.utility.paths.diameter:diameter")

# All pairs up to nodes x edges of this size: half a second in a small world, a minute on one long path.
EXACT_WORK = 2_000_000_000
# Sources of a sample, a batch each; long paths, where a batch is dear, are left with the first of them.
SAMPLE = (64, 448, 512)
# Edge visits of a sample's searches, and of those that settle a large graph's diameter: half a minute.
SAMPLE_WORK = 2_000_000_000
DIAMETER_WORK = 200_000_000
SEED = 1

_SAMPLED = (
    f"Exact up to nodes x edges = {EXACT_WORK:,}; above, from {sum(SAMPLE)} nodes drawn at random "
    f"with a fixed seed, or from {SAMPLE[0]} where searches from more would be too dear."
)

SCALARS = (
    Metric(
        "characteristic_path_length",
        "Characteristic path length",
        "Mean shortest-path length over all ordered pairs of different nodes that a path joins, all "
        f"components together (DPGGAN's CPL, PGB's average path). {_SAMPLED}",
        "paths",
        Suite.STANDARD,
    ),
    Metric(
        "diameter",
        "Diameter",
        "Longest shortest path within any component, exact; undefined where a large graph's is not settled "
        f"within {DIAMETER_WORK:,} edge visits.",
        "paths",
        Suite.STANDARD,
    ),
)
_OVER = (
    "distances of ordered pairs that a path joins, a node and itself at distance 0 included as in PGB. "
    + _SAMPLED
)
DISTANCES = tuple(
    Metric(f"distance_{name}", f"Path lengths, {title}", f"{what} {_OVER}", "paths", Suite.STANDARD, "lower")
    for name, title, what in (
        ("total_variation", "total variation", "Half the sum of |differences| of the distributions over"),
        (
            "kolmogorov_smirnov",
            "Kolmogorov-Smirnov",
            "Largest gap between the cumulative distributions over",
        ),
        (
            "kl_divergence",
            "KL divergence",
            "sum p ln((p + 2.2e-16)/(q + 2.2e-16)), original against synthetic, in nats, of the "
            "distributions over",
        ),
    )
)


@dataclass(frozen=True)
class PathLengths:
    """Ordered pairs by distance.

    ``counts[d]`` are those at distance d, of the sampled sources where ``error`` is given.
    """

    counts: np.ndarray
    mean: float | None
    error: float | None
    diameter: int | None


def path_lengths(view: UndirectedView) -> PathLengths:
    """Measure distances of all ordered pairs, or a sample.

    The sample is of sources, random and fixed; the diameter is exact. Exact: bit-parallel searches, at most
    n/512 batches of at most diameter passes over the edges.
    """
    n = view.node_count
    if n == 0:
        return PathLengths(np.zeros(0, dtype=np.int64), None, None, None)
    layout = _laid_out(view)
    if n * view.edge_count > EXACT_WORK and n > sum(SAMPLE):
        return _sampled(layout)
    search = _search(layout)
    longest = max(search.run(*batch)[0] for batch in search.batches(np.arange(n)))
    counts = search.counts[: longest + 1]
    pairs = int(counts[1:].sum())
    mean = int(counts @ np.arange(longest + 1)) / pairs if pairs else None
    return PathLengths(counts, mean, None, longest)


def _sampled(layout: Layout) -> PathLengths:
    """Estimate the mean by the ratio of both sums over sources; its error (without replacement)."""
    n = layout.node_count
    drawn = layout.place[public_generator(SEED).choice(n, sum(SAMPLE), replace=False)]
    search = _search(layout)
    sums, reached = np.zeros(0), np.zeros(0)
    for size in SAMPLE:
        done = len(sums)
        # By what the first batch cost: long paths are left with it.
        if done and search.work * size > SAMPLE_WORK * done:
            break
        _, *found = search.run(np.sort(drawn[done : done + size]), np.arange(size), per_source=True)
        sums, reached = (np.append(a, b[:size]) for a, b in zip((sums, reached), found, strict=True))
    counts = np.trim_zeros(search.counts, "b")
    del search  # its scratch, before the diameter takes its own
    settled = _diameter(layout, DIAMETER_WORK)
    if not reached.any():
        return PathLengths(counts, None, None, settled)
    mean = float(sums.sum() / reached.sum())
    # Of a ratio of sums, with the correction for a sample without replacement.
    variance = (1 - len(sums) / n) * (sums - mean * reached).var(ddof=1) / len(sums)
    return PathLengths(counts, mean, float(np.sqrt(variance) / reached.mean()), settled)


def scalars(view: UndirectedView, suite: Suite) -> dict[str, Value]:
    """Compute ``characteristic_path_length`` and ``diameter``.

    The first is None without any path, the second 0 without edges.
    """
    lengths = view.once(path_lengths)
    mean = lengths.mean if lengths.error is None else Estimate(lengths.mean, lengths.error)
    return {"characteristic_path_length": mean, "diameter": lengths.diameter}


def distances(original: UndirectedView, synthetic: UndirectedView, suite: Suite) -> dict[str, Value]:
    """Compute TV, KS and KL of distance distributions, or None.

    They are total variation, Kolmogorov-Smirnov and KL of both graphs'.
    """
    ours, theirs = (view.once(path_lengths).counts for view in (original, synthetic))
    if not len(ours) or not len(theirs):
        return {metric.name: None for metric in DISTANCES}
    length = max(len(ours), len(theirs))
    p, q = (np.pad(counts / counts.sum(), (0, length - len(counts))) for counts in (ours, theirs))
    return dict(degrees.divergences(p, q, "distance"))
