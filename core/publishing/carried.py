"""What edges and nodes of a release carry. It is counted bin by bin, with what was paid for.

Reads the released graph and the session's own measurements: all of it post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from core.graphs.columns.node_places import counts_of_places, places_of
from core.graphs.graph import Graph
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType
from core.graphs.schema.edge_attributes import EdgeAttributeKind
from core.graphs.schema.node_bins import node_bins, synthesised, vectors
from core.graphs.schema.value_bins import ValueBins, bins_of
from core.graphs.views.joined import joined
from core.graphs.views.records import NUMBER, each_alone, number_of_records, numbered
from core.privacy.accounting.measurements import LAPLACE, Measurement
from core.privacy.accounting.plan import rows_of
from core.privacy.reads.edge_values import MOST_OF_A_PAIR, OF_NUMBERS
from core.privacy.reads.node_values import DIRECTED_MIXING, MIXINGS, VECTORS, bin_of_zero
from core.reports.carried import MAX_BINS, MAX_CARRIED, MAX_SIDE
from core.reports.intervals import sum_within
from core.reports.precision import CONFIDENCE, within

HOUR = 3600
PERIODS, LABELS = 8, 24
"""Rows and columns of a table of which nothing was paid for."""


def carried(
    released: Graph, measurements: Iterable[Measurement], first_step: int = 0
) -> list[dict[str, Any]]:
    """Describe every synthetic attribute of the release. Edges' come first, in declared order; JSON-able.

    ``measurements``: what may be published of them, none where nothing may. O(n + m) an attribute.
    """
    kept = [each for each in measurements if each.values is not None]
    if released.schema.collection is not None:  # what all its graphs carry is one histogram
        released = joined(released, [each.name for each in released.schema.edge_types])
    found = chain(_of_edges(released, kept, first_step), _of_nodes(released, kept))
    return list(islice(found, MAX_CARRIED))


def _of_edges(released: Graph, paid: Sequence[Measurement], first_step: int) -> Iterator[dict[str, Any]]:
    for relation in released.schema.edge_types:
        table = released.edges[relation.name]
        if relation.public or table.values is None:
            continue
        held = {each.name: (each, each_alone(table)) for each in relation.attributes}
        if not relation.merged:
            held[NUMBER] = number_of_records(relation), numbered(table)
        for name, (attribute, records) in held.items():
            if records.values is None or attribute.name not in records.values.columns:
                continue
            bins = bins_of(attribute)
            places = bins.places(records.values.columns[attribute.name])
            own = [each for each in paid if each.edge_type == relation.name and _carried_in(each) == name]
            counts = np.bincount(places, minlength=bins.count)
            steps = 1 if records.step is None else released.schema.steps
            found = partial(_table_of, records.step, places)
            yield _of_attribute(relation, name, bins, counts, _paid_for(own), (steps, first_step), found)


def paid_for_values(schema: GraphSchema, measurements: Iterable[Measurement]) -> dict[str, list[Any]]:
    """List what was paid for each attribute of every relation. JSON-able; for :func:`carried_in_parts`."""
    kept = [each for each in measurements if each.values is not None]
    return {
        relation.name: [
            _paid_for(
                [m for m in kept if m.edge_type == relation.name and _carried_in(m) == attribute.name]
            )._asdict()
            for attribute in relation.attributes
        ]
        for relation in schema.edge_types
    }


def carried_in_parts(
    schema: GraphSchema,
    paid: Mapping[str, Sequence[Mapping[str, Any]]],
    counts: Mapping[str, Sequence[Sequence[np.ndarray]]],
) -> list[dict[str, Any]]:
    """Describe what edges carry, as :func:`carried` does. ``counts``: by relation, for every step, of each
    attribute how many edges carry each bin."""
    found = []
    for relation in schema.edge_types:
        for place, attribute in enumerate(relation.attributes):
            own = np.array([of_step[place] for of_step in counts[relation.name]])
            measured, bins = _PaidFor(**paid[relation.name][place]), bins_of(attribute)
            table = partial(_table_added, own)
            steps = (len(own), 0)
            found.append(
                _of_attribute(relation, attribute.name, bins, own.sum(axis=0), measured, steps, table)
            )
    return found[:MAX_CARRIED]


class _PaidFor(NamedTuple):
    """What was paid for one attribute: of each bin; and by period and label, with those of steps and bins."""

    paid: list[int] | None = None
    near: int | None = None
    by_step: list[int] | None = None
    near_by_step: int | None = None
    periods: list[int] | None = None
    labels: list[int] | None = None


def _paid_for(own: Sequence[Measurement]) -> _PaidFor:
    whole, timed = (_of_all(own, query) for query in ("value_histogram", "values_by_step"))
    found: dict[str, Any] = {}
    if whole is not None and whole.values is not None:
        found |= {"paid": whole.values.tolist(), "near": within(whole.scale, CONFIDENCE)}
    if timed is not None and timed.values is not None:
        found |= {"by_step": timed.values.tolist(), "near_by_step": within(timed.scale, CONFIDENCE)}
        found |= {
            name: np.asarray(timed.arguments[argument]).tolist()
            for name, argument in (("periods", "periods"), ("labels", "bin_labels"))
        }
    return _PaidFor(**found)


def _of_attribute(
    relation: EdgeType,
    name: str,
    bins: ValueBins,
    counts: np.ndarray,
    paid: _PaidFor,
    steps: tuple[int, int],
    found: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> dict[str, Any]:
    """Describe one attribute of edges. ``steps``: how many, and the first one's number; ``found(periods,
    labels)`` counts the release by period and label."""
    measured = None if paid.paid is None else np.array(paid.paid)
    return {
        "of": relation.name,
        "what": "edges",
        "attribute": name,
        "kind": str(bins.attribute.kind),
        **_histogram(bins, counts, measured, paid.near),
        "by_step": _by_step(relation, bins, paid, steps, found),
    }


def _table_of(
    step: np.ndarray | None, places: np.ndarray, periods: np.ndarray, labels: np.ndarray
) -> np.ndarray:
    """Count records by the period of their step and the label of their bin."""
    shape = int(periods.max()) + 1, int(labels.max()) + 1
    own = periods[0 if step is None else step] * shape[1] + labels[places]
    return np.bincount(own, minlength=shape[0] * shape[1]).reshape(shape)


def _of_nodes(released: Graph, paid: Sequence[Measurement]) -> Iterator[dict[str, Any]]:
    for kind in released.schema.node_types:
        columns = released.nodes[kind.name].attributes
        for attribute in synthesised(kind):
            if attribute.name not in columns:
                continue
            bins, places = node_bins(attribute), places_of(attribute, columns[attribute.name])
            counts = np.bincount(places[places >= 0], minlength=bins.count)
            yield {
                "of": kind.name,
                "what": "nodes",
                "attribute": attribute.name,
                "kind": str(attribute.kind),
                **_histogram(bins, counts, *_nodes_paid(kind, attribute.name, bins, paid)),
                "mixing": list(islice(_mixing(released, kind, attribute, places, paid), MAX_SIDE)),
            }
        yield from (_of_vector(released, kind, each, paid) for each in vectors(kind) if each.name in columns)


def _of_vector(
    released: Graph, kind: NodeType, vector: Attribute, paid: Sequence[Measurement]
) -> dict[str, Any]:
    """Count a vector's numbers by bin, of all its places and by place. That of 0 was not paid for, and is not
    among those told."""
    rows = np.asarray(released.nodes[kind.name].attributes[vector.name])
    bins, rest, own = node_bins(vector), bin_of_zero(vector), rows_of(kind.name)
    counts = counts_of_places(vector, rows)
    reads = [
        each
        for each in paid
        if (each.query, each.edge_type) == (VECTORS, own) and each.arguments["attribute"] == vector.name
    ]
    measured, near = None, None
    if reads:
        measured = np.zeros_like(counts)
        measured[:, np.arange(bins.count) != rest] = sum(
            each.values.reshape(len(counts), -1) for each in reads if each.values is not None
        )
        near = _sum_near(reads[0], len(reads) * len(counts))
    names, kept = labels_of(bins), np.delete(np.arange(bins.count), rest)
    # Those that the release has most of, in the order in which they are declared.
    kept = np.sort(kept[np.argsort(-counts.sum(axis=0)[kept], kind="stable")[:MAX_BINS]])
    found = {
        "of": kind.name,
        "what": "nodes",
        "attribute": vector.name,
        "kind": str(vector.kind),
        "bins": [names[k] for k in kept],
        "released": counts.sum(axis=0)[kept].tolist(),
        "paid": None if measured is None else measured.sum(axis=0)[kept].tolist(),
        "within": near,
        "confidence": None if measured is None else CONFIDENCE,
        "left_out": bins.count - len(kept),
    }
    if not 0 < len(kept) <= MAX_SIDE:
        return found
    row = np.arange(len(counts)) * min(MAX_SIDE, len(counts)) // len(counts)
    starts = np.unique(row, return_index=True)[1]
    ends = [np.flatnonzero(row == own) for own in range(len(starts))]
    return found | {
        "by_place": {
            "rows": [f"{own[0]}" if len(own) == 1 else f"{own[0]}–{own[-1]}" for own in ends],
            "columns": found["bins"],
            "released": np.add.reduceat(counts[:, kept], starts).tolist(),
            "paid": None if measured is None else np.add.reduceat(measured[:, kept], starts).tolist(),
            # Of the row with most places: the widest of all bounds.
            "within": _sum_near(reads[0], len(reads) * int(np.bincount(row).max())) if reads else None,
        }
    }


def _sum_near(each: Measurement, count: int) -> int:
    """Bound a sum of so many values' noise, of which Gaussian noise was rounded to integers."""
    if each.law == LAPLACE:
        return sum_within(each.scale, count, CONFIDENCE)
    # Rounding to whole numbers moves each value by at most a half.
    spread = math.sqrt(count * (float(each.scale) ** 2 + 0.25))
    return math.ceil(spread * NormalDist().inv_cdf((1 + CONFIDENCE) / 2))


def _carried_in(each: Measurement) -> str | None:
    """Name what of edges a measurement speaks of; None for others."""
    if each.query in OF_NUMBERS.values():
        return NUMBER
    return each.arguments["bins"].attribute.name if "bins" in each.arguments else None


def _of_all(found: Sequence[Measurement], query: str) -> Measurement | None:
    """Find the measurement, if it counted all records, as the release's own are counted here."""
    named = (query, OF_NUMBERS[query])
    return next((e for e in found if e.query in named and MOST_OF_A_PAIR not in e.arguments), None)


def _histogram(
    bins: ValueBins, counts: np.ndarray, paid: np.ndarray | None, near: int | None
) -> dict[str, Any]:
    """Count each bin; of too many those that are most frequent in the release, in their order."""
    kept = np.sort(np.argsort(-counts, kind="stable")[:MAX_BINS])
    names = labels_of(bins)
    return {
        "bins": [names[k] for k in kept],
        "released": counts[kept].tolist(),
        "paid": None if paid is None else paid[kept].tolist(),
        "within": near,
        "confidence": None if paid is None else CONFIDENCE,
        "left_out": bins.count - len(kept),
    }


def _nodes_paid(
    kind: NodeType, name: str, bins: ValueBins, paid: Sequence[Measurement]
) -> tuple[np.ndarray | None, int | None]:
    """Add up the table that was read of the attribute, over classes or over another's values."""
    for each in paid:
        if each.query != "node_values" or each.edge_type != rows_of(kind.name):
            continue
        *_, last = each.arguments["bins_of"]
        if last == name and each.values is not None:
            rows = each.values.reshape(-1, bins.count)
            return rows.sum(axis=0), sum_within(each.scale, len(rows), CONFIDENCE)
    return None, None


def _table_added(counts: np.ndarray, periods: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Count them of counts by step and bin."""
    found = np.zeros((int(periods.max()) + 1, int(labels.max()) + 1), dtype=np.int64)
    np.add.at(found, (periods[:, None], labels[None, :]), counts)
    return found


def _by_step(
    relation: EdgeType,
    bins: ValueBins,
    paid: _PaidFor,
    steps: tuple[int, int],
    found: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> dict[str, Any] | None:
    """Count by period and value, as they were paid for where they were."""
    count, first_step = steps
    if count < 2:
        return None
    if paid.by_step is None:
        periods, labels = np.arange(count) * min(PERIODS, count) // count, together(bins, LABELS)
    else:
        periods, labels = np.array(paid.periods), np.array(paid.labels)
    shape = int(periods.max()) + 1, int(labels.max()) + 1
    if max(shape) > MAX_SIDE:
        return None
    ends = [np.flatnonzero(periods == period) + first_step for period in range(shape[0])]
    return {
        "edge_type": relation.name,
        "rows": [f"{own[0]}" if len(own) == 1 else f"{own[0]}–{own[-1]}" for own in ends],
        "columns": merged_labels(bins, labels),
        "released": found(periods, labels).tolist(),
        "paid": None if paid.by_step is None else np.array(paid.by_step).reshape(shape).tolist(),
        "within": paid.near_by_step,
    }


def _mixing(
    released: Graph, kind: NodeType, attribute: Attribute, places: np.ndarray, paid: Sequence[Measurement]
) -> Iterator[dict[str, Any]]:
    """Count the edges of each relation of the type by what both ends carry: of those inside it, and of those
    that lead to another type."""
    for relation in released.schema.edge_types:
        if relation.public or relation.source != kind.name:
            continue
        reads = [each for each in paid if each.query in MIXINGS and each.edge_type == relation.name]
        if relation.homogeneous:
            table = _mixing_inside(released, relation, attribute, places, reads)
        else:
            table = _mixing_between(released, relation, (kind, attribute), places, reads)
        if table is not None:
            yield table


def _mixing_inside(
    released: Graph,
    relation: EdgeType,
    attribute: Attribute,
    places: np.ndarray,
    paid: Sequence[Measurement],
) -> dict[str, Any] | None:
    bins = node_bins(attribute)
    read = next((each for each in paid if each.arguments["attribute"] == attribute.name), None)
    of_bin = together(bins, LABELS) if read is None else np.asarray(read.arguments["bin_groups"])
    count = int(of_bin.max()) + 1
    if count > MAX_SIDE:
        return None
    square = _square(released, relation, (places, places), (of_bin, of_bin))
    return {
        "edge_type": relation.name,
        "rows": merged_labels(bins, of_bin),
        "columns": merged_labels(bins, of_bin),
        "released": (square if relation.directed else _folded(square)).tolist(),
        "paid": None if read is None else _paid_square(read, count).tolist(),
        "within": None if read is None else within(read.scale, CONFIDENCE),
        "most_edges_of_a_node": None if read is None else int(read.arguments["cap"]),
    }


def _mixing_between(
    released: Graph,
    relation: EdgeType,
    source: tuple[NodeType, Attribute],
    places: np.ndarray,
    paid: Sequence[Measurement],
) -> dict[str, Any] | None:
    """Count the edges to another type by the first attributes of both, where both have some."""
    kind, attribute = source
    columns, across = released.nodes[relation.target].attributes, released.schema.node_type(relation.target)
    other = next((each for each in synthesised(across) if each.name in columns), None)
    if other is None or attribute is not synthesised(kind)[0]:
        return None
    read = next((each for each in paid if {"source", "target"} <= set(each.arguments["ends"])), None)
    both = (attribute, "source"), (other, "target")
    groups = [
        together(node_bins(each), LABELS)
        if read is None
        else np.asarray(read.arguments["ends"][side]["bin_groups"])
        for each, side in both
    ]
    if max(int(each.max()) + 1 for each in groups) > MAX_SIDE:
        return None
    ends = places, places_of(other, columns[other.name])
    square = _square(released, relation, ends, (groups[0], groups[1]))
    caps = [None if read is None else int(read.arguments["ends"][side]["cap"]) for _, side in both]
    drawn = None if read is None or read.values is None else read.values.reshape(square.shape).tolist()
    return {
        "edge_type": relation.name,
        "rows": merged_labels(node_bins(attribute), groups[0]),
        "columns": merged_labels(node_bins(other), groups[1]),
        "column_attribute": f"{other.name} of {across.name}",
        "released": square.tolist(),
        "paid": drawn,
        "within": None if read is None else within(read.scale, CONFIDENCE),
        "most_edges_of_a_node": caps[0],
        "most_edges_of_a_target": caps[1],
    }


def _square(
    released: Graph,
    relation: EdgeType,
    places: tuple[np.ndarray, np.ndarray],
    groups: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """Count the edges by the groups of source and target, of those both of whose ends have a value."""
    table, shape = released.edges[relation.name], [int(each.max()) + 1 for each in groups]
    one, other = places[0][table.source], places[1][table.target]
    held = (one >= 0) & (other >= 0)
    pair = groups[0][one[held]] * shape[1] + groups[1][other[held]]
    return np.bincount(pair, minlength=shape[0] * shape[1]).reshape(shape)


def _folded(square: np.ndarray) -> np.ndarray:
    """Count an edge at either order of its ends, and once where both are alike."""
    both: np.ndarray = square + square.T - np.diag(np.diag(square))
    return both


def _paid_square(measurement: Measurement, count: int) -> np.ndarray:
    """The paid counts as read of a directed relation, else at either order of an edge's ends."""
    square = np.zeros((count, count), dtype=np.int64)
    if measurement.values is None:
        return square
    if measurement.query == DIRECTED_MIXING:
        return measurement.values.reshape(count, count)
    square[np.triu_indices(count)] = measurement.values
    return square + np.triu(square, 1).T


def together(bins: ValueBins, most: int) -> np.ndarray:
    """Group neighbouring bins, ``most`` groups at most. Returned is the group of each bin."""
    return np.arange(bins.count) * min(most, bins.count) // bins.count


def labels_of(bins: ValueBins) -> list[str]:
    """Name each bin: a category, an integer, a range, an hour."""
    if bins.attribute.categories is not None:
        return list(bins.attribute.categories)
    ends = [*bins.starts[1:].tolist(), bins.end]
    return [_range(bins, low, high) for low, high in zip(bins.starts.tolist(), ends, strict=True)]


def merged_labels(bins: ValueBins, groups: np.ndarray) -> list[str]:
    """Name each group of bins."""
    names, found = labels_of(bins), []
    ends = [*bins.starts[1:].tolist(), bins.end]
    for group in range(int(groups.max()) + 1):
        own = np.flatnonzero(groups == group)
        if not len(own):
            found.append("–")
        elif len(own) == 1:
            found.append(names[own[0]])
        elif bins.attribute.categories is not None or own[-1] - own[0] != len(own) - 1:
            found.append(f"{names[own[0]]} and {len(own) - 1} more")
        else:
            found.append(_range(bins, float(bins.starts[own[0]]), ends[own[-1]]))
    return found


def _range(bins: ValueBins, low: float, high: float) -> str:
    kind = bins.attribute.kind
    if kind is EdgeAttributeKind.TIME_OF_DAY:
        return _clock(low) if high - low <= HOUR else f"{_clock(low)}–{_clock(high)}"
    if kind is EdgeAttributeKind.INTEGER:
        return f"{low:.0f}" if high - low <= 1 else f"{low:.0f} to {high - 1:.0f}"
    return f"{low:.6g} to {high:.6g}"


def _clock(seconds: float) -> str:
    minutes = round(seconds) // 60
    return f"{minutes // 60:02d}:{minutes % 60:02d}"
