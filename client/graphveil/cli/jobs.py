"""Commands about methods, jobs and releases."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from graphveil import by_relation
from graphveil.cli import menu_page, render, render_menu
from graphveil.cli.console import (
    ENDED_BADLY,
    answer,
    answered_in_json,
    ask,
    deliver,
    notes,
    out,
    pairs,
    progress_bar,
    service,
)
from graphveil.cli.datasets import DatasetId
from graphveil.models.jobs import Event, Job
from graphveil.sdk.client import Graphveil
from graphveil.sdk.forms import ReportForm
from graphveil.sdk.transport import given

AUTO = "auto"  # the method that the service chooses
CURATOR = "curator"  # the role of a file that is for curators only
JobId = Annotated[str, typer.Argument(help="The job's id, job_...", show_default=False)]
Epsilon = Annotated[str | None, typer.Option(help="What this release may cost, such as 0.5.")]
Target = Annotated[
    list[str] | None,
    typer.Option(help="edges_relative_95=0.01, instead of an epsilon: the least one is found; repeat."),
]
Delta = Annotated[str, typer.Option(help="0 asks for pure epsilon.")]
Method = Annotated[
    str | None,
    typer.Option(
        help="See `graphveil methods`; or by relation, `*` for the rest: knows=dcsbm,*=auto.",
    ),
]
Parameter = Annotated[list[str] | None, typer.Option("--parameter", "-p", help="name=value; repeat.")]
EdgeType = Annotated[list[str] | None, typer.Option(help="A relation to synthesise; repeat. Default: all.")]
Format = Annotated[list[str] | None, typer.Option(help="A format to write; repeat. Default: parquet.")]
Seed = Annotated[int | None, typer.Option(help="For public datasets only.", min=0)]
Project = Annotated[str | None, typer.Option(help="The project whose quota it draws on.")]
Nodes = Annotated[
    int | None,
    typer.Option(help="Draw the fitted law at another number of nodes, where the method can; free.", min=2),
]
Suite = Annotated[
    str | None, typer.Option(help="How closely to evaluate it: quick, standard (default) or full.")
]
Label = Annotated[str | None, typer.Option(help="A name for people.")]
Key = Annotated[str | None, typer.Option(help="Idempotency key; a fresh one when left out.")]
Assume = Annotated[
    list[str] | None,
    typer.Option(help="edges=90000 or nodes=4000: a size that relative predictions rest on; repeat."),
]
Menu = Annotated[
    bool,
    typer.Option("--menu", help="Side by side: --method and --epsilon name several, with commas between."),
]
Page = Annotated[
    Path | None, typer.Option(help="With --menu: a file for it as a page with charts.", dir_okay=False)
]
MENU_EPSILONS = "0.1,0.25,0.5,1,2"
Repeat = Annotated[bool, typer.Option("--repeat", help="Even if the same release stands already.")]
Wait = Annotated[bool, typer.Option("--wait", help="Stay until the job has ended.")]
Timeout = Annotated[float | None, typer.Option(help="Seconds to wait at most.", min=0)]


def methods(context: typer.Context) -> None:
    """List the synthesis methods."""
    ask(context, Graphveil.methods, render.methods)


def plan(
    context: typer.Context,
    dataset_id: DatasetId,
    epsilon: Epsilon = None,
    delta: Delta = "0",
    method: Method = None,
    parameter: Parameter = None,
    edge_type: EdgeType = None,
    format: Format = None,
    seed: Seed = None,
    project: Project = None,
    repeat: Repeat = False,
    target: Target = None,
    assume: Assume = None,
    menu: Menu = False,
    page: Page = None,
) -> None:
    """Show what a job would cost and leave, and how exact it would be. Spends nothing."""
    if menu:
        _menu(context, dataset_id, epsilon, delta, method, parameter, edge_type, project, assume, page)
        return
    request = _request(delta, method, parameter, edge_type, format, seed, project, repeat)
    request |= _aims(target, assume)
    ask(context, lambda graphveil: graphveil.plan(dataset_id, epsilon=epsilon, **request), render.plan)


def submit(
    context: typer.Context,
    dataset_id: DatasetId,
    epsilon: Epsilon = None,
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
    target: Target = None,
    assume: Assume = None,
    nodes: Nodes = None,
    write_to: Annotated[
        str | None, typer.Option(help="A folder that tables of a release in parts are written to.")
    ] = None,
    key: Key = None,
    wait: Wait = False,
    timeout: Timeout = None,
) -> None:
    """Submit a job: its cost is reserved at once, and charged when the release is published."""
    request = _request(delta, method, parameter, edge_type, format, seed, project, repeat)
    request |= given({"suite": suite, "label": label, "size": size(nodes), "write_to": write_to})
    request |= _aims(target, assume)
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
        found = list(islice(graphveil.jobs(state=state, dataset_id=dataset), limit))
    answer(context, found, render.jobs)


def job(context: typer.Context, job_id: JobId) -> None:
    """Show a job."""
    ask(context, lambda graphveil: graphveil.job(job_id), render.job)


def cancel(context: typer.Context, job_id: JobId) -> None:
    """Cancel a job. What it has read stays charged."""
    ask(context, lambda graphveil: graphveil.cancel(job_id), render.job)


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
            deliver(graphveil.report_as(job_id, format, **_said(say)), file, format)
        return
    ask(context, lambda graphveil: graphveil.report(job_id), render.report)


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
        found = graphveil.artifacts(job_id)
        listed = {each.name: each.role for each in found if each.written_to is None}
        for secret in [each for each in name or [] if listed.get(each) == CURATOR and not curator]:
            raise typer.BadParameter(f"{secret} is for curators only; add --curator")
        for wanted in name or [each for each in listed if curator or listed[each] != CURATOR]:
            with notes.status(f"downloading {wanted}"):
                saved.append(graphveil.download(job_id, wanted, to / Path(wanted).name))
    if not answered_in_json(context, [str(path) for path in saved]):
        for path in saved:
            out.print(str(path))


def followed(
    context: typer.Context, graphveil: Graphveil, job: Job, wait: bool, timeout: float | None
) -> None:
    """Show the new job, at once or when ended. It is shown when it has ended with ``wait``."""
    if not wait:
        answer(context, job, render.job)
        return
    notes.print(f"Job {job.id}")
    _ended(context, _watched(graphveil, job.id, timeout))


def _said(texts: list[str] | None) -> dict[str, str]:
    """Parse ``name=value`` texts, values as they are: a title such as 2024 stays a text."""
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
    """Collect the parts of a request that were given; the service fills in the rest."""
    optional = {
        "method": method and _method(method),
        "edge_types": edge_type or None,
        "formats": format or None,
        "seed": seed,
        "project": project,
        "repeat": repeat or None,
    }
    return {**given(optional), "delta": delta, "parameters": pairs(parameter)}


def size(nodes: int | None) -> dict[str, int] | None:
    """Write the number of nodes as a request has it."""
    return None if nodes is None else {"nodes": nodes}


def _method(text: str) -> str | dict[str, str]:
    try:
        return by_relation.read(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--method") from None


def _menu(
    context: typer.Context,
    dataset_id: str,
    epsilon: str | None,
    delta: str,
    method: str | None,
    parameter: list[str] | None,
    edge_type: list[str] | None,
    project: str | None,
    assume: list[str] | None,
    page: Path | None,
) -> None:
    """Show methods at several epsilons; ``parameter`` is set for each of them."""
    text = method or AUTO
    named = [_method(text)] if "=" in text else [name for name in text.split(",") if name]
    methods = [{"method": each, "parameters": pairs(parameter)} for each in named]
    request = given({"edge_types": edge_type or None, "project": project}) | _aims(None, assume)
    epsilons = (epsilon or MENU_EPSILONS).split(",")
    with service(context) as graphveil:
        found = graphveil.menu(dataset_id, methods=methods, epsilons=epsilons, delta=delta, **request)
    if page is not None:
        page.write_text(menu_page.page(found), encoding="utf-8")
    answer(context, found, render_menu.menu)


def _aims(target: list[str] | None, assume: list[str] | None) -> dict[str, Any]:
    """Collect what a release must tell, and the sizes that relative answers rest on."""
    return given({"target": pairs(target) or None, "assume": pairs(assume) or None})


def _watched(graphveil: Graphveil, job_id: str, timeout: float | None) -> Job:
    """Wait for the job to end, drawing its stages, and return it."""
    with progress_bar() as progress:
        task = progress.add_task("queued", total=None)

        def draw(job: Job, step: Event | None) -> None:
            if job.state == "running" and step is not None:
                progress.update(task, description=step.stage, completed=step.done, total=step.total)
            else:
                progress.update(task, description=job.state, total=None)

        return graphveil.wait(job_id, timeout_seconds=timeout, on_progress=draw)


def _ended(context: typer.Context, job: Job) -> None:
    answer(context, job, render.job)
    if job.state != "published":
        raise typer.Exit(ENDED_BADLY)
