"""Commands about sensitive links."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphveil.cli.console import (
    ENDED_BADLY,
    answer,
    ask,
    notes,
    options_of,
    out,
    service,
    show_findings,
)
from graphveil.cli.datasets import DatasetId
from graphveil.models.datasets import SensitiveLinks


def put_sensitive_links(
    context: typer.Context,
    dataset_id: DatasetId,
    path: Annotated[Path, typer.Argument(help="The list.", exists=True, dir_okay=False)],
    format: Annotated[str | None, typer.Option(help="Taken from the file's name when left out.")] = None,
    option: Annotated[list[str] | None, typer.Option(help="name=value, as the format documents.")] = None,
    wait: Annotated[bool, typer.Option(help="Wait until the list is checked.")] = True,
) -> None:
    """Name the links that are sensitive; a list that was there is replaced."""
    with service(context) as graphveil:
        found = graphveil.put_sensitive_links(dataset_id, path, format=format, options=options_of(option))
        if wait:
            with notes.status("checking"):
                found = graphveil.wait_sensitive_links(dataset_id)
    answer(context, found, _show)
    if found.upload is not None and found.upload.state == "rejected":
        show_findings(found.upload.findings)
        raise typer.Exit(ENDED_BADLY)


def sensitive_links(context: typer.Context, dataset_id: DatasetId) -> None:
    """Count the sensitive links."""
    ask(context, lambda graphveil: graphveil.sensitive_links(dataset_id), _show)


def delete_sensitive_links(
    context: typer.Context,
    dataset_id: DatasetId,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Withdraw the list of sensitive links."""
    if not yes:
        typer.confirm(f"Withdraw the sensitive links of {dataset_id}?", abort=True, err=True)
    with service(context) as graphveil:
        graphveil.delete_sensitive_links(dataset_id)
    notes.print(f"No list of sensitive links of {dataset_id} is kept.")


def _show(found: SensitiveLinks) -> None:
    if found.in_use is None:
        out.print("No list of sensitive links is in use for the current version.")
    else:
        out.print(f"{found.in_use.count} sensitive links of version {found.in_use.version}.")
        for name, count in found.in_use.links.items():
            out.print(f"  {name}: {count}")
    if found.upload is not None:
        out.print(f"The newest upload is {found.upload.state}.")
        if found.upload.message:
            out.print(found.upload.message, markup=False)
