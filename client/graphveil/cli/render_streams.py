"""Streams, their snapshots and their reports, for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.markup import escape

from graphveil.cli.console import out, table
from graphveil.cli.render import budget, chosen, coloured, expected, precision, warned
from graphveil.models.stream_plans import StreamPlan
from graphveil.models.streams import Snapshot, Stream, StreamReport

_LATEST = 20  # figures of so many steps fit a screen


def stream(found: Stream) -> None:
    """Print one stream, with what to do next."""
    label = f"  {escape(found.label)}" if found.label else ""
    out.print(f"[bold]{found.id}[/bold]  {coloured(found.state)}{label}")
    out.print(
        f"{found.method} on {escape(', '.join(found.edge_types))}: epsilon {found.epsilon} in any window of "
        f"{found.window} steps, at most {found.step_epsilon} a step"
    )
    chosen(found.chosen_because)
    if found.state != "open":
        taken = found.next_step > found.first_step
        steps = f"steps {found.first_step} to {found.next_step - 1}" if taken else "no step"
        out.print(f"took {steps}")
        return
    starts = found.start + found.next_step * found.width
    out.print(
        f"waits for step {found.next_step}, which begins at time {starts} and lasts {found.width}; "
        f"missing steps: {found.missing_steps}"
    )
    out.print(f"[dim]graphveil stream push {found.id} FILE --wait[/dim]")


def streams(found: Sequence[Stream]) -> None:
    """Print a line for each."""
    made = table(None, "id", "created", "method", "epsilon", "window", "next step", "state", "label")
    for one in found:
        created = one.created_at.strftime("%Y-%m-%d %H:%M")
        figures = (one.method, one.epsilon, str(one.window), str(one.next_step))
        made.add_row(one.id, created, *figures, coloured(one.state), escape(one.label or ""))
    out.print(made)


def plan(found: StreamPlan) -> None:
    """Print the price of a step and of a window. What would be left is printed too."""
    out.print(
        f"[bold]{found.method}[/bold] on {escape(', '.join(found.edge_types))}: at most epsilon "
        f"{found.step_epsilon} a step, {found.window_epsilon} in any window of {found.window} steps"
    )
    chosen(found.chosen_because)
    precision(found.precision)
    expected(found.expected)
    warned(found.warnings)
    if found.window_fits:
        out.print("After a first full window the budget would be:")
    else:
        out.print("[red]The budget has no room for a first full window.[/red] It is:")
    budget(found.budget_after)


def snapshots(found: Sequence[Snapshot]) -> None:
    """Print a line for each."""
    made = table(None, "step", "from", "state", "epsilon", "reason", "job")
    for one in found:
        made.add_row(
            str(one.step), str(one.starts_at), coloured(one.state), one.epsilon, one.reason or "", one.job_id
        )
    out.print(made)


def report(found: StreamReport) -> None:
    """Print a stream's guarantee, costs and latest figures.

    Costs are of each step and window, figures of the latest steps.
    """
    out.print(escape(found.statement))
    for item in found.not_covered:
        out.print(f"[dim]not covered: {escape(item)}[/dim]")
    window = found.worst_window
    steps = "" if window.first_step is None else f" (steps {window.first_step} to {window.last_step})"
    out.print(
        f"fullest window{steps}: charged {window.charged}, reserved {window.reserved} of {found.capacity}"
    )
    latest = found.rows[-_LATEST:]
    if len(found.rows) > len(latest):
        out.print(f"The last {len(latest)} of {len(found.rows)} steps:")
    made = table(None, "step", "state", "epsilon", "window ending here")
    for row in latest:
        made.add_row(str(row.step), coloured(row.state), row.epsilon, row.window_epsilon)
    out.print(made)
    _figures(found, "Synthetic snapshots", {row.step: row.statistics for row in latest})
    _figures(found, "Against the originals", {row.step: row.comparison for row in latest})


def _figures(found: StreamReport, title: str, steps: Mapping[int, Mapping[str, float | None] | None]) -> None:
    """Print a line for each step that has figures, and what they mean; nothing where none has."""
    names = list(dict.fromkeys(name for figures in steps.values() for name in figures or ()))
    if not names:
        return
    made = table(title, "step", *(name.replace("_", " ") for name in names))
    for step, figures in steps.items():
        if figures:
            made.add_row(str(step), *(_number(figures.get(name)) for name in names))
    out.print(made)
    for name in names:
        if name in found.metrics:
            out.print(f"[dim]{escape(name)}: {escape(found.metrics[name])}[/dim]")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
