"""``graphveil reproduce``: a published system's experiment, on one's own graph too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import typer

from graphveil.cli.console import notes

app = typer.Typer(
    name="reproduce",
    help="Make a paper's tables and pictures again, from its own data or yours.",
    no_args_is_help=True,
)
AS_THEY_ARE = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


@app.callback()
def papers() -> None:
    """Take the paper's name; what follows goes to its experiment."""


@app.command(context_settings=AS_THEY_ARE, add_help_option=False)
def psgraph(context: typer.Context) -> None:
    """Compare PSGraph with its five rivals on a stream; ``--help`` has the rest."""
    raise typer.Exit(_ran("psgraph", context.args))


@app.command(context_settings=AS_THEY_ARE, add_help_option=False)
def thepuff(context: typer.Context) -> None:
    """Compare THEPUFF, its ablations and relatives on a typed graph with time."""
    raise typer.Exit(_ran("thepuff", context.args))


@app.command(context_settings=AS_THEY_ARE, add_help_option=False)
def hetesdg(context: typer.Context) -> None:
    """Compare HeteSDG, its ablations and HeteDP on a typed graph with features."""
    raise typer.Exit(_ran("hetesdg", context.args))


@app.command(context_settings=AS_THEY_ARE, add_help_option=False)
def dpggan(context: typer.Context) -> None:
    """Compare DPGGAN, DPGVAE, their networks and ours on small networks."""
    raise typer.Exit(_ran("dpggan", context.args))


@app.command(context_settings=AS_THEY_ARE, add_help_option=False)
def ppgsl(context: typer.Context) -> None:
    """Compare PPGSL with other defences of sensitive links on a graph with classes or without."""
    raise typer.Exit(_ran("ppgsl", context.args))


def _ran(paper: str, given: list[str]) -> int:
    """Run an experiment in a process of its own, and return its exit code."""
    if not (Path("papers") / paper / "__main__.py").is_file():
        notes.print(
            f"No experiment is in papers/{paper} here; run this from the root of a clone of Graphveil."
        )
        return 2
    return subprocess.run([sys.executable, "-m", f"papers.{paper}", *given], check=False).returncode
