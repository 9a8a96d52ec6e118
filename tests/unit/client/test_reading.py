"""A reading on a terminal: what each column was taken for, and the command that corrects it."""

from __future__ import annotations

import json
import shlex

import pytest

from graphveil.cli import render_reading
from graphveil.cli.mapping import said
from graphveil.models.readings import Reading

FOUND = {
    "part": "edges",
    "dialect": {
        "encoding": "utf-8",
        "delimiter": ";",
        "line_end": "LF",
        "decimal": ".",
        "header": True,
        "comments": ["#"],
        "titles": 0,
    },
    "columns": [
        {
            "place": place,
            "name": name,
            "role": role,
            "called": called,
            "why": [why],
            "probability": probability,
            "examples": ["ann", "[bob]"],
        }
        for place, name, role, called, why, probability in (
            (1, "who", "source", "source", "they share ids", 0.99),
            (2, "whom", "target", "target", "they share ids", 0.6),
            (3, "note", "left alone", "-", "nothing asks for it", 1.0),
        )
    ],
    "bipartite": False,
    "counts": {"records": 12, "comments": 2, "loops": 0, "repeats": 0, "left_out": {"empty": 3}},
    "warnings": ["Two ids differ by case alone."],
    "questions": [
        {
            "about": "header",
            "text": "line 1 may be a record",
            "probability": 0.7,
            "must_be_answered": True,
            "answers": [
                {"text": "it is a header", "mapping": {"header": "true"}},
                {"text": "it is data", "mapping": {"header": "false", "delimiter": ";"}},
            ],
        }
    ],
    "mapping": {"columns": json.dumps([["source", 1], ["target", 2], ["-", 3]]), "delimiter": ";"},
}


def test_a_reading_says_what_it_took_on_what_grounds(capsys: pytest.CaptureFixture[str]) -> None:
    render_reading.reading("ds_1", Reading.model_validate(FOUND))
    shown = " ".join(capsys.readouterr().out.split())
    for words in (
        "separated by semicolons, utf-8, with a header; 12 records, 2 comment lines skipped",
        "they share ids",
        "target (60%)",
        "[bob]",
        "3 left out: empty",
        "Two ids differ by case alone.",
        "To be answered first: line 1 may be a record",
        "it is data: graphveil read-again ds_1 --no-header --delimiter ';'",
        "graphveil read-again ds_1 --columns source=1,target=2,-=3",
    ):
        assert words in shown, words


def test_a_command_is_quoted_for_the_shell() -> None:
    columns = json.dumps([["source", "Last, first"], ["target", "$HOME"]])
    made = shlex.split(render_reading.command("ds_1", "nodes", {"columns": columns, "header": "true"}))
    assert made == ["graphveil", "read-again", "ds_1", "--part", "nodes", "--columns", columns, "--header"]


def test_only_what_was_said_is_sent() -> None:
    assert said(columns="source=a", header=False, decimal=None) == {"columns": "source=a", "header": "false"}
