"""The ``graphveil`` command. ``GRAPHVEIL_URL`` says where, ``GRAPHVEIL_TOKEN`` as whom.

Exit codes: 0 done; 1 the job or upload ended badly; 2 wrong command line; 3 refused; 4 the service failed or
did not answer; 5 the time to wait is over.
"""

from __future__ import annotations

from typing import Annotated

import typer

from api.client import (
    cli_audits,
    cli_budget,
    cli_compare,
    cli_datasets,
    cli_events,
    cli_governance,
    cli_jobs,
    cli_keys,
    cli_samples,
    cli_sensitive_links,
    cli_streams,
)
from api.client.console import Session
from api.client.sdk import Graphveil

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
    """Take the options of every command."""
    if not token:
        raise typer.BadParameter("set GRAPHVEIL_TOKEN to your API key or token", param_hint="--token")
    context.obj = Session(connect=lambda: Graphveil(url, token), as_json=json)


for command in (
    *cli_datasets.COMMANDS,
    *cli_sensitive_links.COMMANDS,
    *cli_budget.COMMANDS,
    *cli_governance.COMMANDS,
    *cli_keys.COMMANDS,
    *cli_jobs.COMMANDS,
    *cli_samples.COMMANDS,
    *cli_events.COMMANDS,
    *cli_audits.COMMANDS,
    *cli_compare.COMMANDS,
):
    app.command()(command)
for below in (cli_keys.app, cli_events.app, cli_streams.app):
    app.add_typer(below)


def main() -> None:
    """Run the console script."""
    app()


if __name__ == "__main__":
    main()
