"""The commands about live streams: ``graphveil stream ...``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import MofNCompleteColumn, Progress, TaskID

from graphveil.cli import pushing, render_streams
from graphveil.cli.console import (
    ENDED_BADLY,
    answer,
    answered_in_json,
    ask,
    deliver,
    notes,
    options_of,
    out,
    pairs,
    progress_bar,
    service,
    show_findings,
)
from graphveil.cli.jobs import Assume
from graphveil.cli.pushing import Sending
from graphveil.errors import ProblemError
from graphveil.models.streams import Snapshot
from graphveil.sdk.client import Graphveil
from graphveil.sdk.transport import given

StreamId = Annotated[str, typer.Argument(help="The stream's id, st_...", show_default=False)]
PATIENCE_SECONDS = 3600.0

app = typer.Typer(
    name="stream",
    help="Publish a graph that goes on: one snapshot comes in, one synthetic snapshot goes out.",
    no_args_is_help=True,
)


@app.command("open")
def open_stream(
    context: typer.Context,
    dataset_id: Annotated[
        str, typer.Argument(help="A dataset under unit w-event, ds_...", show_default=False)
    ],
    epsilon: Annotated[str, typer.Option(help="What any window of w steps may cost, such as 1.")],
    method: Annotated[str | None, typer.Option(help="See `graphveil methods`; chosen when left out.")] = None,
    window: Annotated[int | None, typer.Option(help="w; the dataset's when left out.", min=1)] = None,
    parameter: Annotated[
        list[str] | None, typer.Option("--parameter", "-p", help="name=value; repeat.")
    ] = None,
    edge_type: Annotated[list[str] | None, typer.Option(help="A relation; repeat. Default: all.")] = None,
    first_step: Annotated[int, typer.Option(help="The first step that will be sent.", min=0)] = 0,
    missing_steps: Annotated[
        str, typer.Option(help="refuse, or empty: publish steps that are left out as empty snapshots.")
    ] = "refuse",
    suite: Annotated[str | None, typer.Option(help="How closely each snapshot is evaluated.")] = None,
    label: Annotated[str | None, typer.Option(help="A name for people.")] = None,
    project: Annotated[str | None, typer.Option(help="The project whose quota it draws on.")] = None,
    key: Annotated[str | None, typer.Option(help="Idempotency key; a fresh one when left out.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what each step would cost.")] = False,
    assume: Assume = None,
) -> None:
    """Open a stream. Nothing is reserved yet: each snapshot pays for itself."""
    request = given(
        {
            "method": method,
            "window": window,
            "parameters": pairs(parameter),
            "edge_types": edge_type or None,
            "first_step": first_step,
            "missing_steps": missing_steps,
            "suite": suite,
            "label": label,
            "project": project,
            "assume": pairs(assume) or None,
        }
    )
    with service(context) as graphveil:
        if dry_run:
            planned = graphveil.streams.plan(dataset_id, epsilon=epsilon, **request)
            answer(context, planned, render_streams.plan)
            return
        opened = graphveil.streams.create(dataset_id, epsilon=epsilon, idempotency_key=key, **request)
    answer(context, opened, render_streams.stream)


@app.command()
def push(
    context: typer.Context,
    stream_id: StreamId,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="A file for each step, or folders of them, in order.", exists=True),
    ] = None,
    step: Annotated[
        int | None, typer.Option(help="The step of the first file; the stream's next when left out.", min=0)
    ] = None,
    numbered: Annotated[
        bool, typer.Option("--numbered", help="The last number in a file's name is its step: safe to repeat.")
    ] = False,
    empty: Annotated[bool, typer.Option("--empty", help="Send one step in which nothing happened.")] = False,
    format: Annotated[str | None, typer.Option(help="Taken from the file's name when left out.")] = None,
    option: Annotated[list[str] | None, typer.Option(help="name=value, as the format documents.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Stay until every snapshot is published.")] = False,
    timeout: Annotated[float | None, typer.Option(help="Seconds to wait for each.", min=0)] = None,
) -> None:
    """Send snapshots: one file is one step. Sending the same file for the same step again is safe."""
    if empty == bool(paths):
        raise typer.BadParameter("give files, or --empty", param_hint="PATHS")
    if numbered and (step is not None or empty):
        raise typer.BadParameter("says the steps already", param_hint="--numbered")
    options = options_of(option)
    with service(context) as graphveil:
        sendings = _sendings(graphveil, stream_id, paths or [], step, numbered)
        with progress_bar(MofNCompleteColumn()) as progress:
            task = progress.add_task("sending", total=len(sendings))
            found = [
                _sent(graphveil, stream_id, sending, format, options, progress, task) for sending in sendings
            ]
            if wait:
                progress.reset(task, total=len(found), description="publishing")
                found = [_published(graphveil, one, timeout, progress, task) for one in found]
    answer(context, found, render_streams.snapshots)
    for one in found:
        if one.findings:
            notes.print(f"step {one.step} was refused:")
            show_findings(one.findings)
    if wait and any(one.state != "published" for one in found):
        raise typer.Exit(ENDED_BADLY)


@app.command()
def show(
    context: typer.Context,
    stream_id: Annotated[str | None, typer.Argument(help="One stream, st_...; all when left out.")] = None,
    dataset: Annotated[str | None, typer.Option(help="Only streams of this dataset.")] = None,
    state: Annotated[str | None, typer.Option(help="Only streams in this state.")] = None,
    after: Annotated[int | None, typer.Option(help="Only snapshots after this step.", min=0)] = None,
    limit: Annotated[int, typer.Option(help="At most so many.", min=1)] = 50,
) -> None:
    """List streams, newest first, or show one with its snapshots."""
    with service(context) as graphveil:
        if stream_id is None:
            listed = list(islice(graphveil.streams.list(dataset_id=dataset, state=state), limit))
            answer(context, listed, render_streams.streams)
            return
        one = graphveil.streams.get(stream_id)
        steps = list(islice(graphveil.streams.snapshots(stream_id, after=after), limit))
    together = {
        "stream": one.model_dump(mode="json"),
        "snapshots": [snapshot.model_dump(mode="json") for snapshot in steps],
    }
    if not answered_in_json(context, together):
        render_streams.stream(one)
        render_streams.snapshots(steps)


@app.command()
def report(
    context: typer.Context,
    stream_id: StreamId,
    markdown: Annotated[bool, typer.Option("--markdown", help="As Markdown, one page.")] = False,
    html: Annotated[bool, typer.Option("--html", help="As a web page that loads nothing.")] = False,
    after: Annotated[
        int | None, typer.Option(help="Of Markdown and page: the steps that follow this one.", min=0)
    ] = None,
    file: Annotated[Path | None, typer.Option("--out", help="A file to write.", dir_okay=False)] = None,
) -> None:
    """Show what the steps cost, what the windows hold, and how close the snapshots are."""
    if not (markdown or html) and (file is not None or after is not None):
        raise typer.BadParameter("belongs to --markdown and --html", param_hint="--out, --after")
    if markdown and html:
        raise typer.BadParameter("is one form or the other", param_hint="--markdown, --html")
    with service(context) as graphveil:
        if markdown or html:
            streams = graphveil.streams
            read = streams.report_html if html else streams.report_markdown
            deliver(read(stream_id, after=after), file, "The report")
            return
        found = graphveil.streams.report(stream_id)
    answer(context, found, render_streams.report)


@app.command()
def download(
    context: typer.Context,
    stream_id: StreamId,
    to: Annotated[Path | None, typer.Option(help="The zip; named like the stream when left out.")] = None,
    first: Annotated[int | None, typer.Option(help="The first step to take.", min=0)] = None,
    last: Annotated[int | None, typer.Option(help="The last step to take.", min=0)] = None,
) -> None:
    """Download every published snapshot as one zip, and check the digests in it."""
    with service(context) as graphveil, notes.status("downloading"):
        saved = graphveil.streams.download(stream_id, to or Path(f"{stream_id}.zip"), first=first, last=last)
    if not answered_in_json(context, {"file": str(saved)}):
        out.print(str(saved))


@app.command()
def close(context: typer.Context, stream_id: StreamId) -> None:
    """Close a stream: it takes no further snapshots; those it has are published still."""
    ask(context, lambda graphveil: graphveil.streams.close(stream_id), render_streams.stream)


def _sendings(
    graphveil: Graphveil, stream_id: str, paths: Sequence[Path], step: int | None, numbered: bool
) -> list[Sending]:
    if numbered:
        return pushing.by_number(pushing.files_of(paths))
    first = graphveil.streams.get(stream_id).next_step if step is None else step
    return pushing.in_order(pushing.files_of(paths), first) if paths else [Sending(first, None)]


def _sent(
    graphveil: Graphveil,
    stream_id: str,
    sending: Sending,
    format: str | None,
    options: dict[str, Any],
    progress: Progress,
    task: TaskID,
) -> Snapshot:
    progress.update(task, description=f"sending step {sending.step}: {sending.name}")
    try:
        snapshot = graphveil.streams.push(
            stream_id,
            b"" if sending.path is None else sending.path,
            step=sending.step,
            format=format,
            options=options,
            patience_seconds=PATIENCE_SECONDS,
        )
    except ProblemError:
        notes.print(f"step {sending.step} ({sending.name}) was not taken:", markup=False)
        raise
    progress.advance(task)
    return snapshot


def _published(
    graphveil: Graphveil, sent: Snapshot, timeout: float | None, progress: Progress, task: TaskID
) -> Snapshot:
    ended = graphveil.streams.wait(
        sent.stream_id,
        sent.step,
        timeout_seconds=timeout,
        on_progress=lambda now: progress.update(task, description=f"step {now.step}: {now.state}"),
    )
    progress.advance(task)
    return ended
