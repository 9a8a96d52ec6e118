"""Whether the two ends of an edge list are two sorts of nodes, whose ids mean different things."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from core.graphs.reading.cells import Cells
from core.graphs.reading.words import are_sorts, tokens
from core.graphs.schema.names import plain_name

LOOPS = 0.3
"""Of the loops that independent ends would have: more of them make two sorts likely."""
MOST_WATCHED = 100_000
_RANGES, _NEARER, _BEYOND = 3, 1.3, 6
_ONE, _ROWS = 0.7, 8
_KONECT = re.compile(r"^(bip|sym|asym)\b")


def names_of(source: str | None, target: str | None) -> tuple[str, str]:
    """Name two sorts of nodes after their columns: ``user`` for ``userId``; without names left and right."""
    found = []
    for name in (source, target):
        words = tokens(name or "")
        if len(words) > 1 and words[-1] in ("id", "ids", "key", "name", "no"):
            words = words[:-1]
        made = plain_name("_".join(words)) if words else ""
        found.append(made.removesuffix("id") if len(words) == 1 and len(made) > 3 else made)
    return (found[0], found[1]) if all(found) and found[0] != found[1] else ("left", "right")


def said_by(comments: Sequence[str], names: tuple[str, str] | None) -> tuple[bool | None, str]:
    """Tell what a comment of KONECT or the names of the ends say; None: they say nothing."""
    for comment in comments:
        if found := _KONECT.match(comment):
            return found[1] == "bip", f"a comment says {found[1]}"
    if names is not None and are_sorts(*names):
        return True, "the names of the ends are those of two sorts"
    return None, ""


def doubtful(one: Cells, two: Cells) -> str | None:
    """Say why integers at both ends may be two sorts that share ids; None where nothing speaks for it."""
    if not (one.integer and two.integer) or not one.distinct & two.distinct:
        return None
    pairs = list(zip(one.values, two.values, strict=False))
    loops = sum(a == b for a, b in pairs)
    expected = sum(times * two.counted[value] for value, times in one.counted.items()) / max(len(pairs), 1)
    return _reason(one, two, loops, expected, len(pairs))


def _reason(one: Cells, two: Cells, loops: int, expected: float, rows: int) -> str | None:
    if many_loops(loops, expected, rows):
        return f"{loops} rows have the same id at both ends, as many as two sorts would have by chance"
    lows, highs = (min(one.numbers), min(two.numbers)), (max(one.numbers), max(two.numbers))
    if max(lows) > 1 or min(highs) <= 10:
        return None
    wide = max(highs) >= _RANGES * min(highs)
    larger = one if highs[0] > highs[1] else two
    beyond = {value for value in larger.distinct if int(value) > min(highs)}
    if wide or (max(highs) >= _NEARER * min(highs) and len(beyond) >= _BEYOND and not _ordered(one, two)):
        return f"ids go to {int(highs[0])} at one end and to {int(highs[1])} at the other"
    return None


def _ordered(one: Cells, two: Cells) -> bool:
    """Tell whether nearly every row has the smaller id at the same end, as lists of one sort often do."""
    less = sum(a < b for a, b in zip(one.numbers, two.numbers, strict=False))
    return not 0.05 < less / max(len(one.numbers), 1) < 0.95


def many_loops(loops: int, expected: float, rows: int) -> bool:
    """Tell whether rows with one id at both ends are about as many as independent ends would have."""
    return (loops >= 2 or (loops == 1 and expected >= _ONE and rows >= _ROWS)) and loops > LOOPS * expected


class Watch:
    """Counts, over all rows, what tells two sorts of nodes that share integers as ids from one."""

    def __init__(self) -> None:
        self.rows = self.loops = 0
        self.first: pa.Table | None = None

    def add(self, table: pa.Table) -> None:
        """Take the next rows into account; of the first the ids as well, evenly chosen."""
        ends = table.select(["source", "target"])
        self.rows += ends.num_rows
        self.loops += pc.sum(pc.equal(ends["source"], ends["target"])).as_py() or 0
        if self.first is None and ends.num_rows:
            step = -(-ends.num_rows // MOST_WATCHED)
            self.first = ends.take(pa.array(range(0, ends.num_rows, step)))

    def doubt(self) -> str | None:
        """Say why there may be two sorts, where no row was seen that says otherwise."""
        if self.first is None:
            return None
        one, two = (
            Cells([str(each) for each in column.to_pylist() if each is not None]) for column in self.first
        )
        if not (one.integer and two.integer):
            return None
        chance = sum(times * two.counted[value] for value, times in one.counted.items())
        expected = self.rows * chance / (len(one.values) * len(two.values))
        return _reason(one, two, self.loops, expected, self.rows)


def directed_by(comments: Sequence[str]) -> bool | None:
    """Tell what comments say of direction: KONECT's words, or SNAP's sentence; None: nothing."""
    for comment in comments:
        if found := _KONECT.match(comment):
            return None if found[1] == "bip" else found[1] == "asym"
        if found := re.match(r"(?i)(un)?directed\b", comment):
            return found[1] is None
    return None
