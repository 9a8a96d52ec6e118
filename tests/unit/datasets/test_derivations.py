"""Which marks of a derived universe or time grid survive what a curator confirms."""

from __future__ import annotations

import pytest

from core.datasets.models import DatasetPart
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.workflows.datasets.derivations import derived_parts, marked_universe, still_derived

BOTH = ["node_list", "time_grid"]


def on(**grid: int) -> GraphSchema:
    return GraphSchema(edge_types=(EdgeType(temporal=True),), time=TimeGrid(**grid))


SEEN = on(start=10, width=2, count=5)


def test_a_proposal_marks_what_it_read_off_the_data() -> None:
    assert derived_parts(GraphSchema(), nodes=False) == []
    assert derived_parts(SEEN, nodes=True) == BOTH


@pytest.mark.parametrize("form", ["graphml", "gml", "node_link"])
def test_a_document_that_lists_its_nodes_declares_nobody(form: str) -> None:
    """It may have been made of its edges; a count takes its place, and a list beside a table is declared."""
    edges = DatasetPart(part="edges", format=form)
    counted = GraphSchema(node_types=(NodeType(count=9),))
    assert marked_universe([], GraphSchema(), edges) == ["node_list"]
    assert marked_universe(["time_grid"], GraphSchema(), edges) == ["node_list", "time_grid"]
    assert marked_universe(BOTH, GraphSchema(), edges) == BOTH
    assert marked_universe([], counted, edges) == []
    assert marked_universe([], GraphSchema(), edges, DatasetPart(part="nodes", format="csv")) == []
    assert marked_universe([], GraphSchema(), DatasetPart(part="edges", format="csv")) == []


@pytest.mark.parametrize(
    ("confirmed", "marks"),
    [
        (SEEN, BOTH),
        (on(start=10, width=2, count=9), BOTH),  # the first time is still that of the data
        (on(start=0, width=2, count=10), BOTH),  # the last is
        (on(start=0, width=1, count=100), ["node_list"]),
        (GraphSchema(), ["node_list"]),
        (SEEN.model_copy(update={"node_types": (NodeType(count=9),)}), ["time_grid"]),
    ],
)
def test_only_what_the_curator_declared_instead_loses_its_mark(
    confirmed: GraphSchema, marks: list[str]
) -> None:
    assert still_derived(BOTH, SEEN, confirmed) == marks
    assert still_derived([], SEEN, confirmed) == []
