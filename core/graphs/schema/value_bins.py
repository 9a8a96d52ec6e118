"""Public bins of a declared edge attribute. Its values fall into them; they are public, as categories, bounds
and cuts are.

A category is a bin. Cuts that are declared divide the range; where none are, an integer of few values has a
bin for each, a time of day one for each hour, and other ranges are divided evenly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.graphs.schema.edge_attributes import DAY_SECONDS, EdgeAttribute, EdgeAttributeKind

MOST_SINGLE = 256
"""Integers with at most so many values have a bin for each."""
EVEN = 64
"""Bins of a range that is divided evenly."""
HOURS = 24
MOST_LISTED = 2**17
"""Of so many whole numbers each one's bin is looked up in a list."""


@dataclass(frozen=True)
class ValueBins:
    """Bins in ascending order. Bin i holds the values from ``starts[i]`` to below ``starts[i + 1]``.

    ``starts`` float64, ascending; ``end`` is where the last one ends.
    """

    attribute: EdgeAttribute
    starts: np.ndarray
    end: float

    @property
    def count(self) -> int:
        return len(self.starts)

    @property
    def ordered(self) -> bool:
        """Whether near bins hold near values. Those of categories do not, nor of a clock, which goes
        round."""
        return self.attribute.numeric

    @cached_property
    def single(self) -> bool:
        """Whether every bin holds one whole number."""
        return self.attribute.kind is not EdgeAttributeKind.NUMBER and bool((self.widths == 1).all())

    @property
    def widths(self) -> np.ndarray:
        """How far each bin reaches; of whole numbers, how many it holds."""
        return np.diff(self.starts, append=self.end)

    @property
    def middles(self) -> np.ndarray:
        """The mean of the values that each bin may hold."""
        # The last whole number of a bin is one less than where the next begins.
        whole = 0.0 if self.attribute.kind is EdgeAttributeKind.NUMBER else 1.0
        return self.starts + (self.widths - whole) / 2

    def places(self, column: np.ndarray) -> np.ndarray:
        """Find the bin of each stored value. int64 in 0..count-1, whatever the values are."""
        low, high = self.attribute.range
        # Fewer values than rows, or the list would cost more than it saves.
        if column.dtype.kind != "i" or not high - low < min(MOST_LISTED, len(column)):
            return self._searched(column)
        of_value = self._searched(np.arange(int(low), int(high) + 1))
        places: np.ndarray = of_value[np.clip(column, int(low), int(high)) - int(low)]
        return places

    def _searched(self, column: np.ndarray) -> np.ndarray:
        # ``right``: a value that is a cut falls into the bin which begins there.
        return np.clip(np.searchsorted(self.starts, column, side="right") - 1, 0, self.count - 1)

    def values(self, places: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Return the values at ``shares`` of these bins. Shares lie in [0, 1); a stored column. Where every
        bin holds a ``single`` one, shares are not looked at.
        """
        if self.single:
            starts: np.ndarray = self.starts.astype(np.int32)[places]
            return starts
        start, width = self.starts[places], self.widths[places]
        low, high = self.attribute.range
        if self.attribute.kind is EdgeAttributeKind.NUMBER:
            values: np.ndarray = np.clip(start + shares * width, low, high)
            return values
        # A share just below 1 times the width may round up to all of it.
        whole = np.clip(np.floor(shares * width), 0, np.maximum(np.ceil(width) - 1, 0))
        integers: np.ndarray = np.clip(start + whole, low, high).astype(np.int32)
        return integers


def bins_of(attribute: EdgeAttribute) -> ValueBins:
    """Divide what the attribute's values may be into bins. Only public declarations count."""
    low, high = attribute.range
    # Whole numbers up to ``high`` fill what lies below ``high + 1``.
    end = float(high) if attribute.kind is EdgeAttributeKind.NUMBER else float(high) + 1
    if attribute.categories is not None:
        return ValueBins(attribute, np.arange(len(attribute.categories), dtype=np.float64), end)
    if attribute.cuts:
        return ValueBins(attribute, np.array((low, *attribute.cuts), dtype=np.float64), end)
    if attribute.kind is EdgeAttributeKind.NUMBER:
        number = EVEN if high > low else 1
        return ValueBins(attribute, low + (high - low) * np.arange(number) / number, end)
    if attribute.kind is EdgeAttributeKind.TIME_OF_DAY:
        return ValueBins(attribute, np.arange(HOURS) * (DAY_SECONDS / HOURS), end)
    size = int(high) - int(low) + 1
    number = size if size <= MOST_SINGLE else EVEN
    # Whole starts: bins hold as many integers as one another, or one more.
    return ValueBins(attribute, (int(low) + np.arange(number) * size // number).astype(np.float64), end)
