"""Where people wait, in one run: the gateway, small jobs, the console, releases and ingest, before and after.

    git worktree add ../former COMMIT
    python -m benchmarks.performance --before ../former --edges Facebook.txt
    python -m benchmarks.performance --only gateway ingest

Each table is that of the benchmark named above it, with its peers and floors beside; small jobs and pages
of the console are measured first with the code of the other checkout, then with ours. About twelve minutes in
all on two cores. Exit status 1 where one of them failed, whose last words are printed in its place.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("gateway", "small jobs", "console", "ingest", "release", "large")
SECONDS = 600.0
"""That one benchmark may take."""


def commands(part: str, asked: argparse.Namespace) -> Iterator[tuple[Path, list[str]]]:
    """The benchmarks of a part: whose code, and what is asked of it."""
    before = [] if asked.before is None else ["--before", str(asked.before.resolve())]
    each = [ROOT] if asked.before is None else [asked.before.resolve(), ROOT]
    edges = [str(path.resolve()) for path in asked.edges]
    if part == "gateway":
        yield ROOT, ["gateway_peers", "--rounds", "3", "--seconds", "3", *before]
    elif part == "small jobs":
        yield from ((tree, ["small_jobs", "--jobs", "20"]) for tree in each)
    elif part == "console":
        seeded = ["--datasets", "100", "--jobs", "20000", "--times", "20"]
        yield from ((tree, ["console_pages", *seeded]) for tree in each)
    elif part == "ingest":
        yield ROOT, ["peers", "--tasks", "ingest", "--rounds", "2", *before]
    elif part == "release":
        only = (
            ["--only", "collaboration", *edges, "--edges", *edges] if edges else ["--only", "collaboration"]
        )
        yield ROOT, ["peers", "--tasks", "release", "--rounds", "1", *only, *before]
    else:
        large = ["--large", "--only", "large", "--times", "2"]
        yield ROOT, ["peers", "--tasks", "release", "--rounds", "1", *large, *before]


def told(tree: Path, command: list[str]) -> bool:
    """Run a benchmark of the tree, print its table, and say whether it was measured."""
    began = time.monotonic()
    whose = "" if tree == ROOT else ", before"
    print(f"\n## python -m benchmarks.{' '.join(command)}{whose}\n", flush=True)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tree), str(tree / "client")])}
    try:
        done = subprocess.run(
            [sys.executable, "-m", f"benchmarks.{command[0]}", *command[1:]],
            cwd=tree,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        print(f"not done within {SECONDS:.0f} s")
        return False
    # A page that is over its bar ends with 1, too: what has a table was measured.
    measured = "|---" in done.stdout
    print(done.stdout if measured else done.stderr[-1_000:])
    print(f"{time.monotonic() - began:.0f} s", flush=True)
    return measured


def main() -> int:
    """Print the tables, one after another."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", type=Path, help="another checkout, measured beside this one")
    parser.add_argument("--edges", type=Path, nargs="*", default=[], help="files of edges to release")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    asked = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    done = [told(*each) for part in asked.only for each in commands(part, asked)]
    return int(not all(done))


if __name__ == "__main__":
    sys.exit(main())
