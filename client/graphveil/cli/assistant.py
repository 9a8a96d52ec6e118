"""``graphveil mcp``: the service for an assistant."""

from __future__ import annotations

from typing import Annotated

import typer

from graphveil.cli.console import service


def mcp(
    context: typer.Context,
    spend: Annotated[
        str, typer.Option(help="Epsilon that the assistant's jobs may cost together; 0: it submits none.")
    ] = "0",
) -> None:
    """Serve an assistant over standard input and output, by the Model Context Protocol.

    It lists datasets and methods, plans, follows jobs and reads public reports. What is for curators only it
    is never told, whatever the key may read.
    """
    from graphveil.assistant.server import serve

    with service(context) as graphveil:
        serve(graphveil, spend=spend)
