"""The delimiter of a text, and its preamble. The latter are the lines that stand before the first record."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.graphs.reading.cells import COMMA, GROUPED, kind_of
from core.graphs.reading.sample import DICTIONARY, Sample, cells_of, keys_of
from core.graphs.reading.words import ends_among

DELIMITERS = (",", "\t", ";", "|", "::")
SPACES = " "
ASKED = 0.8
MOST_TITLES = 2
_OUTSIDE = re.compile(r"(?<!\d),|,(?!\d)")
_IN_NUMBERS = 0.9
"""Of commas that all stand within numbers, beside spaces: these then separate, if they do as well."""
_RUNS = re.compile(r"[ \t]+")


@dataclass(frozen=True)
class Separated:
    """The delimiter, the number of fields, and the lines before the first record.

    ``rival`` is another delimiter that would do nearly as well. ``keys`` are those of dictionaries at the
    end of lines, as NetworkX writes them.
    """

    delimiter: str
    width: int
    titles: int = 0
    comments: int = 0
    rival: str | None = None
    keys: tuple[str, ...] = ()


def separated(sample: Sample, usual: str, said: str | None, spaces: bool) -> Separated:
    """Choose the delimiter of a text. It splits most lines into as many fields, with no other delimiter
    inside.

    Only where ``spaces``, runs of spaces and tabs are one: a node list may hold names in a single column.
    """
    lines = [line.text for line in sample.head] + list(sample.rest)
    keys = keys_of(lines) if spaces else None
    if keys:
        lines = [DICTIONARY.sub(r"\1", line) for line in lines]
    said = said or sample.delimiter
    tried = [said] if said else [*dict.fromkeys((usual, *DELIMITERS)), *([SPACES] if spaces else [])]
    scores = {delimiter: _score(lines, delimiter) for delimiter in tried}
    if "," in scores and any(" " in line for line in lines) and not any(map(_OUTSIDE.search, lines)):
        scores[","] *= _IN_NUMBERS
    best = max(tried, key=lambda delimiter: scores[delimiter])
    if scores[best] == 0 and not said:
        best = usual
    if not said and best == "," and spaces and _commas_between_spaces(lines, scores):
        best = SPACES
    rivals = [
        each
        for each in tried
        if each != best and scores[each] > ASKED * scores[best] > 0 and _differ(lines, best, each)
    ]
    if best == SPACES and "," in rivals and _commas_between_spaces(lines, scores):
        rivals.remove(",")
    width = _width(lines, best)
    if keys:
        return Separated(best, width + len(keys), rival=rivals[0] if rivals else None, keys=keys)
    titles, comments = _before(sample, best, width)
    return Separated(best, width, titles, comments, rivals[0] if rivals else None)


def _commas_between_spaces(lines: Sequence[str], scores: Mapping[str, float]) -> bool:
    """Tell whether every comma is the decimal mark of a number between spaces: ``a b 0,5``."""
    if scores[SPACES] < scores[","]:
        return False
    found = [cells_of(line, SPACES) or [] for line in lines]
    return _width(lines, SPACES) > _width(lines, ",") and all(
        kind_of(cell) in (COMMA, GROUPED) for cells in found for cell in cells if "," in cell
    )


def _width(lines: Sequence[str], delimiter: str) -> int:
    """Count the fields of most lines; of as many, those of the earlier line."""
    widths = Counter(len(cells) for line in lines if (cells := cells_of(line, delimiter)) is not None)
    return widths.most_common(1)[0][0] if widths else 1


def _score(lines: Sequence[str], delimiter: str) -> float:
    found = [cells for line in lines if (cells := cells_of(line, delimiter)) is not None]
    if not found:
        return 0.0
    width, times = Counter(map(len, found)).most_common(1)[0]
    if width < 2:
        return 0.0
    others = [each for each in DELIMITERS if each != delimiter and (each != "\t" or delimiter != SPACES)]
    clean = total = 0
    for cells in found:
        if len(cells) == width:
            total += width
            clean += sum(_clean(cell, others) for cell in cells)
    mixed = 0.5 if delimiter == SPACES and _mixed(lines) else 1.0
    # Squared: lines of one width count for more than cells that look clean.
    return (times / len(lines)) ** 2 * clean / total * mixed


def _clean(cell: str, others: Sequence[str]) -> bool:
    if not any(each in cell for each in others):
        return True
    return kind_of(cell) in (COMMA, GROUPED) and "," in others


def _mixed(lines: Sequence[str]) -> bool:
    """Tell whether some lines are separated by tabs and by spaces alone too: tabs then are meant."""
    mixed = 0
    for line in lines:
        runs = ["\t" in run for run in _RUNS.findall(line.strip(" \t"))]
        mixed += any(runs) and not all(runs)
    return 2 * mixed > len(lines)


def _differ(lines: Sequence[str], one: str, other: str) -> bool:
    return any(_filled(line, one) != _filled(line, other) for line in lines)


def _filled(line: str, delimiter: str) -> list[str] | None:
    """Split a line without empty fields at its end."""
    cells = cells_of(line, delimiter)
    while cells and not cells[-1]:
        cells.pop()
    return cells


def _before(sample: Sample, delimiter: str, width: int) -> tuple[int, int]:
    """Count title lines and further comments before the first line of the usual width.

    A line such as ``#nodes: 5`` is a comment where its width is another; a title where all others agree.
    """
    rows = [cells_of(line.text, delimiter) or [] for line in sample.head]
    widths = [len(cells) for cells in rows]
    comments = 0
    while comments < len(widths) and sample.head[comments].text[:1] in "#%" and widths[comments] != width:
        comments += 1
    if comments == len(widths):
        return 0, 0
    after = widths[comments:]
    titles = next(
        (place for place, each in enumerate(rows[comments:]) if len(each) == width and not _padded(each)), 0
    )
    enough = 0 < titles <= MOST_TITLES and len(after) >= titles + 2
    if (
        not enough
        or any(each != width for each in after[titles:])
        or _short(sample, comments, delimiter, width)
    ):
        titles = 0
    return titles, comments


def _padded(cells: Sequence[str]) -> bool:
    """Tell whether a line has one field, and spreadsheets' empty ones behind it, or none at all."""
    return len(cells) > 2 and not any(cells[1:])


def _short(sample: Sample, place: int, delimiter: str, width: int) -> bool:
    """Tell whether the first line is a header that lacks fields, or has an empty one beyond the others."""
    cells = cells_of(sample.head[place].text, delimiter) or []
    if len(cells) < width and _named(cells):
        return True
    if len(cells) == width + 1:
        return not cells[-1]
    others = [cells_of(line.text, delimiter) or [""] for line in sample.head[place + 1 :]]
    return len(cells) == width - 1 and all(not each[-1] or not each[0] for each in others)


def _named(cells: Sequence[str]) -> bool:
    return bool(ends_among(cells))
