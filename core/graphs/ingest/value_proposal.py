"""What edges carry, proposed from an upload. There are kinds, categories, and bounds widened to round
numbers.

A column is proposed only where every row of the relation has a usable value, so that the upload satisfies the
proposal, and where not all of them have the same. Like all of a proposal it reads the data, and is public
once a curator confirms it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from core.graphs.columns.arrays import as_text
from core.graphs.reading.truths import BOOLEANS, pair_of
from core.graphs.reading.variants import told_of_numbers
from core.graphs.schema.edge_attributes import (
    LARGEST_INTEGER,
    LARGEST_NUMBER,
    MAX_LETTERS,
    RESERVED,
    WEIGHT,
    Aggregate,
    EdgeAttribute,
    EdgeAttributeKind,
)
from core.graphs.uploads.findings import shown
from core.graphs.uploads.value_columns import (
    read_day_seconds,
    read_integers,
    read_numbers,
    readable,
)

MOST_CATEGORIES = 64
"""A column of more texts than these is no attribute by itself: declare its categories."""
_LEAST = 1e-12
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")


@dataclass
class Seen:
    """What the rows of one relation have in one column. Kept small: of many texts only that they are many."""

    held: bool = False
    empty: bool = False
    usable: bool = True
    whole: bool = True
    numeric: bool = True
    timed: bool = True
    low: float = math.inf
    high: float = -math.inf
    texts: set[str] = field(default_factory=set)

    def add(self, column: pa.ChunkedArray) -> None:
        """Take the next rows into account."""
        if not len(column):
            return
        if not readable(column.type):
            self.held, self.usable = True, False
            return
        text = pc.utf8_trim_whitespace(pc.fill_null(as_text(column), ""))
        blank = pc.equal(text, "").to_numpy()
        self.empty |= bool(blank.any())
        self.held |= not bool(blank.all())
        if self.empty or not self.held:
            return
        values, valid, _ = read_numbers(column)
        self.numeric &= bool(valid.all())
        self.whole &= self.numeric and bool(read_integers(column)[1].all())
        if self.numeric:
            self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))
        self.timed &= bool(read_day_seconds(column)[1].all())
        # Of more texts only that they are too many matters.
        if len(self.texts) <= MOST_CATEGORIES:
            self.texts |= set(pc.unique(as_text(column))[: MOST_CATEGORIES + 1].to_pylist())

    def kind(self, name: str) -> EdgeAttributeKind | str:
        """Choose the kind, or say why there is none."""
        if not self.usable:
            return "its type holds no values"
        if self.empty:
            return "it is empty in some rows"
        if _NAME.fullmatch(name) is None or name in RESERVED:
            return "its name is not usable"
        most = max(abs(self.low), abs(self.high))
        if self.numeric and self.whole and most <= LARGEST_INTEGER and name != WEIGHT:
            return EdgeAttributeKind.INTEGER
        if self.numeric and most <= LARGEST_NUMBER:
            return EdgeAttributeKind.NUMBER
        if self.timed:
            return EdgeAttributeKind.TIME_OF_DAY
        if len(self.texts) > MOST_CATEGORIES:
            return f"it holds more than {MOST_CATEGORIES} texts"
        if name == WEIGHT or not all(
            t.isprintable() and t == t.strip() and len(t) <= MAX_LETTERS for t in self.texts
        ):
            return "its texts are no usable categories"
        return EdgeAttributeKind.CATEGORY


def proposed_values(
    seen: Mapping[str, Mapping[str, Seen]], temporal: Mapping[str, bool]
) -> tuple[dict[str, tuple[EdgeAttribute, ...]], dict[str, str], list[str]]:
    """Propose the attributes of each relation. Said is why each other column is not read, and what is
    rewritten.

    ``seen``: of each relation its columns; ``temporal``: which relations carry time.
    """
    kinds: dict[str, set[EdgeAttributeKind]] = {}
    ignored: dict[str, str] = {}
    for columns in seen.values():
        for name, each in columns.items():
            kind = each.kind(name)
            if not each.held:
                continue
            if isinstance(kind, EdgeAttributeKind):
                kinds.setdefault(name, set()).add(kind)
            else:
                ignored[name] = kind
    warnings = []
    for name, found in kinds.items():
        texts = set[str]().union(*(columns[name].texts for columns in seen.values() if name in columns))
        if found == {EdgeAttributeKind.CATEGORY} and (pair := pair_of(texts)):
            texts = {BOOLEANS[pair.index(each.lower())] for each in texts}
            for columns in seen.values():
                if name in columns:
                    columns[name].texts = set(BOOLEANS)
            if pair != BOOLEANS and len(texts) > 1:
                warnings.append(
                    f"The texts {pair[0]} and {pair[1]} of {shown(name)} are read as false and true."
                )
        if len(texts) == 1:
            ignored[name] = "it is the same in every row"
        if found == {EdgeAttributeKind.INTEGER, EdgeAttributeKind.NUMBER}:
            kinds[name] = {EdgeAttributeKind.NUMBER}
        elif len(found) > 1:
            ignored[name] = "it holds different kinds of values in different edge types"
    names = dict.fromkeys(name for columns in seen.values() for name in columns)
    for name in names:
        if name not in kinds:
            ignored.setdefault(name, "it is empty")
    made = {
        relation: tuple(
            _attribute(name, next(iter(kinds[name])), each, temporal[relation])
            for name, each in columns.items()
            if each.held and name not in ignored
        )
        for relation, columns in seen.items()
    }
    return made, ignored, warnings


def numbers_as_texts(seen: Mapping[str, Mapping[str, Seen]]) -> list[str]:
    """Warn of columns that look like numbers. They are proposed as texts, or not at all."""
    warnings: dict[str, None] = {}
    for columns in seen.values():
        for name, each in columns.items():
            kind = each.kind(name)
            texts = kind is EdgeAttributeKind.CATEGORY or (isinstance(kind, str) and not each.numeric)
            if each.held and texts and not each.empty and (warns := told_of_numbers(name, each.texts)):
                warnings[warns] = None
    return list(warnings)


def _attribute(name: str, kind: EdgeAttributeKind, seen: Seen, temporal: bool) -> EdgeAttribute:
    exact = kind is EdgeAttributeKind.INTEGER
    bounds: tuple[float, float] | None = None
    if exact or kind is EdgeAttributeKind.NUMBER:
        limit = LARGEST_INTEGER if exact else LARGEST_NUMBER
        # Outwards to round numbers: the bounds become public, and would else be the extremes of the data.
        low, high = max(-rounded_up(-seen.low), -limit), min(rounded_up(seen.high), limit)
        high += low == high  # zero alone, beside other values of another relation
        bounds = (int(low), int(high)) if exact else (low, high)
    return EdgeAttribute(
        name=name,
        kind=kind,
        categories=tuple(sorted(seen.texts)) if kind is EdgeAttributeKind.CATEGORY else None,
        bounds=bounds,
        aggregate=Aggregate.LAST if temporal else Aggregate.MAX,
    )


def rounded_up(value: float) -> float:
    """Round up to a round number. These are 0, and 1, 2 or 5 times a power of ten."""
    if value <= 0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(max(value, _LEAST)))
    return next(each * power for each in (1, 2, 5, 10) if each * power >= value)
