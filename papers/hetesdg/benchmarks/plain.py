"""Plain rows beside HeteSDG's: what degrees, and learners without a guarantee give.

A link scorer sees a graph and says how likely pairs of a relation are; a describer gives a row of numbers to
every node of one type.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from benchmarks.representations import unit_features
from core.evaluation.view import UndirectedView
from core.graphs.graph import Graph
from core.methods._shared.degrees.fitted import degree_law, posterior_means
from core.privacy.accounting.events import Event, Pure
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit

NANO = 1_000_000_000
DELTA_ATTO = 10**13

Scorer = Callable[[str, np.ndarray, np.ndarray], np.ndarray]


def opened(graph: Graph, relation: str, event: Event) -> PrivateGraph:
    """A session in which one relation may be read at the cost of one event."""
    allotments = (Allotment(relation, None, event, "a plain row"),)
    plan = PrivacyPlan("plain", Unit.EDGE, None, 1, allotments)
    return PrivateGraph(graph, Meter(plan, MemoryRecorder()))


def noisy_degrees(graph: Graph, relation: str, epsilon: float, side: str = "target") -> np.ndarray:
    """The posterior mean degree of every node of one side, all of epsilon spent on it; float64."""
    nano = round(epsilon * NANO)
    cell = opened(graph, relation, Pure(nano, "laplace")).cell(relation, None)
    noisy = cell.laplace("degrees", nano_epsilon=nano, purpose="degrees", side=side)
    scale = NANO / nano
    return posterior_means(noisy, scale, degree_law(noisy, scale))


def degree_only(graph: Graph, epsilon: float, seed: int) -> Scorer:
    """Ranks pairs by the paid degree of the target, the side without features."""

    def score(relation: str, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        return noisy_degrees(graph, relation, epsilon)[target]

    return score


def degree_product(graph: Graph, epsilon: float, seed: int) -> Scorer:
    """Ranks pairs by the product of their true degrees: preferential attachment, no guarantee."""

    def score(relation: str, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        cell = graph.cell(relation, None)
        left = np.bincount(cell.source, minlength=cell.source_count)
        right = np.bincount(cell.target, minlength=cell.target_count)
        return (left[source] * right[target]).astype(np.float64)

    return score


def autoencoder(graph: Graph, epsilon: float, seed: int) -> Scorer:
    """A graph auto-encoder of the relation, with the features of either side; no guarantee."""
    from core.evaluation.learning.features import Features
    from core.evaluation.learning.gcn import Autoencoder
    from core.evaluation.learning.pairs import cosine

    def score(relation: str, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        kind = graph.schema.edge_type(relation)
        view = UndirectedView.of(graph.cell(relation, None))
        parts = [features_of_type(graph, end) for end in (kind.source, kind.target)]
        values = np.asarray(sp.block_diag(parts).toarray(), dtype=np.float32)
        rows = Autoencoder(seed, Features(values))(view)
        return cosine(rows, source, target + view.source_count)

    return score


def nothing(graph: Graph, kind: str, epsilon: float) -> np.ndarray:
    """No columns: what remains are the public features."""
    return np.zeros((graph.nodes[kind].count, 0))


def exact_hops(graph: Graph, kind: str, epsilon: float) -> np.ndarray:
    """The mean features of the nodes two links away, a block for each relation; no guarantee.

    A node's own features are left out: they stand beside.
    """
    values = sp.csr_array(unit_features(features_of_type(graph, kind)))
    blocks = []
    for relation in graph.schema.edge_types:
        links = graph.cell(relation.name, None).adjacency.astype(np.float64)
        sums = links @ (links.T @ values) - sp.diags_array(links.sum(axis=1)) @ values
        reach = np.maximum(links @ links.sum(axis=0) - links.sum(axis=1), 1)
        blocks.append((sp.diags_array(1 / reach) @ sums).toarray())
    return np.concatenate(blocks, axis=1)


def features_of_type(graph: Graph, kind: str) -> np.ndarray:
    """The type's public features at length 1 a row, float64; a column of ones where it has none."""
    found = graph.nodes[kind].attributes.get("features")
    return np.ones((graph.nodes[kind].count, 1)) if found is None else unit_features(np.asarray(found))
