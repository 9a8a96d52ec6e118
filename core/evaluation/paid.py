"""The true answers to a release's paid reads.

They tell how far off its noisy numbers are. For curators only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from core.graphs.columns.node_places import places_of
from core.graphs.graph import Graph
from core.graphs.views.records import counted, each_alone, numbered
from core.privacy import queries
from core.privacy.accounting.measurements import Measurement
from core.privacy.reads.between_steps import kept_edges, kept_nodes
from core.privacy.reads.edge_values import MOST_OF_A_PAIR, OF_NUMBERS
from core.privacy.reads.node_values import (
    DIRECTED_MIXING,
    MIXINGS,
    TWO_SIDED_MIXING,
    VECTORS,
    counted_numbers,
)
from graphveil.models.reports import ROWS


def exact(graph: Graph, measurement: Measurement) -> np.ndarray | None:
    """Answer a paid read on this graph without noise.

    The result is int64, in the order of the paid answer. None where the graph by itself does not say: of
    edges of which only some count at each node, which ones those are was sampled; and where the graph carries
    no such values; and of two steps of which the graph has one, as in live streams. O(n + m log m).
    """
    if measurement.query in ("kept_edges", "kept_nodes"):
        return _kept(graph, measurement)
    if measurement.query in queries.QUERIES:
        return _counted(graph, measurement)
    if measurement.query == "node_values":
        return _nodes(graph, measurement)
    if measurement.query == VECTORS:
        return _vectors(graph, measurement)
    if measurement.query == TWO_SIDED_MIXING:
        return _between(graph, measurement)
    if measurement.query in MIXINGS:
        return _mixing(graph, measurement)
    return _edge_values(graph, measurement) if measurement.query in _OF_EDGES else None


def _counted(graph: Graph, measurement: Measurement) -> np.ndarray:
    cell = graph.cell(measurement.edge_type, measurement.step)
    source, target = cell.source, cell.target
    for part in measurement.parts:
        chosen = (part.labels[source] == part.labels[target]) == part.inside
        source, target = source[chosen], target[chosen]
    relation = graph.schema.edge_type(measurement.edge_type)
    ends = graph.nodes[relation.source].count, graph.nodes[relation.target].count
    question = queries.ask(measurement.query, queries.Shape(relation, *ends), measurement.arguments)
    return question.measure(replace(cell, source=source, target=target))


def _kept(graph: Graph, measurement: Measurement) -> np.ndarray | None:
    if not measurement.step:
        return None
    before, now = (
        graph.cell(measurement.edge_type, step) for step in (measurement.step - 1, measurement.step)
    )
    nodes = graph.nodes[graph.schema.edge_type(measurement.edge_type).source].count
    edges = measurement.query == "kept_edges"
    return np.array([kept_edges(before, now) if edges else kept_nodes(before, now, nodes)], dtype=np.int64)


def _edge_values(graph: Graph, measurement: Measurement) -> np.ndarray | None:
    table, given = graph.edges[measurement.edge_type], measurement.arguments
    relation, bins = graph.schema.edge_type(measurement.edge_type), given["bins"]
    numbers = measurement.query in OF_NUMBERS.values()
    if table.values is None:
        return None
    table = numbered(table) if numbers else each_alone(table)
    if table.values is None or bins.attribute.name not in table.values.columns:
        return None
    if MOST_OF_A_PAIR in given:
        table = counted(table, 1 if numbers else relation.records_per_slot or 1, by_pair=True)
    assert table.values is not None
    place = bins.places(table.values.columns[bins.attribute.name])
    query = next(
        (each for each, named in OF_NUMBERS.items() if named == measurement.query), measurement.query
    )
    if query == "value_histogram":
        return np.bincount(place, minlength=measurement.size)
    if query == "node_value_sums":
        score = np.asarray(given["scores"])[place]
        ends, weights = _ends(table.source, table.target, given["side"]), score
        sums = sum(np.bincount(end, weights=weights, minlength=measurement.size) for end in ends)
        return np.asarray(sums).astype(np.int64)
    label = np.asarray(given["bin_labels"])[place]
    labels = int(np.max(given["bin_labels"])) + 1
    if query == "values_by_step":
        step = np.zeros(len(place), dtype=np.int64) if table.step is None else table.step
        keys = [np.asarray(given["periods"])[step]]
    elif query == "values_by_node":
        keys = list(_ends(table.source, table.target, given["side"]))
    else:
        one, other = np.asarray(given["sources"])[table.source], np.asarray(given["targets"])[table.target]
        # As the read counts them: an undirected edge stands where the smaller class comes first.
        if relation.homogeneous and not relation.directed:
            one, other = np.minimum(one, other), np.maximum(one, other)
        keys = [one * (int(np.max(given["targets"])) + 1) + other]
    counts = [np.bincount(key.astype(np.int64) * labels + label, minlength=measurement.size) for key in keys]
    summed: np.ndarray = np.sum(counts, axis=0)
    return summed


def _ends(source: np.ndarray, target: np.ndarray, side: str) -> tuple[np.ndarray, ...]:
    return {"source": (source,), "target": (target,), "both": (source, target)}[side]


def _nodes(graph: Graph, measurement: Measurement) -> np.ndarray | None:
    kind = graph.schema.node_type(measurement.edge_type.removeprefix(ROWS))
    declared = {each.name: each for each in kind.attributes}
    columns = graph.nodes[kind.name].attributes
    places = np.asarray(measurement.arguments["classes"], dtype=np.int64)
    held = np.ones(len(places), dtype=bool)
    for name, bins in measurement.arguments["bins_of"].items():
        if name not in columns:
            return None
        own = places_of(declared[name], columns[name])
        places, held = places * bins.count + own, held & (own >= 0)
    return np.bincount(places[held], minlength=measurement.size)


def _vectors(graph: Graph, measurement: Measurement) -> np.ndarray | None:
    """Count a vector's numbers by place and bin, of the nodes of a group."""
    kind, given = graph.schema.node_type(measurement.edge_type.removeprefix(ROWS)), measurement.arguments
    column = graph.nodes[kind.name].attributes.get(given["attribute"])
    groups = np.zeros(graph.nodes[kind.name].count, dtype=np.int64)
    if "of" in given:
        found = _groups(graph, kind.name, {"attribute": given["of"], "bin_groups": given["bin_groups"]})
        if found is None:
            return None
        groups = np.where(found == given["group"], 0, -1)
    if column is None:
        return None
    (declared,) = (each for each in kind.attributes if each.name == given["attribute"])
    shape = 1, declared.length or 0, given["bins"].count
    counts = counted_numbers(np.asarray(column), declared, groups, shape)
    counted: np.ndarray = np.delete(counts[0], given["bin_of_zero"], axis=1).ravel()
    return counted


def _mixing(graph: Graph, measurement: Measurement) -> np.ndarray | None:
    table, given = graph.edges[measurement.edge_type], measurement.arguments
    kind = graph.schema.node_type(graph.schema.edge_type(measurement.edge_type).source)
    ends = np.concatenate([table.source, table.target])
    groups = _groups(graph, kind.name, given)
    # Under a cap only some edges count, by a keyed order that is not kept.
    if groups is None or np.bincount(ends, minlength=1).max() > given["cap"]:
        return None
    count = int(np.max(given["bin_groups"])) + 1
    one, other = groups[table.source], groups[table.target]
    held = (one >= 0) & (other >= 0)
    one, other = one[held], other[held]
    if measurement.query == DIRECTED_MIXING:
        return np.bincount(one * count + other, minlength=count * count)
    low, high = np.minimum(one, other), np.maximum(one, other)
    square = np.bincount(low * count + high, minlength=count * count).reshape(count, count)
    return square[np.triu_indices(count)]


def _between(graph: Graph, measurement: Measurement) -> np.ndarray | None:
    """Count the edges between two types by the groups of both ends; None where a cap leaves some out."""
    table, relation = graph.edges[measurement.edge_type], graph.schema.edge_type(measurement.edge_type)
    places, held, count = np.zeros(table.count, np.int64), np.ones(table.count, dtype=bool), 1
    for side, kind, nodes in (
        ("source", relation.source, table.source),
        ("target", relation.target, table.target),
    ):
        given = measurement.arguments["ends"].get(side)
        if given is None:
            continue
        groups = _groups(graph, kind, given)
        if groups is None or np.bincount(nodes, minlength=1).max() > given["cap"]:
            return None
        number = int(np.max(given["bin_groups"])) + 1
        own = groups[nodes]
        places, held, count = places * number + own, held & (own >= 0), count * number
    return np.bincount(places[held], minlength=count)


def _groups(graph: Graph, node_type: str, given: Mapping[str, Any]) -> np.ndarray | None:
    """Find the group of every node by its attribute, -1 without a value; None where the graph has none."""
    column = graph.nodes[node_type].attributes.get(given["attribute"])
    if column is None:
        return None
    kind = graph.schema.node_type(node_type)
    declared = next(each for each in kind.attributes if each.name == given["attribute"])
    own, of_bin = places_of(declared, column), np.asarray(given["bin_groups"], dtype=np.int64)
    return np.where(own >= 0, of_bin[np.maximum(own, 0)], -1)


_OF_EDGES = frozenset({*OF_NUMBERS, *OF_NUMBERS.values()})
