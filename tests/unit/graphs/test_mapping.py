"""One mapping says what a file's columns are, in whichever form a face is given it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.errors import InvalidInput
from core.graphs.reading.mapping import Mapping
from core.graphs.reading.model import About, Answer, Column, Counts, Dialect, Question, Reading, Role

CALLS = (("source", "caller"), ("target", "callee"), ("time", "when"), ("value", "seconds"))


@pytest.mark.parametrize(
    "said",
    [
        "source=caller,target=callee,time=when,value=seconds",
        " source = caller , target=callee,time=when,value=seconds",
        ["source=caller", "target=callee", "time=when", "value=seconds"],
        dict(CALLS),
        json.dumps(dict(CALLS)),
        json.dumps(CALLS),
        [json.dumps(CALLS)],
    ],
)
def test_columns_are_said_in_any_form(said: Any) -> None:
    assert Mapping.parse(said).columns == CALLS


@pytest.mark.parametrize("said", ["source,target,-,weight", ["source", "target", "-", "weight"]])
def test_names_in_the_order_of_the_file_are_numbers(said: Any) -> None:
    columns = (("source", 1), ("target", 2), ("-", 3), ("weight", 4))
    assert Mapping.parse(said).columns == columns
    assert Mapping.parse("source=1,target=2,-=3,weight=4").columns == columns


@pytest.mark.parametrize(
    ("said", "field", "words"),
    [
        ({"columns": "source=a,target"}, "columns", "source=caller"),
        ({"columns": "source=a,source=b"}, "columns", "two columns"),
        ({"columns": "source=a,target=a"}, "columns", "twice"),
        ({"columns": "source=0"}, "columns", "from 1"),
        ({"columns": "{source"}, "columns", "line 1"),
        ({"columns": [3]}, "columns", "pairs"),
        ({"columns": {"source": True}}, "columns", "no column"),
        ({"delimiter": "ab"}, "delimiter", "one character"),
        ({"delimiter": '"'}, "delimiter", "one character"),
        ({"header": "maybe"}, "header", "true, false"),
        ({"decimal": ";"}, "decimal", "comma"),
        ({"encoding": "rot13"}, "encoding", "utf-8"),
        ({"encoding": "klingon"}, "encoding", "utf-8"),
        ({"colour": "red"}, "colour", "it has columns"),
    ],
)
def test_a_mistake_is_named(said: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as caught:
        Mapping.from_json(said)
    assert caught.value.members["field"] == field


def test_a_mapping_is_written_and_read_again() -> None:
    said = Mapping(CALLS, ";", True, ",", "latin-1", False)
    assert Mapping.from_json(json.loads(json.dumps(said.as_json()))) == said
    assert Mapping.parse(**said.options()) == said
    assert str(said).startswith("columns=source=caller,target=callee,time=when,value=seconds delimiter=;")
    commas = Mapping((("source", "Last, first"), ("target", 2)))
    assert Mapping.parse(str(commas).removeprefix("columns=")) == commas
    assert Mapping.parse(delimiter="tab", encoding="ISO-8859-1") == Mapping(
        delimiter="\t", encoding="latin-1"
    )


def test_a_reading_is_written_and_read_again() -> None:
    made = Reading(
        "edges",
        Dialect(delimiter="|", comments=("#",)),
        (Column(1, "caller", Role.SOURCE, "source", ("its name",), 0.97, ("ann",)),),
        True,
        ("a comment says bip",),
        Counts(3, 1, left_out={"empty": 1}),
        ("a warning",),
        (Question(About.HEADER, "?", 0.6, (Answer("yes", Mapping(header=True)),)),),
    )
    assert Reading.from_json(json.loads(json.dumps(made.as_json()))) == made
    assert made.as_json()["questions"][0]["destroys"] is True
    assert made.mapping.columns == (("source", 1),)
