"""Small graphs, and one fit of a generator on them: what the tests of generators share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit

NANO = 10**9


def graph_of(
    pairs: Iterable[tuple[int, int]] | np.ndarray,
    nodes: int,
    *,
    steps: int | None = None,
    other: int | None = None,
    directed: bool = False,
) -> Graph:
    """One relation ``edge`` over ``nodes`` nodes, the same pairs in each step.

    ``other``: the size of a second node type at the other end.
    """
    ends = np.asarray(list(pairs) if not isinstance(pairs, np.ndarray) else pairs, dtype=np.int64)
    ends = ends.reshape(-1, 2)
    kinds = [NodeType(count=nodes)] + ([NodeType(name="item", count=other)] if other is not None else [])
    relation = EdgeType(
        target="node" if other is None else "item", directed=directed, temporal=steps is not None
    )
    schema = GraphSchema(
        node_types=tuple(kinds),
        edge_types=(relation,),
        time=None if steps is None else TimeGrid(count=steps),
    )
    step = None if steps is None else np.repeat(np.arange(steps), len(ends))
    ends = np.tile(ends, (steps or 1, 1))
    table = EdgeTable(ends[:, 0], ends[:, 1], step)
    return Graph.build(schema, {kind.name: NodeTable(kind.count) for kind in kinds}, {"edge": table})


def random_pairs(nodes: int, share: float, seed: int = 7) -> np.ndarray:
    """Each pair of nodes with probability ``share``."""
    every = np.stack(np.triu_indices(nodes, 1), axis=1)
    return every[np.random.default_rng(seed).random(len(every)) < share]


def fit(
    generator: Any,
    graph: Graph,
    epsilon: float,
    *,
    unit: Unit | None = None,
    window: int | None = None,
    **params: Any,
) -> tuple[Any, Meter]:
    """The fitted model and its meter; the printed guarantee is checked to lie within ``epsilon``."""
    unit = unit or (Unit.EVENT if graph.schema.temporal else Unit.EDGE)
    chosen = generator.Params.varied(**params)
    names = tuple(relation.name for relation in graph.schema.edge_types)
    facts = PublicFacts(graph.schema, unit, window, int(epsilon * NANO), 0, names)
    plan = generator.plan(chosen, facts)
    meter = Meter(plan, MemoryRecorder())
    model = generator.fit(PrivateGraph(graph, meter), plan, chosen, no_progress)
    assert guarantee_of(plan, meter.transcript, 0).epsilon <= epsilon
    return model, meter


def drawn(generator: Any, graph: Graph, epsilon: float, **options: Any) -> Graph:
    """One synthetic graph."""
    model, _ = fit(generator, graph, epsilon, **options)
    return model.sample(public_generator(None), no_progress)


def rows_of(graph: Graph) -> np.ndarray:
    """(m, 2) or, with time, (m, 3): source, target, step."""
    table = graph.edges["edge"]
    return np.stack([table.source, table.target, *([] if table.step is None else [table.step])], axis=1)


def kept_log_ratio(generator: Any, graph: Graph, epsilon: float, runs: int, **options: Any) -> tuple:
    """ln of the odds that a true edge rather than an absent pair appears, with its standard error.

    Counted over ``runs`` releases of one graph: every slot of one sort is treated alike.
    """
    nodes = graph.nodes["node"].count
    true = np.unique(graph.edges["edge"].source * np.int64(nodes) + graph.edges["edge"].target)
    absent = nodes * (nodes - 1) // 2 - len(true)
    kept = made = 0
    for _ in range(runs):
        table = drawn(generator, graph, epsilon, **options).edges["edge"]
        inside = int(np.isin(table.source * np.int64(nodes) + table.target, true).sum())
        kept, made = kept + inside, made + table.count - inside
    ratio = np.log(kept / (runs * len(true))) - np.log(made / (runs * absent))
    return float(ratio), float(np.sqrt(1 / kept + 1 / made))
