"""On how many columns each method leads, and its mean place, from the printed tables of a section of results.

    python -m benchmarks.leads docs/results.md --section "Static graphs"

A column is one figure of one table; costs and numbers of runs are none. The best printed mean leads; those
that tie all lead. A figure is better low, but for those of HIGHER.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

HIGHER = frozenset({"top-1 % overlap", "NMI"})
NO_FIGURES = frozenset({"method", "runs", "CPU s"})

Table = list[dict[str, str]]


def tables(text: str, section: str) -> Iterator[Table]:
    """The Markdown tables of runs under ``## section``: one mapping of titles to cells for each row."""
    part = re.search(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if part is None:
        raise ValueError(f"no section {section!r}")
    for block in re.findall(r"(?:^\|.*\n?)+", part[1], re.MULTILINE):
        titles, _, *rows = (
            [cell.strip() for cell in line.strip("|").split("|")] for line in block.split("\n") if line
        )
        if "runs" in titles:  # and not what this script printed
            yield [dict(zip(titles, row, strict=True)) for row in rows]


def places(found: list[Table]) -> dict[str, list[int]]:
    """The place of every method on each column, 1 being the best; those that tie share the better one."""
    taken: dict[str, list[int]] = defaultdict(list)
    for table in found:
        for title in table[0].keys() - NO_FIGURES:
            sign = -1 if title in HIGHER else 1
            means = {row["method"]: sign * float(row[title].split("±")[0]) for row in table}
            for method, mean in means.items():
                taken[method].append(1 + sum(other < mean for other in means.values()))
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("--section", default="Static graphs")
    args = parser.parse_args()
    taken = places(list(tables(args.page.read_text(encoding="utf-8"), args.section)))
    print("| method | columns | led | mean place |\n|---|---|---|---|")
    for method, own in sorted(taken.items(), key=lambda each: float(np.mean(each[1]))):
        print(f"| {method} | {len(own)} | {own.count(1)} | {np.mean(own):.1f} |")


if __name__ == "__main__":
    main()
