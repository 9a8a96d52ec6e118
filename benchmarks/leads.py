"""On how many columns each method leads, and its mean place, over the tables of a file of results.

    python -m benchmarks.leads docs/results/static.json

A column is one figure of one table; costs and numbers of runs are none. The best printed mean leads; those
that tie all lead. A figure is better low, but for those that the file says are better high.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np


def places(found: dict[str, Any]) -> dict[str, list[int]]:
    """The place of every method on each column, 1 being the best; those that tie share the better one."""
    taken: dict[str, list[int]] = defaultdict(list)
    higher, no_figures = found["compares"]["higher"], ["method", "runs", *found["compares"]["costs"]]
    for table in found["tables"].values():
        for title, column in zip(table["columns"], zip(*table["rows"], strict=True), strict=True):
            if title not in no_figures:
                sign = -1 if title in higher else 1
                means = [sign * float(cell.split("±")[0]) for cell in column]
                for (method, *_), mean in zip(table["rows"], means, strict=True):
                    taken[method].append(1 + sum(other < mean for other in means))
    return taken


def leads(found: dict[str, Any]) -> list[list[str]]:
    """A row a method: its columns, on how many it leads, its mean place; the best place first."""
    taken = sorted(places(found).items(), key=lambda each: float(np.mean(each[1])))
    return [[method, str(len(own)), str(own.count(1)), f"{np.mean(own):.1f}"] for method, own in taken]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    for row in leads(json.loads(parser.parse_args().results.read_text(encoding="utf-8"))):
        print(json.dumps(row))


if __name__ == "__main__":
    main()
