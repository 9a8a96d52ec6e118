"""Errors of typed releases are defined for every shape of relation."""

import numpy as np
from scipy.sparse.linalg import ArpackError

from benchmarks import typed_choice
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType


def test_a_relation_whose_components_cannot_be_told_apart_has_no_preference(monkeypatch):
    """One target a source: all singular values are alike, and the solver may give up on the original itself.

    Whether it does depends on the last bits of its sums, so here it always does.
    """

    def gives_up(*_):
        raise ArpackError(3)

    monkeypatch.setattr(typed_choice, "preference_aucs", gives_up)
    place = np.arange(40)
    schema = GraphSchema(
        node_types=(NodeType(name="paper", count=40), NodeType(name="venue", count=10)),
        edge_types=(EdgeType(name="appears", source="paper", target="venue"),),
    )
    nodes = {"paper": NodeTable(40), "venue": NodeTable(10)}
    graph = Graph.build(schema, nodes, {"appears": EdgeTable(place, place % 10)})
    errors = typed_choice.Original(graph).errors(graph)
    assert "preference" not in errors
    assert errors["degree"] == errors["popularity"] == 0
