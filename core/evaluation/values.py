"""Comparison of what edges carry.

Values of a synthetic graph are compared with those of its original. For curators only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from core.evaluation.metric import Metric
from core.evaluation.utility import relative
from core.graphs.columns.tables import EdgeTable
from core.graphs.graph import Graph
from core.graphs.schema import EdgeType
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.graphs.schema.value_bins import bins_of
from core.graphs.views.records import NUMBER, each_alone, number_of_records, numbered

BUSY = 10
"""Nodes with fewer edges say little of what their edges tend to carry."""
PAIRED = 24
"""Bins of each attribute where two are compared together."""
DEGREES = 40
"""Classes of degree, by doubling."""
MOST_NODES = 4_000_000
"""Entries of a table of nodes and bins, at most: beyond, nodes are not compared."""

_FAMILY = "values"
_CORRELATION = (
    "Pearson correlation, over edges, of the value with ln(1 + degree) of the {end}; integers and numbers. "
    "Undefined where either is the same for all."
)
SCALARS: tuple[Metric, ...] = (
    Metric("value_mean", "Mean value", "Mean over edges; integers and numbers.", _FAMILY),
    Metric(
        "value_degree_correlation",
        "Value with degree",
        _CORRELATION.format(end="ends, both of which count"),
        _FAMILY,
    ),
    Metric(
        "value_source_correlation", "Value with source's degree", _CORRELATION.format(end="source"), _FAMILY
    ),
    Metric(
        "value_target_correlation", "Value with target's degree", _CORRELATION.format(end="target"), _FAMILY
    ),
    Metric(
        "value_node_spread",
        "Spread of nodes' means",
        f"Standard deviation of the mean values of nodes with at least {BUSY} edges in both graphs, sources "
        "and targets apart; integers and numbers. Undefined without such nodes.",
        _FAMILY,
    ),
)
_FAR = (
    "of categories and times of day (by hour, or declared cuts) the total variation, half the sum over bins "
    "of |p - q|; of integers and numbers the earth mover's distance over the width of the declared bounds"
)
DISTANCES: tuple[Metric, ...] = (
    Metric(
        "value_distance",
        "Distance of values",
        f"How far apart both graphs' values are: {_FAR}. From 0 to 1.",
        _FAMILY,
        better="lower",
    ),
    Metric(
        "value_node_distance",
        "Distance of nodes' values",
        f"The mean, over nodes with at least {BUSY} edges in both graphs, of the distance between the values "
        "of a node's edges, as in value_distance. Chance alone keeps it from 0.",
        _FAMILY,
        better="lower",
    ),
    Metric(
        "value_step_distance",
        "Distance of values by step",
        "The mean, over steps in which both graphs have edges, of value_distance within the step; of "
        "relations with time.",
        _FAMILY,
        better="lower",
    ),
    Metric(
        "value_total_variation",
        "Values, total variation",
        "Total variation of the shares of edges by bin, integers and numbers too: the 1-way margin.",
        _FAMILY,
        better="lower",
    ),
    Metric(
        "value_step_total_variation",
        "Values by step, total variation",
        "Total variation of the shares of edges by step and bin: a 2-way margin; of relations with time.",
        _FAMILY,
        better="lower",
    ),
    Metric(
        "value_degree_total_variation",
        "Values by degree, total variation",
        "Total variation of the shares of edge ends by bin and the node's degree, in classes 1, 2-3, 4-7 and "
        "so on: a 2-way margin.",
        _FAMILY,
        better="lower",
    ),
    Metric(
        "value_pair_total_variation",
        "Values of two attributes, total variation",
        f"Total variation of the shares of edges by this attribute and another one, each in {PAIRED} bins at "
        "most: a 2-way margin; the mean over the others, undefined where there is none.",
        _FAMILY,
        better="lower",
    ),
    Metric(
        "value_node_mean_error",
        "Error of nodes' means",
        f"Mean of |mean - original mean| of the values of a node's edges, over nodes with at least {BUSY} "
        "edges in both graphs, sources and targets apart; integers and numbers.",
        _FAMILY,
        better="lower",
    ),
)


def described() -> dict[str, dict[str, Any]]:
    """Describe what is measured of values, by name."""
    return {metric.name: metric.to_json() for metric in SCALARS + DISTANCES}


def compare_values(original: Graph, synthetic: Graph, edge_type: EdgeType) -> list[dict[str, Any]]:
    """Compare every attribute of the relation in both graphs.

    They are what both carry, in declared order, record by record; and, where each is kept, how many an edge
    has. Else nothing. Nodes are aligned by index. A row of ``scalars`` and ``distances``, as for other
    metrics. O(m + n bins).
    """
    ours, theirs = original.edges[edge_type.name], synthetic.edges[edge_type.name]
    if ours.values is None or theirs.values is None:
        return []
    undirected = edge_type.homogeneous and not edge_type.directed
    counts = (original.nodes[edge_type.source].count, original.nodes[edge_type.target].count)
    steps, records = original.schema.steps, (each_alone(ours), each_alone(theirs))
    found = []
    for attribute in edge_type.attributes:
        if attribute.name in ours.values.columns and attribute.name in theirs.values.columns:
            others = [each for each in edge_type.attributes if each is not attribute]
            row = _row(attribute, records, counts, undirected, steps, others)
            found.append({"name": attribute.name, "kind": str(attribute.kind), "row": row})
    if not edge_type.merged:
        number = number_of_records(edge_type)
        row = _row(number, (numbered(ours), numbered(theirs)), counts, undirected, steps)
        found.append({"name": NUMBER, "kind": str(number.kind), "row": row})
    return found


def _row(
    attribute: EdgeAttribute,
    tables: tuple[EdgeTable, EdgeTable],
    counts: tuple[int, int],
    undirected: bool,
    steps: int,
    others: Sequence[EdgeAttribute] = (),
) -> dict[str, Any]:
    columns = [_column(table, attribute.name) for table in tables]
    if attribute.numeric:
        sides = [_scalars(table, each, undirected) for table, each in zip(tables, columns, strict=True)]
        scalars = {name: relative.scalar(sides[0][name], sides[1][name]) for name in sides[0]}
    else:
        scalars = {}
    distances = {
        "value_distance": _far(attribute, _binned(attribute, columns[0]), _binned(attribute, columns[1])),
        "value_node_distance": _by_group(
            attribute, _node_tables(attribute, tables, columns, counts, undirected)
        ),
    }
    if all(table.step is not None for table in tables):
        grouped = [
            _table(attribute, each, table.step, steps) for table, each in zip(tables, columns, strict=True)
        ]
        distances["value_step_distance"] = _by_group(attribute, grouped, least=1)
        distances["value_step_total_variation"] = _variation(*grouped)
    distances |= _margins(attribute, tables, columns, counts, undirected, others)
    if attribute.numeric:
        means = _node_means(tables, columns, counts, undirected)
        distances["value_node_mean_error"] = (
            float(np.abs(means[0] - means[1]).mean()) if len(means[0]) else None
        )
        spread = [float(each.std()) if len(each) else None for each in means]
        scalars["value_node_spread"] = relative.scalar(*spread)
    return {"step": None, "scalars": scalars, "distances": distances}


def _column(table: EdgeTable, name: str) -> np.ndarray:
    assert table.values is not None
    return table.values.columns[name]


def _scalars(table: EdgeTable, column: np.ndarray, undirected: bool) -> dict[str, float | None]:
    values = column.astype(np.float64)
    ends = {"source": table.source, "target": table.target}
    if undirected:
        ends = {"degree": np.concatenate([table.source, table.target])}
    found: dict[str, float | None] = {"value_mean": float(values.mean()) if len(values) else None}
    for side, nodes in ends.items():
        degree = np.log1p(np.bincount(nodes)[nodes].astype(np.float64)) if len(nodes) else np.zeros(0)
        carried = np.tile(values, len(nodes) // max(len(values), 1))
        found[f"value_{side}_correlation"] = _correlation(carried, degree)
    return found


def _correlation(one: np.ndarray, other: np.ndarray) -> float | None:
    if len(one) < 2 or not one.std() or not other.std():
        return None
    return float(np.corrcoef(one, other)[0, 1])


def _binned(attribute: EdgeAttribute, column: np.ndarray) -> np.ndarray:
    fine = bins_of(attribute)
    return np.bincount(fine.places(column), minlength=fine.count)[None, :]


def _table(attribute: EdgeAttribute, column: np.ndarray, group: np.ndarray | None, groups: int) -> np.ndarray:
    """Count by group and bin; (groups, bins)."""
    fine = bins_of(attribute)
    assert group is not None
    places = group.astype(np.int64) * fine.count + fine.places(column)
    return np.bincount(places, minlength=groups * fine.count).reshape(groups, fine.count)


def _node_tables(
    attribute: EdgeAttribute,
    tables: tuple[EdgeTable, EdgeTable],
    columns: list[np.ndarray],
    counts: tuple[int, int],
    undirected: bool,
) -> list[np.ndarray]:
    """Count by end and bin, of both graphs: sources, then targets, or both ends of a node together."""
    nodes = counts[0] if undirected else sum(counts)
    if nodes * bins_of(attribute).count > MOST_NODES:
        return [np.zeros((0, 1)), np.zeros((0, 1))]
    found = []
    for table, column in zip(tables, columns, strict=True):
        targets = table.target if undirected else table.target.astype(np.int64) + counts[0]
        ends = np.concatenate([table.source.astype(np.int64), targets])
        found.append(_table(attribute, np.tile(column, 2), ends, nodes))
    return found


def _margins(
    attribute: EdgeAttribute,
    tables: tuple[EdgeTable, EdgeTable],
    columns: list[np.ndarray],
    counts: tuple[int, int],
    undirected: bool,
    others: Sequence[EdgeAttribute],
) -> dict[str, float | None]:
    """Compare the margins of the attribute alone, with degree, and with every other attribute."""
    by_degree = []
    for table, column in zip(tables, columns, strict=True):
        classes = np.concatenate([_degree_class(*each) for each in _sides(table, counts, undirected)])
        # Every value counts at both ends of its edge.
        by_degree.append(_table(attribute, np.tile(column, 2), classes, DEGREES))
    paired = []
    for other in others:
        if all(each.values is not None and other.name in each.values.columns for each in tables):
            paired.append(
                _variation(
                    *(
                        _joint(attribute, each, other, _column(table, other.name))
                        for table, each in zip(tables, columns, strict=True)
                    )
                )
            )
    return {
        "value_total_variation": _variation(*(_binned(attribute, each) for each in columns)),
        "value_degree_total_variation": _variation(*by_degree),
        "value_pair_total_variation": relative.mean(paired),
    }


def _sides(
    table: EdgeTable, counts: tuple[int, int], undirected: bool
) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """The ends of either side, and the degrees of its nodes: both ends count where sides mean nothing."""
    found = [
        np.bincount(each, minlength=n) for each, n in zip((table.source, table.target), counts, strict=True)
    ]
    if undirected:
        found = [found[0] + found[1]] * 2
    return (table.source, found[0]), (table.target, found[1])


def _degree_class(nodes: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    classes: np.ndarray = np.minimum(
        np.floor(np.log2(np.maximum(degrees[nodes], 1))).astype(np.int64), DEGREES - 1
    )
    return classes


def _joint(one: EdgeAttribute, column: np.ndarray, other: EdgeAttribute, second: np.ndarray) -> np.ndarray:
    """Count by coarse bins of two attributes."""
    places = []
    for attribute, values in ((one, column), (other, second)):
        fine = bins_of(attribute)
        places.append(fine.places(values) * min(PAIRED, fine.count) // fine.count)
    return np.bincount(places[0] * PAIRED + places[1], minlength=PAIRED**2)


def _node_means(
    tables: tuple[EdgeTable, EdgeTable], columns: list[np.ndarray], counts: tuple[int, int], undirected: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Average the values at every node with many edges in both graphs: sources, then targets."""
    found = []
    for table, column in zip(tables, columns, strict=True):
        sums = [
            np.bincount(nodes, weights=column, minlength=count)
            for nodes, count in zip((table.source, table.target), counts, strict=True)
        ]
        sizes = [
            np.bincount(nodes, minlength=count)
            for nodes, count in zip((table.source, table.target), counts, strict=True)
        ]
        if undirected:
            sums, sizes = [sums[0] + sums[1]], [sizes[0] + sizes[1]]
        found.append((np.concatenate(sums), np.concatenate(sizes)))
    kept = (found[0][1] >= BUSY) & (found[1][1] >= BUSY)
    ours, theirs = (sums[kept] / sizes[kept] for sums, sizes in found)
    return ours, theirs


def _variation(ours: np.ndarray, theirs: np.ndarray) -> float | None:
    """Half the sum of differences of shares; None where either counts nothing."""
    if not ours.sum() or not theirs.sum():
        return None
    return float(np.abs(ours / ours.sum() - theirs / theirs.sum()).sum() / 2)


def _by_group(attribute: EdgeAttribute, tables: list[np.ndarray], least: int = BUSY) -> float | None:
    """Average over groups with ``least`` edges in both tables; None where there is no such group."""
    ours, theirs = tables
    kept = (ours.sum(axis=1) >= least) & (theirs.sum(axis=1) >= least)
    return _far(attribute, ours[kept], theirs[kept]) if kept.any() else None


def _far(attribute: EdgeAttribute, ours: np.ndarray, theirs: np.ndarray) -> float | None:
    """Average the distances of like rows of counts; None where one is empty. Bins stand for their middles."""
    if not len(ours) or not ours.sum(axis=1).min() or not theirs.sum(axis=1).min():
        return None
    away = ours / ours.sum(axis=1, keepdims=True) - theirs / theirs.sum(axis=1, keepdims=True)
    if not attribute.numeric:
        return float(np.abs(away).sum(axis=1).mean() / 2)
    middles = bins_of(attribute).middles
    low, high = attribute.range
    if high <= low:
        return 0.0
    # The earth mover's distance on a line: what lies below each cut, times how far apart bins are.
    moved = np.abs(np.cumsum(away, axis=1))[:, :-1] * np.diff(middles)
    return float(moved.sum(axis=1).mean() / (high - low))
