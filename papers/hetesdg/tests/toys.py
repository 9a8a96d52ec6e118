"""A typed graph with planted classes, and one fit on it."""

import numpy as np

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, AttributeKind, EdgeType, GraphSchema, NodeType, Protection
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from papers.hetesdg import GENERATOR

PAPERS, AUTHORS, TOPICS, CLASSES = 600, 700, 12, 3
WORDS = Attribute(name="words", kind=AttributeKind.VECTOR, protection=Protection.PUBLIC)
HISTORY = Attribute(name="history", kind=AttributeKind.VECTOR, protection=Protection.PROTECTED)


def schema(*, functional: bool = False) -> GraphSchema:
    kinds = (
        NodeType(name="paper", count=PAPERS, attributes=(WORDS,)),
        NodeType(name="author", count=AUTHORS, attributes=(HISTORY,)),
        NodeType(name="topic", count=TOPICS),
    )
    relations = (
        EdgeType(name="writes", source="author", target="paper"),
        EdgeType(name="about", source="paper", target="topic", functional=functional),
        EdgeType(name="cites", source="paper", target="paper", directed=True),
        EdgeType(name="knows", source="author", target="author"),
    )
    return GraphSchema(node_types=kinds, edge_types=relations)


def typed(seed: int = 0) -> Graph:
    """Papers and authors of three classes; authors write in their own class mostly. Words tell the class."""
    rng = np.random.default_rng(seed)
    of_paper, of_author = rng.integers(0, CLASSES, PAPERS), rng.integers(0, CLASSES, AUTHORS)
    words = np.eye(CLASSES)[of_paper].repeat(4, axis=1) + rng.normal(0, 0.2, (PAPERS, 4 * CLASSES))
    history = np.eye(CLASSES)[of_author] + rng.normal(0, 0.1, (AUTHORS, CLASSES))
    writer = np.repeat(np.arange(AUTHORS), rng.integers(1, 8, AUTHORS))
    same = rng.random(len(writer)) < 0.9
    by_class = [np.flatnonzero(of_paper == c) for c in range(CLASSES)]
    own = np.array([rng.choice(by_class[of_author[a]]) for a in writer])
    written = np.where(same, own, rng.integers(0, PAPERS, len(writer)))
    topic = of_paper * (TOPICS // CLASSES) + rng.integers(0, TOPICS // CLASSES, PAPERS)
    cited = rng.integers(0, PAPERS, (2, 1500))
    known = rng.integers(0, AUTHORS, (2, 1200))
    nodes = {
        "paper": NodeTable(PAPERS, None, {"words": words.astype(np.float32)}),
        "author": NodeTable(AUTHORS, None, {"history": history.astype(np.float32)}),
        "topic": NodeTable(TOPICS),
    }
    edges = {
        "writes": EdgeTable(writer, written),
        "about": EdgeTable(np.arange(PAPERS), topic),
        "cites": EdgeTable(*cited),
        "knows": EdgeTable(*known),
    }
    return Graph.build(schema(), nodes, edges)


def facts(graph: Graph, epsilon: float, delta_atto: int = 0, names: tuple[str, ...] = ()) -> PublicFacts:
    every = tuple(each.name for each in graph.schema.edge_types)
    return PublicFacts(graph.schema, Unit.EDGE, None, int(epsilon * 1e9), delta_atto, names or every)


def fit(graph: Graph, epsilon: float, *, generator=GENERATOR, delta_atto: int = 0, names=(), **options):
    """(model, meter); the printed guarantee lies within epsilon."""
    params = generator.Params.varied(**options)
    plan = generator.plan(params, facts(graph, epsilon, delta_atto, names))
    meter = Meter(plan, MemoryRecorder())
    model = generator.fit(PrivateGraph(graph, meter), plan, params, no_progress)
    promised = guarantee_of(plan, meter.transcript, delta_atto)
    assert promised.nano_epsilon is None or promised.nano_epsilon <= epsilon * 1e9
    return model, meter


def distance(one: np.ndarray, other: np.ndarray) -> float:
    """Total variation of two vectors of whole numbers, as laws of their values."""
    top = int(max(one.max(initial=0), other.max(initial=0))) + 1
    laws = [np.bincount(each, minlength=top) / max(len(each), 1) for each in (one, other)]
    return float(np.abs(laws[0] - laws[1]).sum()) / 2
