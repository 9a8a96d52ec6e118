"""Counts again, in a page of results, on how many of the five metrics a method is ahead of each other row.

    python -m benchmarks.stream_ahead docs/results.md

The columns "psgraph ahead" and "keyframe ahead" of the section's tables are written anew from the printed
means, so that one method's rows can be replaced alone. Where two means are printed alike, neither is ahead.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.leads import HIGHER

METRICS = ("top-1 % overlap", "assort. RE", "degree KL", "density RE", "trans. RE")
AHEAD = " ahead"


def cells_of(line: str) -> list[str]:
    """What stands between the bars of a row."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def ahead(one: dict[str, str], other: dict[str, str]) -> str:
    """On how many of the five metrics ``one`` is printed better; nothing beside itself."""
    if one is other:
        return ""
    signs = {name: 1 if name in HIGHER else -1 for name in METRICS}
    better = sum(sign * (float(one[name]) - float(other[name])) > 0 for name, sign in signs.items())
    return f"{better} of {len(METRICS)}"


def counted(table: list[str]) -> Iterator[str]:
    """The lines of one table, with its last columns counted again."""
    titles = cells_of(table[0])
    rows = [dict(zip(titles, cells_of(line), strict=True)) for line in table[2:]]
    named = {row["method"]: row for row in rows}
    yield from table[:2]
    for row in rows:
        told = {
            title: ahead(named[title.removesuffix(AHEAD)], row) for title in titles if title.endswith(AHEAD)
        }
        yield "| " + " | ".join((row | told).values()) + " |\n"


def rewritten(page: str) -> str:
    """The page; only tables with such columns change."""

    def again(found: re.Match[str]) -> str:
        lines = found[0].splitlines(keepends=True)
        return "".join(counted(lines)) if cells_of(lines[0])[-1].endswith(AHEAD) else found[0]

    return re.sub(r"(?:^\|.*\n)+", again, page, flags=re.MULTILINE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path)
    page = parser.parse_args().page
    page.write_text(rewritten(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
