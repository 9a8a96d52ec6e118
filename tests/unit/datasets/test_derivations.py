"""Which marks of a derived universe or time grid survive what a curator confirms."""

from __future__ import annotations

import pytest

from core.datasets.models import DatasetPart
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.workflows.datasets.derivations import derived_parts, still_derived

BOTH = ["node_list", "time_grid"]


def on(**grid: int) -> GraphSchema:
    return GraphSchema(edge_types=(EdgeType(temporal=True),), time=TimeGrid(**grid))


SEEN = on(start=10, width=2, count=5)


def test_a_proposal_marks_what_it_read_off_the_data() -> None:
    assert derived_parts(GraphSchema(), None) == []
    assert derived_parts(SEEN, DatasetPart()) == BOTH


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
