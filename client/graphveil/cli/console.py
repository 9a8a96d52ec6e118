"""What commands share. The service, the two consoles, errors on one screen, exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import typer
from pydantic import BaseModel
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from graphveil.errors import ClientError, ProblemError, TransportError, WaitTimeout
from graphveil.sdk.client import Graphveil

ENDED_BADLY = 1  # the job or the upload ended without a result
USAGE = 2  # the command line itself (Typer's own code)
REFUSED = 3  # the service said no
FAILED = 4  # the service failed, or did not answer
TIMED_OUT = 5  # the time to wait is over

PIPED_WIDTH = 500
Answer = TypeVar("Answer")
_SHOWN_OTHERWISE = frozenset({"errors", "findings", "links"})  # links are for programs: ids stand beside them


# A terminal has its own width; what goes into a pipe breaks no path or name over two lines.
out = Console(width=None if sys.stdout.isatty() else PIPED_WIDTH, highlight=False)
notes = Console(stderr=True, width=None if sys.stderr.isatty() else PIPED_WIDTH, highlight=False)


@dataclass
class Session:
    """What every command needs. Where, as whom, and whether to answer in JSON."""

    connect: Callable[[], Graphveil]
    as_json: bool


@contextmanager
def service(context: typer.Context) -> Iterator[Graphveil]:
    """Connect to the service, and exit by its errors.

    What it or the network refuses is shown, and the exit code is that one's.
    """
    session: Session = context.obj
    try:
        with session.connect() as connected:
            yield connected
    except ProblemError as problem:
        show_problem(problem)
        raise typer.Exit(REFUSED if problem.status < 500 else FAILED) from problem
    except WaitTimeout as error:
        notes.print(f"[yellow]{escape(str(error))}[/yellow]")
        raise typer.Exit(TIMED_OUT) from error
    except TransportError as error:
        notes.print(f"[red]{escape(str(error))}[/red]\nCheck GRAPHVEIL_URL and that the service is up.")
        raise typer.Exit(FAILED) from error
    except (ClientError, OSError) as error:
        notes.print(f"[red]{escape(str(error))}[/red]")
        raise typer.Exit(USAGE) from error


def show_problem(problem: ProblemError) -> None:
    """Print the problem, its fields and its remedy. It says who can mend it: at most a screen."""
    notes.print(f"[bold red]{escape(problem.title)}[/bold red] ({problem.status}, {problem.slug})")
    errors = problem.members.get("errors", [])[:10]
    if problem.detail and problem.detail not in [error["message"] for error in errors]:
        notes.print(escape(problem.detail))
    for error in errors:
        said = error["message"] if error["message"][-1:] in (".", "!", "?") else f"{error['message']}."
        mend = error.get("how_to_mend") or ""
        known = mend.rstrip(".").lower() in said.lower()  # the message has it already
        mend = "" if known else f" {escape(mend)}"
        notes.print(f"  [bold]{escape(error['field'])}[/bold]: {escape(said)}{mend}")
    extras = {k: v for k, v in problem.members.items() if k not in _SHOWN_OTHERWISE and v is not None}
    for name, value in list(extras.items())[:10]:
        notes.print(f"  {escape(name)}: {escape(_plainly(value))}")
    show_findings(problem.members.get("findings"))
    again = " The same request may succeed later." if problem.retryable else ""
    who = f"Who can mend it: {problem.actionable_by or 'unknown'}."
    notes.print(f"[dim]{who}{again} Request {problem.request_id}.[/dim]")


def _plainly(value: Any) -> str:
    """Write a list as its items, an object as its values."""
    parts = list(value.values()) if isinstance(value, dict) else value
    return " ".join(str(part) for part in parts) if isinstance(parts, list) else str(value)


def show_findings(findings: list[dict[str, Any]] | None) -> None:
    """Print what breaks the schema, a line each."""
    for finding in (findings or [])[:20]:
        place = ":".join(str(finding[key]) for key in ("file", "line", "column") if finding.get(key))
        notes.print(f"  [bold]{escape(place)}[/bold] {escape(str(finding.get('message', '')))}")


def ask(
    context: typer.Context, call: Callable[[Graphveil], Answer], show: Callable[[Answer], None]
) -> Answer:
    """Call the service, show its answer, and return it. It is shown as :func:`answer` does."""
    with service(context) as graphveil:
        found = call(graphveil)
    answer(context, found, show)
    return found


def answer(context: typer.Context, value: Answer, show: Callable[[Answer], None]) -> None:
    """Print the value as JSON if requested; else call ``show``. ``show`` is called with it."""
    if not answered_in_json(context, value):
        show(value)


def answered_in_json(context: typer.Context, value: Any) -> bool:
    """Print the value as JSON if requested, and return whether."""
    if context.obj.as_json:
        typer.echo(json.dumps(_plain(value), indent=2, ensure_ascii=False))
    return bool(context.obj.as_json)


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    return [_plain(item) for item in value] if isinstance(value, list) else value


def deliver(text: str, file: Path | None, what: str) -> None:
    """Print the text, or write it to the file. The latter is reported."""
    if file is None:
        typer.echo(text, nl=not text.endswith("\n"))
    else:
        file.write_text(text, encoding="utf-8", newline="")
        notes.print(f"{what} is in {file}", markup=False)


def read_json(path: Path) -> dict[str, Any]:
    """Read the JSON object in the file. A file without one ends the command."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise typer.BadParameter(f"{path} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise typer.BadParameter(f"{path} does not hold a JSON object")
    return value


def pairs(texts: list[str] | None) -> dict[str, Any]:
    """Parse ``name=value`` texts as a mapping. Values that are JSON are taken as such."""
    found: dict[str, Any] = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{text!r} is not name=value")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def options_of(texts: list[str] | None) -> dict[str, str | list[str]]:
    """Parse ``name=value`` texts as a format's options.

    Texts stay as they are, and JSON lists become lists.
    """
    values = pairs(texts)
    plain = dict(text.partition("=")[::2] for text in texts or [])
    return {
        name: [str(item) for item in value] if isinstance(value, list) else plain[name]
        for name, value in values.items()
    }


def progress_bar(*counts: ProgressColumn) -> Progress:
    """Make a progress bar with counts and elapsed time.

    It stands next to what it is about, with the columns of ``counts`` and the time since it began.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), *counts, TimeElapsedColumn())
    return Progress(*columns, console=notes, transient=True)


def table(title: str | None, *columns: str) -> Table:
    """Make a plain table; ids stay whole, to be copied."""
    made = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, overflow="fold", no_wrap=column == "id")
    return made
