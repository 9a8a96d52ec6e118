"""Commands about tables: a mapping proposed, tables released here or uploaded, a release read back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.markup import escape

from graphveil.cli.console import REFUSED, USAGE, answer, answered_in_json, notes, out, pairs, service
from graphveil.errors import ClientError
from graphveil.problems import GraphveilError

Made = TypeVar("Made")

app = typer.Typer(name="tables", help="Tables in, tables out: propose, synthesize, upload, back.")

Source = Annotated[
    str,
    typer.Argument(help="A folder of CSV or Parquet files, or a database's URL, as SQLAlchemy writes it."),
]
MappingFile = Annotated[
    Path | None,
    typer.Option("--mapping", help="tables.yaml of the folder unless said.", exists=True, dir_okay=False),
]
To = Annotated[str, typer.Option(help="A folder, or an empty database's URL.", show_default=False)]
Written = Annotated[str, typer.Option(help="Of a folder: csv or parquet.")]


@app.command()
def propose(
    source: Source,
    to: Annotated[Path, typer.Option(help="The file to be edited.")] = Path("tables.yaml"),
) -> None:
    """Write the mapping to be edited: what is not known says ask. No value is read."""
    from graphveil.tables.mapping import as_yaml
    from graphveil.tables.proposing import propose as proposed

    if to.exists():
        raise typer.BadParameter(f"{to} is there; name another", param_hint="--to")
    to.write_text(as_yaml(_or_exit(lambda: proposed(source))), encoding="utf-8")
    out.print(f"{to}: answer what says ask; docs/tables.md says what each question means.")


@app.command()
def synthesize(
    context: typer.Context,
    source: Source,
    epsilon: Annotated[str, typer.Option(help="What this release costs.")],
    budget: Annotated[Path, typer.Option(help="The file of the budget that is charged.")],
    to: To,
    total: Annotated[str | None, typer.Option(help="The whole budget, where the file is new.")] = None,
    total_delta: Annotated[str, typer.Option(help="The whole delta, where the file is new.")] = "0",
    mapping: MappingFile = None,
    delta: Annotated[str | None, typer.Option(help="Where the unit person needs one.")] = None,
    parameter: Annotated[list[str] | None, typer.Option(help="name=value of the method; repeat.")] = None,
    format: Written = "csv",
) -> None:
    """Release synthetic tables here, and charge a budget's file."""
    from graphveil.local.budget import Budget
    from graphveil.tables.work import read

    def made() -> None:
        tables = read(source, mapping)
        account = Budget(budget, epsilon=total, delta=total_delta, unit=tables.unit)
        found = tables.synthesize(
            epsilon, budget=account, delta=delta, parameters=pairs(parameter), progress=False
        )
        found.write(to, format)
        answer(context, found.release.report, lambda report: out.print(found.guarantee))

    _or_exit(made)


@app.command()
def upload(
    context: typer.Context,
    source: Source,
    name: Annotated[str, typer.Option(help="A name for the dataset, new in your tenant.")],
    epsilon: Annotated[str, typer.Option(help="The whole budget.")],
    mapping: MappingFile = None,
    delta: Annotated[str, typer.Option(help="The whole delta.")] = "0",
) -> None:
    """Register a dataset of the tables with the service, and upload it."""
    from graphveil.tables.work import read

    tables = _or_exit(lambda: read(source, mapping))
    with service(context) as graphveil:
        dataset_id = tables.register(graphveil, name, epsilon, delta=delta)
        tables.upload(graphveil, dataset_id)
        dataset = graphveil.wait_ready(dataset_id)
    if not answered_in_json(context, dataset):
        out.print(f"Dataset {dataset_id} is {dataset.state}; unit {tables.unit}. {tables.promise}")


@app.command()
def back(
    release: Annotated[Path, typer.Argument(help="The folder of a release, as downloaded.", exists=True)],
    mapping: Annotated[Path, typer.Option(help="The tables' mapping.", exists=True, dir_okay=False)],
    to: To,
    format: Written = "csv",
) -> None:
    """Write a release of the service as tables."""
    from graphveil.tables.work import back_to_tables

    made = _or_exit(lambda: back_to_tables(release, mapping))
    _or_exit(lambda: made.write(to, format))
    out.print(f"{to}: synthetic tables. {made.guarantee}")


def _or_exit(call: Callable[[], Made]) -> Made:
    """Call, and exit by what is refused, in words."""
    try:
        return call()
    except GraphveilError as error:
        notes.print(f"[red]{escape(str(error))}[/red]")
        raise typer.Exit(REFUSED) from error
    except (ClientError, OSError) as error:
        notes.print(f"[red]{escape(str(error))}[/red]")
        raise typer.Exit(USAGE) from error
