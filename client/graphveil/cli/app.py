"""The ``graphveil`` command. ``GRAPHVEIL_URL`` says where, ``GRAPHVEIL_TOKEN`` as whom.

Exit codes: 0 done; 1 the job or upload ended badly; 2 wrong command line; 3 refused; 4 the service failed or
did not answer; 5 the time to wait is over.
"""

from __future__ import annotations

from typing import Annotated

import typer

from graphveil.cli import (
    assistant,
    audits,
    budget,
    compare,
    datasets,
    events,
    governance,
    jobs,
    keys,
    samples,
    sensitive_links,
    streams,
)
from graphveil.cli.console import Session
from graphveil.sdk.client import Graphveil

app = typer.Typer(
    name="graphveil",
    help="Publish synthetic graphs under a privacy guarantee that is computed, metered and charged.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def connect(
    context: typer.Context,
    url: Annotated[str, typer.Option(envvar="GRAPHVEIL_URL", help="The service.")] = "http://localhost:8000",
    token: Annotated[
        str,
        typer.Option(
            envvar="GRAPHVEIL_TOKEN",
            help="An API key, gv_..., or a token of your issuer.",
            show_default=False,
        ),
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Answer in JSON, for scripts.")] = False,
) -> None:
    """Take the options of every command; that a key is missing is said once one is needed."""

    def connected() -> Graphveil:
        if not token:
            raise typer.BadParameter("set GRAPHVEIL_TOKEN to your API key or token", param_hint="--token")
        return Graphveil(url, token)

    context.obj = Session(connect=connected, as_json=json)


for command in (
    *datasets.COMMANDS,
    *sensitive_links.COMMANDS,
    *budget.COMMANDS,
    *governance.COMMANDS,
    *keys.COMMANDS,
    *jobs.COMMANDS,
    *samples.COMMANDS,
    *events.COMMANDS,
    *audits.COMMANDS,
    *compare.COMMANDS,
    *assistant.COMMANDS,
):
    app.command()(command)
for below in (keys.app, events.app, streams.app):
    app.add_typer(below)


def main() -> None:
    """Run the console script."""
    app()


if __name__ == "__main__":
    main()
