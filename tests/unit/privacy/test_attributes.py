"""Columns of nodes: public ones are free, protected rows cost, withheld ones and labels are not there."""

import numpy as np
import pytest

from core.errors import InvalidInput, PlanExceeded
from core.graphs.graph import Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType
from core.privacy.accounting.events import GaussianEvent
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan, rows_of
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit

COLUMNS = {
    "words": ("vector", "public", False),
    "year": ("number", "public", False),
    "kind": ("category", "public", True),
    "income": ("number", "protected", False),
    "history": ("vector", "protected", False),
    "grade": ("number", "protected", True),
    "name": ("category", "withheld", False),
}
NODES = 40


def session(values: dict, sigma: int = 1, rows: bool = True) -> tuple[PrivateGraph, Meter, PrivacyPlan]:
    attributes = tuple(
        Attribute(name=name, kind=kind, protection=protection, label=label)
        for name, (kind, protection, label) in COLUMNS.items()
    )
    schema = GraphSchema(
        node_types=(NodeType(count=NODES, attributes=attributes),), edge_types=(EdgeType(),), time=None
    )
    graph = Graph.build(schema, {"node": NodeTable(NODES, None, values)}, {})
    grants = [Allotment("edge", None, GaussianEvent(9), "edges")]
    if rows:
        grants.append(Allotment(rows_of("node"), None, GaussianEvent(sigma), "rows"))
    plan = PrivacyPlan("method", Unit.EDGE, None, 1, tuple(grants), 10**13)
    meter = Meter(plan, MemoryRecorder())
    return PrivateGraph(graph, meter), meter, plan


def values(**changes) -> dict:
    rng = np.random.default_rng(1)
    columns = {
        "words": rng.random((NODES, 3), dtype=np.float32),
        "year": rng.integers(1990, 2000, NODES),
        "income": rng.random(NODES) * 1e4,
        "history": rng.random((NODES, 5), dtype=np.float32),
    }
    return columns | changes


def test_public_columns_are_free_and_labels_are_not_among_them():
    graph, meter, _ = session(values())
    found = graph.attributes("node").public()
    assert set(found) == {"words", "year"}
    assert not meter.transcript


def test_rows_are_paid_for_before_they_are_read():
    graph, _, _ = session(values(), rows=False)
    with pytest.raises(PlanExceeded):
        graph.attributes("node").noisy_rows(width=4, noise_multiplier=1, purpose="rows")


def test_a_node_type_without_protected_numbers_is_refused():
    graph, _, _ = session(values())
    schema = GraphSchema(node_types=(NodeType(count=3),))
    bare = PrivateGraph(Graph.build(schema, {}, {}), Meter(graph._meter.plan, MemoryRecorder()))
    with pytest.raises(InvalidInput):
        bare.attributes("node").noisy_rows(width=4, noise_multiplier=1, purpose="rows")


@pytest.mark.parametrize(
    "history",
    [
        np.full((NODES, 5), np.nan),
        np.full((NODES, 5), np.inf),
        np.full((NODES, 5), 3e38),
        np.zeros((NODES, 5)),
    ],
    ids=["nan", "inf", "huge", "zero"],
)
def test_no_row_is_longer_than_one(history):
    """With next to no noise, what comes out is what went in."""
    graph, _, _ = session(values(history=history.astype(np.float32)), sigma=1)
    found = graph.attributes("node").noisy_rows(
        width=4, noise_multiplier=1, purpose="rows", rng=np.random.default_rng(3)
    )
    again = graph_without_rows(np.random.default_rng(3))
    assert np.isfinite(found).all()
    length = np.linalg.norm(found - again, axis=1)  # the same noise, over rows of zeros
    assert (length <= 1 + 1e-9).all()
    assert (length > 0.99).all()  # the income is still there


def graph_without_rows(rng) -> np.ndarray:
    nothing = values(income=np.zeros(NODES), history=np.zeros((NODES, 5), dtype=np.float32))
    graph, _, _ = session(nothing)
    return graph.attributes("node").noisy_rows(width=4, noise_multiplier=1, purpose="rows", rng=rng)


def test_a_row_moves_its_own_alone():
    full, other = values(), values()
    other["income"] = other["income"].copy()
    other["income"][7] = 0
    other["history"] = other["history"].copy()
    other["history"][7] = 0
    found = []
    for columns in (full, other):
        graph, _, _ = session(columns)
        found.append(
            graph.attributes("node").noisy_rows(
                width=4, noise_multiplier=1, purpose="rows", rng=np.random.default_rng(3)
            )
        )
    moved = np.flatnonzero(np.abs(found[0] - found[1]).sum(axis=1))
    assert moved.tolist() == [7]


def test_the_guarantee_names_the_rows_and_costs_the_dearer_of_both():
    graph, meter, plan = session(values(), sigma=2)
    graph.attributes("node").noisy_rows(width=4, noise_multiplier=2, purpose="rows")
    guarantee = guarantee_of(plan, meter.transcript, 10**13)
    assert "protected attributes" in guarantee.statement
    alone = PrivacyPlan("method", Unit.EDGE, None, 1, plan.allotments[1:], 10**13)
    assert guarantee.nano_epsilon == alone.cost().nano_epsilon
