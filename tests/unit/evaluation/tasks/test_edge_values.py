"""What edges carry, told by their ends: by hand, where it can be told, and where it cannot."""

from __future__ import annotations

import numpy as np
import pytest

from core.evaluation.metric import Suite
from core.evaluation.tasks.edge_values import edge_values
from core.evaluation.tasks.run import run_tasks
from core.graphs.graph import EdgeTable, EdgeValues, Graph
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.reports.evidence import Task

TRUST = EdgeAttribute(name="trust", kind="integer", bounds=(-5, 5), aggregate="max")
STARS = EdgeAttribute(name="stars", kind="integer", bounds=(1, 5), aggregate="max")
SORT = EdgeAttribute(name="sort", kind="category", categories=("a", "b"), aggregate="max")
NODES = 60


def graph(
    attribute: EdgeAttribute, values: tuple[int, int], *, deal: bool = False, edges: int = 600
) -> Graph:
    """Directed edges; what one carries is by its target, even or odd, or dealt out at random."""
    rng = np.random.default_rng(3)
    slots = rng.choice(NODES * (NODES - 1), edges, replace=False)
    source, target = slots // (NODES - 1), slots % (NODES - 1)
    target = target + (target >= source)
    column = np.where(target % 2, values[0], values[1])
    if deal:
        column = rng.permutation(column)
    relation = EdgeType(name="e", directed=True, attributes=(attribute,))
    schema = GraphSchema(node_types=(NodeType(count=NODES),), edge_types=(relation,))
    held = EdgeValues({attribute.name: column.astype(np.int32)})
    return Graph.build(schema, {}, {"e": EdgeTable(source, target, None, held)})


def told(ours: Graph, theirs: Graph) -> Task:
    (entry,) = edge_values(ours, theirs, ours.schema.edge_types[0])
    return Task.model_validate(entry)


@pytest.mark.parametrize(("attribute", "values"), [(TRUST, (-3, 2)), (STARS, (5, 1)), (SORT, (0, 1))])
def test_what_follows_from_an_end_is_told_from_either_graph(attribute, values):
    found = told(graph(attribute, values), graph(attribute, values, edges=500))
    assert found.trained_on_original > 0.99
    assert found.trained_on_synthetic > 0.99
    assert (found.baseline, found.subject) == (0.5, f"e.{attribute.name}")


def test_values_dealt_out_anew_tell_nothing():
    found = told(graph(TRUST, (-3, 2)), graph(TRUST, (-3, 2), deal=True))
    assert abs(found.trained_on_synthetic - 0.5) < 0.2
    # An edge's own value is left out: of values dealt at random the original tells nothing of itself.
    own = told(*[graph(TRUST, (-3, 2), deal=True)] * 2)
    assert own.trained_on_original < 0.58


def test_where_nothing_can_be_told_it_says_so():
    alike = told(*[graph(TRUST, (2, 2))] * 2)
    assert "Fewer than 20" in alike.not_run
    bare = graph(TRUST, (-3, 2))
    none = Graph(bare.schema, bare.nodes, {"e": bare.edges["e"].bare()})
    assert edge_values(bare, none, bare.schema.edge_types[0]) == []
    empty = Graph.build(
        bare.schema,
        {},
        {"e": EdgeTable(np.empty(0, int), np.empty(0, int), None, EdgeValues({"trust": np.empty(0, "i4")}))},
    )
    assert "no edge" in told(bare, empty).not_run


def test_the_standard_suite_has_it_and_quick_has_not():
    both = [graph(TRUST, (-3, 2))] * 2
    assert [entry["name"] for entry in run_tasks(*both, Suite.STANDARD, lambda *_: None)] == ["edge_values"]
    assert run_tasks(*both, Suite.QUICK, lambda *_: None) == []
