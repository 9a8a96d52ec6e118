"""A column's values as a graph carries them, and back. Bins, bounds and categories are declared ones."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, timezone
from functools import cached_property
from typing import TYPE_CHECKING, Any

from graphveil.problems import InvalidInput
from graphveil.sources.libraries import library
from graphveil.tables.mapping import Column, Place
from graphveil.tables.reading import arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

NONE = "(none)"
"""The category, or the end, of what is missing."""
SECONDS = {"w": 604_800, "d": 86_400, "h": 3_600, "min": 60, "s": 1}
MOST = 4_096
_EVEN = 16
"""Bins of a range whose cuts nobody declared."""


@dataclass(frozen=True)
class Values:
    """The values of one protected column of private rows."""

    where: str
    column: Column

    def __post_init__(self) -> None:
        said = self.column
        if self.texts:
            if self.categories is None:
                raise self._refused("declare its categories, or withhold it: free text is not drawn")
        elif said.bounds is None:
            raise self._refused("declare its bounds, or categories, or withhold it")

    def _refused(self, what: str) -> InvalidInput:
        return InvalidInput(f"{self.where} has no declared values; {what}", field=self.where)

    @property
    def dated(self) -> bool:
        """Whether it counts days or seconds from its first bound."""
        return self.column.type in ("date", "timestamp") and self.column.categories is None

    @property
    def whole(self) -> bool:
        """Whether values are integers."""
        return self.dated or "int" in self.column.type

    @property
    def texts(self) -> bool:
        """Whether values are categories."""
        return self.column.categories is not None or self.column.type in ("string", "bool")

    @cached_property
    def categories(self) -> tuple[str, ...] | None:
        """The categories, with one for what is missing."""
        said = self.column.categories or (("false", "true") if self.column.type == "bool" else None)
        if said is None or not self.column.null:
            return said
        return (*said, NONE)

    @cached_property
    def range(self) -> tuple[Any, Any]:
        """The bounds as numbers."""
        assert self.column.bounds is not None
        low, high = self.column.bounds
        if self.dated:
            return 0, self._count(high) - self._count(low)
        try:
            return (int(low), int(high)) if self.whole else (float(low), float(high))
        except (TypeError, ValueError):
            raise InvalidInput(f"{self.where} has bounds that are no numbers", field=self.where) from None

    @cached_property
    def cuts(self) -> tuple[Any, ...]:
        """Where bins begin: declared, by the width of dates, or even ones."""
        low, high = self.range
        if self.column.cuts:
            return self.column.cuts
        width = self.step
        if width is None:
            width = (high - low + 1) // _EVEN if self.whole else (high - low) / _EVEN
            width = max(width, 1) if self.whole else width
        if not width or (high - low) / width > 1_000:
            raise InvalidInput(f"{self.where} has no bins, or above 1000; declare cuts", field=self.where)
        made, at = [], low + width
        while at < high or (self.whole and at <= high):
            made.append(at)
            at += width
        return tuple(made)

    @property
    def step(self) -> int | None:
        """The declared width of dates, in days or seconds."""
        if self.column.width is None:
            return None
        found = re.fullmatch(r"([0-9]{1,9})(w|d|h|min|s)", self.column.width)
        if found is None or not self.dated:
            raise InvalidInput(
                f"{self.where}: a width is of dates, such as 1w, 1d or 1h", field=f"{self.where}.width"
            )
        seconds = int(found[1]) * SECONDS[found[2]]
        return max(seconds // 86_400, 1) if self.column.type == "date" else seconds

    def declaration(self) -> Place:
        """Declare an edge attribute of these values."""
        if self.texts:
            return {"kind": "category", "categories": list(self.categories or ())}
        (low, high), cuts = self.range, list(self.cuts)
        if self.column.null:  # a bin below the others is what is missing
            low, cuts = self.missing, [low, *cuts]
        made: Place = {"kind": "integer" if self.whole else "number", "bounds": [low, high], "cuts": cuts}
        return {**made, "clip": True} if self.column.clip else made

    @property
    def missing(self) -> Any:
        """The number that says that there is none."""
        low, high = self.range
        return low - 1 if self.whole else low - max(high - low, 1.0) / 16

    def encode(self, array: Any) -> pa.Array:
        """Return what the graph carries: texts, integers or numbers. InvalidInput for nulls not declared."""
        pa, pc = library("pyarrow", "tables"), library("pyarrow.compute", "tables")
        if array.null_count and not self.column.null:
            raise InvalidInput(
                f"{self.where} has rows without a value; say null: true in the mapping", field=self.where
            )
        if self.texts:
            coded = pc.fill_null(array.cast(pa.string()), NONE)
            self._hold(pc.is_in(coded, value_set=pa.array(self.categories, pa.string())), "its categories")
            return coded
        kind = pa.int64() if self.whole else pa.float64()
        numbers = self._from_date(array) if self.dated else array.cast(kind)
        low, high = self.range
        if self.column.clip:
            numbers = pc.min_element_wise(
                pc.max_element_wise(numbers, low, skip_nulls=False), high, skip_nulls=False
            )
        inside = pc.and_(pc.greater_equal(numbers, low), pc.less_equal(numbers, high))
        self._hold(pc.fill_null(inside, True), "its bounds")
        return pc.fill_null(numbers, self.missing).cast(kind)

    def _hold(self, good: Any, what: str) -> None:
        pc = library("pyarrow.compute", "tables")
        if not pc.all(good, min_count=0).as_py():
            raise InvalidInput(
                f"{self.where} has a value outside {what}; declare more, or clip a number", field=self.where
            )

    def decode(self, array: Any) -> pa.Array:
        """Return values of the column's type."""
        pa, pc = library("pyarrow", "tables"), library("pyarrow.compute", "tables")
        kind = arrow_type(self.column.type)
        if self.texts:
            texts = array.cast(pa.string())
            return pc.if_else(pc.equal(texts, NONE), None, texts).cast(kind)
        low = self.range[0]
        if self.column.null:
            array = pc.if_else(pc.less(array, low), None, array)
        return self._to_date(array) if self.dated else array.cast(kind)

    def to_bin(self, coded: Any) -> pa.Array:
        """Number the bin of each coded value."""
        pa, pc = library("pyarrow", "tables"), library("pyarrow.compute", "tables")
        if self.texts:
            return pc.index_in(coded, value_set=pa.array(self.categories, pa.string())).cast(pa.int64())
        place = pa.array([0] * len(coded), pa.int64())
        for cut in self.declaration()["cuts"]:
            place = pc.add(place, pc.greater_equal(coded, cut).cast(pa.int64()))
        return place

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return len(self.categories or ()) if self.texts else len(self.declaration()["cuts"]) + 1

    def from_bin(self, place: Any) -> pa.Array:
        """Draw a coded value evenly inside each bin."""
        pa, pc = library("pyarrow", "tables"), library("pyarrow.compute", "tables")
        if self.texts:
            return pa.array(self.categories, pa.string()).take(place)
        said = self.declaration()
        edges = [said["bounds"][0], *said["cuts"], said["bounds"][1] + (1 if self.whole else 0)]
        lows, highs = (pa.array(each, pa.float64()).take(place) for each in (edges[:-1], edges[1:]))
        drawn = pc.add(lows, pc.multiply(pc.random(len(place)), pc.subtract(highs, lows)))
        return pc.floor(drawn).cast(pa.int64()) if self.whole else drawn

    def _count(self, moment: Any) -> int:
        """Count days, or seconds, since 1970."""
        try:
            found = datetime.fromisoformat(str(moment))
        except ValueError:
            raise InvalidInput(f"{self.where}: {moment!r} is no date", field=self.where) from None
        if self.column.type == "date":
            return (found.date() - date(1970, 1, 1)).days
        return int((found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp())

    @property
    def start(self) -> int:
        """The first bound of dates, in days or seconds since 1970."""
        assert self.column.bounds is not None
        return self._count(self.column.bounds[0])

    def _from_date(self, array: Any) -> pa.Array:
        pa, pc = library("pyarrow", "tables"), library("pyarrow.compute", "tables")
        if self.column.type == "date":
            counted = array.cast(pa.date32()).cast(pa.int32()).cast(pa.int64())
        else:
            counted = pc.divide(pc.floor_temporal(array, unit="second").cast(pa.int64()), 1_000_000)
        return pc.subtract(counted, self.start)

    def _to_date(self, array: Any) -> pa.Array:
        pa, pc = library("pyarrow", "tables"), library("pyarrow.compute", "tables")
        counted = pc.add(array.cast(pa.int64()), self.start)
        if self.column.type == "date":
            return counted.cast(pa.int32()).cast(pa.date32())
        return pc.multiply(counted, 1_000_000).cast(pa.timestamp("us"))


@dataclass(frozen=True)
class Carried:
    """One value that edges carry, and the columns in it: one, or several that are drawn as one."""

    name: str
    values: tuple[Values, ...]
    columns: tuple[str, ...]

    def declaration(self) -> Place:
        """Declare the edge attribute."""
        if len(self.values) == 1:
            return {"name": self.name, **self.values[0].declaration()}
        size = 1
        for each in self.values:
            size *= each.bins
        if size > MOST:
            raise InvalidInput(
                f"{' and '.join(self.columns)} have {size} joint bins, above {MOST}; declare fewer cuts",
                field="together",
            )
        return {"name": self.name, "kind": "category", "categories": [f"b{place}" for place in range(size)]}

    def encode(self, arrays: list[Any]) -> pa.Array:
        """Return what edges carry, of a coded array a column."""
        pa, pc = library("pyarrow", "tables"), library("pyarrow.compute", "tables")
        if len(arrays) == 1:
            return arrays[0]
        place = None
        for values, array in zip(self.values, arrays):  # noqa: B905 - one array a column
            own = values.to_bin(array)
            place = own if place is None else pc.add(pc.multiply(place, values.bins), own)
        assert place is not None
        return pc.binary_join_element_wise("b", place.cast(pa.string()), "")

    def decode(self, array: Any) -> dict[str, pa.Array]:
        """Return each column's coded values again."""
        pa, pc = library("pyarrow", "tables"), library("pyarrow.compute", "tables")
        if len(self.values) == 1:
            return {self.columns[0]: array}
        place = pc.utf8_slice_codeunits(array.cast(pa.string()), 1).cast(pa.int64())
        made = {}
        for column, values in zip(reversed(self.columns), reversed(self.values)):  # noqa: B905 - as above
            own = pc.subtract(place, pc.multiply(pc.divide(place, values.bins), values.bins))
            made[column] = values.from_bin(own)
            place = pc.divide(place, values.bins)
        return made
