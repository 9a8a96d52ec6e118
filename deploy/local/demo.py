"""``python -m deploy.local.demo``: the example graph, from upload to synthetic graph, through the HTTP API.

Starts a stack on a fresh folder, so that every run shows the whole way and the same budget.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from deploy.local.stack import ROOT, Stack
from graphveil.models.jobs import Event, Job
from graphveil.sdk.client import Graphveil

EXAMPLE = ROOT / "examples" / "us-flights"
FOLDER = Path(".data/demo")
EPSILON, CAPACITY = "1", "4"
EVALUATION_SECONDS = 60.0
BAR = 24
SHOWN = ("edges", "transitivity", "modularity", "largest_component_share")

console = Console(highlight=False)


def main() -> None:
    """The demo's release lies in ``.data/demo/release``; the stack is stopped; the charge is printed."""
    began = time.monotonic()
    console.rule("[bold]Graphveil: a synthetic graph of flights, under a privacy guarantee")
    if FOLDER.exists():
        shutil.rmtree(FOLDER)
    with ExitStack() as running:
        with _step("Starting PostgreSQL, Redis, the api and a worker"):
            stack = running.enter_context(Stack(FOLDER))
        service = running.enter_context(Graphveil(stack.url, stack.token))
        console.print(f"  The service answers at {stack.url}, its console at {stack.url}/console")
        dataset_id = _register(service)
        job = _publish(service, dataset_id)
        release = _download(service, job)
        report = _evaluated_report(service, job)
        (release / "report.json").write_text(json.dumps(report, indent=2) + "\n")
        (release / "report.html").write_text(service.report_as(job.id, "html"), encoding="utf-8")
        (release / "card.md").write_text(service.report_as(job.id, "card"), encoding="utf-8")
        _show(report, service, dataset_id)
    console.print(f"\nThe stack is stopped; {time.monotonic() - began:.0f} s in all.")
    table = Table(title="What lies where", show_header=False, title_justify="left")
    for file in sorted(release.iterdir()):
        table.add_row(str(file), f"{file.stat().st_size:,} bytes")
    console.print(table)


@contextmanager
def _step(text: str) -> Iterator[None]:
    began = time.monotonic()
    with console.status(f"{text}…"):
        yield
    console.print(f"[green]✓[/] {text} [dim]({time.monotonic() - began:.1f} s)[/]")


def _register(service: Graphveil) -> str:
    """The example is uploaded and validated."""
    schema = json.loads((EXAMPLE / "schema.json").read_text())
    with _step(f"Registering us-flights: unit event (one connection in one week), epsilon {CAPACITY} in all"):
        dataset = service.register_dataset(
            "us-flights", unit="event", epsilon=CAPACITY, graph_schema=schema, protection_domain="us-flights"
        )
    with _step("Uploading nodes.csv and edges.csv; the worker validates them"):
        service.upload(dataset.id, EXAMPLE / "nodes.csv", part="nodes")
        service.upload(dataset.id, EXAMPLE / "edges.csv", part="edges")
        dataset = service.wait_ready(dataset.id, timeout_seconds=60)
    if dataset.state != "ready":
        raise RuntimeError(f"the example was not accepted: {dataset}")
    return dataset.id


def _publish(service: Graphveil, dataset_id: str) -> Job:
    """A published job; its stages were shown while it ran."""
    plan = service.plan(dataset_id, epsilon=EPSILON)
    console.print(
        f"[green]✓[/] A dry run says: {plan.method}, costs epsilon {plan.cost.epsilon}, "
        f"would leave {plan.budget_after.remaining.epsilon}"
    )
    job = service.submit(dataset_id, epsilon=EPSILON, formats=["parquet", "csv"], repeat=True)
    columns = (TextColumn("  {task.description:<34}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(f"{job.id[:12]}… queued", total=1)

        def show(now: Job, last: Event | None) -> None:
            if last is not None:
                bar.update(
                    task,
                    description=f"{now.state}: {last.stage}",
                    completed=last.done,
                    total=max(1, last.total),
                )

        job = service.wait(job.id, timeout_seconds=120, on_progress=show)
        bar.update(task, description=job.state, completed=1, total=1)
    if job.state != "published":
        raise RuntimeError(f"the job ended {job.state}: {job.reason}")
    console.print(f"[green]✓[/] Published by job {job.id}")
    return job


def _download(service: Graphveil, job: Job) -> Path:
    """Every released file lies in the demo's folder, its digest checked."""
    release = FOLDER / "release"
    release.mkdir(parents=True)
    for artifact in service.artifacts(job.id):
        if artifact.role == "artifact":
            service.download(job.id, artifact.name, release / artifact.name)
    return release


def _evaluated_report(service: Graphveil, job: Job) -> dict[str, Any]:
    """The report with the curator's comparison, which the worker makes after publication."""
    with _step("Comparing with the original, for the curator's eyes only"):
        return service.wait_report(job.id, timeout_seconds=EVALUATION_SECONDS)


def _show(report: dict[str, Any], service: Graphveil, dataset_id: str) -> None:
    guarantee = report["public"]["guarantee"]
    console.print(f"\n[bold]Guarantee[/] {guarantee['statement']}", soft_wrap=False)
    overall = report["curator"]["comparison"]["overall"]
    figures = Table(title="How close it is (curators only), mean over 13 weeks", title_justify="left")
    for name in ("", "original", "synthetic"):
        figures.add_column(name, justify="right" if name else "left")
    for name in SHOWN:
        row = overall["scalars"][name]
        figures.add_row(name.replace("_", " "), f"{row['original']:.3g}", f"{row['synthetic']:.3g}")
    console.print(figures)
    for carried in report["public"]["carried"]:
        _show_values(carried)
    budget = service.budget(dataset_id)
    table = Table(title="Budget of us-flights", title_justify="left")
    for name in ("Capacity", "Charged", "Reserved", "Remaining"):
        table.add_column(name, justify="right")
    table.add_row(
        budget.capacity.epsilon, budget.charged.epsilon, budget.reserved.epsilon, budget.remaining.epsilon
    )
    console.print(table)


def _show_values(carried: dict[str, Any]) -> None:
    """How many of the synthetic edges have a value of each bin, beside what the release paid for."""
    title = f"What a {carried['of']} carries: {carried['attribute']}"
    table = Table(title=title, title_justify="left")
    for name in ("", "released", "paid for", ""):
        table.add_column(name, justify="right" if name else "left")
    largest = max(carried["released"])
    for label, released, paid in zip(carried["bins"], carried["released"], carried["paid"], strict=True):
        bar = "█" * round(BAR * released / largest)
        table.add_row(label, f"{released:,}", f"{paid:,} ± {carried['within']:,}", bar)
    console.print(table)


if __name__ == "__main__":
    main()
