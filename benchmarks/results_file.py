"""A file of results, one JSON line a run: a program makes the runs that it lacks, or prints its tables."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Line = dict[str, Any]


def read(path: Path) -> list[Line]:
    """Its lines; none where there is no such file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def add(path: Path, line: Line) -> None:
    """The line stands at the end of the file, and is printed."""
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")
    print(json.dumps(line), flush=True)


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """With the arguments that every such program takes: RESULTS, ``--data`` and ``--table``."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path)
    parser.add_argument("--data", type=Path, help="the folder of the public data sets")
    parser.add_argument("--table", action="store_true", help="print what RESULTS holds, run nothing")
    return parser


def run_or_print(
    parser: argparse.ArgumentParser,
    asked: argparse.Namespace,
    run_missing: Callable[[argparse.Namespace], None],
    tables: Callable[[list[Line]], Iterable[str]],
) -> None:
    """The missing runs are made; with ``--table`` the tables are printed instead."""
    if asked.table:
        print("\n".join(tables(read(asked.results))))
    elif asked.data is None:
        parser.error("--data names the folder of the public data sets")
    else:
        run_missing(asked)


def runs_or_tables(
    description: str | None,
    runs: int,
    run_missing: Callable[[argparse.Namespace], None],
    tables: Callable[[list[Line]], Iterable[str]],
) -> None:
    """The whole of a program that takes ``--runs``, ``runs`` by default, beside what all take."""
    parser = parser_of(description)
    parser.add_argument("--runs", type=int, default=runs)
    run_or_print(parser, parser.parse_args(), run_missing, tables)
