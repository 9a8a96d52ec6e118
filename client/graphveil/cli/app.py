"""The ``graphveil`` command. ``GRAPHVEIL_URL`` says where, ``GRAPHVEIL_TOKEN`` as whom.

Exit codes: 0 done; 1 the job or upload ended badly; 2 wrong command line; 3 refused; 4 the service failed or
did not answer; 5 the time to wait is over.
"""

from __future__ import annotations

from typing import Annotated

import typer

from graphveil.cli.lazy import LazyGroup

app = typer.Typer(
    cls=LazyGroup,
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

    # Here, so that help takes no longer than reading it off.
    from graphveil.cli.console import Session
    from graphveil.sdk.client import Graphveil

    def connected() -> Graphveil:
        if not token:
            raise typer.BadParameter("set GRAPHVEIL_TOKEN to your API key or token", param_hint="--token")
        return Graphveil(url, token)

    context.obj = Session(connect=connected, as_json=json)


def main() -> None:
    """Run the console script."""
    app()


if __name__ == "__main__":
    main()
