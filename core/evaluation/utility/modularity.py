"""Modularity of the communities that a Louvain run finds."""

from __future__ import annotations

from core.evaluation.view import UndirectedView

RESOLUTION = 1.0
SEED = 1


def statistics(view: UndirectedView) -> dict[str, float | None]:
    """``modularity`` and ``communities`` (with an edge) of NetworKit's PLM; None for a graph without edges.

    Resolution 1, one thread, seed 1: the same graph gives the same figures. Each graph is partitioned on its
    own, so a comparison sets two maxima side by side, not one partition on two graphs. Near-linear in m.
    """
    import networkit as nk

    if view.edge_count == 0:
        return {"modularity": None, "communities": None}
    threads = nk.getMaxNumberOfThreads()
    nk.setNumberOfThreads(1)
    try:
        nk.engineering.setSeed(SEED, False)
        louvain = nk.community.PLM(view.networkit, False, RESOLUTION, "none randomized")
        louvain.run()
        partition = louvain.getPartition()
        quality = nk.community.Modularity().getQuality(partition, view.networkit)
    finally:
        nk.setNumberOfThreads(threads)
    isolated = int((view.degrees == 0).sum())
    return {"modularity": float(quality), "communities": partition.numberOfSubsets() - isolated}
