"""Commands about methods, jobs and releases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from api.client import render
from api.client.console import ENDED_BADLY, answered_in_json, notes, out, pairs, service
from api.client.forms import ReportForm
from api.client.sdk import Graphveil
from core.jobs.views import Event, Job

CURATOR = "curator"  # the role of a file that is for curators only
JobId = Annotated[str, typer.Argument(help="The job's id, job_...", show_default=False)]
DatasetId = Annotated[str, typer.Argument(help="The dataset's id, ds_...", show_default=False)]
Epsilon = Annotated[str, typer.Option(help="What this release may cost, such as 0.5.")]
Delta = Annotated[str, typer.Option(help="0 asks for pure epsilon.")]
Method = Annotated[str | None, typer.Option(help="See `graphveil methods`.")]
Parameter = Annotated[list[str] | None, typer.Option("--parameter", "-p", help="name=value; repeat.")]
EdgeType = Annotated[list[str] | None, typer.Option(help="A relation to synthesise; repeat. Default: all.")]
Format = Annotated[list[str] | None, typer.Option(help="A format to write; repeat. Default: parquet.")]
Seed = Annotated[int | None, typer.Option(help="For public datasets only.", min=0)]
Project = Annotated[str | None, typer.Option(help="The project whose quota it draws on.")]
Suite = Annotated[
    str | None, typer.Option(help="How closely to evaluate it: quick, standard (default) or full.")
]
Label = Annotated[str | None, typer.Option(help="A name for people.")]
Key = Annotated[str | None, typer.Option(help="Idempotency key; a fresh one when left out.")]
Repeat = Annotated[bool, typer.Option("--repeat", help="Even if the same release stands already.")]
Wait = Annotated[bool, typer.Option("--wait", help="Stay until the job has ended.")]
Timeout = Annotated[float | None, typer.Option(help="Seconds to wait at most.", min=0)]


def methods(context: typer.Context) -> None:
    """List the synthesis methods."""
    with service(context) as graphveil:
        found = graphveil.methods()
    if not answered_in_json(context, found):
        render.methods(found)


def plan(
    context: typer.Context,
    dataset_id: DatasetId,
    epsilon: Epsilon,
    delta: Delta = "0",
    method: Method = None,
    parameter: Parameter = None,
    edge_type: EdgeType = None,
    format: Format = None,
    seed: Seed = None,
    project: Project = None,
    repeat: Repeat = False,
) -> None:
    """Show what a job would cost and leave. Spends nothing."""
    request = _request(delta, method, parameter, edge_type, format, seed, project, repeat)
    with service(context) as graphveil:
        planned = graphveil.plan(dataset_id, epsilon=epsilon, **request)
    if not answered_in_json(context, planned):
        render.plan(planned)


def submit(
    context: typer.Context,
    dataset_id: DatasetId,
    epsilon: Epsilon,
    delta: Delta = "0",
    method: Method = None,
    parameter: Parameter = None,
    edge_type: EdgeType = None,
    format: Format = None,
    seed: Seed = None,
    suite: Suite = None,
    label: Label = None,
    project: Project = None,
    repeat: Repeat = False,
    key: Key = None,
    wait: Wait = False,
    timeout: Timeout = None,
) -> None:
    """Submit a job: its cost is reserved at once, and charged when the release is published."""
    request = _request(delta, method, parameter, edge_type, format, seed, project, repeat)
    request |= {name: value for name, value in (("suite", suite), ("label", label)) if value is not None}
    with service(context) as graphveil:
        job = graphveil.submit(dataset_id, epsilon=epsilon, idempotency_key=key, **request)
        followed(context, graphveil, job, wait, timeout)


def wait(context: typer.Context, job_id: JobId, timeout: Timeout = None) -> None:
    """Stay until the job has ended, with a progress bar."""
    with service(context) as graphveil:
        job = _watched(graphveil, job_id, timeout)
    _ended(context, job)


def jobs(
    context: typer.Context,
    state: Annotated[str | None, typer.Option(help="Only jobs in this state.")] = None,
    dataset: Annotated[str | None, typer.Option(help="Only jobs of this dataset.")] = None,
    limit: Annotated[int, typer.Option(help="At most so many.", min=1)] = 50,
) -> None:
    """List jobs, newest first."""
    with service(context) as graphveil:
        found = [
            job for _, job in zip(range(limit), graphveil.jobs(state=state, dataset_id=dataset), strict=False)
        ]
    if not answered_in_json(context, found):
        render.jobs(found)


def job(context: typer.Context, job_id: JobId) -> None:
    """Show a job."""
    with service(context) as graphveil:
        found = graphveil.job(job_id)
    _show(context, found)


def cancel(context: typer.Context, job_id: JobId) -> None:
    """Cancel a job. What it has read stays charged."""
    with service(context) as graphveil:
        found = graphveil.cancel(job_id)
    _show(context, found)


def report(
    context: typer.Context,
    job_id: JobId,
    format: Annotated[ReportForm | None, typer.Option(help="A form to take it in, for files.")] = None,
    file: Annotated[Path | None, typer.Option("--out", help="A file to write.", dir_okay=False)] = None,
    say: Annotated[
        list[str] | None,
        typer.Option(help="name=value, what its publisher says in a card or in metadata; repeat."),
    ] = None,
) -> None:
    """Show a release's report: its guarantee, its cost, its statistics. Or take it in another form."""
    if format is None and (file is not None or say):
        raise typer.BadParameter("say in which form", param_hint="--format")
    if format is not None:
        with service(context) as graphveil:
            text = graphveil.report_as(job_id, format, **_said(say))
            if file is None:
                typer.echo(text, nl=not text.endswith("\n"))
            else:
                file.write_text(text, encoding="utf-8", newline="")
                notes.print(f"{format} is in {file}", highlight=False, markup=False)
        return
    with service(context) as graphveil:
        found = graphveil.report(job_id)
    if not answered_in_json(context, found):
        render.report(found)


def download(
    context: typer.Context,
    job_id: JobId,
    name: Annotated[list[str] | None, typer.Argument(help="Files; all when left out.")] = None,
    to: Annotated[Path, typer.Option(help="A folder.", file_okay=False)] = Path("."),
    curator: Annotated[
        bool, typer.Option("--curator", help="Also what is for curators only: it tells of the original.")
    ] = False,
) -> None:
    """Download a release's files and check their digests."""
    saved = []
    with service(context) as graphveil:
        listed = {artifact.name: artifact.role for artifact in graphveil.artifacts(job_id)}
        for secret in [each for each in name or [] if listed.get(each) == CURATOR and not curator]:
            raise typer.BadParameter(f"{secret} is for curators only; add --curator")
        for wanted in name or [each for each in listed if curator or listed[each] != CURATOR]:
            with notes.status(f"downloading {wanted}"):
                saved.append(graphveil.download(job_id, wanted, to / Path(wanted).name))
    if not answered_in_json(context, [str(path) for path in saved]):
        for path in saved:
            out.print(str(path), highlight=False)


def followed(
    context: typer.Context, graphveil: Graphveil, job: Job, wait: bool, timeout: float | None
) -> None:
    """The new job is shown: at once, or, with ``wait``, when it has ended."""
    if not wait:
        _show(context, job)
        return
    notes.print(f"Job {job.id}", highlight=False)
    _ended(context, _watched(graphveil, job.id, timeout))


def install(app: typer.Typer) -> None:
    """The commands are the app's."""
    for command in (methods, plan, submit, wait, job, jobs, cancel, report, download):
        app.command()(command)


def _said(texts: list[str] | None) -> dict[str, str]:
    """``name=value`` texts as they are: a title such as 2024 stays a text."""
    said = dict(text.partition("=")[::2] for text in texts or [])
    if not all(said) or any("=" not in text for text in texts or []):
        raise typer.BadParameter("is not name=value", param_hint="--say")
    return said


def _request(
    delta: str,
    method: str | None,
    parameter: list[str] | None,
    edge_type: list[str] | None,
    format: list[str] | None,
    seed: int | None,
    project: str | None,
    repeat: bool,
) -> dict[str, Any]:
    """The parts of a request that were given; the service fills in the rest."""
    given = {
        "method": method,
        "edge_types": edge_type or None,
        "formats": format or None,
        "seed": seed,
        "project": project,
        "repeat": repeat or None,
    }
    request = {name: value for name, value in given.items() if value is not None}
    return {**request, "delta": delta, "parameters": pairs(parameter)}


def _watched(graphveil: Graphveil, job_id: str, timeout: float | None) -> Job:
    """The job once it has ended; its stages are drawn meanwhile."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=notes, transient=True) as progress:
        task = progress.add_task("queued", total=None)

        def draw(job: Job, step: Event | None) -> None:
            if job.state == "running" and step is not None:
                progress.update(task, description=step.stage, completed=step.done, total=step.total)
            else:
                progress.update(task, description=job.state, total=None)

        return graphveil.wait(job_id, timeout_seconds=timeout, on_progress=draw)


def _show(context: typer.Context, job: Job) -> None:
    if not answered_in_json(context, job):
        render.job(job)


def _ended(context: typer.Context, job: Job) -> None:
    _show(context, job)
    if job.state != "published":
        raise typer.Exit(ENDED_BADLY)
