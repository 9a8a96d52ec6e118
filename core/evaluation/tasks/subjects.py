"""The subjects of tasks. The graph as one structure, its public features, its labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.evaluation.learning.features import Features
from core.evaluation.view import UndirectedView
from core.graphs.graph import Graph
from core.graphs.schema import AttributeKind, Protection

FEWEST_CLASSES, MOST_CLASSES = 2, 50
FEWEST_LABELLED = 30
# With fewer columns, a row learned for each node from its links works better than features.
FEWEST_FEATURES, MOST_FEATURES = 16, 5_000
# Of all node types together, 200 MB of float32.
MOST_VALUES = 50_000_000


@dataclass(frozen=True)
class Labels:
    """A label of one node type. Its name, and of every node of the whole graph its class, or -1."""

    name: str
    classes: np.ndarray
    not_run: str | None


def whole(graph: Graph, relations: tuple[str, ...]) -> UndirectedView:
    """Lay node types end to end as one structure.

    They are in declared order, joined by the relations named, all steps. O(m log m).
    """
    first = offsets(graph)
    ends: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for name in relations:
        declared, table = graph.schema.edge_type(name), graph.edges[name]
        ends[0].append(table.source.astype(np.int64) + first[declared.source])
        ends[1].append(table.target.astype(np.int64) + first[declared.target])
    none = np.empty(0, dtype=np.int64)
    u, v = (np.concatenate([none, *side]) for side in ends)
    return UndirectedView.of_pairs(sum(table.count for table in graph.nodes.values()), u, v)


def offsets(graph: Graph) -> dict[str, int]:
    """Number the first node of each type, types end to end."""
    first, starts = 0, {}
    for name, table in graph.nodes.items():
        starts[name] = first
        first += table.count
    return starts


def public_features(graph: Graph, node_types: tuple[str, ...]) -> Features | None:
    """Collect public features of the only node type.

    They are its numbers and vectors, (n, d) float32; None where none is. None too for several node types,
    whose columns differ, and with fewer than FEWEST_FEATURES or more than MOST_FEATURES columns. Missing
    numbers become the column's mean; number columns are standardised; a vector is scaled to length 1, so that
    bags of words and dense vectors train alike.
    """
    if len(set(node_types)) != 1:
        return None
    table, columns = graph.nodes[node_types[0]], []
    for attribute in graph.schema.node_type(node_types[0]).attributes:
        if attribute.protection is not Protection.PUBLIC or attribute.name not in table.attributes:
            continue
        values = table.attributes[attribute.name]
        if attribute.kind is AttributeKind.VECTOR:
            columns.append(unit_rows(np.asarray(values, dtype=np.float32)))
        elif attribute.kind is AttributeKind.NUMBER:
            columns.append(_standardised(np.asarray(values, dtype=np.float64))[:, None])
    if not FEWEST_FEATURES <= sum(column.shape[1] for column in columns) <= MOST_FEATURES:
        return None
    return Features(np.concatenate(columns, axis=1))


def typed_features(graph: Graph) -> Features | None:
    """Collect public features of all types' nodes.

    They are (all nodes, d) float32; None without any features. Types stand end to end, as in :func:`whole`. A
    type with features (see :func:`public_features`) has columns of its own, any other type one column of
    ones. None too for more than MOST_VALUES numbers.
    """
    if len(graph.nodes) == 1:
        return public_features(graph, tuple(graph.nodes))
    features = {name: public_features(graph, (name,)) for name in graph.nodes}
    widths = {name: 1 if given is None else given.values.shape[1] for name, given in features.items()}
    nodes, columns = sum(table.count for table in graph.nodes.values()), sum(widths.values())
    if not any(features.values()) or nodes * columns > MOST_VALUES:
        return None
    values = np.zeros((nodes, columns), dtype=np.float32)
    first, left = offsets(graph), 0
    for name, given in features.items():
        rows = slice(first[name], first[name] + graph.nodes[name].count)
        values[rows, left : left + widths[name]] = 1 if given is None else given.values
        left += widths[name]
    return Features(values)


def unit_rows(values: np.ndarray) -> np.ndarray:
    """Scale the rows to length 1; rows of zeros stay."""
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    return values / np.where(lengths > 0, lengths, 1)


def _standardised(values: np.ndarray) -> np.ndarray:
    known = values[np.isfinite(values)]
    if not len(known):
        return np.zeros(len(values), dtype=np.float32)
    spread = known.std() or 1.0
    return (np.where(np.isfinite(values), values - known.mean(), 0.0) / spread).astype(np.float32)


def labels_of(graph: Graph) -> list[Labels]:
    """List every declared label over the whole graph's nodes.

    Labels are categories that the schema declares as such.
    """
    first = offsets(graph)
    total = sum(table.count for table in graph.nodes.values())
    labels = []
    declared = [
        (kind.name, attribute.name)
        for kind in graph.schema.node_types
        for attribute in kind.attributes
        if attribute.label and attribute.kind is AttributeKind.CATEGORY
    ]
    for kind, name in declared:
        column = graph.nodes[kind].attributes.get(name)
        if not isinstance(column, pa.Array | pa.ChunkedArray):
            continue
        values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        encoded = values if pa.types.is_dictionary(values.type) else pc.dictionary_encode(values)
        codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
        present, counts = np.unique(codes[codes >= 0], return_counts=True)
        classes = np.full(total, -1, dtype=np.int64)
        dense = np.where(codes >= 0, np.searchsorted(present, codes), -1)
        classes[first[kind] : first[kind] + len(codes)] = dense
        labels.append(Labels(f"{kind}.{name}", classes, _unfit(len(present), int(counts.sum()))))
    return labels


def _unfit(classes: int, labelled: int) -> str | None:
    if not FEWEST_CLASSES <= classes <= MOST_CLASSES:
        return f"The label does not have {FEWEST_CLASSES} to {MOST_CLASSES} classes."
    if labelled < FEWEST_LABELLED:
        return f"Fewer than {FEWEST_LABELLED} nodes have a label."
    return None
