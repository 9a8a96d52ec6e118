"""Commands about datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TransferSpeedColumn

from graphveil.cli import render
from graphveil.cli.console import (
    ENDED_BADLY,
    answer,
    answered_in_json,
    ask,
    notes,
    options_of,
    out,
    read_json,
    service,
    show_findings,
)
from graphveil.cli.mapping import Bipartite, Columns, Dates, Decimal, Delimiter, Encoding, Header, said
from graphveil.errors import ClientError
from graphveil.models.datasets import Dataset
from graphveil.sdk.transport import given
from graphveil.sources import Query, Source

DatasetId = Annotated[str, typer.Argument(help="The dataset's id, ds_...", show_default=False)]


def register(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A name that is new in your tenant.")],
    epsilon: Annotated[str, typer.Option(help="The whole budget, such as 4; more takes a second person.")],
    unit: Annotated[
        str, typer.Option(help="What is protected: edge, event, w-event, pair or node. Final.")
    ] = "edge",
    window: Annotated[int | None, typer.Option(help="Steps of w-event.", min=1)] = None,
    delta: Annotated[str, typer.Option(help="The whole delta.")] = "0",
    filter: Annotated[str, typer.Option(help="How charges add up: basic or renyi. Final.")] = "basic",
    domain: Annotated[str | None, typer.Option(help="The population that shares the budget.")] = None,
    schema: Annotated[
        Path | None, typer.Option(help="JSON file; proposed from the upload when left out.", exists=True)
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(help="JSON file: what jobs may ask for; no limits when left out.", exists=True),
    ] = None,
    public: Annotated[bool, typer.Option("--public", help="The graph is no secret.")] = False,
    in_parts: Annotated[
        bool, typer.Option("--in-parts", help="Its edges are too many for one machine's memory. Final.")
    ] = False,
) -> None:
    """Declare a dataset and open its budget."""
    rules = read_json(policy) if policy else None
    declared = given(
        {"window": window, "protection_domain": domain, "policy": rules, "in_parts": in_parts or None}
    )
    with service(context) as graphveil:
        dataset = graphveil.register_dataset(
            name,
            unit=unit,
            epsilon=epsilon,
            delta=delta,
            graph_schema=read_json(schema) if schema else None,
            filter=filter,
            public=public,
            **declared,
        )
    if not answered_in_json(context, dataset):
        out.print(f"Dataset {dataset.id} is registered; epsilon {epsilon} in all.")


def upload(
    context: typer.Context,
    dataset_id: DatasetId,
    path: Annotated[
        str | None,
        typer.Argument(
            help="A file, a folder of Parquet parts, s3://bucket/key, or s3://bucket/prefix/ of parts; of a "
            "dataset in parts a glob too, in quotes.",
            show_default=False,
        ),
    ] = None,
    sql: Annotated[
        str | None, typer.Option(help="Instead of a file: a query whose columns are those of the upload.")
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            envvar="GRAPHVEIL_DATABASE",
            help="Which the query asks, as SQLAlchemy names it; it is not sent to the service.",
            show_default=False,
        ),
    ] = None,
    part: Annotated[
        str,
        typer.Option(
            help="`nodes` first, where there are any; then `edges`, or where the dataset is in parts "
            "`edges-1-of-8` and so on."
        ),
    ] = "edges",
    format: Annotated[str | None, typer.Option(help="Taken from the file's name when left out.")] = None,
    columns: Columns = None,
    delimiter: Delimiter = None,
    header: Header = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    bipartite: Bipartite = None,
    dates: Dates = None,
    option: Annotated[
        list[str] | None, typer.Option(help="name=value: any other that the format documents.")
    ] = None,
    wait: Annotated[bool, typer.Option(help="Wait until the upload is validated.")] = True,
) -> None:
    """Upload a part; `edges` completes the upload."""
    options: dict[str, str | list[str]] = {
        **options_of(option),
        **said(
            columns=columns,
            delimiter=delimiter,
            header=header,
            decimal=decimal,
            encoding=encoding,
            bipartite=bipartite,
            dates=dates,
        ),
    }
    source = _source(path, sql, database)
    shown = (
        "[progress.description]{task.description}",
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    with service(context) as graphveil:
        with Progress(*shown, console=notes, transient=True) as progress:
            task = progress.add_task(f"uploading {part}", total=None)
            received = graphveil.upload(
                dataset_id,
                source,
                part=part,
                format=format,
                options=options,
                on_progress=lambda sent, total: progress.update(task, completed=sent, total=total),
            )
        if part != "edges" or not wait:
            if not answered_in_json(context, received):
                out.print(f"Received {part} of version {received.number}.")
            return
        with notes.status("validating"):
            dataset = graphveil.wait_ready(dataset_id)
    _settled(context, dataset)


def read_again(
    context: typer.Context,
    dataset_id: DatasetId,
    part: Annotated[str, typer.Option(help="edges or nodes.")] = "edges",
    columns: Columns = None,
    delimiter: Delimiter = None,
    header: Header = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    bipartite: Bipartite = None,
    dates: Dates = None,
    wait: Annotated[bool, typer.Option(help="Wait until another schema is proposed.")] = True,
) -> None:
    """Have a proposal's file read as you say; what you leave out stays as it was read."""
    told = given(
        {
            "columns": columns,
            "delimiter": delimiter,
            "header": header,
            "decimal": decimal,
            "encoding": encoding,
            "bipartite": bipartite,
            "dates": dates,
        }
    )
    if not told:
        raise typer.BadParameter("say what was read wrongly, such as --columns source=2,target=3")
    with service(context) as graphveil:
        received = graphveil.read_again(dataset_id, part=part, **told)
        if not wait:
            if not answered_in_json(context, received):
                out.print(f"Version {received.number} is read again.")
            return
        with notes.status("reading"):
            dataset = graphveil.wait_ready(dataset_id)
    _settled(context, dataset)


def _source(path: str | None, sql: str | None, database: str | None) -> Source:
    """Say what to upload; wrong command line where that is nothing, or two things."""
    if (path is None) == (sql is None):
        raise typer.BadParameter("name a file, or a query with --sql")
    if sql is None:
        assert path is not None
        return path
    if not database:
        raise typer.BadParameter("set GRAPHVEIL_DATABASE to the database's URL", param_hint="--database")
    return Query(database, sql)


def confirm_schema(
    context: typer.Context,
    dataset_id: DatasetId,
    schema: Annotated[
        Path | None, typer.Argument(help="A JSON file; not with --accept.", exists=True, dir_okay=False)
    ] = None,
    accept: Annotated[bool, typer.Option("--accept", help="The proposed schema, as it is.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the upload is validated.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask about what was read off the data.")] = False,
) -> None:
    """Declare the schema, or confirm the one that was proposed. It becomes public."""
    if accept == (schema is not None):
        raise typer.BadParameter("name the file of a schema, or --accept the proposed one")
    with service(context) as graphveil:
        found = graphveil.dataset(dataset_id)
        declared = read_json(schema) if schema else found.proposed_schema
        if declared is None:
            raise ClientError(f"no proposed schema waits in {dataset_id}; see graphveil dataset {dataset_id}")
        if accept and not yes:
            for each in found.version.read_off if found.version else ():
                asked = f"Read off the data, and outside epsilon once public: {each.text}. Publish it?"
                typer.confirm(asked, abort=True, err=True)
        dataset = graphveil.confirm_schema(dataset_id, declared)
        if wait and dataset.state == "validating":
            with notes.status("validating"):
                dataset = graphveil.wait_ready(dataset_id)
    _settled(context, dataset)


def _settled(context: typer.Context, dataset: Dataset) -> None:
    """Show the dataset; a rejected one with its findings, and the exit code of a bad end."""
    answer(context, dataset, render.dataset)
    if dataset.state == "rejected":
        show_findings(dataset.version.findings if dataset.version else None)
        raise typer.Exit(ENDED_BADLY)


def dataset(context: typer.Context, dataset_id: DatasetId) -> None:
    """Show a dataset."""
    ask(context, lambda graphveil: graphveil.dataset(dataset_id), render.dataset)


def datasets(context: typer.Context) -> None:
    """List datasets."""
    ask(context, lambda graphveil: list(graphveil.datasets()), render.datasets)


def archive(
    context: typer.Context,
    dataset_id: DatasetId,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Erase a dataset's content for good; its budget and ledger stay."""
    if not yes:
        typer.confirm(f"Erase the content of {dataset_id} for good?", abort=True, err=True)
    with service(context) as graphveil:
        graphveil.archive(dataset_id)
    notes.print(f"Dataset {dataset_id} is archived.")
