"""What a form says of a file. It is the one mapping that the form over a reading makes."""

from __future__ import annotations

import json

from api.console.forms import Form, whole_number
from core.errors import InvalidInput
from core.graphs.reading.mapping import LEFT, Mapping
from graphveil.models.readings import ReadColumn, Reading

DIALECT = ("header", "delimiter", "decimal", "encoding", "dates", "bipartite")
"""What a person may say beside the columns."""
ANOTHER_TABLE = frozenset({"delimiter", "encoding"})
"""Where these change, the columns are others: they are found anew."""
ROLE, TABLE = "role", "table"
"""The question that the table itself asks, and the answer that the table is right."""
KEPT_NAMES = frozenset({"value", "attribute"})


def said_in(form: Form, reading: Reading) -> Mapping:
    """Read what the form says of the file. Its questions' answers count more than its table."""
    said = {name: form[name] for name in DIALECT if form.get(name)}
    roles = {each.place: form.get(f"role-{each.place}", _role(each)) for each in reading.columns}
    if unsaid := [place for place, role in roles.items() if not role]:
        raise InvalidInput("a column has no role; choose what it is", field=f"role-{unsaid[0]}")
    for number, question in enumerate(reading.questions):
        if question.about == ROLE or form.get(f"answer-{number}") == TABLE:
            continue  # its answer stands in the table
        chosen = whole_number(form, f"answer-{number}")
        if chosen is None or chosen >= len(question.answers):
            raise InvalidInput("answer what is asked; the file is read again then", field=f"answer-{number}")
        answer = question.answers[chosen].mapping
        for role, place in _pairs(answer.get("columns", "[]"), reading):
            if role not in KEPT_NAMES:
                roles = {each: LEFT if held == role else held for each, held in roles.items()}
            roles[place] = role
        said |= {name: value for name, value in answer.items() if name != "columns"}
    standing = reading.mapping
    if any(said.get(name, standing.get(name)) != standing.get(name) for name in ANOTHER_TABLE):
        return Mapping.parse(**said)
    same = said.get("header", standing.get("header")) == standing.get("header")
    columns = [
        (each.called if same and roles[each.place] == _role(each) else roles[each.place], each.place)
        for each in reading.columns
    ]
    return Mapping.parse(columns, **said)


def asked_columns(reading: Reading) -> frozenset[int]:
    """Find the columns with an open question of role. It is the last one that such a question's answer
    names."""
    asked = (each for each in reading.questions if each.about == ROLE)
    return frozenset(_pairs(each.answers[0].mapping["columns"], reading)[-1][1] for each in asked)


def _role(column: ReadColumn) -> str:
    return LEFT if column.called == LEFT else column.role


def _pairs(written: str, reading: Reading) -> list[tuple[str, int]]:
    """Read the answer's columns by their places."""
    places = {each.name: each.place for each in reading.columns if each.name is not None}
    return [
        (role, column if isinstance(column, int) else places[column]) for role, column in json.loads(written)
    ]
