"""Progress of a release, shown by rich. It works in a terminal, and in a notebook."""

from __future__ import annotations

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
    """Yield a callback for stage, steps done and all steps. A line is on the screen while it lasts."""
    if not visible:
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


def _silent(stage: str, done: int, total: int) -> None:
    """Tell nobody."""
