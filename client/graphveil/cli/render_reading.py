"""How a file was read, for people. What each column was taken for, on what grounds, and how to correct it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping

from rich.markup import escape

from graphveil.cli.console import out, table
from graphveil.models.readings import Question, Reading

_SWITCHES = {
    ("header", "true"): "--header",
    ("header", "false"): "--no-header",
    ("bipartite", "true"): "--bipartite",
    ("bipartite", "false"): "--one-sort",
}
_SPOKEN = {"\t": "tabs", " ": "spaces", ",": "commas", ";": "semicolons"}


def reading(dataset_id: str, found: Reading) -> None:
    """Print one file's reading, its questions first to be answered."""
    dialect, counts = found.dialect, found.counts
    separated = _SPOKEN.get(dialect.delimiter, dialect.delimiter)
    header = "with a header" if dialect.header else "without a header"
    skipped = f", {counts.comments} comment lines skipped" if counts.comments else ""
    out.print(
        f"{found.part}: separated by {escape(separated)}, {dialect.encoding}, {header}; "
        f"{counts.records} records{skipped}"
    )
    made = table(None, "column", "read as", "such as", "because")
    for each in found.columns:
        sure = "" if each.probability >= 0.9 else f" ({each.probability:.0%})"
        role = each.role if each.called in ("-", each.role) else f"{each.role} {each.called}"
        name = str(each.place) if each.name is None else f"{each.place} {each.name}"
        made.add_row(
            *(escape(text) for text in (name, role + sure, ", ".join(each.examples), "; ".join(each.why)))
        )
    out.print(made)
    if found.bipartite:
        out.print("Its ends are two sorts of nodes.")
    for count, why in ((count, why) for why, count in found.counts.left_out.items() if count):
        out.print(f"{count} left out: {escape(why)}")
    for text in found.warnings:
        out.print(f"[yellow]{escape(text)}[/yellow]")
    for question in found.questions:
        _ask(dataset_id, found.part, question)
    said = command(dataset_id, found.part, {"columns": found.mapping.get("columns", "")})
    out.print(f"[dim]Where that is not what the file means, change this: {escape(said)}[/dim]")


def _ask(dataset_id: str, part: str, question: Question) -> None:
    needed = (
        "[red]To be answered first:[/red]" if question.must_be_answered else "[yellow]Uncertain:[/yellow]"
    )
    out.print(f"{needed} {escape(question.text)}")
    for answer in question.answers:
        out.print(f"  {escape(answer.text)}: {escape(command(dataset_id, part, answer.mapping))}")


def command(dataset_id: str, part: str, mapping: Mapping[str, str]) -> str:
    """Write the command that re-reads the file by the mapping. The service kept it."""
    options = [
        _SWITCHES.get((name, value))
        or f"--{name} {shlex.quote(_columns(value) if name == 'columns' else value)}"
        for name, value in mapping.items()
    ]
    named = [] if part == "edges" else [f"--part {part}"]
    return " ".join(["graphveil read-again", dataset_id, *named, *options])


def _columns(said: str) -> str:
    """Write pairs of roles and columns as a person does, where no name has a mark in it."""
    pairs = json.loads(said) if said.startswith("[") else []
    if not pairs or any(set(f"{role}{column}") & set(",=") for role, column in pairs):
        return said
    return ",".join(f"{role}={column}" for role, column in pairs)
