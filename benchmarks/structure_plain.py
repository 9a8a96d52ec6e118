"""The published way to compare two graphs, in plain NetworkX: what our figures and CPU seconds stand beside.

PrivGraph's and PGB's evaluations call these functions of NetworkX; python-louvain is replaced with NetworkX's
own Louvain. Names are those of our catalogue. :func:`rewired` makes the second graph.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import networkx as nx
import numpy as np

TOP_SHARE = 0.01
FLOOR = 2.2e-16

Measure = Callable[[nx.Graph], float]


def diameter(graph: nx.Graph) -> int:
    """Largest over the components, each by NetworkX's exact function."""
    return max(nx.diameter(graph.subgraph(nodes).copy()) for nodes in nx.connected_components(graph))


def distances(graph: nx.Graph) -> Counter[int]:
    """Ordered pairs by distance, a node and itself at 0: a breadth-first search from every node."""
    counts: Counter[int] = Counter()
    for source in graph:
        counts.update(nx.single_source_shortest_path_length(graph, source).values())
    return counts


def divergence(ours: Counter[int], theirs: Counter[int]) -> float:
    """KL of two histograms, 2.2e-16 inside the logarithm on both sides."""
    total = 0.0
    for value in range(max(*ours, *theirs) + 1):
        p, q = ours[value] / ours.total(), theirs[value] / theirs.total()
        total += p * math.log((p + FLOOR) / (q + FLOOR))
    return total


def degree_counts(graph: nx.Graph) -> Counter[int]:
    """Nodes by degree."""
    return Counter(degree for _, degree in graph.degree)


def labels(graph: nx.Graph) -> tuple[list[int], float]:
    """Every node's community by Louvain, and the modularity."""
    groups = nx.community.louvain_communities(graph, weight=None, seed=1)
    label = {node: number for number, group in enumerate(groups) for node in group}
    return [label[node] for node in range(len(graph))], nx.community.modularity(graph, groups, weight=None)


def centralities(graph: nx.Graph) -> dict[int, float]:
    """Eigenvector centrality by power iteration."""
    return nx.eigenvector_centrality(graph, max_iter=10_000)


def overlap(ours: dict[int, float], theirs: dict[int, float]) -> float:
    """Share of the top 1 % of nodes that both have."""
    size = max(1, int(TOP_SHARE * len(ours)))
    tops = [set(sorted(found, key=lambda v: found[v], reverse=True)[:size]) for found in (ours, theirs)]
    return len(tops[0] & tops[1]) / size


def highest_error(ours: dict[int, float], theirs: dict[int, float]) -> float:
    """Mean absolute difference of the top 1 % of values, each list sorted on its own."""
    size = max(1, int(TOP_SHARE * len(ours)))
    a, b = (sorted(found.values(), reverse=True)[:size] for found in (ours, theirs))
    return sum(abs(x - y) for x, y in zip(a, b, strict=True)) / size


# One number per graph, as the published programs compute it.
SCALARS: dict[str, Measure] = {
    "edges": lambda graph: graph.number_of_edges(),
    "density": nx.density,
    "transitivity": nx.transitivity,
    "assortativity": nx.degree_pearson_correlation_coefficient,
    "diameter": diameter,
}
# More of PGB's, beside the published five and PrivGraph's: for golden values.
MORE: dict[str, Measure] = {
    "triangles": lambda graph: sum(nx.triangles(graph).values()) // 3,
    "mean_local_clustering": nx.average_clustering,
    "components": nx.number_connected_components,
    "largest_component": lambda graph: max(map(len, nx.connected_components(graph))),
}


def dpggan(graph: nx.Graph) -> dict[str, float]:
    """DPGGAN's five by its own formulas, nodes without an edge kept, no 1e-4 inside the logarithm."""
    counts = distances(graph)
    degrees = sorted(degree for _, degree in graph.degree)
    n, ends = len(degrees), sum(degrees)
    gini = 2 * sum(i * d for i, d in enumerate(degrees)) / (n * ends) - (n + 1) / n
    entropy = -sum(d / ends * math.log(d / ends) for d in degrees if d) / math.log(n)
    return {
        "largest_component": MORE["largest_component"](graph),
        "triangles": MORE["triangles"](graph),
        "characteristic_path_length": sum(d * c for d, c in counts.items()) / (counts.total() - n),
        "gini_dpggan": gini,
        "relative_edge_entropy": entropy,
    }


def rewired(nodes: int, u: np.ndarray, v: np.ndarray, rounds: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """A random simple graph with every node's degree: rounds of swapping the ends of edges pairwise."""
    rng = np.random.default_rng(1)
    half = len(u) // 2
    for _ in range(rounds):
        order = rng.permutation(len(u))
        first, second = order[:half], order[half : 2 * half]
        turned = rng.random(half) < 0.5  # an edge's own direction must not matter
        a, b = np.where(turned, v[first], u[first]), np.where(turned, u[first], v[first])
        c, d = u[second], v[second]
        new = [np.minimum(x, y) * nodes + np.maximum(x, y) for x, y in ((a, d), (c, b))]
        old = np.minimum(u, v) * nodes + np.maximum(u, v)
        values, counts = np.unique(np.concatenate([old, *new]), return_counts=True)
        taken = values[counts > 1]
        fine = (a != d) & (c != b) & ~np.isin(new[0], taken) & ~np.isin(new[1], taken)
        u, v = u.copy(), v.copy()
        u[first[fine]], v[first[fine]] = a[fine], d[fine]
        u[second[fine]], v[second[fine]] = c[fine], b[fine]
    return u, v
