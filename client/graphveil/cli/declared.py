"""The command that makes a graph from a dataset's declared facts, on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphveil.cli.console import answer, out, pairs, service
from graphveil.cli.datasets import DatasetId
from graphveil.cli.jobs import Format, Parameter


def declared(
    context: typer.Context,
    dataset_id: DatasetId,
    to: Annotated[Path, typer.Option(help="A new folder for it.", file_okay=False, show_default=False)],
    parameter: Parameter = None,
    nodes: Annotated[
        list[str] | None,
        typer.Option(help="person=1000: how many, of a node type whose number is not declared; repeat."),
    ] = None,
    format: Format = None,
    seed: Annotated[int | None, typer.Option(help="The same graph each time.", min=0)] = None,
) -> None:
    """Make a graph from declared facts alone, here: nothing is read, reserved or charged."""
    from graphveil.local.declared import declared as make

    with service(context) as graphveil:
        schema = graphveil.dataset(dataset_id).graph_schema
    if schema is None:
        raise typer.BadParameter("the dataset has no declared schema yet", param_hint="DATASET_ID")
    made = make(
        schema,
        nodes=pairs(nodes),
        parameters=pairs(parameter),
        formats=format or (),
        seed=seed,
        progress=False,
    )
    saved = made.save(to)
    answer(context, made.report, lambda report: out.print(f"{saved}: {report['guarantee']['statement']}"))
