"""How many edges a release paid to know of, with the interval of each number. Paid numbers alone are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from core.graphs.graph import Graph
from core.graphs.schema import EdgeType
from core.privacy.measurements import Measurement
from core.privacy.queries import Shape, slot_count
from core.reports.intervals import sum_within
from core.reports.precision import CONFIDENCE
from core.reports.totals import MAX_TOTALS

# How often an edge counts among a query's values; "degrees" of one side count it once.
COUNTS_AN_EDGE = {"edge_count": 1, "degrees": 2, "sorted_degrees": 2, "group_matrix": 1}


class _Known(NamedTuple):
    """A sum of ``noises`` noisy numbers of noise ``scale``, in which every edge counts ``times`` times."""

    query: str
    value: int
    scale: Fraction
    noises: int
    times: int

    @property
    def within(self) -> float:
        return sum_within(self.scale, self.noises, CONFIDENCE) / self.times


def totals(released: Graph, measurements: Iterable[Measurement], first_step: int = 0) -> list[dict[str, Any]]:
    """Tell the edges of every relation, and what follows from their number, of each snapshot and on average.

    Of several paid answers that which is nearest to the truth; those of a part of the edges are left out.
    ``measurements``: what may be published of them. JSON-able; O(paid numbers).
    """
    best: dict[tuple[str, int | None], _Known] = {}
    for each in measurements:
        if each.query not in COUNTS_AN_EDGE or each.parts or each.values is None:
            continue
        sided = each.arguments.get("side", "both") != "both"
        times = 1 if sided else COUNTS_AN_EDGE[each.query]
        found = _Known(each.query, int(each.values.sum()), each.scale, each.size, times)
        cell = (each.edge_type, each.step)
        if cell not in best or found.within < best[cell].within:
            best[cell] = found
    return list(islice(_told(released, best, first_step), MAX_TOTALS))


def _told(
    released: Graph, best: dict[tuple[str, int | None], _Known], first_step: int
) -> Iterator[dict[str, Any]]:
    for relation in released.schema.edge_types:
        counts = [released.nodes[kind].count for kind in (relation.source, relation.target)]
        factors = dict(_factors(relation, counts[0], counts[1]))
        known = [best.get((relation.name, step)) for step in released.schema.steps_of(relation.name)]
        if relation.public or not known:
            continue
        if relation.temporal and all(known):
            yield from _lines(relation.name, None, _mean([each for each in known if each]), factors)
        for step, each in zip(released.schema.steps_of(relation.name), known, strict=True):
            if each is not None:
                at = None if step is None else step + first_step
                found = (each.query, each.value / each.times, each.within)
                yield from _lines(relation.name, at, found, factors if step is None else {"edges": 1.0})


def _factors(relation: EdgeType, sources: int, targets: int) -> Iterator[tuple[str, float]]:
    """List the metrics that are a public multiple of the number of edges."""
    slots = slot_count(Shape(relation, sources, targets))
    nodes = sources if relation.homogeneous else sources + targets
    yield "edges", 1.0
    if slots:
        yield "density", 1 / slots
    if nodes and not relation.directed:
        yield "mean_degree", 2 / nodes


def _mean(known: list[_Known]) -> tuple[str, float, float]:
    """Average over snapshots: the noises add up, none of them wider than the widest."""
    value = float(np.mean([each.value / each.times for each in known]))
    queries = {(each.query, each.times) for each in known}
    if len(queries) > 1:  # of different kinds: each bound may fail with its share of what is left
        each_fails = 1 - (1 - CONFIDENCE) / len(known)
        near = sum(sum_within(each.scale, each.noises, each_fails) / each.times for each in known)
    else:
        widest, noises = max(each.scale for each in known), sum(each.noises for each in known)
        near = sum_within(widest, noises, CONFIDENCE) / known[0].times
    return known[0].query, value, near / len(known)


def _lines(
    name: str, step: int | None, found: tuple[str, float, float], factors: dict[str, float]
) -> Iterator[dict[str, Any]]:
    query, value, near = found
    for metric, factor in factors.items():
        yield {
            "edge_type": name,
            "step": step,
            "metric": metric,
            "value": value * factor,
            "low": max(0.0, (value - near) * factor),
            "high": max(0.0, (value + near) * factor),
            "confidence": CONFIDENCE,
            "query": query,
        }
