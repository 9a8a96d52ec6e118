"""What the cells of a column look like: integers, numbers, dates, epochs, texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import pairwise

from core.graphs.reading.truths import pair_of

_INTEGER = re.compile(r"[-+]?\d{1,25}")
_NUMBER = re.compile(r"[-+]?(\d+\.\d*|\.\d+|\d+)([eE][-+]?\d+)?")
_COMMA = re.compile(r"[-+]?(\d{1,3}(\.\d{3})+|\d*),\d+([eE][-+]?\d+)?")
_GROUPED = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?")
_MONEY = re.compile(r"[-+]?\s?[$€£¥]\s?[-+]?[\d.,]+|[-+]?[\d.,]*\d\s?([$€£¥%]|EUR|USD|GBP|CHF)")
_ISO = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}([T ]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?)?( ?([zZ]|UTC|[-+]\d{2}(:?\d{2})?))?"
)
_COMPACT = re.compile(r"(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(T?\d{4}(\d{2})?)?Z?")
_SLASHED = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{2}|\d{4})(,? \d{1,2}:\d{2}(:\d{2})?( ?[aApP][mM])?)?")
_YEAR_FIRST = re.compile(r"\d{4}([./])\d{1,2}\1\d{1,2}( \d{1,2}:\d{2}(:\d{2})?( ?[aApP][mM])?)?")
_NAMED = re.compile(r"(\d{1,2}[- .]+)?[A-Za-z]{3,9}\.?[- ,]+(\d{1,2},? )?\d{4}( \d{1,2}:\d{2}(:\d{2})?)?")
_ISO_12 = re.compile(r"\d{4}-\d{2}-\d{2} \d{1,2}:\d{2}(:\d{2})? ?[aApP][mM]")
_CLOCK = re.compile(r"([01]?\d|2[0-3]):[0-5]\d(:[0-5]\d([.,]\d+)?)?( ?[aApP][mM])?")
_MONTHS = frozenset(("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"))

INTEGER, NUMBER, COMMA, GROUPED, MONEY = "integer", "number", "decimal comma", "grouped", "money"
DATE, CLOCK, DICTIONARY, TEXT, EMPTY = "date", "time of day", "dictionary", "text", ""
NUMERIC = frozenset({INTEGER, NUMBER, COMMA, GROUPED})
_SPELLINGS, _LETTERS = 8, 8
_EPOCHS = (("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9))
_EARLIEST, _LATEST = 315_532_800, 2_208_988_800  # 1980 and 2040


def kind_of(cell: str) -> str:
    """Name what one cell looks like."""
    if not cell:
        return EMPTY
    first = cell[0]
    if first.isdigit() or first in "+-.,":
        if _INTEGER.fullmatch(cell):
            return INTEGER
        if _NUMBER.fullmatch(cell):
            return NUMBER
        if _GROUPED.fullmatch(cell) and cell.count(",") + ("." in cell) > 1:
            return GROUPED
        if _COMMA.fullmatch(cell):
            return COMMA
    if first.isdigit():
        if _ISO.fullmatch(cell) or _SLASHED.fullmatch(cell) or _YEAR_FIRST.fullmatch(cell):
            return DATE
        if _COMPACT.fullmatch(cell) or _ISO_12.fullmatch(cell):
            return DATE
        if _CLOCK.fullmatch(cell):
            return CLOCK
    if any(letter.isdigit() for letter in cell):
        if _NAMED.fullmatch(cell) and any(
            word[:3].lower() in _MONTHS for word in re.findall(r"[A-Za-z]+", cell)
        ):
            return DATE
        if _MONEY.fullmatch(cell):
            return MONEY
    if first == "{" and cell.endswith("}"):
        return DICTIONARY
    return TEXT


def shape_of(cell: str) -> str:
    """Write the shape of a text. Letters are a, digits 0, other signs as they are, each run once."""
    text = re.sub(r"\d+", "0", cell)
    return re.sub(r"[^\W\d_]+", "a", text)


@dataclass(frozen=True)
class Cells:
    """The cells of one column in the sample, in order."""

    values: Sequence[str]

    @cached_property
    def counted(self) -> Counter[str]:
        return Counter(self.held)

    @cached_property
    def held(self) -> list[str]:
        return [value for value in self.values if value]

    @cached_property
    def kinds(self) -> dict[str, float]:
        """Shares of the kinds among what is not empty."""
        found: Counter[str] = Counter()
        for value, times in self.counted.items():
            found[kind_of(value)] += times
        return {kind: times / len(self.held) for kind, times in found.items()}

    @cached_property
    def distinct(self) -> frozenset[str]:
        return frozenset(self.counted)

    def share(self, *kinds: str) -> float:
        return sum(self.kinds.get(kind, 0.0) for kind in kinds)

    @cached_property
    def length(self) -> float:
        """The mean length of what is not empty, in letters."""
        return sum(map(len, self.held)) / len(self.held) if self.held else 0.0

    @cached_property
    def empty(self) -> bool:
        return not self.held

    @cached_property
    def integer(self) -> bool:
        return not self.empty and self.share(INTEGER) == 1

    @cached_property
    def numeric(self) -> bool:
        return not self.empty and self.share(*NUMERIC) >= 0.98

    @cached_property
    def fractions(self) -> bool:
        """Some of the numbers have a fraction that is not zero."""
        return self.numeric and any(each % 1 != 0 for each in self.numbers)

    @cached_property
    def dated(self) -> bool:
        """Dates throughout, or numbers of eight digits that all are."""
        return not self.empty and (self.share(DATE) >= 0.98 or self.compact)

    @cached_property
    def compact(self) -> bool:
        """Eight, twelve or fourteen digits that are days of 1900 to 2099."""
        return not self.empty and all(
            len(value.rstrip("Z").replace("T", "")) in (8, 12, 14)
            and _COMPACT.fullmatch(value)
            and _is_day(value[:8])
            for value in self.distinct
        )

    @cached_property
    def numbers(self) -> list[float]:
        """The numbers, in order; what is none is left out."""
        found = []
        for value in self.held:
            kind = kind_of(value)
            if kind == COMMA:
                value = value.replace(".", "").replace(",", ".")
            elif kind == GROUPED:
                value = value.replace(",", "")
            if kind in NUMERIC:
                found.append(float(value))
        return found

    @cached_property
    def epoch(self) -> str | None:
        """Find the unit of epoch times. In it all numbers are moments of 1980 to 2040: s, ms, us or ns."""
        if not self.numeric or any(value.startswith("+") for value in self.distinct):
            return None
        low, high = min(self.numbers), max(self.numbers)
        for unit, scale in _EPOCHS:
            if _EARLIEST * scale <= low and high < _LATEST * scale:
                return unit
        return None

    @cached_property
    def years(self) -> bool:
        return self.integer and all(1900 <= each <= 2100 for each in self.numbers) and len(self.numbers) > 0

    @cached_property
    def rising(self) -> bool:
        """Tell whether values rise from row to row. They are numbers, or dates as they stand, never fall, and
        do rise."""
        if self.numeric:
            numbers = self.numbers
        elif self.share(DATE) == 1 and all(_ISO.fullmatch(value) for value in self.distinct):
            return len(self.distinct) > 1 and list(self.held) == sorted(self.held)
        else:
            return False
        return len(numbers) > 2 and numbers[0] < numbers[-1] and all(a <= b for a, b in pairwise(numbers))

    @cached_property
    def counter(self) -> bool:
        """Find the rows that count up by one. They count as far as they adjoin."""
        if not self.integer or len(self.numbers) < 3 or len(self.numbers) != len(self.values):
            return False
        steps = [b - a for a, b in pairwise(self.numbers)]
        return self.numbers[0] in (0, 1) and min(steps) >= 1 and steps.count(1) >= 0.9 * len(steps)

    @cached_property
    def truths(self) -> tuple[str, ...] | None:
        """Find a column's words for no and yes. It has them throughout; letters alone are ids where there are
        few."""
        pair = pair_of(self.distinct) if self.distinct and len(self.distinct) <= _SPELLINGS else None
        certain = pair is None or len(pair[1]) > 1 or (len(self.distinct) > 1 and len(self.held) >= _LETTERS)
        return pair if certain else None

    @cached_property
    def shapes(self) -> Counter[str]:
        return Counter(shape_of(value) for value in self.held)

    def few(self, most: int = 30) -> bool:
        """Few values, each of them often."""
        return 0 < len(self.distinct) <= most and len(self.held) >= 3 * len(self.distinct)


def _is_day(text: str) -> bool:
    try:
        datetime.strptime(text, "%Y%m%d")
    except ValueError:
        return False
    return True


def order_of_days(values: Sequence[str]) -> str | None:
    """Tell the order of day and month in dates. For dates such as 03/04/2024 it is ``dmy``, ``mdy``, or None
    where none says.

    A field above 12 is a day. Dates with points are days first.
    """
    first = second = False
    points = True
    for value in values:
        found = _SLASHED.fullmatch(value)
        if found is None:
            continue
        points = points and found[2] == "."
        first |= int(found[1]) > 12
        second |= int(found[3]) > 12
    if first != second:
        return "dmy" if first else "mdy"
    return "dmy" if points and not first else None


def slashed(values: Sequence[str]) -> bool:
    """Tell whether all are dates with slashes. Their first two fields are day and month, in one order or the
    other."""
    return bool(values) and all(_SLASHED.fullmatch(value) for value in values)
