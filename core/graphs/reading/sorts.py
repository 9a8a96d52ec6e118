"""Whether an edge list's ends are two sorts. Ids of two sorts of nodes mean different things."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from core.graphs.reading.cells import Cells
from core.graphs.reading.model import Reading, Role
from core.graphs.reading.roles import TWO_SORTS, loop_odds
from core.graphs.reading.words import are_sorts, ends_among, tokens
from core.graphs.schema.names import plain_name

Numbers = npt.NDArray[np.int64]
MOST_WATCHED = 1 << 15
ASKED_ODDS = math.log(0.05 / 0.95)
"""Log odds of two sorts from which it is asked: one in twenty."""
LEAST_ROWS = 4
"""Fewer rows are seen at a glance, and are not asked about."""
_ORDERED = 0.25
_TWO_SORTS = math.log(TWO_SORTS / (1 - TWO_SORTS))
_NAMES_SAY = 3.0
_ALIKE, _SPREAD, _TEMPER, _MOST_ODDS = 0.1, 0.8, 0.7, 8.0
_GAPS = 2
"""Of gaps between ids, as many may be below the first where few of them were seen."""
_PAIR = pa.schema([("source", pa.int64()), ("target", pa.int64())])
_KONECT = re.compile(r"^(bip|sym|asym)\b")
KONECT = "a comment says so, as KONECT's lists have it"
MOVIELENS, MOST_STARS = "user, item, rating and moment, as MovieLens' lists have it", 10
_ID_SPACE = re.compile(r":(?:START|END)_ID\((.+)\)$")


def names_of(source: str | None, target: str | None) -> tuple[str, str]:
    """Name two sorts of nodes after their columns. It is ``user`` for ``userId``; without names left and
    right."""
    found = []
    spaces = [_ID_SPACE.search((name or "").strip()) for name in (source, target)]
    if all(spaces):
        source, target = (each[1] for each in spaces if each)
    for name in (source, target):
        words = tokens(name or "")
        if len(words) > 1 and words[-1] in ("id", "ids", "key", "name", "no"):
            words = words[:-1]
        made = plain_name("_".join(words)) if words else ""
        found.append(made.removesuffix("id") if len(words) == 1 and len(made) > 3 else made)
    return (found[0], found[1]) if all(found) and found[0] != found[1] else ("left", "right")


def said_by(comments: Sequence[str], names: tuple[str, str] | None) -> tuple[bool | None, str]:
    """Tell what comments or names say of the ends. Comments are KONECT's; None: they say nothing."""
    for comment in comments:
        if found := _KONECT.match(comment):
            return found[1] == "bip", f"a comment says {found[1]}"
    spaces = [_ID_SPACE.search(name.strip()) for name in names or ()]
    if names is not None and all(spaces):
        return len({each[1] for each in spaces if each}) > 1, "the header says whose ids the ends are"
    if names is not None and are_sorts(*names):
        return True, "the names of the ends are those of two sorts"
    return None, ""


def ordered_by(
    comments: Sequence[str], delimiter: str, columns: Sequence[Cells]
) -> tuple[tuple[Role, ...], str]:
    """List what the columns are by a list's form. The grounds come with it; none where its form says nothing.

    A comment of KONECT promises ends, a value and a time; so does the form of MovieLens: two colons, ids, a
    rating and a moment.
    """
    order = (Role.SOURCE, Role.TARGET, Role.VALUE, Role.TIME)
    if any(_KONECT.match(comment) for comment in comments):
        return order, KONECT
    if delimiter == "::" and len(columns) == 4 and columns[3].epoch:
        user, item, rating = columns[:3]
        rated = rating.numeric and min(rating.numbers) >= 0 and max(rating.numbers) <= MOST_STARS
        if user.integer and item.integer and max(item.numbers) > MOST_STARS and rated:
            return order, MOVIELENS
    return (), ""


def ends_named(reading: Reading) -> bool:
    """Tell whether the columns read as ends have the names of ends."""
    ends = [reading.column(role) for role in (Role.SOURCE, Role.TARGET)]
    pair = tuple(0 if column is None else column.place - 1 for column in ends)
    return pair in ends_among([column.name or "" for column in reading.columns])


def doubtful(one: Cells, two: Cells, named: bool) -> str | None:
    """Say why integers at both ends may be two sorts. Two sorts share ids; None where nothing speaks for it.

    ``named``: the columns have the names of ends.
    """
    if not (one.integer and two.integer):
        return None
    pairs = pa.table({"source": list(one.values), "target": list(two.values)}).drop_null()
    watch = Watch(named)
    watch.add(pairs)
    return watch.doubt()


class Watch:
    """Weighs whether integers of both ends are one sort. All rows are weighed; they may be ids of one sort of
    nodes or of two.

    Loops are counted in every row; the ids are those of rows evenly chosen, at most ``MOST_WATCHED``.
    """

    def __init__(self, named: bool) -> None:
        self._named = named
        self._rows = self._loops = 0
        self._step, self._next = 0, 0
        self._kept: list[pa.Table] = []
        self._integers = True

    def add(self, table: pa.Table) -> None:
        """Take the next rows into account."""
        if not self._integers or not table.num_rows:
            return
        ends = table.select(["source", "target"])
        self._step = self._step or -(-ends.num_rows // MOST_WATCHED)
        chosen = ends.take(pa.array(np.arange(self._next, ends.num_rows, self._step)))
        try:
            self._kept.append(chosen.cast(_PAIR))
        except pa.ArrowInvalid:
            self._integers, self._kept = False, []
            return
        self._rows += ends.num_rows
        self._loops += pc.sum(pc.equal(ends["source"], ends["target"])).as_py() or 0
        # Where the next row to watch lies in the next table.
        self._next = (self._next - ends.num_rows) % self._step
        while sum(map(len, self._kept)) > MOST_WATCHED:
            # Every second one stays: they lie evenly over all rows so far.
            self._kept = [pa.concat_tables(self._kept)]
            self._kept = [self._kept[0].take(pa.array(np.arange(0, len(self._kept[0]), 2)))]
            self._step *= 2

    def doubt(self) -> str | None:
        """Say why there may be two sorts of nodes. None where no row is, or where the rows tell that there is
        one."""
        if not self._kept:
            return None
        ends = pa.concat_tables(self._kept).drop_null()
        source, target = (ends[name].to_numpy() for name in ("source", "target"))
        return _reason(source, target, self._loops, self._rows, self._named)


def _reason(one: Numbers, two: Numbers, loops: int, rows: int, named: bool) -> str | None:
    """Weigh loops and ranges: log odds of two sorts against one, which are asked from ``ASKED_ODDS`` on."""
    (ones, times), (twos, counted) = (np.unique(each, return_counts=True) for each in (one, two))
    shared, at, other = np.intersect1d(ones, twos, return_indices=True)
    if not len(shared) or rows < LEAST_ROWS:
        return None
    # By chance, if the columns were independent; estimated from the rows that were watched.
    expected = rows * float((times[at] / len(one)) @ (counted[other] / len(two)))
    by_loops = -loop_odds(loops, expected, rows)
    by_range = _range_odds(ones, twos, one, two)
    odds = _TWO_SORTS + by_loops + by_range - _NAMES_SAY * named
    if odds < ASKED_ODDS:
        return None
    if loops and by_loops > 0:
        return f"{loops} rows have the same id at both ends, as many as two sorts would have by chance"
    if by_range > 0:
        return f"ids go to {ones[-1]} at one end and to {twos[-1]} at the other"
    return "both ends have integers as ids, and too few rows tell the one from the other"


def _range_odds(ones: Numbers, twos: Numbers, one: Numbers, two: Numbers) -> float:
    """Weigh how many ids of one end lie beyond all of the other: of one sort each would be at both by chance.

    Where ids do not count from 0 or 1, or every row has the smaller id at the same end, ranges say nothing.
    """
    union = np.union1d(ones, twos)
    if union[0] < 0 or union[0] > 1 + _GAPS * union[-1] / len(union):
        return -_NAMES_SAY
    ordered = _order_odds(one, two)
    if ordered <= -_NAMES_SAY:
        return ordered
    lesser, larger = (ones, twos) if ones[-1] <= twos[-1] else (twos, ones)
    top = lesser[-1]
    beyond = int((larger > top).sum())
    near = union[(union >= top / 2) & (union <= top)]
    # Half an id more, so that its logarithm is finite.
    share = (np.isin(near, lesser).sum() + 0.5) / (len(near) + 1)
    spread = (1 - _ALIKE) / (_SPREAD * len(union) + 1) + _ALIKE * (beyond == 0)
    return min(
        _MOST_ODDS,
        ordered + math.log(spread) - math.log(share) - _TEMPER * beyond * math.log(1 - min(share, 0.97)),
    )


def _order_odds(one: Numbers, two: Numbers) -> float:
    """Weigh that every row has the smaller id at the same end: many lists of one sort are written so."""
    if 0.05 < float(np.mean(one < two)) < 0.95:
        return 0.0
    by_chance = 2.0 ** max(1 - len(one), -_NAMES_SAY * 2)
    return math.log(by_chance / (_ORDERED + (1 - _ORDERED) * by_chance))


def directed_by(comments: Sequence[str]) -> bool | None:
    """Tell what comments say of direction: KONECT's words, or SNAP's sentence; None: nothing."""
    for comment in comments:
        if found := _KONECT.match(comment):
            return None if found[1] == "bip" else found[1] == "asym"
        if found := re.match(r"(?i)(un)?directed\b", comment):
            return found[1] is None
    return None
