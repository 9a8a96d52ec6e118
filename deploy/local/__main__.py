"""``python -m deploy.local``: the embedded stack runs until Ctrl-C."""

from __future__ import annotations

import shlex
import signal
import sys
import threading
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from core.errors import InstanceRunning
from deploy.local.stack import FIRST_PERSON, TEAM, TENANT, Stack

WATCH_SECONDS = 0.5
console = Console()


def up(
    data: Annotated[Path, typer.Option(help="Data folder; survives restarts.")] = Path(".data/local"),
) -> None:
    """The whole service runs on this machine; its addresses are printed. Ctrl-C stops it cleanly."""
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    try:
        with Stack(data, _tell) as stack:
            console.print(_welcome(stack))
            console.print("For your shell:", style="bold")
            console.print(
                f"export GRAPHVEIL_URL={stack.url} GRAPHVEIL_TOKEN={stack.token}",
                soft_wrap=True,
                markup=False,
            )
            while not stopped.wait(WATCH_SECONDS):
                dead = stack.processes.dead()
                if dead is not None:
                    console.print(str(dead), style="red", markup=False)
                    sys.exit(1)
            console.print("Stopping…")
    except InstanceRunning as error:
        console.print(error.message, style="red", markup=False, soft_wrap=True)
        sys.exit(1)
    console.print("Stopped. The data folder is kept.")


def _tell(step: str) -> None:
    console.print(f"{step}…", markup=False, highlight=False, soft_wrap=True)


def _welcome(stack: Stack) -> Table:
    table = Table(title="Graphveil runs", show_header=False, title_style="bold", title_justify="left")
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    table.add_row("API", stack.url)
    table.add_row("Console", f"{stack.url}/console")
    table.add_row("API description", f"{stack.url}/openapi.json")
    table.add_row(
        "Metrics", f"{stack.metrics_url} (requests)\n{stack.exporter_url} (budgets, jobs, promises)"
    )
    table.add_row("New API key" if stack.first_start else "API key", stack.token)
    table.add_row("It is of", f"tenant {TENANT}, person {FIRST_PERSON}, team {TEAM}; every role")
    table.add_row("Data folder", str(stack.folder.path))
    table.add_row("Logs", str(stack.folder.logs))
    environment = shlex.quote(str(stack.folder.environment_file))
    table.add_row("Verify the ledger", f"(. {environment}; {sys.executable} -m api.admin.ledger verify)")
    table.add_row("Stop", "Ctrl-C")
    return table


if __name__ == "__main__":
    typer.run(up)
