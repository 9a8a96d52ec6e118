"""Findings become fields with a way to mend them, and never show what was sent."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr, ValidationError

from api.http.validation import MAX_ERRORS, field_errors


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(max_length=3, pattern="^[a-z]+$")]
    unit: Literal["edge", "event"] = "edge"
    count: Annotated[int, Field(ge=1, le=9)] = 1
    items: Annotated[list[int], Field(max_length=30)] = Field(default_factory=list)
    amount: StrictStr | StrictInt | StrictFloat = 0
    options: dict[str, str | list[str]] = Field(default_factory=dict)


def found(**sent: object):
    with pytest.raises(ValidationError) as caught:
        Shape.model_validate(sent)
    return field_errors(caught.value.errors())


@pytest.mark.parametrize(
    ("sent", "field", "mend"),
    [
        ({}, "name", "Add this field."),
        ({"name": "a", "colour": 1}, "colour", "Leave this field out, or check its spelling."),
        ({"name": "a", "unit": "node"}, "unit", "Use one of 'edge' or 'event'."),
        ({"name": "a", "count": 0}, "count", "Use at least 1."),
        ({"name": "a", "count": 10}, "count", "Use at most 9."),
        ({"name": "abcd"}, "name", "Use at most 3 items or characters."),
        ({"name": "A"}, "name", "Match the pattern ^[a-z]+$."),
        ({"name": 5}, "name", "Send a value of type string."),
        ({"name": "a", "items": ["x"]}, "items.0", "Send a value of type int."),
    ],
)
def test_each_finding_says_how_to_mend_it(sent: dict[str, object], field: str, mend: str):
    errors = found(**sent)
    assert [(error.field, error.how_to_mend) for error in errors] == [(field, mend)]


def test_what_was_sent_is_not_echoed():
    errors = found(name="topsecret", unit="topsecret", count="topsecret")
    assert "topsecret" not in str(errors)


def test_findings_are_bounded():
    assert len(found(name="a", items=["x"] * 30)) == MAX_ERRORS


@pytest.mark.parametrize(
    ("place", "kind", "field", "mend"),
    [
        (
            ("body",),
            "model_attributes_type",
            "body",
            "Send a JSON object with Content-Type: application/json.",
        ),
        (("body",), "missing", "body", "Send a JSON object with Content-Type: application/json."),
        (("body", 1), "json_invalid", "body", "Send valid JSON with Content-Type: application/json."),
    ],
)
def test_a_body_that_is_no_json_says_so(place: tuple[str | int, ...], kind: str, field: str, mend: str):
    [error] = field_errors([{"loc": place, "msg": "m", "type": kind}])
    assert (error.field, error.how_to_mend) == (field, mend)


def test_pydantics_own_words_are_left_out():
    [error] = field_errors(
        [{"loc": ("body", "epsilon"), "msg": "Value error, too much", "type": "value_error"}]
    )
    assert error.message == "too much"


def test_the_place_is_left_out_of_the_path():
    findings = [{"loc": ("query", "limit"), "msg": "m", "type": "greater_than_equal", "ctx": {"ge": 1}}]
    assert field_errors(findings)[0].field == "limit"


@pytest.mark.parametrize(
    ("sent", "field"), [({"amount": [1]}, "amount"), ({"options": {"str": 5}}, "options.str")]
)
def test_a_choice_of_types_is_one_error_under_the_fields_own_name(sent: dict[str, object], field: str):
    [error] = found(name="a", **sent)
    assert error.field == field
    assert "string" in error.how_to_mend
    assert " or " in error.how_to_mend
