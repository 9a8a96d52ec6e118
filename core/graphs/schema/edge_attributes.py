"""What edges carry, as it is declared. It may be an amount, stars, a sign, a time of day.

Categories, bounds and cuts are public by declaration, like all of a schema; the values are as private as the
edges that carry them. No NumPy here: the api validates schemas without loading data.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from core.graphs.schema.names import Frozen, Name

DAY_SECONDS = 24 * 60 * 60
MAX_CATEGORIES = 4096
MAX_LETTERS = 128
MAX_CUTS = 1023
MAX_ATTRIBUTES = 64
MAX_RECORDS = 1_000_000
LARGEST_INTEGER = 2**31 - 2  # one less than int32 holds: what lies beyond is told from it
LARGEST_NUMBER = 10.0**15
"""Of a bound and of a value: sums over a billion rows then stay finite, and integers are exact."""
WEIGHT = "weight"
"""The column in which some methods publish weights of their own: always of numbers."""
RESERVED = frozenset(
    {"id", "key", "source", "target", "time", "step", "type", "graph_id", "source_type", "target_type"}
)
"""Columns of an edge list, and what documents name edges by."""

Number = int | Annotated[float, Field(allow_inf_nan=False)]
Categories = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=MAX_LETTERS)], ...],
    Field(min_length=1, max_length=MAX_CATEGORIES),
]


class EdgeAttributeKind(StrEnum):
    """What a value is: one of the categories, an integer, a number, or a time between 00:00 and 24:00."""

    CATEGORY = "category"
    INTEGER = "integer"
    NUMBER = "number"
    TIME_OF_DAY = "time_of_day"


class Multiplicity(StrEnum):
    """What becomes of several rows of one edge: one value is made of theirs, or each is kept beside it."""

    MERGED = "merged"
    EACH = "each"


class Aggregate(StrEnum):
    """How one value is made of an edge's rows. ``min`` and ``max`` of categories are by their declared order;
    ``first`` and ``last`` are by time, and where times are equal by value; ``count`` counts the rows, or adds
    up the counts that a file has.
    """

    SUM = "sum"
    MEAN = "mean"
    MIN = "min"
    MAX = "max"
    FIRST = "first"
    LAST = "last"
    COUNT = "count"


class Overflow(StrEnum):
    """What becomes of more rows of one edge than are declared: refused, or the first or last in time kept."""

    REFUSE = "refuse"
    FIRST = "first"
    LAST = "last"


IN_TIME = frozenset({Aggregate.FIRST, Aggregate.LAST})
SUMMED = frozenset({Aggregate.SUM, Aggregate.COUNT})
"""Of these bounds hold for what is made of the rows, not for each."""
_TAKEN = {
    EdgeAttributeKind.CATEGORY: IN_TIME | {Aggregate.MIN, Aggregate.MAX},
    EdgeAttributeKind.INTEGER: frozenset(Aggregate),
    EdgeAttributeKind.NUMBER: frozenset(Aggregate) - {Aggregate.COUNT},
    EdgeAttributeKind.TIME_OF_DAY: IN_TIME | {Aggregate.MIN, Aggregate.MAX},
}


class EdgeAttribute(Frozen):
    """One value that every edge of a type carries.

    ``categories`` of a category, and ``bounds`` (both included) of an integer or a number, are what a value
    may be: another is refused, or with ``clip`` set to the nearer bound. ``cuts`` divide the range into bins
    for a method that reads it. ``from_time`` takes a time of day from the edge's time, which then counts
    seconds since 1970 in UTC, where a file has no column for it. What is not set is not written.
    """

    name: Name
    kind: EdgeAttributeKind
    categories: Categories | None = None
    bounds: tuple[Number, Number] | None = None
    cuts: Annotated[tuple[Number, ...], Field(max_length=MAX_CUTS)] = ()
    clip: bool = False
    aggregate: Aggregate | None = None
    from_time: bool = False

    @property
    def numeric(self) -> bool:
        """Whether it is declared by bounds."""
        return self.kind in (EdgeAttributeKind.INTEGER, EdgeAttributeKind.NUMBER)

    @property
    def needs_column(self) -> bool:
        """Whether an upload must have a column for it."""
        return not self.from_time and self.aggregate is not Aggregate.COUNT

    @property
    def range(self) -> tuple[float, float]:
        """The least and the largest stored value. Of a category they are positions among the declared
        ones."""
        if self.categories is not None:
            return 0, len(self.categories) - 1
        return self.bounds or (0, DAY_SECONDS - 1)

    @model_serializer(mode="wrap")
    def _compact(self, write: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]  # so that it keeps its JSON Schema
        written: dict[str, Any] = write(self)
        return {name: value for name, value in written.items() if value or name in ("name", "kind")}

    @model_validator(mode="after")
    def _of_its_kind(self) -> Self:
        what = f"edge attribute {self.name!r}"
        if self.name in RESERVED:
            raise ValueError(f"{what} has the name of a column of edge lists; rename it")
        if self.name == WEIGHT and self.kind is not EdgeAttributeKind.NUMBER:
            raise ValueError(f"{what} must be a number: methods publish numbers in that column; rename it")
        if (self.categories is not None) != (self.kind is EdgeAttributeKind.CATEGORY):
            raise ValueError(f"{what}: a category declares its categories, and nothing else does")
        if (self.bounds is not None) != self.numeric:
            raise ValueError(f"{what}: integers and numbers declare bounds, and nothing else does")
        if self.clip and not self.numeric:
            raise ValueError(f"{what}: only integers and numbers are clipped to their bounds")
        if self.from_time and self.kind is not EdgeAttributeKind.TIME_OF_DAY:
            raise ValueError(f"{what}: only a time of day is taken from the time")
        if self.aggregate is not None and self.aggregate not in _TAKEN[self.kind]:
            known = ", ".join(sorted(_TAKEN[self.kind]))
            raise ValueError(f"{what}: values of this kind are merged by {known}")
        exact = self.kind is EdgeAttributeKind.INTEGER
        if exact and not all(isinstance(bound, int) for bound in (*self.range, *self.cuts)):
            raise ValueError(f"{what}: bounds and cuts of integers are integers")
        if self.cuts and self.categories is not None:
            raise ValueError(f"{what}: categories are not cut into bins")
        most = LARGEST_INTEGER if exact else LARGEST_NUMBER
        problem = categories_problem(self.categories) or range_problem(self.range, self.cuts, most)
        if problem:
            raise ValueError(f"{what} {problem}")
        return self


def categories_problem(categories: tuple[str, ...] | None) -> str | None:
    """Say what is wrong with declared categories, or None."""
    known = categories or ()
    if len(set(known)) != len(known):
        return "declares a category twice"
    for category in known:
        if not category.isprintable() or category != category.strip():
            return f"has the category {category!r}, with control characters or spaces around it"
    return None


def range_problem(
    bounds: tuple[float, float] | None, cuts: tuple[float, ...], most: float = LARGEST_NUMBER
) -> str | None:
    """Say what is wrong with bounds and cuts, or None. Without bounds there are no cuts."""
    if bounds is None:
        return None
    low, high = bounds
    if not low <= high:
        return "has its first bound above the second"
    if max(abs(low), abs(high)) > most:
        return f"has bounds that do not lie between -{most} and {most}"
    # A cut at ``low`` would leave its first bin empty.
    inside = all(low < cut <= high for cut in cuts)
    if list(cuts) != sorted(set(cuts)) or not inside:
        return "has cuts that do not ascend, or do not lie inside the range of its values"
    return None


def merging_problem(
    attributes: tuple[EdgeAttribute, ...],
    multiplicity: Multiplicity | None,
    records: int | None,
    overflow: Overflow,
    temporal: bool,
) -> str | None:
    """Say what is wrong with declared merging, or None. Several rows of one edge are declared to become
    one."""
    each = multiplicity is Multiplicity.EACH
    if not attributes and (multiplicity is not None or records is not None):
        return "multiplicity and records_per_slot are declared with attributes"
    if each != (records is not None):
        return "multiplicity each declares records_per_slot, and nothing else does"
    if overflow is not Overflow.REFUSE and not each:
        return "overflow is declared with multiplicity each"
    if overflow is not Overflow.REFUSE and not temporal:
        return f"overflow {overflow} is by time, but the edges carry none"
    for attribute in attributes:
        if (attribute.aggregate is None) != each:
            return (
                f"attribute {attribute.name!r} is kept of each row: leave its aggregate out"
                if each
                else f"attribute {attribute.name!r} needs an aggregate, as several rows may be one edge"
            )
        if attribute.from_time and not temporal:
            return f"attribute {attribute.name!r} is taken from the time, but the edges carry none"
        if attribute.aggregate in IN_TIME and not temporal:
            return (
                f"attribute {attribute.name!r} is merged by time, but the edges carry none; take min or max"
            )
    return None
