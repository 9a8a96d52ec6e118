"""A schema as fields: they show what is declared, and change what they name and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from api.console.schema_form import MOST_FIELDS, edited, groups_of
from core.errors import InvalidInput
from core.graphs.schema import GraphSchema

SCHEMA: dict[str, Any] = GraphSchema.model_validate(
    {
        "node_types": [
            {
                "name": "user",
                "attributes": [
                    {"name": "sex", "categories": ["f", "m"]},
                    {"name": "age", "kind": "number", "protection": "protected"},
                ],
            }
        ],
        "edge_types": [
            {
                "name": "pays",
                "source": "user",
                "target": "user",
                "temporal": True,
                "attributes": [{"name": "amount", "kind": "integer", "bounds": [0, 9], "aggregate": "sum"}],
            }
        ],
        "time": {"start": "2026-01-05", "width": "1w", "count": 4},
    }
).model_dump(mode="json")


def fields(schema: dict[str, Any]) -> dict[str, str]:
    return {field.path: field.value for group in groups_of(schema) for field in group.fields}


def changed(**said: str) -> GraphSchema:
    form = fields(SCHEMA) | {name.replace("__", "."): value for name, value in said.items()}
    return GraphSchema.model_validate_json(edited(json.dumps(SCHEMA), form))


def test_what_is_not_changed_stays():
    assert changed() == GraphSchema.model_validate(SCHEMA)
    assert edited("no JSON", {"edge_types.0.directed": "true"}) == "no JSON"
    assert edited("[3]", {}) == "[3]"


def test_times_are_shown_as_dates_and_widths():
    shown = fields(SCHEMA)
    assert (shown["time.start"], shown["time.width"]) == ("2026-01-05T00:00:00Z", "1w")
    grid = changed(time__start="2026-02-02", time__width="1d", time__count="60").time
    assert grid is not None
    assert (grid.start, grid.width, grid.count) == (1769990400, 86_400, 60)
    plain = SCHEMA | {"time": {"start": 3, "width": 7, "count": 2}}
    assert (fields(plain)["time.start"], fields(plain)["time.width"]) == ("3", "7")
    milliseconds = SCHEMA | {"time": {"start": 1767571200000, "width": 7, "count": 2}}
    assert (fields(milliseconds)["time.start"], fields(milliseconds)["time.width"]) == ("1767571200000", "7")


def test_every_field_changes_what_it_names():
    made = changed(
        edge_types__0__directed="true",
        edge_types__0__edge_bound="500",
        edge_types__0__attributes__0__bounds__1="20",
        edge_types__0__attributes__0__clip="true",
        edge_types__0__attributes__0__cuts="5, 10",
        edge_types__0__attributes__0__aggregate="max",
        node_types__0__attributes__0__protection="public",
        node_types__0__attributes__1__bounds__0="0",
        node_types__0__attributes__1__bounds__1="120.5",
    )
    pays, (sex, age) = made.edge_types[0], made.node_types[0].attributes
    assert (pays.directed, pays.edge_bound, pays.public) == (True, 500, False)
    (amount,) = pays.attributes
    assert (amount.bounds, amount.clip, amount.cuts, amount.aggregate) == ((0, 20), True, (5, 10), "max")
    assert (sex.protection, age.protection, age.bounds) == ("public", "protected", (0, 120.5))
    assert (
        changed(edge_types__0__attributes__0__aggregate="last").edge_types[0].attributes[0].aggregate
        == "last"
    )


@pytest.mark.parametrize("said", ["many", "1e"])
def test_what_is_no_number_is_refused_with_its_field(said: str):
    with pytest.raises(InvalidInput, match="is no number") as refused:
        changed(edge_types__0__attributes__0__bounds__1=said)
    assert refused.value.members["field"] == "edge_types.0.attributes.0.bounds.1"


def test_a_schema_too_large_for_a_form_has_no_fields():
    one = SCHEMA["edge_types"][0]
    many = SCHEMA | {"edge_types": [one | {"name": f"r{place}"} for place in range(MOST_FIELDS // 8 + 1)]}
    assert groups_of(many) == []
    assert json.loads(edited(json.dumps(many), {"edge_types.0.directed": "true"})) == many
