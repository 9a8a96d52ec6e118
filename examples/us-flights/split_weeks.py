"""Writes the example as a stream comes: what is known beforehand, and one file for each week.

    python examples/us-flights/split_weeks.py flights
    python examples/us-flights/split_weeks.py flights --delays

``flights/known.csv`` holds the public relation alone; ``flights/weeks/week-00.csv`` and so on hold the
flights of one week each, with the days on which they flew; with ``--delays`` also how late they were, for a
stream that is opened with ``attribute_share``. What is uploaded beforehand has every column that the schema
declares.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).parent
OF_A_SNAPSHOT = ("source", "target", "type", "time")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="a folder")
    parser.add_argument("--delays", action="store_true", help="weeks carry delays")
    asked = parser.parse_args()
    split(asked.out, delays=asked.delays)


def split(out: Path, *, delays: bool = False) -> None:
    """The files are in the folder ``out``."""
    columns = (*OF_A_SNAPSHOT, *(["delay"] if delays else []))
    grid = json.loads((HERE / "schema.json").read_text(encoding="utf-8"))["time"]
    with (HERE / "edges.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    sent = [header.index(name) for name in columns]
    known, weeks = [], defaultdict(list)
    for row in rows:
        day = row[header.index("time")]
        if day:
            weeks[(int(day) - grid["start"]) // grid["width"]].append([row[column] for column in sent])
        else:
            known.append(row)
    _write(out / "known.csv", header, known)
    for step in range(grid["count"]):
        _write(out / "weeks" / f"week-{step:02}.csv", list(columns), weeks[step])


def _write(path: Path, header: list[str], rows: list[list[str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


if __name__ == "__main__":
    main()
