"""``graphveil compare``: methods over epsilons on a public dataset."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import MofNCompleteColumn

from graphveil.cli.compare_results import DEFAULT_METRICS, Results
from graphveil.cli.console import (
    ENDED_BADLY,
    REFUSED,
    answered_in_json,
    notes,
    out,
    progress_bar,
    service,
    table,
)
from graphveil.errors import ProblemError
from graphveil.pages.against import Panel, Spread
from graphveil.pages.numbers import plain
from graphveil.sdk import comparing
from graphveil.sdk.client import Graphveil
from graphveil.sdk.comparing import Comparison, Cost, Finished, Variant

EXACT_UNITS = ("edge", "event", "pair", "node")


def compare(
    context: typer.Context,
    dataset_id: Annotated[str, typer.Argument(help="A public dataset, ds_...", show_default=False)],
    method: Annotated[
        list[str],
        typer.Option("--method", "-m", help="A method, or method:name=value,name=value; repeat."),
    ],
    epsilon: Annotated[list[str], typer.Option("--epsilon", "-e", help="Such as 0.5; repeat.")],
    runs: Annotated[int, typer.Option(help="Releases of each method at each epsilon.", min=1)] = 3,
    metric: Annotated[
        list[str] | None,
        typer.Option(help="A metric to show, with :absolute or :relative its error; repeat."),
    ] = None,
    delta: Annotated[str, typer.Option(help="0 asks for pure epsilon.")] = "0",
    edge_type: Annotated[list[str] | None, typer.Option(help="A relation; repeat. Default: all.")] = None,
    suite: Annotated[str, typer.Option(help="What is measured: quick, standard or full.")] = "standard",
    name: Annotated[
        str, typer.Option(help="The same name goes on where it stopped; another one runs anew.")
    ] = "comparison",
    parallel: Annotated[int, typer.Option(help="Jobs under way at most.", min=1, max=64)] = 4,
    retry: Annotated[int, typer.Option(help="Further attempts at a run that failed.", min=0, max=10)] = 0,
    to: Annotated[
        Path | None, typer.Option(help="A folder; the name when left out.", file_okay=False)
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    timeout: Annotated[float | None, typer.Option(help="Seconds to wait at most.", min=0)] = None,
) -> None:
    """Compare methods on a public dataset: utility against epsilon, as a table, a page and files.

    Every run is a job of its own, charged to the dataset's budget: the cost is shown first. The same command
    again finds the runs that exist.
    """
    with service(context) as graphveil:
        comparison = comparing.prepare(
            graphveil,
            dataset_id,
            [Variant.parse(text) for text in method],
            epsilons=epsilon,
            runs=runs,
            name=name,
            delta=delta,
            suite=suite,
            edge_types=tuple(edge_type or ()),
        )
        _agree(graphveil, comparison, yes=yes)
        finished = _run(graphveil, comparison, parallel, retry, timeout)
        results = Results(comparison, finished)
        folder = to or Path(name)
        # Every figure is kept before any is chosen: a misspelt metric must not cost a look at the others.
        saved = results.save(folder)
        chosen = metric or [
            asked for asked in DEFAULT_METRICS if asked.partition(":")[0] in results.metrics()
        ]
        panels = [results.panel(asked) for asked in chosen] if results.metrics() else []
        if panels:
            saved = results.save(folder, panels)
    if not answered_in_json(context, results.to_json()):
        for panel in panels:
            _show(comparison, panel)
        for path in saved:
            notes.print(f"{path}", markup=False)
    if results.failed:
        _show_lost(results)
        raise typer.Exit(ENDED_BADLY)


def _agree(graphveil: Graphveil, comparison: Comparison, *, yes: bool) -> None:
    """Show the cost and ask the caller to agree; end the command otherwise."""
    with notes.status("planning"):
        cost = _priced(graphveil, comparison)
        budget = graphveil.budget(comparison.dataset_id)
    every = len(list(comparison.each()))
    new = every - cost.found
    kinds = sorted({plan.cost.kind for plan in cost.each.values()})
    notes.print(
        f"{every} runs: {len(comparison.variants)} methods, {len(comparison.epsilons)} epsilons, "
        f"{comparison.runs} runs of each ({', '.join(kinds)})."
    )
    if cost.found:
        notes.print(f"{cost.found} of them exist and are not charged again.")
    for (label, epsilon), plan in cost.each.items():
        if plan.chosen_because is not None:
            notes.print(f"{escape(label)} at {epsilon} is {plan.method}.")
    if not new:
        return
    left = Decimal(budget.remaining.epsilon)
    notes.print(
        f"To be charged: epsilon {comparing.decimal(cost.total)} for {new} runs; "
        f"{budget.remaining.epsilon} is left."
    )
    if cost.total > left:
        if budget.filter == "basic" and budget.unit in EXACT_UNITS:
            notes.print("[red]The budget does not cover it: nothing was run.[/red]")
            raise typer.Exit(REFUSED)
        notes.print("[yellow]The budget may not cover all of it.[/yellow]")
    if not yes:
        typer.confirm("Run and charge them?", abort=True, err=True)


def _priced(graphveil: Graphveil, comparison: Comparison) -> Cost:
    try:
        return comparing.cost(graphveil, comparison)
    except ProblemError:
        notes.print("The service refuses a run of this comparison; nothing was run.")
        raise


def _run(
    graphveil: Graphveil, comparison: Comparison, parallel: int, retry: int, timeout: float | None
) -> list[Finished]:
    with progress_bar(MofNCompleteColumn()) as progress:
        task = progress.add_task("submitting", total=len(list(comparison.each())))

        def draw(ended: int, under_way: int) -> None:
            progress.update(task, description=f"{under_way} under way", completed=ended)

        return comparing.compare(
            graphveil,
            comparison,
            parallel=parallel,
            retries=retry,
            timeout_seconds=timeout,
            on_change=draw,
        )


def _show_lost(results: Results) -> None:
    """Print which runs have no result, and why; the first ten."""
    lost = [one for one in results.finished if one.report is None]
    notes.print(f"[red]{len(lost)} of {len(results.finished)} runs have no result.[/red]")
    for one in lost[:10]:
        why = one.job.reason or ("the comparison failed" if one.job.state == "published" else "no reason")
        where = f"{escape(one.run.variant.label)} at {one.run.epsilon}, run {one.run.number}"
        notes.print(f"  {where}: {one.job.state}, {why} ({one.job.id})")


def _show(comparison: Comparison, panel: Panel) -> None:
    """Print one metric: a line a method, a column an epsilon, mean and standard deviation."""
    title = f"{panel.title} ({panel.better})" if panel.better else panel.title
    made = table(f"\n{escape(title)}", "epsilon", *comparison.epsilons)
    for label, spreads in panel.spreads.items():
        made.add_row(escape(label), *_cells(spreads))
    if panel.reference is not None:
        made.add_row(
            "[dim]original[/dim]", *([f"[dim]{plain(panel.reference)}[/dim]"] * len(comparison.epsilons))
        )
    out.print(made)


def _cells(spreads: Sequence[Spread | None]) -> list[str]:
    cells = []
    for spread in spreads:
        cell = "–" if spread is None else plain(spread.mean)
        if spread is not None and spread.deviation is not None:
            cell += f" ± {plain(spread.deviation)}"
        cells.append(cell)
    return cells
