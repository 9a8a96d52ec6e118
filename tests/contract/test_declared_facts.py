"""Every registered generator keeps what a schema declares of a relation, in every graph that it draws.

One schema a case, with all the facts that the method's sort of relation can have: ``edge_bound`` always,
``functional`` where edges have a source, ``once`` where they have a time.
"""

import numpy as np
import pytest

from core.graphs.graph import EdgeTable, Graph
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods import registry
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import GuaranteeKind
from core.privacy.entropy import public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit

NODES, OTHERS, STEPS, WINDOW = 40, 5, 3, 2
EDGES = 36
"""Of the original, in equal parts over its steps: the declared bound is as tight as it can be."""
NANO_EPSILON, DELTA_ATTO = 2_000_000_000, 10**12
DRAWS = 3

CASES = [
    pytest.param(generator, unit, id=f"{generator.name}-{unit}")
    for generator in registry.generators().values()
    for unit in sorted(generator.units)
]


def schema_for(generator, unit) -> GraphSchema:
    """The relation with most facts that the method takes: two-sided, directed or undirected."""
    kinds = generator.accepts
    sided = kinds.bipartite or kinds.directed
    relation = EdgeType(
        target="other" if kinds.bipartite else "node",
        directed=kinds.directed and not kinds.bipartite,
        temporal=unit.temporal,
        functional=sided,
        once=unit.temporal,
        edge_bound=EDGES // (STEPS if unit.temporal else 1),
    )
    persons = NodeType(count=NODES, protected=unit is Unit.NODE)
    nodes = (persons, *([NodeType(name="other", count=OTHERS)] if kinds.bipartite else []))
    time = TimeGrid(count=STEPS) if unit.temporal else None
    return GraphSchema(node_types=nodes, edge_types=(relation,), time=time)


def original(schema: GraphSchema) -> Graph:
    """EDGES edges: every source has its one target, every pair its one step."""
    relation = schema.edge_types[0]
    source = np.arange(EDGES)
    target = source % OTHERS if not relation.homogeneous else NODES - 1 - source % 2
    table = EdgeTable(source, target, source % STEPS if relation.temporal else None)
    return Graph.build(schema, {}, {relation.name: table})


def broken(graph: Graph) -> list[str]:
    """The facts that the graph's own schema declares and its edges do not keep."""
    relation, found = graph.schema.edge_types[0], []
    table = graph.edges[relation.name]
    pairs = np.stack([table.source, table.target], axis=1)
    apart = np.unique(pairs, axis=0)
    if relation.functional and len(np.unique(apart[:, 0])) < len(apart):
        found.append("functional")
    if relation.once and len(apart) < len(pairs):
        found.append("once")
    if max((cell.count for cell in graph.cells()), default=0) > relation.edge_bound:
        found.append("edge_bound")
    return found


@pytest.mark.parametrize(("generator", "unit"), CASES)
def test_every_draw_keeps_what_is_declared(generator, unit):
    schema = schema_for(generator, unit)
    graph = original(schema)
    assert not broken(graph)
    assert {cell.count for cell in graph.cells()} == {schema.edge_types[0].edge_bound}
    public = PublicFacts(
        schema,
        unit,
        WINDOW if unit is Unit.W_EVENT else None,
        NANO_EPSILON,
        0 if generator.kinds == {GuaranteeKind.PURE} else DELTA_ATTO,
        ("edge",),
    )
    params = generator.Params()
    plan = generator.plan(params, public)
    model = generator.fit(PrivateGraph(graph, Meter(plan, MemoryRecorder())), plan, params, no_progress)
    for seed in range(DRAWS):
        drawn = model.sample(public_generator(seed), no_progress)
        assert drawn.schema == schema
        assert broken(drawn) == []
