"""Reports on a command line: every form, to a file or to the screen; and the terminal's own view."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
import typer
from typer.testing import CliRunner

from core.reports.model import Report
from graphveil import ClientError, Graphveil, WaitTimeout
from graphveil.cli import jobs as jobs_commands
from graphveil.cli.console import Session
from graphveil.cli.lazy import COMMANDS
from graphveil.sdk.forms import PATHS, REPORTS, ReportForm
from tests.support import reports

TEXT = "report é\n"


def served(request: httpx.Request) -> httpx.Response:
    """The path and the query, or the report itself."""
    path = request.url.path.removeprefix("/v1/jobs/job_1/")
    if path == "report":
        full = Report(public=reports.temporal(), curator=reports.curator()).model_dump(mode="json")
        full["curator"]["status"] = "done"
        return httpx.Response(200, json=full)
    if "running" in str(request.url):
        return httpx.Response(202, json={"job_id": "job_running", "state": "running"})
    return httpx.Response(200, content=f"{path} {request.url.query.decode()} {TEXT}".encode())


def connected() -> Graphveil:
    return Graphveil("http://service.example", "gv_x", transport=httpx.MockTransport(served))


@pytest.mark.parametrize("form", [form for form in ReportForm if form is not ReportForm.JSON])
def test_every_form_is_asked_for_at_its_path(form: ReportForm):
    assert connected().report_as("job_1", form) == f"{PATHS[form]}  {TEXT}"


def test_what_the_publisher_says_is_sent_with_the_card_and_the_metadata():
    text = connected().report_as("job_1", "dcat", title="Mail & co", license="https://h.example/l")
    assert text.startswith("metadata/dcat title=Mail+%26+co&license=https%3A%2F%2Fh.example%2Fl")
    for form in REPORTS:
        with pytest.raises(ClientError, match="nothing of its publisher"):
            connected().report_as("job_1", form, title="Mail")


def test_an_unknown_form_and_a_running_job_are_errors():
    with pytest.raises(ClientError, match="one of json, html"):
        connected().report_as("job_1", "pdf")
    with pytest.raises(WaitTimeout, match="is running"):
        connected().report_as("job_running", "card")


def run(*arguments: str, code: int = 0, as_json: bool = False) -> str:
    app = typer.Typer()
    for name in COMMANDS["jobs"]:
        app.command(name)(getattr(jobs_commands, name))
    result = CliRunner().invoke(
        app, ["report", *arguments], obj=Session(connected, as_json), env={"COLUMNS": "140"}
    )
    assert result.exit_code == code, result.output
    return result.output


def test_a_form_goes_to_the_screen_or_to_a_file(tmp_path: Path):
    assert run("job_1", "--format", "markdown") == f"report.md  {TEXT}"
    out = tmp_path / "card.md"
    run("job_1", "--format", "card", "--out", str(out), "--say", "title=2024", "--say", "publisher=A=B")
    assert out.read_text(encoding="utf-8") == f"card.md title=2024&publisher=A%3DB {TEXT}"
    assert json.loads(run("job_1", "--format", "json"))["schema_version"] == "3.0"


@pytest.mark.parametrize(
    "arguments",
    [
        ("job_1", "--format", "pdf"),
        ("job_1", "--out", "report.md"),
        ("job_1", "--say", "title=T"),
        ("job_1", "--format", "card", "--say", "title"),
        ("job_1", "--format", "html", "--say", "title=T"),
    ],
)
def test_a_wrong_command_line_is_refused(arguments: tuple[str, ...]):
    run(*arguments, code=2)


def test_the_terminal_shows_scores_caveats_titles_attacks_and_warnings():
    shown = run("job_1")
    for words in (
        "± 30 (95%)",
        "of 10",
        "note (is_a) It is copied as it is.",
        "Transitivity",
        "compared with the original",
        "Degree total variation",
        "Common neighbours",
        "0.707",
        "warning (mail, density) Read the absolute error.",
    ):
        assert words in shown
    assert json.loads(run("job_1", as_json=True))["public"]["guarantee"]["kind"] == "approximate"
