"""What registration refuses, and how it says so."""

from __future__ import annotations

import pytest
from pydantic import SecretStr, ValidationError

from core.datasets.vault import check_master_key
from core.errors import InvalidInput
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.ledger.kinds import Filter
from core.privacy.units import Unit
from core.settings import Settings
from core.workflows.common.schema_rules import check_cells, check_schema, check_terms
from core.workflows.datasets.register import NewDataset

SETTINGS = Settings(max_nodes=1000, max_steps=50, max_cells=60)
STATIC = GraphSchema(node_types=(NodeType(count=10),))
TEMPORAL = GraphSchema(
    node_types=(NodeType(count=10),), edge_types=(EdgeType(temporal=True),), time=TimeGrid(count=20)
)


def three_relations(steps: int) -> GraphSchema:
    """Two relations with time and one without, all protected, and a public one, which is not planned."""
    timed = [EdgeType(name=name, temporal=True) for name in ("a", "b")]
    return GraphSchema(
        node_types=(NodeType(count=10),),
        edge_types=(*timed, EdgeType(name="c"), EdgeType(name="d", public=True)),
        time=TimeGrid(count=steps),
    )


@pytest.mark.parametrize(
    ("unit", "window", "filter", "delta", "field"),
    [
        (Unit.W_EVENT, None, Filter.BASIC, 0, "window"),
        (Unit.EDGE, 3, Filter.BASIC, 0, "window"),
        (Unit.EVENT, 3, Filter.BASIC, 0, "window"),
        (Unit.W_EVENT, 0, Filter.BASIC, 0, "window"),
        (Unit.W_EVENT, 51, Filter.BASIC, 0, "window"),
        (Unit.W_EVENT, 3, Filter.RENYI, 1, "filter"),
        (Unit.EDGE, None, Filter.RENYI, 0, "delta"),
    ],
)
def test_terms_that_do_not_fit(
    unit: Unit, window: int | None, filter: Filter, delta: int, field: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_terms(unit, window, filter, delta, SETTINGS)
    assert refused.value.members["field"] == field


def test_terms_that_fit() -> None:
    check_terms(Unit.EDGE, None, Filter.BASIC, 0, SETTINGS)
    check_terms(Unit.EVENT, None, Filter.RENYI, 1, SETTINGS)
    check_terms(Unit.W_EVENT, 50, Filter.BASIC, 1, SETTINGS)


@pytest.mark.parametrize(
    ("schema", "unit", "window", "field"),
    [
        (TEMPORAL, Unit.EDGE, None, "graph_schema.time"),
        (STATIC, Unit.EVENT, None, "graph_schema.time"),
        (STATIC, Unit.PAIR, None, "graph_schema.time"),
        (TEMPORAL, Unit.W_EVENT, 21, "window"),
        (GraphSchema(node_types=(NodeType(count=1001),)), Unit.EDGE, None, "graph_schema.node_types"),
        (
            GraphSchema(
                node_types=(NodeType(name="a", count=600), NodeType(name="b", count=600)),
                edge_types=(EdgeType(source="a", target="b"),),
            ),
            Unit.EDGE,
            None,
            "graph_schema.node_types",
        ),
        (
            GraphSchema(edge_types=(EdgeType(temporal=True),), time=TimeGrid(count=51)),
            Unit.EVENT,
            None,
            "graph_schema.time.count",
        ),
        (three_relations(30), Unit.EVENT, None, "graph_schema.edge_types"),
        (GraphSchema(edge_types=(EdgeType(public=True),)), Unit.EDGE, None, "graph_schema.edge_types"),
    ],
)
def test_schemas_that_do_not_fit(schema: GraphSchema, unit: Unit, window: int | None, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_schema(schema, unit, window, SETTINGS)
    assert refused.value.members["field"] == field


def persons(*relations: EdgeType, time: TimeGrid | None = None, **person: object) -> GraphSchema:
    kinds = (
        NodeType(name="person", count=9, **({"protected": True} | person)),
        NodeType(name="thing", count=9),
    )
    return GraphSchema(node_types=kinds, edge_types=relations, time=time)


BUYS, KNOWS = (
    EdgeType(name="buys", source="person", target="thing"),
    EdgeType(name="knows", source="person", target="person"),
)
LIKE = EdgeType(name="like", source="thing", target="thing")
PUBLIC_BUYS, PUBLIC_LIKE = (each.model_copy(update={"public": True}) for each in (BUYS, LIKE))


@pytest.mark.parametrize(
    ("schema", "unit", "field", "says"),
    [
        (STATIC, Unit.NODE, "node_types", "declared protected"),
        (persons(BUYS, LIKE), Unit.NODE, "edge_types.like", "declare it public"),
        (persons(LIKE), Unit.NODE, "node_types", "no protected relation touches"),
        (persons(LIKE, PUBLIC_BUYS), Unit.NODE, "node_types", "no protected relation touches"),
        (persons(PUBLIC_BUYS), Unit.NODE, "edge_types", "nothing to protect"),
        (persons(BUYS), Unit.EDGE, "node_types", "use the unit node"),
    ],
)
def test_persons_that_cannot_be_protected(schema: GraphSchema, unit: Unit, field: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says) as refused:
        check_schema(schema, unit, None, SETTINGS)
    assert refused.value.members["field"] == f"graph_schema.{field}"


def test_persons_that_can_be_protected_with_and_without_time() -> None:
    timed = BUYS.model_copy(update={"temporal": True})
    check_schema(persons(BUYS, PUBLIC_LIKE), Unit.NODE, None, SETTINGS)
    check_schema(persons(timed, KNOWS, time=TimeGrid(count=3)), Unit.NODE, None, SETTINGS)
    check_schema(persons(BUYS, protected=False, degree_bound=3), Unit.EDGE, None, SETTINGS)


def test_at_most_one_type_is_protected_and_a_bound_has_limits() -> None:
    with pytest.raises(ValidationError, match="at most one node type") as refused:
        GraphSchema(node_types=[{"name": name, "protected": True} for name in "ab"])
    assert refused.value.errors()[0]["loc"] == ("node_types",)
    for bound in (0, 1_000_001):
        with pytest.raises(ValidationError, match="degree_bound"):
            NodeType(degree_bound=bound)


def test_what_is_not_declared_is_not_written() -> None:
    assert persons(BUYS).model_dump(mode="json")["node_types"] == [
        {"name": "person", "count": 9, "attributes": [], "protected": True},
        {"name": "thing", "count": 9, "attributes": []},
    ]
    bounded = persons(BUYS, degree_bound=4)
    assert GraphSchema.model_validate_json(bounded.model_dump_json()) == bounded


def test_schemas_that_fit() -> None:
    check_schema(STATIC, Unit.EDGE, None, SETTINGS)
    check_schema(TEMPORAL, Unit.EVENT, None, SETTINGS)
    check_schema(TEMPORAL, Unit.PAIR, None, SETTINGS)
    check_schema(TEMPORAL, Unit.W_EVENT, 20, SETTINGS)


@pytest.mark.parametrize(
    "change",
    [
        {"name": ""},
        {"name": "a\nb"},
        {"name": "a\u200bb"},
        {"name": "x" * 129},
        {"protection_domain": ""},
        {"unit": "person"},
        {"filter": "zcdp"},
        {"policy": {"kinds": []}},
        {"policy": {"kinds": ["pure", "heuristic"]}},
        {"epsilon": True},
        {"colour": "red"},
    ],
)
def test_requests_that_are_closed_out(change: dict) -> None:
    with pytest.raises(ValidationError):
        NewDataset.model_validate({"name": "ok", "unit": "edge", "epsilon": "1"} | change)


@pytest.mark.parametrize("secret", ["", "00", "zz" * 32, "00" * 31, "00" * 33])
def test_a_master_key_that_is_none_stops_the_work(secret: str) -> None:
    with pytest.raises(InvalidInput, match="GRAPHVEIL_MASTER_KEY") as refused:
        check_master_key(SecretStr(secret))
    assert not secret or secret not in str(refused.value)


def test_a_master_key_is_32_bytes() -> None:
    assert check_master_key(SecretStr("0f" * 32)) == b"\x0f" * 32


def test_relations_times_steps_are_bounded_and_the_refusal_counts_them() -> None:
    check_schema(three_relations(29), Unit.EVENT, None, SETTINGS)
    with pytest.raises(InvalidInput, match=r"2 relations with 30 steps each, and 1 .* 61 cells"):
        check_schema(three_relations(30), Unit.EVENT, None, SETTINGS)
    check_cells(three_relations(30), ["a", "c"], SETTINGS, field="edge_types")
    with pytest.raises(InvalidInput) as refused:
        check_cells(three_relations(30), ["a", "b", "c"], SETTINGS, field="edge_types")
    assert refused.value.members["field"] == "edge_types"
