"""Audits of what is read of edges cell by cell, and of a training and a row of features: unit edge."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType, TimeGrid
from core.privacy.accounting.audited import canary_schema
from core.privacy.accounting.dp_sgd import DpSgd
from core.privacy.accounting.events import NANO, GaussianEvent
from core.privacy.accounting.plan import ATTO, PrivacyPlan, rows_of
from core.privacy.mechanisms.clustering import damped_clustering, damping_of
from core.privacy.mechanisms.label_stream import LabelRule
from core.privacy.mechanisms.ladder import reached
from core.privacy.mechanisms.lazy_response import bits
from core.privacy.session.private_graph import PrivateCell, PrivateGraph
from core.privacy.units import Unit
from core.publishing import audit_targets
from tests.support.read_audits import ReadAudit, plan_of, pure

Pairs = Sequence[tuple[int, int]]

PURE = plan_of(pure(1))
SIGMA, DELTA_ATTO = Fraction(1), ATTO // 10
NOISY = plan_of(GaussianEvent(SIGMA), delta_atto=DELTA_ATTO)
"""A large delta: what tells half of the noise apart is then seen in few runs."""
ONCE = DpSgd(1, Fraction(9, 10), 1)


def linked(nodes: int, pairs: Pairs, **declared: Any) -> Graph:
    """Nodes 0 .. nodes - 1 of one type, and these edges among them."""
    schema = GraphSchema(node_types=(NodeType(count=nodes),), edge_types=(EdgeType(**declared),))
    return Graph.build(schema, {"node": NodeTable(nodes)}, {"edge": _table(pairs)})


def sided(sources: int, targets: int, pairs: Pairs) -> Graph:
    kinds = NodeType(name="left", count=sources), NodeType(name="right", count=targets)
    relation = EdgeType(source="left", target="right")
    schema = GraphSchema(node_types=kinds, edge_types=(relation,))
    nodes = {"left": NodeTable(sources), "right": NodeTable(targets)}
    return Graph.build(schema, nodes, {"edge": _table(pairs)})


def _table(pairs: Pairs) -> EdgeTable:
    source, target = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return EdgeTable(source, target)


def cell_of(asked: PrivateGraph) -> PrivateCell:
    return asked.cell("edge", None)


PLAIN = linked(4, [(0, 1), (2, 3)]), linked(4, [(2, 3)])
DIRECTED = tuple(linked(3, pairs, directed=True) for pairs in ([(0, 1)], []))
LABELS = np.array([0, 0, 1, 1])
QUERIES: dict[str, tuple[Any, dict[str, Any]]] = {
    "edge_count": (PLAIN, {}),
    "degrees": (PLAIN, {}),
    "sorted_degrees": (PLAIN, {}),
    "degree_histogram": (DIRECTED, {"side": "source", "most": 2}),
    "tail_counts": (PLAIN, {"thresholds": np.array([1])}),
    "group_matrix": (PLAIN, {"labels": LABELS}),
    "group_degrees": (PLAIN, {"labels": LABELS}),
    "pair_classes": (PLAIN, {"labels": LABELS, "table": np.array([[0, 1], [1, 0]])}),
}


def named_queries() -> Iterator[ReadAudit]:
    for query, (graphs, given) in QUERIES.items():

        def laplace(asked: PrivateGraph, query: str = query, given: Any = given) -> np.ndarray:
            return cell_of(asked).laplace(query, nano_epsilon=NANO, purpose="audit", **given)

        def gaussian(asked: PrivateGraph, query: str = query, given: Any = given) -> np.ndarray:
            return cell_of(asked).gaussian(query, noise_multiplier=SIGMA, purpose="audit", **given)

        yield ReadAudit(f"{query}, Laplace", f"laplace {query}", PURE, graphs, laplace)
        yield ReadAudit(f"{query}, Gaussian", f"gaussian {query}", NOISY, graphs, gaussian, 4_000)


TWO_STEPS = plan_of(pure(1), ("edge", 0), ("edge", 1), unit=Unit.W_EVENT, steps=2, window=2)


def stepped(before: Pairs, now: Pairs) -> Graph:
    """Four nodes, and these edges at two steps."""
    relation, time = EdgeType(temporal=True), TimeGrid(count=2)
    schema = GraphSchema(node_types=(NodeType(count=4),), edge_types=(relation,), time=time)
    source, target = np.array([*before, *now], dtype=np.int64).reshape(-1, 2).T
    table = EdgeTable(source, target, np.repeat([0, 1], [len(before), len(now)]))
    return Graph.build(schema, {"node": NodeTable(4)}, {"edge": table})


def between_steps() -> Iterator[ReadAudit]:
    """An edge more at either step, which moves each answer as far as two edges can."""
    one, other = (0, 1), (2, 3)
    graphs = stepped([one, other], [one, other]), stepped([one], [other])

    def asked_for(read: str) -> Callable[[PrivateGraph], int]:
        def ask(asked: PrivateGraph) -> int:
            asked.aside.pay("edge", 0, nano_epsilon=NANO, purpose="audit")
            reads = asked.between("edge", 1)
            assert reads is not None
            noisy: int = getattr(reads, read)(nano_epsilon=NANO, purpose="audit")
            return noisy

        return ask

    for read in ("kept_edges", "kept_nodes"):
        yield ReadAudit(read, f"BetweenSteps.{read}", TWO_STEPS, graphs, asked_for(read), 4_000)


def operations() -> Iterator[ReadAudit]:
    """What a cell answers beside the named queries."""

    def response(asked: PrivateGraph) -> bool:
        source, target = cell_of(asked).randomised_response(nano_epsilon=NANO, purpose="audit")
        return bool(((source == 0) & (target == 1)).any())

    def lazy(asked: PrivateGraph) -> np.ndarray:
        cell = cell_of(asked)
        kept = cell.lazy_response(nano_epsilon=NANO, purpose="audit", room=6)
        return bits(kept.edge, kept.prf_key, kept.flips, np.array([0]), np.array([1]), cell.shape)

    def largest(asked: PrivateGraph) -> np.ndarray:
        return cell_of(asked).largest_slots(keep=1, nano_epsilon=2 * NANO, purpose="audit")[1] == 0

    def halves(asked: PrivateGraph) -> np.ndarray:
        cut = cell_of(asked).parallel(nano_epsilon=NANO, labels=LABELS)
        with cut as branches:
            found = [b.laplace("edge_count", nano_epsilon=NANO, purpose="audit") for b in branches]
        return np.concatenate(found)

    def products(asked: PrivateGraph) -> int:
        degrees = np.array([3, 2, 0, 0])
        return cell_of(asked).degree_product_sum(noisy_degrees=degrees, nano_epsilon=NANO, purpose="audit")

    raw = {"evidence": np.asarray}
    slots = sided(1, 4, [(0, each) for each in range(4)]), sided(1, 4, [(0, each) for each in range(1, 4)])
    two = plan_of(pure(2))
    yield ReadAudit("randomised response", "PrivateCell.randomised_response", PURE, PLAIN, response, **raw)
    yield ReadAudit("lazy response", "PrivateCell.lazy_response", PURE, PLAIN, lazy, **raw)
    yield ReadAudit("largest slots", "PrivateCell.largest_slots", two, slots, largest, 8_000, **raw)
    yield ReadAudit("parallel group", "PrivateCell.parallel", PURE, PLAIN, halves)
    yield ReadAudit("degree product sum", "UndirectedReads.degree_product_sum", PURE, PLAIN, products)


COMMUNITIES, CLIQUE = 16, 4
MEMBERS = np.concatenate([[0, 1], np.repeat(np.arange(COMMUNITIES), CLIQUE)])


def cliques(with_canary: bool) -> Graph:
    """Nodes 0 and 1, linked or not, in communities 0 and 1; a clique of its own holds each community."""
    pairs = [(0, 1)] if with_canary else []
    for first in range(2, len(MEMBERS), CLIQUE):
        pairs += [(first + a, first + b) for b in range(CLIQUE) for a in range(b)]
    return linked(len(MEMBERS), pairs)


def labels() -> Iterator[ReadAudit]:
    """0 joins 1, then 1 stays, so that both picks see the edge; the block stream reads it at either end."""

    def exponential(asked: PrivateGraph) -> np.ndarray:
        given = {"labels": MEMBERS, "order": np.arange(len(MEMBERS))}
        return cell_of(asked).exponential_labels(nano_epsilon=3 * NANO, purpose="audit", **given)[:2]

    def stream(asked: PrivateGraph) -> np.ndarray:
        given = {"order": np.array([0, 1]), "weights": np.ones(2), "rule": LabelRule(groups=1, core=2)}
        found = cell_of(asked).label_stream(nano_epsilon=NANO, purpose="audit", **given)
        return np.array([found.forward[1, 0], found.backward[0, 0]])

    pair = linked(2, [(0, 1)]), linked(2, [])
    name = "PrivateCell.exponential_labels"
    graphs, three = (cliques(True), cliques(False)), plan_of(pure(3))
    yield ReadAudit("exponential mechanism", name, three, graphs, exponential, 4_000, np.asarray, slow=True)
    yield ReadAudit("block stream", "PrivateCell.label_stream", PURE, pair, stream)


RING = [(0, 2), (1, 2), (1, 3), (3, 4), (0, 4)]
"""Whoever is not linked shares one neighbour; linked, 0 and 1 close a triangle, and 0 and 3 share two."""
SHARING = [(0, 2), (0, 3), (1, 2), (1, 3), (0, 5), (0, 6), (4, 5), (4, 6), (1, 4)]
"""0 and 1 share two; linked, they close two triangles, and 0 and 4 share three: value and rungs move both."""
DAMPING = 4


def ladders() -> Iterator[ReadAudit]:
    """A rung costs half of epsilon, and the sum of all weights the rest: neighbours must differ in both."""

    def triangles(asked: PrivateGraph) -> int:
        return cell_of(asked).triangle_count(nano_epsilon=round(1.2 * NANO), purpose="audit")

    def clustering(asked: PrivateGraph) -> float:
        return cell_of(asked).clustering_sum(damping=DAMPING, nano_epsilon=NANO, purpose="audit")

    ring = linked(9, [*RING, (0, 1)]), linked(9, RING)
    yield ReadAudit(
        "triangles, ladder",
        "UndirectedReads.triangle_count",
        plan_of(pure(1.2)),
        ring,
        triangles,
        16_000,
        evidence=np.asarray,
    )
    sharing = [*SHARING, (0, 1)], SHARING
    yield ReadAudit(
        "clustering sum, ladder",
        "UndirectedReads.clustering_sum",
        PURE,
        (linked(7, sharing[0]), linked(7, sharing[1])),
        clustering,
        120_000,
        evidence=lambda told: np.subtract(*(_rungs(told, pairs) for pairs in sharing)),
        slow=True,
    )


def _rungs(told: np.ndarray, pairs: Pairs) -> np.ndarray:
    """The rung on which each answer stands in a graph of seven nodes."""
    damping = damping_of(7, DAMPING)
    value, first = damped_clustering(*np.array(pairs).T, 7, damping)
    reach = [reached(first, damping.grain, None, rungs) for rungs in range(200)]
    return np.searchsorted(reach, np.abs(np.rint(told * damping.unit) - value))


def features() -> Iterator[ReadAudit]:
    """Sums over neighbours, a protected row, and a training on a canary of unit gradient."""

    def sums(side: str, others: int) -> Any:
        ones = np.ones((others, 1))
        given = {"cells": [("edge", None)], "side": side, "noise_multiplier": SIGMA, "purpose": "audit"}
        return lambda asked: asked.aggregate(ones, **given)

    def rows(asked: PrivateGraph) -> np.ndarray:
        return asked.attributes("node").noisy_rows(width=1, noise_multiplier=SIGMA, purpose="audit")

    def steps(graph: Graph, count: int) -> np.ndarray:
        whole = DpSgd(ONCE.rate, ONCE.noise_multiplier, count).event
        return audit_targets.canary_path(graph, plan_of(whole))[:, None]

    def one_step(asked: PrivateGraph) -> None:
        asked._meter.charge("edge", None, ONCE.event, "audit")

    one_way = sided(2, 2, [(0, 0)]), sided(2, 2, [])
    for side, graphs in (("both", PLAIN), ("source", one_way), ("target", one_way)):
        others = graphs[0].nodes["node" if side == "both" else "left"].count
        yield ReadAudit(
            f"sums of features, {side}", "PrivateGraph.aggregate", NOISY, graphs, sums(side, others)
        )
    own: PrivacyPlan = plan_of(GaussianEvent(SIGMA), (rows_of("node"), None), delta_atto=DELTA_ATTO)
    yield ReadAudit("protected rows", "PrivateAttributes.noisy_rows", own, (row(5.0), row(0.0)), rows)
    event: PrivacyPlan = plan_of(ONCE.event, delta_atto=DELTA_ATTO)
    worlds = audit_targets.worlds(canary_schema(Unit.EDGE, None), Unit.EDGE)
    yield ReadAudit(
        "DP-SGD, one step",
        "PrivateGraph.dp_sgd",
        event,
        worlds,
        one_step,
        evidence=np.asarray,
        many=steps,
    )


def row(value: float) -> Graph:
    """One node with a protected number."""
    wealth = Attribute(name="wealth", kind="number", protection="protected")
    schema = GraphSchema(node_types=(NodeType(count=2, attributes=(wealth,)),), edge_types=(EdgeType(),))
    table = NodeTable(2, None, {"wealth": pa.array([value, 1.0])})
    return Graph.build(schema, {"node": table}, {"edge": _table([])})


def audits() -> Iterator[ReadAudit]:
    for each in (named_queries, between_steps, operations, labels, ladders, features):
        yield from each()
