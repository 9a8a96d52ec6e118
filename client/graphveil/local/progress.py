"""Progress of a release, shown by rich. It works in a terminal, and in a notebook."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[str, int, int], None]
NAMES = {
    "load": "reading the graph",
    "fit": "fitting",
    "sample": "drawing",
    "write": "writing",
    "describe": "describing",
}


@contextmanager
def shown(visible: bool) -> Iterator[Progress]:
    """Yield a callback for stage, steps done and all steps. A screen has a line of it while it lasts."""
    if not visible or not _watched():
        yield _silent
        return
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bar(*columns, transient=True) as bar:
        task = bar.add_task("settling", total=None)

        def tell(stage: str, done: int, total: int) -> None:
            bar.update(task, description=NAMES.get(stage, stage), completed=done, total=total or None)

        yield tell


def _watched() -> bool:
    """Tell whether there is a screen: a terminal, or a notebook. Rich, which draws there, is slow to load."""
    return sys.stdout.isatty() or "IPython" in sys.modules


def _silent(stage: str, done: int, total: int) -> None:
    """Tell nobody."""
