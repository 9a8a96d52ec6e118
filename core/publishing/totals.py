"""How many edges a release paid to know of, with the interval of each number. Paid numbers alone are read.

One number of everything that was paid and tells of it: each answer from which the number of edges follows
linearly weighs as one over the variance of its noise, which leaves the least variance where no read's noise
follows from an earlier answer. Noises are independent, each drawn for its own answer; how wide they are is
public or paid for. A table that is cut off (degrees above a threshold, the first records of a pair) is
biased, and left out.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from core.graphs.graph import Graph
from core.graphs.schema import EdgeType
from core.privacy.accounting.measurements import Measurement
from core.privacy.queries import Shape, slot_count
from core.privacy.reads.edge_values import MOST_OF_A_PAIR, OF_NUMBERS
from core.reports.intervals import Noise, weighted_within
from core.reports.precision import CONFIDENCE
from core.reports.totals import MAX_TOTALS

ONCE = frozenset({"edge_count", "group_matrix", "pair_classes"})
"""Queries among whose values every edge counts once."""
AT_NODES = frozenset({"degrees", "sorted_degrees", "group_degrees"})
"""Queries in which it counts at both ends, or at that of one side."""
OF_VALUES = frozenset({"value_histogram", "values_by_step", "values_by_classes", "values_by_node"})
"""Tables of all steps together, in which every record counts once, or at its ends."""


class _Known(NamedTuple):
    """A number of edges: the truth and a weighted sum of noises."""

    value: float
    noises: tuple[Noise, ...]
    queries: tuple[str, ...]

    @property
    def within(self) -> float:
        return weighted_within(self.noises, CONFIDENCE)

    def times(self, factor: float) -> _Known:
        noises = (each._replace(factor=each.factor * factor) for each in self.noises)
        return _Known(self.value * factor, tuple(noises), self.queries)


_Region = tuple[tuple[int, bool], ...]
"""Part of a relation's edges: inside (or between) the groups of one cut, of that part those of the next."""


def totals(released: Graph, measurements: Iterable[Measurement], first_step: int = 0) -> list[dict[str, Any]]:
    """Tell the edges of every relation, and what follows from their number, of each snapshot and on average.

    ``measurements``: what may be published of them. JSON-able; O(paid numbers).
    """
    relations = {each.name: each for each in released.schema.edge_types if not each.public}
    found: dict[tuple[str, int | None], dict[_Region, list[_Known]]] = defaultdict(lambda: defaultdict(list))
    for each in measurements:
        relation = relations.get(each.edge_type)
        if relation is None or each.values is None:
            continue
        times = _times(each, relation, released.nodes[relation.source].count)
        if times is not None:
            region = tuple((id(part.labels), part.inside) for part in each.parts)
            noise = Noise(1 / times, each.scale, each.size)
            known = _Known(int(each.values.sum()) / times, (noise,), (each.query,))
            found[each.edge_type, each.step][region].append(known)
    return list(islice(_told(released, found, first_step), MAX_TOTALS))


def _times(asked: Measurement, relation: EdgeType, nodes: int) -> int | None:
    """Say how often every edge counts in the sum of the values; None where not all do, or not alike."""
    numbers = next((name for name, own in OF_NUMBERS.items() if own == asked.query), None)
    query = numbers or asked.query
    if query in ONCE:
        return 1
    if query in OF_VALUES and (
        (numbers is None and not relation.merged) or MOST_OF_A_PAIR in asked.arguments
    ):
        return None
    if query in AT_NODES or query == "values_by_node":
        return 2 if asked.arguments.get("side", "both") == "both" else 1
    if query == "tail_counts":  # a node of degree d is in d of them, if none is left out
        most = (nodes - 1) * (2 if relation.directed else 1)
        return 2 if np.array_equal(asked.arguments["thresholds"], np.arange(1, most + 1)) else None
    return 1 if query in OF_VALUES else None


def _of_region(found: Mapping[_Region, Sequence[_Known]], region: _Region = ()) -> list[_Known]:
    """List what tells of a region: answers of its own, and those of both sides of a cut added up."""
    depth, own = len(region), list(found.get(region, ()))
    below = (each[depth][0] for each in found if len(each) > depth and each[:depth] == region)
    for cut in dict.fromkeys(below):
        sides = [_combined(_of_region(found, (*region, (cut, inside)))) for inside in (True, False)]
        if all(sides):
            own.append(_added([each for each in sides if each]))
    return own


def _added(parts: Sequence[_Known]) -> _Known:
    """Add up numbers of disjoint edges."""
    return _Known(
        math.fsum(each.value for each in parts),
        tuple(noise for each in parts for noise in each.noises),
        _named(parts),
    )


def _combined(known: Sequence[_Known]) -> _Known | None:
    """Weigh several numbers of the same edges; the nearest of them where they are no nearer together."""
    if not known:
        return None
    variances = [math.fsum(noise.variance for noise in each.noises) for each in known]
    if len(known) == 1 or not min(variances):
        return known[int(np.argmin(variances))]
    whole = math.fsum(1 / each for each in variances)
    weighed = [each.times(1 / own / whole) for each, own in zip(known, variances, strict=True)]
    return min([_added(weighed), *known], key=lambda each: each.within)


def _named(parts: Sequence[_Known]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(query for each in parts for query in each.queries))


def _told(
    released: Graph,
    found: Mapping[tuple[str, int | None], Mapping[_Region, Sequence[_Known]]],
    first_step: int,
) -> Iterator[dict[str, Any]]:
    for relation in released.schema.edge_types:
        counts = [released.nodes[kind].count for kind in (relation.source, relation.target)]
        factors = dict(_factors(relation, counts[0], counts[1]))
        steps = released.schema.steps_of(relation.name)
        together = _of_region(found.get((relation.name, None), {}))  # without time, and of all steps
        each = [[] if step is None else _of_region(found.get((relation.name, step), {})) for step in steps]
        if len(steps) == 1:
            each, together = [each[0] + together], []
        known = [_combined(own) for own in each]
        if relation.temporal:
            told = [own for own in known if own]
            if known and len(told) == len(known):
                together = [*together, _added(told)]
            whole = _combined(together)
            if whole:
                yield from _lines(relation.name, None, whole.times(1 / len(steps)), factors)
        for step, number in zip(steps, known, strict=True):
            if number is not None:
                at = None if step is None else step + first_step
                yield from _lines(relation.name, at, number, factors if step is None else {"edges": 1.0})


def _factors(relation: EdgeType, sources: int, targets: int) -> Iterator[tuple[str, float]]:
    """List the metrics that are a public multiple of the number of edges."""
    slots = slot_count(Shape(relation, sources, targets))
    nodes = sources if relation.homogeneous else sources + targets
    yield "edges", 1.0
    if slots:
        yield "density", 1 / slots
    if nodes and not relation.directed:
        yield "mean_degree", 2 / nodes


def _lines(
    name: str, step: int | None, known: _Known, factors: Mapping[str, float]
) -> Iterator[dict[str, Any]]:
    near = known.within
    for metric, factor in factors.items():
        yield {
            "edge_type": name,
            "step": step,
            "metric": metric,
            "value": known.value * factor,
            "low": max(0.0, (known.value - near) * factor),
            "high": max(0.0, (known.value + near) * factor),
            "confidence": CONFIDENCE,
            "query": ", ".join(known.queries),
        }
