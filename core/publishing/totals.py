"""Paid numbers of a release's edges. Each has its interval. Only paid numbers are read.

One number of everything that was paid and tells of it: each answer from which the number of edges follows
linearly weighs as one over the variance of its noise, which leaves the least variance. Noises are
independent, each drawn for its own answer; how wide they are is public or paid for. Where an answer decides
how wide later noise is, such weights would lean on its own noise, and the number to one side. They go by the
noise that is usual after it, which follows from public facts (``Measurement.decides``), so that the number is
not biased. How wide later noise is follows from the first answer's own all the same: an interval of 95 %
would hold 95 % on average over true numbers, 93.6 % at the worst (``benchmarks.decided_intervals``). So it
is computed at ``DECIDED``, and holds 95 % wherever the truth lies. A table that is cut off (degrees above a
threshold, the first records of a pair) is biased, and left out; so is one at thresholds that earlier answers
chose.
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
from core.privacy.queries import Shape
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
DECIDED = 0.965
"""At which a total's interval is computed where one of its answers decided the noise of others."""


class _Known(NamedTuple):
    """A number of edges: the truth and a weighted sum of noises.

    ``after``: the variance that later answers usually leave, of one that decides their noise; else None.
    ``usual``: the variance by which it is weighed, where that of its noises follows from an earlier answer.
    """

    value: float
    noises: tuple[Noise, ...]
    queries: tuple[str, ...]
    after: float | None = None
    usual: float | None = None

    @property
    def within(self) -> float:
        return weighted_within(self.noises, CONFIDENCE if self.usual is None else DECIDED)

    @property
    def variance(self) -> float:
        return math.fsum(noise.variance for noise in self.noises) if self.usual is None else self.usual

    def times(self, factor: float) -> _Known:
        noises = (each._replace(factor=each.factor * factor) for each in self.noises)
        usual = None if self.usual is None else self.usual * factor**2
        return _Known(self.value * factor, tuple(noises), self.queries, usual=usual)


_Region = tuple[tuple[int, bool], ...]
"""Part of a relation's edges: inside (or between) the groups of one cut, of that part those of the next."""


def totals(released: Graph, measurements: Iterable[Measurement], first_step: int = 0) -> list[dict[str, Any]]:
    """State the edges of every relation. What follows from their number is stated, of each snapshot and on
    average.

    ``measurements``: what may be published of them. JSON-able; O(paid numbers).
    """
    relations = {each.name: each for each in released.schema.edge_types if not each.public}
    found: dict[tuple[str, int | None], dict[_Region, list[_Known]]] = defaultdict(lambda: defaultdict(list))
    for each in measurements:
        relation = relations.get(each.edge_type)
        if relation is None or each.values is None:
            continue
        times = _times(each, relation)
        if times is not None:
            region = tuple((id(part.labels), part.inside) for part in each.parts)
            # Values that count each edge so often are divided by that, and so is their noise.
            noise = Noise(1 / times, each.scale, each.size)
            known = _Known(int(each.values.sum()) / times, (noise,), (each.query,), each.decides)
            found[each.edge_type, each.step][region].append(known)
    return list(islice(_entries(released, found, first_step), MAX_TOTALS))


def _times(measurement: Measurement, relation: EdgeType) -> int | None:
    """Say how often every edge counts in the sum of the values; None where not all do, or not alike."""
    numbers = next((name for name, own in OF_NUMBERS.items() if own == measurement.query), None)
    query = numbers or measurement.query
    if query in ONCE:
        return 1
    if query in OF_VALUES and (
        (numbers is None and not relation.merged) or MOST_OF_A_PAIR in measurement.arguments
    ):
        return None
    if query in AT_NODES or query == "values_by_node":
        return 2 if measurement.arguments.get("side", "both") == "both" else 1
    return 1 if query in OF_VALUES else None


def _of_region(found: Mapping[_Region, Sequence[_Known]], region: _Region = ()) -> list[_Known]:
    """List what tells of a region: answers of its own, and those of both sides of a cut added up."""
    depth, own = len(region), list(found.get(region, ()))
    below = (each[depth][0] for each in found if len(each) > depth and each[:depth] == region)
    for cut in dict.fromkeys(below):
        sides = [_combined(_of_region(found, (*region, (cut, inside)))) for inside in (True, False)]
        # One side of a cut by itself says nothing of the whole.
        if all(sides):
            own.append(_added([each for each in sides if each]))
    return own


def _added(parts: Sequence[_Known]) -> _Known:
    """Add up numbers of disjoint edges."""
    decided = any(each.usual is not None for each in parts)
    return _Known(
        math.fsum(each.value for each in parts),
        tuple(noise for each in parts for noise in each.noises),
        _named(parts),
        usual=math.fsum(each.variance for each in parts) if decided else None,
    )


def _combined(known: Sequence[_Known]) -> _Known | None:
    """Weigh several numbers of the same edges; the nearest of them where they are no nearer together."""
    first = next((each for each in known if each.after is not None), None)
    if first is not None and len(known) > 1:
        others = _combined([each for each in known if each is not first])
        assert others is not None
        return _weighed([first, others._replace(usual=first.after)])
    if len(known) < 2:
        return known[0] if known else None
    return _weighed(known)


def _weighed(known: Sequence[_Known]) -> _Known:
    variances = [each.variance for each in known]
    # Without noise there is nothing to weigh.
    if not min(variances):
        return known[int(np.argmin(variances))]
    whole = math.fsum(1 / each for each in variances)
    weighed = _added([each.times(1 / own / whole) for each, own in zip(known, variances, strict=True)])
    if weighed.usual is not None:
        return weighed
    # The mean has the least variance, but bounds on its noise may be wider than those of a single answer.
    return min([weighed, *known], key=lambda each: each.within)


def _named(parts: Sequence[_Known]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(query for each in parts for query in each.queries))


def _entries(
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
            measured = [own for own in known if own]
            # Every step must be told: a sum of some is no number of all.
            if known and len(measured) == len(known):
                together = [*together, _added(measured)]
            whole = _combined(together)
            if whole:
                yield from _lines(relation.name, None, whole.times(1 / len(steps)), factors)
        for step, number in zip(steps, known, strict=True):
            if number is not None:
                at = None if step is None else step + first_step
                yield from _lines(relation.name, at, number, factors if step is None else {"edges": 1.0})


def _factors(relation: EdgeType, sources: int, targets: int) -> Iterator[tuple[str, float]]:
    """List the metrics that are a public multiple of the number of edges."""
    slots = Shape(relation, sources, targets).slots
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
