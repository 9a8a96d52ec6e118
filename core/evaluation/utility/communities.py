"""Communities of a Louvain run. How good they are, and whether both graphs have the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.evaluation.metric import Metric, Suite, Value
from core.evaluation.view import UndirectedView
from core.graphs.views.networkit import one_thread
from core.privacy.entropy import public_generator

SCALARS = (
    Metric(
        "modularity",
        "Modularity",
        "Modularity of the graph's own Louvain partition, resolution 1, the best of five runs up to "
        "200 000 edges (maxima side by side, not one partition on two graphs). The suite quick leaves it out "
        "above a million edges.",
        "communities",
    ),
    Metric("communities", "Communities", "Communities of that partition that hold an edge.", "communities"),
)
DISTANCES = (
    Metric(
        "partition_nmi",
        "Communities, normalised mutual information",
        "2 I / (H + H') of both graphs' Louvain partitions over all nodes, a node without an edge a "
        "community of its own (PrivGraph, PGB): 1 for the same partition, 0 for unrelated ones, though never "
        "quite with many small communities. Undefined where either graph has no edge.",
        "communities",
        Suite.STANDARD,
        "higher",
        same_nodes=True,
    ),
    Metric(
        "partition_nmi_above_chance",
        "Communities, mutual information above chance",
        "partition_nmi less what it is on average where the synthetic graph's nodes change places at random "
        "(five times, fixed seed), over 1 less that: 0 where communities tell no more than chance, below 0 "
        "where less. Undefined as partition_nmi, and where chance alone gives 1.",
        "communities",
        Suite.STANDARD,
        "higher",
        same_nodes=True,
    ),
)

RESOLUTION = 1.0
# One run differs from the next by some hundredths on a small graph, as much as two graphs may differ.
RUNS = 5
FEW_EDGES = 200_000
SHUFFLES, SEED = 5, 1
# The suite quick also describes a release, in the process that was paid for: nothing in it may take minutes.
QUICK_EDGES = 1_000_000


@dataclass(frozen=True)
class Partition:
    """Every node's community, int64, and the modularity of them all."""

    labels: np.ndarray
    modularity: float


def partition(view: UndirectedView) -> Partition:
    """Partition a graph by NetworKit's refined PLM.

    It is the best of its communities; the graph has edges. Near-linear in m. Resolution 1, one thread, seeds
    1, 2, ...: the same graph gives the same communities.
    """
    best = Partition(np.zeros(0, dtype=np.int64), -1.0)
    with one_thread() as nk:
        for seed in range(1, 1 + (RUNS if view.edge_count <= FEW_EDGES else 1)):
            nk.engineering.setSeed(seed, False)
            louvain = nk.community.PLM(view.networkit, True, RESOLUTION, "none randomized")
            louvain.run()
            communities = louvain.getPartition()
            quality = nk.community.Modularity().getQuality(communities, view.networkit)
            if quality > best.modularity:
                best = Partition(np.asarray(communities.getVector(), dtype=np.int64), float(quality))
    return best


def scalars(view: UndirectedView, suite: Suite) -> dict[str, Value]:
    """Compute ``modularity`` and ``communities``.

    None without edges, or too large for the suite quick. Each graph is partitioned on its own, so a
    comparison sets two maxima side by side, not one partition on two graphs.
    """
    if view.edge_count == 0 or (suite is Suite.QUICK and view.edge_count > QUICK_EDGES):
        return {"modularity": None, "communities": None}
    best = view.once(partition)
    held = np.unique(best.labels[view.degrees > 0])
    return {"modularity": best.modularity, "communities": len(held)}


def mutual_information(a: np.ndarray, b: np.ndarray) -> float:
    """Compute normalised mutual information of two labellings.

    It is normalised by the mean of their entropies; 1 where both are one community. O(n log n) time, O(n)
    memory: the contingency table is kept sparse.
    """
    a, b = (np.unique(labels, return_inverse=True)[1] for labels in (a, b))
    n = len(a)
    # Only the cells that occur: a table of all pairs of communities could be as large as n^2.
    joint = np.unique(a * (int(b.max(initial=0)) + 1) + b, return_counts=True)[1]
    both = _entropy(joint / n)
    ours, theirs = (_entropy(np.bincount(labels) / n) for labels in (a, b))
    if ours + theirs == 0:
        return 1.0
    # I = H + H' - H(both); 2 I / (H + H').
    return float(np.clip(2 * (ours + theirs - both) / (ours + theirs), 0.0, 1.0))


def _entropy(shares: np.ndarray) -> float:
    return float(-(shares * np.log(shares)).sum())


def above_chance(a: np.ndarray, b: np.ndarray) -> float | None:
    """Scale :func:`mutual_information` to 0 for shuffled labels. Equal ones give 1; None if all do."""
    rng = public_generator(SEED)
    chance = float(np.mean([mutual_information(a, rng.permutation(b)) for _ in range(SHUFFLES)]))
    return (mutual_information(a, b) - chance) / (1 - chance) if chance < 1 else None


def distances(original: UndirectedView, synthetic: UndirectedView, suite: Suite) -> dict[str, Value]:
    """Compute ``partition_nmi``, and what exceeds chance. None where a graph has no edge."""
    if not original.edge_count or not synthetic.edge_count:
        return {"partition_nmi": None, "partition_nmi_above_chance": None}
    a, b = (view.once(partition).labels for view in (original, synthetic))
    return {"partition_nmi": mutual_information(a, b), "partition_nmi_above_chance": above_chance(a, b)}
