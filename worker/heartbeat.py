"""Probe of the worker: ``python -m worker.heartbeat``. It exits with 0 while the process of this container
goes on with its duty, else 1.

A process that serves no HTTP touches the file that ``GRAPHVEIL_HEARTBEAT_FILE`` names, each time that its
loop comes round; the images name ``FILE``, where this looks unless it is told another. Nothing is imported
here that takes time: a container engine asks every half minute.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

FILE = "/tmp/graphveil-heartbeat"
MOST_SECONDS = 1800.0
"""So long one turn of a duty may take: the verifier's, over a large ledger, is the longest."""
EVERY_SECONDS = 10.0


class Heartbeat:
    """A file that the last beat touched. Its time of change is that of the beat; none where no file is
    named."""

    def __init__(self, path: str) -> None:
        self._path = Path(path) if path else None

    def beat(self) -> None:
        """Say that the duty goes on. A full disk must not end it: the check tells then."""
        if self._path is None:
            return
        try:
            self._path.touch()
        except OSError as error:
            sys.stderr.write(f"no heartbeat: {type(error).__name__}\n")

    def age_seconds(self) -> float | None:
        """Compute how long ago the last beat was. None where there was none."""
        try:
            return None if self._path is None else time.time() - self._path.stat().st_mtime
        except FileNotFoundError:
            return None


def main() -> int:
    """Say whether the last beat is recent; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m worker.heartbeat", description=__doc__)
    parser.add_argument("--file", default=FILE, help="the file that is touched")
    path = parser.parse_args().file
    age = Heartbeat(path).age_seconds()
    if age is None:
        sys.stderr.write(f"there is no {path}\n")
        return 1
    sys.stdout.write(f"last beat {age:.0f} s ago\n")
    return 0 if age <= MOST_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
