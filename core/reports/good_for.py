"""What a release is good for, job by job, said before epsilon is spent.

Measured by ``benchmarks.good_for`` on graphs of each kind; a test holds these figures to ``docs/results``.
What is said of a dataset follows from its size, a declared bound on edges and epsilon: public facts alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.graphs.schema import GraphSchema
from core.privacy.accounting.events import NANO
from core.privacy.units import Unit
from core.reports.base import Notice

EPSILONS = (0.5, 1.0, 2.0, 4.0)
SMALL_NODES, DENSE_DEGREE = 260, 15.0
LOST: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "small": {
        "totals": (0.09, 0.05, 0.02, 0.01),
        "degree law": (0.30, 0.25, 0.21, 0.17),
        "hubs": (0.39, 0.30, 0.26, 0.07),
        "influence": (0.04, 0.04, 0.03, 0.03),
        "epidemic": (0.01, 0.01, 0.01, 0.01),
        "distances": (0.10, 0.11, 0.10, 0.12),
        "communities": (0.99, 0.99, 0.96, 0.94),
        "links": (0.31, 0.24, 0.25, 0.35),
    },
    "sparse": {
        "totals": (0.00, 0.00, 0.00, 0.00),
        "degree law": (0.05, 0.04, 0.03, 0.03),
        "hubs": (0.42, 0.29, 0.18, 0.15),
        "influence": (0.22, 0.16, 0.10, 0.08),
        "epidemic": (0.02, 0.02, 0.02, 0.02),
        "distances": (0.14, 0.16, 0.15, 0.15),
        "communities": (1.00, 1.00, 1.00, 0.97),
        "links": (0.59, 0.51, 0.48, 0.44),
        "labels": (1.00, 1.00, 1.00, 0.94),
    },
    "dense": {
        "totals": (0.00, 0.00, 0.00, 0.00),
        "degree law": (0.17, 0.16, 0.16, 0.15),
        "hubs": (0.33, 0.24, 0.22, 0.16),
        "influence": (0.15, 0.15, 0.14, 0.12),
        "epidemic": (0.01, 0.01, 0.01, 0.01),
        "distances": (0.16, 0.19, 0.17, 0.14),
        "communities": (0.96, 0.90, 0.76, 0.68),
        "links": (0.38, 0.30, 0.20, 0.16),
        "labels": (0.99, 0.98, 0.26, 0.24),
    },
}
"""What each job loses at each of EPSILONS, the mean over the graphs of a kind."""
GRAPHS = {"small": 14, "sparse": 7, "dense": 3}
THRESHOLDS: Mapping[str, tuple[float, float]] = {
    "totals": (0.05, 0.2),
    "degree law": (0.1, 0.2),
    "hubs": (0.2, 0.5),
    "influence": (0.1, 0.25),
    "epidemic": (0.05, 0.1),
    "distances": (0.1, 0.25),
    "communities": (0.3, 0.6),
    "links": (0.3, 0.6),
    "labels": (0.3, 0.6),
}
"""What a job may lose at most to be usable, and partly so."""
USABLE, PARTLY, NOT = "usable for", "partly usable for", "not usable for"
NAMES = {
    "totals": "numbers of edges",
    "degree law": "the law of degrees",
    "hubs": "PageRank's hubs",
    "influence": "choosing whom to reach many from",
    "epidemic": "the size of an epidemic",
    "distances": "distances",
    "communities": "communities",
    "links": "predicting links",
    "labels": "classifying nodes by neighbours",
}


def good_for(
    schema: GraphSchema, unit: Unit, edge_types: Sequence[str], nodes: Mapping[str, int], nano_epsilon: int
) -> tuple[Notice, ...]:
    """Say for which jobs a release of a static undirected relation is usable; nothing of others.

    It is the worse of the kinds of graph that public facts leave open, at the next lower measured epsilon.
    """
    relations = [schema.edge_type(name) for name in edge_types]
    if unit is not Unit.EDGE or schema.collection is not None or len(relations) != 1:
        return ()
    (relation,) = relations
    if relation.directed or relation.temporal or not relation.homogeneous:
        return ()
    count, epsilon = nodes[relation.source], nano_epsilon / NANO
    # Less epsilon loses more: what was measured below the requested is on the safe side.
    measured = max((each for each in EPSILONS if each <= epsilon), default=None)
    if measured is None:
        text = f"Below epsilon {EPSILONS[0]:g} no job was measured: do not rely on a release of it."
        return (Notice(code="good_for", text=text),)
    kinds = kinds_of(count, relation.edge_bound)
    found: dict[str, list[str]] = {USABLE: [], PARTLY: [], NOT: []}
    for job in LOST[kinds[0]]:
        worst = max(LOST[kind][job][EPSILONS.index(measured)] for kind in kinds if job in LOST[kind])
        found[verdict(job, worst)].append(NAMES[job])
    graphs = sum(GRAPHS[kind] for kind in kinds)
    sentences = [f"{what.capitalize()}: {', '.join(jobs)}." for what, jobs in found.items() if jobs]
    sentences[0] += f" This was measured on {graphs} graphs at epsilon {measured:g}."
    if kinds == ("small",) and NAMES["degree law"] not in found[USABLE]:
        apart = LOST["small"]["degree law"][EPSILONS.index(measured)]
        sentences[-1] += (
            f" Below {SMALL_NODES} nodes a release is not usable for shape at this epsilon: distributions of "
            f"degrees differ by {apart:.2f} in total variation."
        )
    return tuple(Notice(code="good_for", text=text) for text in sentences)


def kinds_of(nodes: int, edge_bound: int | None) -> tuple[str, ...]:
    """Name the kinds of graph that a size and a declared bound on edges leave open."""
    if nodes < SMALL_NODES:
        return ("small",)
    # A mean degree is twice the edges over the nodes: the bound on edges bounds it.
    if edge_bound is not None and 2 * edge_bound < DENSE_DEGREE * nodes:
        return ("sparse",)
    return "sparse", "dense"


def verdict(job: str, lost: float) -> str:
    """Tell whether a job that loses so much is usable, partly or not."""
    usable, partly = THRESHOLDS[job]
    return USABLE if lost <= usable else PARTLY if lost <= partly else NOT
