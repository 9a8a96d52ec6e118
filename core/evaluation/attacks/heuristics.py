"""Link inference by proximity in the published graph.

It reads its own links, common neighbours, and weighted forms. Common neighbours, Adamic-Adar and resource
allocation are PPGSL's structure-based attacks (Table III): sum of w(z) over common neighbours z with w = 1,
1/log d(z), 1/d(z). Two nodes on different sides of a bipartite relation have no common neighbour; there a
path s - b - a - t of three links counts w(b) w(a).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from core.evaluation.attacks.pairs import are_linked
from core.evaluation.attacks.paths import weighted_paths
from core.evaluation.attacks.targets import MAX_TARGETS, LinkScorer
from core.evaluation.metric import Suite
from core.evaluation.view import UndirectedView

# Stored entries of the rows that one chunk of targets reads: some 100 MB.
CHUNK = 4_000_000
# Stored entries that all targets of an attack may read, some seconds; yet never fewer targets than FEWEST.
WORK = 1_000_000_000
FEWEST_TARGETS = 2_000


def neighbour_weights(view: UndirectedView, kind: str) -> np.ndarray:
    """Compute each node's weight w(z), float64.

    ``common`` is 1, ``adamic_adar`` 1/log d, ``resource`` 1/d. 0 below degree 2: such a node lies between no
    two others.
    """
    degrees = view.degrees
    between = degrees >= 2
    safe = np.where(between, degrees, 2).astype(np.float64)
    weights = {
        "common": np.ones(len(safe)),
        "adamic_adar": 1 / np.log(safe),
        "resource": 1 / safe,
    }[kind]
    return np.where(between, weights, 0.0)


def proximity(view: UndirectedView, source: np.ndarray, target: np.ndarray, kind: str) -> np.ndarray:
    """Count common neighbours of each pair, weighted.

    Bipartite: paths of three links; float64. O(sum of the pairs' degrees), for paths the sum of their
    neighbours' degrees; memory bounded by ``CHUNK`` entries in addition to the adjacency, or two rows of it.
    """
    weights = neighbour_weights(view, kind)
    adjacency = view.adjacency
    if view.bipartite:
        return weighted_paths(adjacency.indptr, adjacency.indices, source, target, weights)
    counts = np.zeros(len(source))
    for part in _chunks(view.degrees[source] + view.degrees[target]):
        # Entries that both rows have are common neighbours.
        shared = adjacency[source[part]].multiply(adjacency[target[part]])
        counts[part] = shared.tocsr() @ weights
    return counts


def affordable(view: UndirectedView) -> int:
    """Bound how many targets proximity can score.

    They are sampled from the links: ``WORK`` by a link's mean cost. At least ``FEWEST_TARGETS``. Only
    relations with very great degrees get fewer than ``MAX_TARGETS``. O(m).
    """
    if not view.edge_count:
        return MAX_TARGETS
    degrees = view.degrees.astype(np.float64)
    # What proximity reads of a pair: its ends' rows; between two types those of one end's neighbours.
    cost = (view.adjacency @ degrees)[view.u] if view.bipartite else degrees[view.u] + degrees[view.v]
    return max(FEWEST_TARGETS, int(WORK / cost.mean()))


def _chunks(work: np.ndarray) -> Iterator[slice]:
    """Cut into consecutive slices of about ``CHUNK`` work; a single greater item stands alone."""
    block = np.cumsum(work, dtype=np.int64) // CHUNK
    ends = np.append(np.flatnonzero(np.diff(block)) + 1, len(work))
    start = 0
    for end in ends.tolist():
        if end > start:
            yield slice(start, end)
        start = end


@dataclass(frozen=True)
class Adjacency(LinkScorer):
    """Tell whether the pair is a link of the release.

    It is what a release that copies its original gives away.
    """

    name: str = "adjacency"
    title: str = "Links of the release"
    knowledge: str = (
        "Knows which released node is which person; calls a pair linked where the release links it."
    )
    suite = Suite.QUICK

    def score(
        self, published: UndirectedView, source: np.ndarray, target: np.ndarray, seed: int
    ) -> np.ndarray:
        return are_linked(published, source, target).astype(np.float64)


@dataclass(frozen=True)
class Proximity(LinkScorer):
    """A weighted count of common neighbours in the release. The pair's own link is not looked at."""

    name: str
    title: str
    knowledge: str
    kind: str
    suite: Suite = Suite.STANDARD

    def score(
        self, published: UndirectedView, source: np.ndarray, target: np.ndarray, seed: int
    ) -> np.ndarray:
        return proximity(published, source, target, self.kind)


@dataclass(frozen=True)
class PreferentialAttachment(LinkScorer):
    """The product of the degrees: the control. On degree-matched targets it must be near a half."""

    name: str = "preferential_attachment"
    title: str = "Product of degrees (control)"
    knowledge: str = (
        "Knows which released node is which person; ranks pairs by the product of their degrees. Targets are "
        "matched by degree as far as the relation has room for it: then 0.5 is expected of any graph."
    )

    def score(
        self, published: UndirectedView, source: np.ndarray, target: np.ndarray, seed: int
    ) -> np.ndarray:
        degrees = published.degrees.astype(np.float64)
        products: np.ndarray = degrees[source] * degrees[target]
        return products


# What they score above a half is the targets' doing; it counts neither for nor against a release.
CONTROLS = frozenset({PreferentialAttachment.name})

_KNOWS = "Knows which released node is which person; ranks pairs by "
_BETWEEN = " (in a relation of two node types: paths of three links, each weighted by its inner nodes)."


def _proximity(name: str, title: str, by: str, kind: str, suite: Suite = Suite.STANDARD) -> Proximity:
    return Proximity(name, title, f"{_KNOWS}{by}{_BETWEEN}", kind, suite)


SCORERS = (
    Adjacency(),
    _proximity(
        "common_neighbours", "Common neighbours", "their number of common neighbours", "common", Suite.QUICK
    ),
    _proximity("adamic_adar", "Adamic-Adar", "common neighbours z weighted 1/log degree(z)", "adamic_adar"),
    _proximity(
        "resource_allocation", "Resource allocation", "common neighbours z weighted 1/degree(z)", "resource"
    ),
    PreferentialAttachment(),
)
