"""Counts, in a file of results, on how many of the five metrics a method is ahead of each other row.

    python -m benchmarks.stream_ahead docs/results/streams.json

Prints the rows of each table with the columns "psgraph ahead" and "keyframe ahead" counted again from the
printed means, so that one method's rows can be replaced alone. Where two means are printed alike, neither is
ahead. Last: in how many tables PSGraph as published is first among the six systems of its paper, by metric.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

METRICS = ("top-1 % overlap", "assort. RE", "degree KL", "density RE", "trans. RE")
AHEAD = " ahead"
SIX = ("psgraph-paper", "tmf", "der", "privhrg", "ldpgen", "privgraph")
"""PSGraph as published, and the five that its paper compares it with."""


def counted(table: dict[str, Any], higher: list[str]) -> list[list[str]]:
    """The rows of one table, with its last columns counted again; nothing stands beside itself."""
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    named = {row["method"]: row for row in rows}
    for row in rows:
        for title in (each for each in row if each.endswith(AHEAD)):
            one = named[title.removesuffix(AHEAD)]
            signs = {name: 1 if name in higher else -1 for name in METRICS}
            better = sum(sign * (float(one[name]) - float(row[name])) > 0 for name, sign in signs.items())
            row[title] = "" if one is row else f"{better} of {len(METRICS)}"
    return [list(row.values()) for row in rows]


def firsts(tables: list[dict[str, Any]], higher: list[str]) -> dict[str, tuple[int, int]]:
    """By metric, the tables where the first of SIX leads or is level, and those that have all six."""
    found = dict.fromkeys(METRICS, (0, 0))
    for table in tables:
        named = {row[0]: dict(zip(table["columns"], row, strict=True)) for row in table["rows"]}
        if not named.keys() >= set(SIX):
            continue
        for metric, (first, every) in found.items():
            values = [float(named[name][metric]) for name in SIX]
            best = max(values) if metric in higher else min(values)
            found[metric] = first + (values[0] == best), every + 1
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    found = json.loads(parser.parse_args().results.read_text(encoding="utf-8"))
    for table in found["tables"].values():
        print(f"\n{table['title']}")
        for row in counted(table, found["compares"]["higher"]):
            print(json.dumps(row))
    counts = firsts(list(found["tables"].values()), found["compares"]["higher"])
    print(f"\n{SIX[0]} first of {len(SIX)}: " + ", ".join(f"{m} {a} of {b}" for m, (a, b) in counts.items()))


if __name__ == "__main__":
    main()
