"""A refusal on a terminal: everything once."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from graphveil.cli import console, lazy
from graphveil.cli.app import app
from graphveil.errors import ProblemError


def refusal(detail: str, message: str, mend: str) -> dict[str, Any]:
    return {
        "type": "/problems/not-accepted",
        "title": "The method does not take this",
        "status": 422,
        "detail": detail,
        "request_id": "req_1",
        "actionable_by": "caller",
        "errors": [{"field": "delta", "message": message, "how_to_mend": mend}],
    }


@pytest.mark.parametrize(
    ("body", "shown", "not_shown"),
    [
        (
            refusal("a delta is needed; name one", "a delta is needed; name one", "Name one."),
            ["delta: a delta is needed; name one."],
            ["Name one."],
        ),
        (
            refusal("No documented shape.", "Field required", "Add this field."),
            ["No documented shape.", "delta: Field required. Add this field."],
            [],
        ),
    ],
)
def test_a_finding_that_is_the_detail_is_told_once(
    body: dict[str, Any], shown: list[str], not_shown: list[str]
) -> None:
    with console.notes.capture() as capture:
        console.show_problem(ProblemError(422, body))
    text = " ".join(capture.get().split())
    assert [text.count(line) for line in (*shown, *not_shown)] == [1] * len(shown) + [0] * len(not_shown)


def test_members_are_shown_in_words():
    body = {
        **refusal("no room", "", ""),
        "errors": [],
        "quota": {"scope": "team", "name": "blue"},
        "required_roles": ["curator", "auditor"],
        "links": {"job": "/jobs/job_1"},
    }
    with console.notes.capture() as capture:
        console.show_problem(ProblemError(409, body))
    text = " ".join(capture.get().split())
    assert "quota: team blue" in text
    assert "required_roles: curator auditor" in text
    assert "/jobs/" not in text
    assert "caller. Request req_1." in text


def test_options_of_a_format_stay_the_texts_that_they_are():
    texts = ["header=true", "delimiter=;", 'columns=["source", "target"]', "skip=2"]
    expected = {"header": "true", "delimiter": ";", "columns": ["source", "target"], "skip": "2"}
    assert console.options_of(texts) == expected


@pytest.mark.parametrize("words", [["--help"], ["upload", "--help"], ["stream", "push", "--help"]])
def test_help_needs_no_key(words: list[str]):
    assert CliRunner().invoke(app, words, env={"GRAPHVEIL_TOKEN": ""}).exit_code == 0


def test_a_missing_key_is_said_once_it_is_needed():
    missing = CliRunner().invoke(app, ["datasets"], env={"GRAPHVEIL_TOKEN": ""})
    assert (missing.exit_code, "GRAPHVEIL_TOKEN" in missing.stderr) == (2, True)


def test_the_list_of_commands_says_what_each_says_of_itself() -> None:
    group = get_command(app)
    assert isinstance(group, lazy.LazyGroup)
    for name in group.list_commands(typer.Context(group)):
        listed, loaded = group.commands[name], group.commands[name].loaded()
        assert loaded.name == name
        assert listed.help, name
        assert loaded.get_short_help_str(500) == listed.get_short_help_str(500)


def test_help_loads_no_command() -> None:
    program = """
import sys
from typer.testing import CliRunner
from graphveil.cli.app import app
assert CliRunner().invoke(app, ["--help"]).exit_code == 0
heavy = {"httpx", "pydantic", "graphveil.sdk.client", "graphveil.cli.jobs"}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
