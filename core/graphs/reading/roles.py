"""Roles of columns, each with its probability. The ends come as a pair, then every other column by itself."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.graphs.reading import words
from core.graphs.reading.cells import CLOCK, COMMA, DATE, DICTIONARY, MONEY, TEXT, Cells
from core.graphs.reading.model import Role

MOST = 24
"""Columns that may be ends: of more, the first."""
SAME_IDS = 0.3
_FEW = 30
LOOPS = 0.1
"""Share of lists of one sort of nodes that have loops; of how many, up to the most, nothing is known."""
TWO_SORTS = 0.15
"""Share of lists whose ends are of two sorts."""
_MOST_LOOPS, _MOST_ODDS = 50, 5.0
_LONGER = math.log(2)


@dataclass(frozen=True)
class Guess:
    """A role, its probability, its grounds, and the next likely role."""

    role: Role
    probability: float
    why: tuple[str, ...]
    rival: Role | None = None


@dataclass(frozen=True)
class Ends:
    """The ends of an edge, with their grounds. They are places from 0, and the probability that it is these
    two.

    ``rival`` are the next likely two.
    """

    source: int
    target: int
    probability: float
    why: tuple[str, ...]
    rival: tuple[int, int] | None = None


def overlap(one: Cells, two: Cells) -> float:
    """Share of the smaller column's distinct cells that the other has too."""
    smaller = min(len(one.distinct), len(two.distinct))
    return len(one.distinct & two.distinct) / smaller if smaller else 0.0


def ends_of(
    names: Sequence[str] | None, columns: Sequence[Cells], fixed: Mapping[int, Role], two_sorts: bool = False
) -> Ends | None:
    """Choose the two columns of the ends; None where there are not two.

    ``fixed`` columns are said, and so are ``two_sorts`` of nodes, whose ids are the same by chance.
    """
    given = {role: place for place, role in fixed.items() if role in (Role.SOURCE, Role.TARGET)}
    named = set(words.ends_among(names)) if names else set()
    of_names = {place for pair in named for place in pair}
    able = [
        place
        for place, column in enumerate(columns)
        if (not column.empty or place in of_names) and (place not in fixed or place in given.values())
    ][:MOST]
    scores: dict[tuple[int, int], float] = {}
    drawbacks = {place: _drawback(columns[place], names[place] if names else None) for place in able}
    for i in able:
        for j in able:
            if i == j or given.get(Role.SOURCE, i) != i or given.get(Role.TARGET, j) != j:
                continue
            scores[i, j] = _pair(i, j, columns, drawbacks, two_sorts)
            if names and (i, j) in named:
                scores[i, j] += 3.0 if words.only_numbered(names[i], names[j]) else 8.0
    if not scores:
        return None
    total = sum(math.exp(score) for score in scores.values())
    best = max(scores, key=lambda pair: scores[pair])
    # Either way round: which two are the ends may be sure where it is not which of them is the source.
    sure = (math.exp(scores[best]) + math.exp(scores.get((best[1], best[0]), -math.inf))) / total
    others = [pair for pair in scores if set(pair) != set(best)]
    rival = max(others, key=lambda pair: scores[pair]) if others else None
    if len(given) == 2:
        return Ends(*best, 1.0, ("you said so",))
    return Ends(*best, sure, _grounds(best, columns, best in named), rival)


def _pair(
    i: int,
    j: int,
    columns: Sequence[Cells],
    drawbacks: Mapping[int, tuple[float, bool]],
    two_sorts: bool,
) -> float:
    one, two = columns[i], columns[j]
    rows = min(len(one.held), len(two.held))
    same = overlap(one, two)
    score = 3.0 * min(1.0, same / SAME_IDS) * rows / (rows + 5)
    if same == 0 and one.length and two.length:
        unlike = abs(math.log(one.length / two.length))
        if one.integer and two.integer:  # of users and items, of whom there are more, and so longer ids
            unlike = max(0.0, unlike - _LONGER)
        score -= min(3.0, 3.0 * unlike)
    elif same and not two_sorts:
        score += _loops(one, two)
    low, high = min(i, j), max(i, j)
    # 0 of the first two columns, 1 of the first and the third: ends mostly come first.
    away = low + high - 1
    score -= (0.0, 2.2, 3.0)[away] if away < 3 else 4.0
    score -= 2.2 * (i > j)
    score += 1.0 if one.integer == two.integer and one.numeric == two.numeric else -1.0
    (first, counts), (second, counted) = drawbacks[i], drawbacks[j]
    return score + first + second - 5.0 * (counts or counted)


def _loops(one: Cells, two: Cells) -> float:
    """Weigh rows with the same cell twice: ends of one sort have few, of two as many as by chance."""
    rows = min(len(one.held), len(two.held))
    # As many as there would be if the columns were independent.
    expected = sum(times * two.counted[value] for value, times in one.counted.items()) / rows
    found = sum(a == b for a, b in zip(one.values, two.values, strict=True) if a)
    odds = min(_MOST_ODDS if found < expected else 0.0, loop_odds(found, expected, rows))
    # A mixture, so that it never falls below log(TWO_SORTS): two sorts have as many loops as by chance.
    return math.log((1 - TWO_SORTS) * math.exp(odds) + TWO_SORTS)


def loop_odds(loops: int, expected: float, rows: int) -> float:
    """Weigh so many loops as log odds. They are odds of two ends of one sort, where few are, against
    independent columns."""
    # The log of the Poisson probability of so many loops, where ``expected`` is their mean.
    by_chance = loops * math.log(expected) - expected - math.lgamma(loops + 1)
    return math.log(1 - LOOPS if loops == 0 else LOOPS / (1 + min(rows, _MOST_LOOPS))) - by_chance


def _drawback(column: Cells, name: str | None) -> tuple[float, bool]:
    """Say how unlike an end a column is, and whether it counts rows or moments: as ids of both ends may."""
    score = 0.0
    if column.fractions or column.share(DATE) > 0.5 or column.share(MONEY, COMMA, CLOCK) > 0.5:
        score -= 6.0
    if column.share(DICTIONARY) > 0.5:
        score -= 8.0
    if column.truths:
        score -= 5.0
    if len(column.distinct) == 1 and len(column.held) > 1:
        score -= 4.0 if len(column.held) > 2 else 3.0
    elif column.few():
        score -= 3.0 if len(column.held) >= 10 * len(column.distinct) else 2.0
    if len(column.held) < len(column.values):
        score -= 2.0
    if column.numeric and not column.integer:
        score -= 3.0
    elif column.integer and min(column.numbers) < 0:
        score -= 6.0
    if name:
        word = words.plain(name)
        if word in words.TIMES or word in words.VALUES or word in words.TYPES or word in words.INDICES:
            score -= 4.0
    return score, column.counter or bool(column.epoch and not column.years) or column.compact


def _grounds(pair: tuple[int, int], columns: Sequence[Cells], named: bool) -> tuple[str, ...]:
    grounds = []
    if named:
        grounds.append("the two names are those of ends")
    if overlap(columns[pair[0]], columns[pair[1]]) > 0:
        grounds.append("the two columns share ids")
    if set(pair) == {0, 1}:
        grounds.append("the first two columns")
    return tuple(grounds or ["it is most like an end"])


def role_of(name: str | None, column: Cells, *, edges: bool = True) -> Guess:
    """Choose the role of a column. It is no end, and no id of a node list."""
    if column.empty:
        return Guess(Role.LEFT, 1.0, ("it is empty",))
    word = words.plain(name) if name else ""
    scores, why = _scores(word, name is not None, column), _why(word, column)
    if not edges:
        return Guess(Role.ATTRIBUTE, 1.0, ("a further column of a node list",))
    total = sum(math.exp(score) for score in scores.values())
    first, second = sorted(scores, key=lambda role: -scores[role])[:2]
    return Guess(first, math.exp(scores[first]) / total, why.get(first) or ("it is most like one",), second)


def _scores(word: str, header: bool, column: Cells) -> dict[Role, float]:
    text = column.share(TEXT, DATE, CLOCK) > 0.5 and not column.dated and not column.truths
    small, truths = column.integer and column.few(_FEW), column.truths is not None
    name = 8.0 if len(word) > 3 else 5.0
    time = -2.0 + name * (word in words.TIMES)
    if column.compact:
        time += 4.5
    elif column.dated:
        time += 8.0
    elif column.epoch:
        time += 5.0
    elif column.years:
        time += 3.5
    time += column.rising * (3.5 if len(column.held) > 4 else 1.8)
    time -= 1.5 * (column.fractions and not column.epoch)
    time -= 1.0 * (small and not column.years) + 8.0 * text + 8.0 * truths
    if column.numeric and min(column.numbers) < 0:
        time -= 3.0
    value = (
        5.0 * (word in words.VALUES) + 1.5 * column.numeric + 3.0 * (column.fractions and not column.epoch)
    )
    value += 2.0 * (column.share(MONEY, COMMA) > 0.5) + 2.0 * truths + 1.0 * small
    value -= 5.0 * (column.dated and not column.compact) + 3.0 * bool(column.epoch) + 8.0 * text
    kind = -1.0 + 5.0 * (word in words.TYPES)
    if text and column.few(_FEW):
        kind += 3.0
    elif text and len(column.held) < 20:
        kind += 2.0
    elif text and 2 * len(column.distinct) > len(column.held):
        kind -= 4.0 * len(column.held) / (len(column.held) + 10)
    kind -= 5.0 * column.numeric + 8.0 * column.dated + 4.0 * truths
    attribute = 1.0 * text + 2.0 * (header and word not in words.TYPES) - 4.0 * column.numeric
    attribute -= 4.0 * column.dated + 8.0 * truths - 3.0 * (column.share(DICTIONARY) > 0.5)
    index = -2.0 + (5.0 if column.counter and not column.epoch else -6.0)
    index += 4.0 * (word in words.INDICES or not word) * (header and column.integer)
    return {
        Role.TIME: time,
        Role.VALUE: value,
        Role.TYPE: kind,
        Role.ATTRIBUTE: attribute,
        Role.LEFT: index,
    }


def _why(word: str, column: Cells) -> dict[Role, tuple[str, ...]]:
    grounds: dict[Role, list[str]] = {role: [] for role in Role}
    for role, known in (
        (Role.TIME, words.TIMES),
        (Role.VALUE, words.VALUES),
        (Role.TYPE, words.TYPES),
        (Role.LEFT, words.INDICES),
    ):
        if word and word in known:
            grounds[role].append("its name is that of one")
    if column.dated:
        grounds[Role.TIME].append("its cells are dates")
    elif column.epoch:
        grounds[Role.TIME].append(f"its numbers are moments of 1980 to 2040 in {column.epoch}")
    elif column.years:
        grounds[Role.TIME].append("its numbers are years")
    if column.rising:
        grounds[Role.TIME].append("it never falls")
    if column.fractions:
        grounds[Role.VALUE].append("its numbers have fractions")
    elif column.numeric:
        grounds[Role.VALUE].append("its cells are numbers")
    if column.truths:
        grounds[Role.VALUE].append(f"its texts are {' and '.join(column.truths)}, read as false and true")
    if column.few(_FEW):
        grounds[Role.TYPE].append("it has few texts, each of them often")
    if column.counter:
        grounds[Role.LEFT].append("it counts the rows")
    return {role: tuple(found) for role, found in grounds.items()}
