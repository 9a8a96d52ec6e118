"""What HeteSDG's tables compare: rows of the method, plain rows beside it, and one fit of a row.

Rows of LINK_SCORERS and DESCRIBERS are private at the whole epsilon; those of FREE_SCORERS and
FREE_DESCRIBERS have no noise and claim nothing. PROTECTED: node features are protected too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from core.graphs.graph import Graph
from core.graphs.schema import GraphSchema, Protection
from core.methods.base import PublicFacts, no_progress
from core.methods.registry import get
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from papers.hetesdg.benchmarks.plain import (
    DELTA_ATTO,
    NANO,
    Scorer,
    autoencoder,
    degree_only,
    degree_product,
    exact_hops,
    nothing,
)
from papers.hetesdg.inputs import WIDTH

NO_NOISE = 1000.0
"""An epsilon at which the noise is gone: rows "without noise" are the method itself at this epsilon."""


@dataclass(frozen=True)
class Row:
    """A method and its parameters; ``delta``: the plan needs one. ``links``, ``nodes``: what else is set by a
    job for link prediction, or for node classification, alone; None: the row is not for that task.
    ``of_epsilon``: the parameter that takes the row's epsilon, where it is a claim and no guarantee."""

    method: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    delta: bool = False
    links: Mapping[str, Any] | None = field(default_factory=dict)
    nodes: Mapping[str, Any] | None = field(default_factory=dict)
    of_epsilon: str | None = None


ONE_HOP, TWO_HOPS = {"second_hop": "off"}, {"second_hop": "on"}
EMBEDDING, SGD = {"release": ("embedding",)}, {"learn": "link-sgd"}
ROWS: dict[str, Row] = {
    "hetesdg": Row("hetesdg", EMBEDDING, links=ONE_HOP),
    "hetesdg, always two hops": Row("hetesdg", EMBEDDING | TWO_HOPS, links=None),
    "hetesdg, link predictor": Row("hetesdg", EMBEDDING | SGD, delta=True, links=ONE_HOP),
    "hetesdg, predictor alone": Row(
        "hetesdg",
        EMBEDDING | SGD | {"clusters": 1, "sgd_share": 0.9},
        delta=True,
        links=ONE_HOP,
        nodes=ONE_HOP,
    ),
    "hetesdg, gaussian sums": Row(
        "hetesdg", EMBEDDING | {"mechanism": "gaussian-sums"}, delta=True, links=ONE_HOP
    ),
    "hetesdg, no debias": Row("hetesdg", EMBEDDING | TWO_HOPS | {"debias": False}, links=None),
    "hetesdg, bi-level split": Row("hetesdg", EMBEDDING | TWO_HOPS | {"split": "bilevel"}, links=None),
    "hetesdg, 1 cluster": Row("hetesdg", EMBEDDING | {"clusters": 1}, links=ONE_HOP, nodes=None),
    "hetesdg, 8 clusters": Row("hetesdg", EMBEDDING | {"clusters": 8}, links=ONE_HOP),
    "hetedp": Row("hetedp", EMBEDDING | TWO_HOPS),
    "hetesdg, variant paper": Row("hetesdg", EMBEDDING | {"variant": "paper"}, of_epsilon="claimed_epsilon"),
    "hetesdg, graph too": Row("hetesdg", {"release": ("graph", "embedding")}),
}

PROTECTED = "hetesdg, rows protected"
ROWS_PROTECTED = Row("hetesdg", {"release": ("features", "embedding"), "rows": True}, delta=True)


def fitted(row: Row, graph: Graph, epsilon: float, extra: Mapping[str, Any] | None = None) -> Any:
    """The row's model of all relations under unit edge."""
    generator = get(row.method)
    claimed = {row.of_epsilon: epsilon} if row.of_epsilon else {}
    params = generator.Params.varied(**{**row.parameters, **(extra or {}), **claimed})
    names = tuple(kind.name for kind in graph.schema.edge_types)
    delta = DELTA_ATTO if row.delta else 0
    facts = PublicFacts(graph.schema, Unit.EDGE, None, round(epsilon * NANO), delta, names)
    plan = generator.plan(params, facts)
    return generator.fit(PrivateGraph(graph, Meter(plan, MemoryRecorder())), plan, params, no_progress)


def model_scores(row: Row) -> Callable[[Graph, float, int], Scorer]:
    """Ranks pairs by what the fitted model says of them."""

    def scorer(graph: Graph, epsilon: float, seed: int) -> Scorer:
        return fitted(row, graph, epsilon, row.links).scores

    return scorer


def model_rows(row: Row) -> Callable[[Graph, str, float], np.ndarray]:
    """What the released embedding of a node type with features says because of links; often no columns.

    Its leading columns are coordinates of the public features, which stand beside anyhow; variant paper has
    no such columns.
    """
    public = 0 if row.parameters.get("variant") == "paper" else WIDTH

    def describe(graph: Graph, kind: str, epsilon: float) -> np.ndarray:
        found = fitted(row, graph, epsilon, row.nodes).vectors()["embedding"][kind]
        return np.asarray(found[:, public:], dtype=np.float64)

    return describe


def protected(graph: Graph) -> Graph:
    """The same graph, whose features are declared protected: a unit is a node's row, besides an edge."""
    kinds = []
    for kind in graph.schema.node_types:
        attributes = [
            each if each.label else each.model_copy(update={"protection": Protection.PROTECTED})
            for each in kind.attributes
        ]
        kinds.append(kind.model_copy(update={"attributes": tuple(attributes)}))
    schema = GraphSchema.model_validate(
        graph.schema.model_copy(update={"node_types": tuple(kinds)}).model_dump()
    )
    return Graph.build(schema, graph.nodes, graph.edges)


def protected_rows(graph: Graph, kind: str, epsilon: float) -> np.ndarray:
    """All that is released of nodes whose features are protected: noisy rows, and the embedding."""
    found = fitted(ROWS_PROTECTED, protected(graph), epsilon).vectors()
    return np.concatenate([found["features"][kind], found["embedding"][kind]], axis=1).astype(np.float64)


def protected_scores(graph: Graph, epsilon: float, seed: int) -> Scorer:
    """Ranks pairs by the tables of a model that knows clusters of noisy rows only."""
    return fitted(ROWS_PROTECTED, protected(graph), epsilon, ONE_HOP).scores


LINK_SCORERS: dict[str, Callable[[Graph, float, int], Scorer]] = {
    "degree only": degree_only,
    PROTECTED: protected_scores,
    **{label: model_scores(row) for label, row in ROWS.items() if row.links is not None},
}
FREE_SCORERS: dict[str, Callable[[Graph, float, int], Scorer]] = {
    "degree product, exact": degree_product,
    "auto-encoder, exact": autoencoder,
    "hetesdg, without noise": lambda graph, _, seed: LINK_SCORERS["hetesdg"](graph, NO_NOISE, seed),
}
DESCRIBERS: dict[str, Callable[[Graph, str, float], np.ndarray]] = {
    PROTECTED: protected_rows,
    **{label: model_rows(row) for label, row in ROWS.items() if row.nodes is not None},
}
FREE_DESCRIBERS: dict[str, Callable[[Graph, str, float], np.ndarray]] = {
    "features only": nothing,
    "exact hops": exact_hops,
    "hetesdg, without noise": lambda graph, kind, _: DESCRIBERS["hetesdg"](graph, kind, NO_NOISE),
}
