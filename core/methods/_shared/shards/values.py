"""The law of what edges of shards carry. Each edge's value is sampled by itself, in integers only.

**Law.** A value's bin has for each edge the weight f(u) f(v) g, where f are factors of its two nodes and g
those of their pair of classes and of the edge's period: what is read of nodes, classes and periods, raked
(:mod:`core.methods._shared.values.sharded`). Inside a bin a value follows the paid histogram, then is even.
Given the pairs that are drawn, values are independent.

**Bytes.** All factors are whole numbers, settled once and kept. An edge's value follows from them, two words
of the stream that the law's key and the strip's number name, and its place in the strip: so a strip that is
sampled again carries the same values, on any machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from core.graphs.schema.edge_attributes import EdgeAttribute
from core.graphs.schema.value_bins import bins_of
from core.kernels.decorator import kernel
from core.methods._shared.shards.kernels import high_low
from core.privacy import entropy

MOST_OF_NODE, MOST_OF_PAIR, MOST_INSIDE = 2**19, 2**20, 2**30
"""The largest factor of a node, that of a pair of classes, and the sum of all shares of fine bins: of 24
bins, and there are no more, an edge's weights add up to less than 2^63."""


@dataclass(frozen=True)
class ValueLaw:
    """The law of one attribute of one relation.

    ``rows`` uint32 (k, bins): factors of nodes; ``places`` int32 (n,) and ``classes`` uint8 (n,): of every
    source and of every target its row and its class; of an undirected relation both are one. ``pairs``
    (periods, classes, classes, bins) uint32; ``periods`` (steps,): that of each. ``bins`` and ``shares``
    (fine,): the bin of each fine one, and its weight there.
    """

    attribute: EdgeAttribute
    rows: tuple[np.ndarray, np.ndarray]
    places: tuple[np.ndarray, np.ndarray]
    classes: tuple[np.ndarray, np.ndarray]
    pairs: np.ndarray
    periods: np.ndarray
    bins: np.ndarray
    shares: np.ndarray
    key: bytes

    def sampled(self, source: np.ndarray, target: np.ndarray, step: int | None, number: int) -> np.ndarray:
        """Sample a value for each edge of the strip of that number; a stored column. O(edges * bins)."""
        words = entropy.keyed_words(self.key, number, 2 * len(source)).reshape(2, -1)
        of_pair = self.pairs[self.periods[step or 0]]
        chosen = bins_of_edges((source, target), self.rows, self.places, self.classes, of_pair, words[0])
        order, until, start, size = self._inside
        # The upper half chooses the fine bin, the lower one a place inside it: one word for both.
        high, low = words[1] >> np.uint64(32), words[1] & np.uint64(2**32 - 1)
        inside = start[chosen] + (high * size[chosen] >> np.uint64(32))
        fine = order[np.searchsorted(until, inside, side="right")]
        return bins_of(self.attribute).values(fine, low.astype(np.float64) / 2.0**32)

    @cached_property
    def _inside(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The fine bins by bin, their shares summed up, and where each bin's begin and how many they are."""
        order = np.argsort(self.bins, kind="stable")
        size = np.bincount(self.bins, weights=self.shares).astype(np.uint64)
        return order, np.cumsum(self.shares[order], dtype=np.uint64), np.cumsum(size) - size, size

    def save(self, path: Path) -> None:
        """Write it to ``path``. :func:`load_values` gives back an equal one."""
        sides = {
            f"{name}_{side}": column
            for name in ("rows", "places", "classes")
            for side, column in enumerate(getattr(self, name))
            if not side or column is not getattr(self, name)[0]
        }
        with path.open("wb") as file:
            np.savez(
                file,
                attribute=np.frombuffer(self.attribute.model_dump_json().encode(), np.uint8),
                key=np.frombuffer(self.key, np.uint8),
                pairs=self.pairs,
                periods=self.periods,
                bins=self.bins,
                shares=self.shares,
                **sides,
            )


def load_values(path: Path) -> ValueLaw:
    """Read what :meth:`ValueLaw.save` wrote."""
    with np.load(path, allow_pickle=False) as held:

        def both(name: str) -> tuple[np.ndarray, np.ndarray]:
            first = held[f"{name}_0"]
            return first, held.get(f"{name}_1", first)

        return ValueLaw(
            EdgeAttribute.model_validate_json(held["attribute"].tobytes()),
            both("rows"),
            both("places"),
            both("classes"),
            held["pairs"],
            held["periods"],
            held["bins"],
            held["shares"],
            held["key"].tobytes(),
        )


def whole_factors(factors: np.ndarray, most: int) -> np.ndarray:
    """Turn each row's factors into whole numbers, the largest ``most``; one at least, but of factors of 0."""
    largest = factors.max(axis=1, keepdims=True)
    # Rounding must not make possible what is impossible, nor the other way round.
    found = np.rint(np.divide(factors, largest, out=np.zeros_like(factors), where=largest > 0) * most)
    return np.where(factors > 0, np.maximum(found, 1), 0).astype(np.uint32)


@kernel
def bins_of_edges(
    ends: tuple[np.ndarray, np.ndarray],
    rows: tuple[np.ndarray, np.ndarray],
    places: tuple[np.ndarray, np.ndarray],
    classes: tuple[np.ndarray, np.ndarray],
    pairs: np.ndarray,
    words: np.ndarray,
) -> np.ndarray:
    """Sample each edge's bin, by its weights and one word; int32. The last bin where all weigh nothing."""
    count = pairs.shape[2]
    found, weight = np.empty(ends[0].size, np.int32), np.empty(count, np.uint64)
    for edge in range(found.size):
        u, v = ends[0][edge], ends[1][edge]
        a, b, i, j = places[0][u], places[1][v], classes[0][u], classes[1][v]
        total = np.uint64(0)
        for k in range(count):
            weight[k] = np.uint64(rows[0][a, k]) * np.uint64(rows[1][b, k]) * np.uint64(pairs[i, j, k])
            total += weight[k]
        left, _ = high_low(words[edge], total)
        k = 0
        while k < count - 1 and left >= weight[k]:
            left -= weight[k]
            k += 1
        found[edge] = k
    return found
