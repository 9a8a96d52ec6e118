"""The commands that audit a promise, and show the findings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Annotated

import typer
from rich.markup import escape

from graphveil.cli.console import ENDED_BADLY, answer, ask, notes, out, pairs, progress_bar, service, table
from graphveil.models.audits import Audit
from graphveil.sdk.client import Graphveil
from graphveil.sdk.transport import given

_COLOURS = {"passed": "green", "failed": "red", "inconclusive": "yellow"}


def audit(
    context: typer.Context,
    method: Annotated[str, typer.Argument(help="A mechanism or a synthesis method.", show_default=False)],
    epsilon: Annotated[str, typer.Option(help="The promise to test, such as 1.")],
    delta: Annotated[str, typer.Option(help="Its delta.")] = "0",
    unit: Annotated[str, typer.Option(help="edge, event, w-event, pair or node.")] = "edge",
    window: Annotated[int | None, typer.Option(help="Steps of a window; w-event only.", min=1)] = None,
    runs: Annotated[int | None, typer.Option(help="Runs on each canary graph.", min=100)] = None,
    parameter: Annotated[
        list[str] | None, typer.Option("--parameter", "-p", help="name=value; repeat.")
    ] = None,
    wait: Annotated[bool, typer.Option(help="Stay until the audit has ended.")] = True,
    timeout: Annotated[float | None, typer.Option(help="Seconds to wait at most.", min=0)] = None,
) -> None:
    """Audit a method on public canary graphs: a lower bound on its epsilon. Spends no budget."""
    request = {"delta": delta, "unit": unit, "parameters": pairs(parameter), "window": window, "runs": runs}
    with service(context) as graphveil:
        found = graphveil.audit(method, epsilon=epsilon, **given(request))
        if found.runs < found.advised_runs:
            notes.print(f"{found.runs} runs: inconclusive is likely, {found.advised_runs} are advised")
        if wait:
            notes.print(f"Audit {found.id}")
            found = _watched(graphveil, found.id, timeout)
    answer(context, found, show)
    if wait and (found.result is None or found.result.verdict != "passed"):
        raise typer.Exit(ENDED_BADLY)


def audits(
    context: typer.Context,
    audit_id: Annotated[str | None, typer.Argument(help="One audit, aud_...; all when left out.")] = None,
    limit: Annotated[int, typer.Option(help="At most so many.", min=1)] = 50,
) -> None:
    """List audits, newest first, or show one."""
    if audit_id is not None:
        ask(context, lambda graphveil: graphveil.show_audit(audit_id), show)
        return
    with service(context) as graphveil:
        found = list(islice(graphveil.audits(), limit))
    answer(context, found, _listed)


def _listed(found: Sequence[Audit]) -> None:
    """Print a line for each."""
    made = table(None, "id", "created", "method", "epsilon", "unit", "state", "outcome")
    for one in found:
        outcome = one.result.verdict if one.result is not None else one.reason or ""
        created = one.created_at.strftime("%Y-%m-%d %H:%M")
        made.add_row(one.id, created, escape(one.method), one.epsilon, one.unit, one.state, outcome)
    out.print(made)


def show(found: Audit) -> None:
    """Print the audit in a few lines."""
    out.print(f"[bold]{found.id}[/bold]  {escape(found.method)}, unit {found.unit}: {found.state}")
    if found.reason:
        out.print(f"reason: {found.reason}")
    if found.result is None:
        return
    result = found.result
    colour = _COLOURS[result.verdict]
    out.print(
        f"[{colour}]{result.verdict}[/{colour}]: epsilon is at least {result.lower_bound}, "
        f"promised {result.epsilon} "
        f"(delta {result.delta}, {result.runs} runs, confidence {result.confidence})"
    )
    caught = "was caught" if result.control.caught else "was not caught: passing would mean little"
    out.print(f"With half the noise: at least {result.control.lower_bound}, which {caught}.")
    out.print(f"[dim]told apart by: {escape(result.event)}[/dim]")


def _watched(graphveil: Graphveil, audit_id: str, timeout: float | None) -> Audit:
    """Wait for the audit to end, drawing its runs, and return it."""
    with progress_bar() as progress:
        task = progress.add_task("queued", total=None)

        def draw(audit: Audit) -> None:
            step = audit.progress
            if step is not None:
                progress.update(task, description=step.stage, completed=step.done, total=step.total)

        return graphveil.wait_audit(audit_id, timeout_seconds=timeout, on_progress=draw)
