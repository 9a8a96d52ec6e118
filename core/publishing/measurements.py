"""Noisy numbers that a release paid for. They are published with it, each with its interval and its unit.

``measurements.json`` lists the measurements: what was counted, the law of the noise, how near; its ``totals``
are the numbers that several of them tell together. In
``measurements.parquet`` is a row for each value: ``measurement`` (its number in the list), whose it is, and
``value`` between ``low`` and ``high``, which hold the truth with the confidence of the list, each by itself.
Whose: ``id`` is a released node's; ``key`` and ``other_key`` are what the list says, a rank, a degree, groups
of nodes. ``measurement_groups.parquet`` says which node is in which group. All of it is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.graphs.graph import Graph
from core.graphs.schema import EVERY
from core.graphs.schema.value_bins import ValueBins
from core.privacy.accounting.measurements import LAPLACE, Measurement, Measurements, deviation
from core.privacy.reads.edge_values import MOST_OF_A_PAIR
from core.privacy.reads.node_values import DIRECTED_MIXING, MIXING, TWO_SIDED_MIXING, VECTORS
from core.publishing.bundle import write_json
from core.reports.precision import CONFIDENCE, QUANTITIES, near
from graphveil.models.reports import ROWS as ROWS_OF_NODES

LIST, VALUES, GROUPS = "measurements.json", "measurements.parquet", "measurement_groups.parquet"
NOTE = (
    "What the release paid for, as it was measured. Each interval holds the true number with the stated "
    "confidence, by itself; it follows from the noise. For the number of edges use totals, which combine all "
    "answers that tell of it."
)
TOO_MANY = "more values than are kept"
OF_ALL_GRAPHS = "of the nodes of all graphs together"
OWN_CLASSES = "classes or scores that have a meaning to the method alone"
OF_VECTORS = ("bin_of_zero", "of", "group")
"""Of a vector's counts: the bin that is not counted; of another attribute the group of bins they are of."""
ROWS = pa.schema(
    [
        ("measurement", pa.int32()),
        ("id", pa.string()),
        ("key", pa.int64()),
        ("other_key", pa.int64()),
        ("value", pa.int64()),
        ("low", pa.int64()),
        ("high", pa.int64()),
    ]
)
MEMBERS = pa.schema(
    [("grouping", pa.int32()), ("id", pa.string()), ("type", pa.string()), ("group", pa.int64())]
)


@dataclass(frozen=True)
class _Keys:
    """Whose the values of a measurement are: columns of their length; ``names`` says what they mean.

    ``by_node``: every node has as many values, those of the original's first node first.
    """

    by_node: bool = False
    keys: tuple[np.ndarray, ...] = ()
    names: tuple[str, ...] = ()


@dataclass
class _Groupings:
    """The groupings of nodes that measurements name, each once; rows are nodes of the original."""

    found: list[tuple[str, np.ndarray]] = field(default_factory=list)
    numbers: dict[tuple[str, bytes], int] = field(default_factory=dict)

    def number(self, kind: str, labels: np.ndarray) -> int:
        own = np.ascontiguousarray(labels, dtype=np.int64)
        # By content: measurements that name the same groups share one table.
        key = (kind, own.tobytes())
        if key not in self.numbers:
            self.numbers[key] = len(self.found)
            self.found.append((kind, own))
        return self.numbers[key]


def write_measurements(
    released: Graph,
    permutations: Mapping[str, np.ndarray],
    measurements: Measurements,
    totals: Sequence[Mapping[str, Any]],
    folder: Path,
    *,
    first_step: int = 0,
) -> None:
    """Write the three files of measurements. They go below ``folder``; none where nothing was measured by a
    named query.

    ``permutations`` and ``first_step`` are those of the release, ``totals`` what measurements tell together
    (:func:`core.publishing.totals.totals`), which the list repeats. One measurement's rows in memory.
    """
    if not len(measurements):
        return
    groupings = _Groupings()
    listed: list[dict[str, Any]] = []
    left_out: list[dict[str, Any]] = []
    with pq.ParquetWriter(folder / VALUES, ROWS, compression="zstd") as writer:
        for each in measurements:
            kinds, asked = _about(each, released, first_step)
            if each.values is None or each.query not in _KEYS or _of_joined_nodes(each):
                why = TOO_MANY if each.values is None else OWN_CLASSES
                why = OF_ALL_GRAPHS if _of_joined_nodes(each) else why
                left_out.append(asked | {"query": each.query, "values": each.size, "why": why})
                continue
            keys, bound = _KEYS[each.query](each, kinds), near(each, CONFIDENCE)
            kind = kinds.target if each.arguments.get("side") == "target" else kinds.source
            writer.write_table(_rows(len(listed), each.values, keys, kind, bound, released, permutations))
            listed.append(asked | _described(each, keys, bound, kinds, groupings))
    if groupings.found:
        _write_groups(groupings, released, permutations, folder / GROUPS)
    content = {"note": NOTE, "confidence": CONFIDENCE, "totals": [*totals], "measurements": listed}
    write_json(folder / LIST, content | {"left_out": left_out})


class _Kinds(NamedTuple):
    """The node types of both ends of a relation; of rows of nodes their type, twice."""

    source: str
    target: str


def _about(each: Measurement, released: Graph, first_step: int) -> tuple[_Kinds, dict[str, Any]]:
    """Say of which relation and snapshot it is, or of the rows of which node type."""
    if each.edge_type.startswith(ROWS_OF_NODES):
        kind = each.edge_type.removeprefix(ROWS_OF_NODES)
        return _Kinds(kind, kind), {"edge_type": None, "node_type": kind, "step": None}
    relation = released.schema.edge_type_or_every(each.edge_type)
    step = None if each.step is None else each.step + first_step
    return _Kinds(relation.source, relation.target), {"edge_type": each.edge_type, "step": step}


def _of_joined_nodes(each: Measurement) -> bool:
    """Tell whether it speaks of single nodes, of a collection's graphs that were read as one."""
    return each.edge_type == f"{ROWS_OF_NODES}{EVERY}" or (
        each.edge_type == EVERY and "side" in each.arguments
    )


def _described(
    each: Measurement, keys: _Keys, bound: int, ends: _Kinds, groupings: _Groupings
) -> dict[str, Any]:
    kinds = {"labels": ends.source, "target_labels": ends.target, "classes": ends.source}
    if each.query == "group_degrees":
        kinds["labels"] = ends.source if each.arguments.get("side") == "target" else ends.target
    return {
        "query": each.query,
        "quantity": QUANTITIES[each.query].title,
        "side": each.arguments.get("side"),
        "purpose": each.purpose,
        "values": each.size,
        "keys": list(keys.names),
        "groupings": [
            groupings.number(kind, each.arguments[name])
            for name, kind in kinds.items()
            if each.arguments.get(name) is not None
        ],
        **_binned(each.arguments),
        "counts_edges": [
            {"grouping": groupings.number(ends.source, part.labels), "inside": part.inside}
            for part in each.parts
        ],
        "distribution": each.law,
        "scale": float(each.scale),
        "standard_deviation": deviation(each.scale) if each.law == LAPLACE else float(each.scale),
        "within": bound,
    }


def _binned(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Describe the bins of an attribute's values, of a measurement that speaks of them."""
    several: Mapping[str, ValueBins] | None = arguments.get("bins_of")
    if several is not None:
        return {"attributes": [{"attribute": name, "bins": _starts(bins)} for name, bins in several.items()]}
    if "ends" in arguments:
        return {"ends": {side: _binned(own) for side, own in arguments["ends"].items()}}
    bins: ValueBins | None = arguments.get("bins")
    if bins is None:
        return {}
    named = ("periods", "bin_labels", "bin_groups")
    tables = {name: arguments[name].tolist() for name in named if name in arguments}
    if MOST_OF_A_PAIR in arguments:
        tables[MOST_OF_A_PAIR] = arguments[MOST_OF_A_PAIR]
    if "cap" in arguments:
        tables["most_edges_of_a_node"] = arguments["cap"]
    tables |= {name: arguments[name] for name in OF_VECTORS if name in arguments}
    name = arguments.get("attribute", bins.attribute.name)
    return {"attribute": name, "bins": _starts(bins)} | tables


def _starts(bins: ValueBins) -> list[Any]:
    """List the categories, or where each bin starts."""
    categories = bins.attribute.categories
    return bins.starts.tolist() if categories is None else list(categories)


def _rows(
    number: int,
    values: np.ndarray,
    keys: _Keys,
    kind: str,
    near: int,
    released: Graph,
    permutations: Mapping[str, np.ndarray],
) -> pa.Table:
    """Build a measurement's rows, in the order of its keys; those of nodes in the order of the release."""
    ids = pa.nulls(len(values), pa.string())
    if keys.by_node:
        # In the release's order: that of the original must not be told.
        order = permutations[kind]
        own = values.reshape(len(order), len(values) // max(len(order), 1))[order]
        values = own.ravel()
        ids = released.nodes[kind].id_array().take(pa.array(np.repeat(np.arange(len(own)), own.shape[1])))
        ids = ids.cast(pa.string())
    shown = [
        *(pa.array(column) for column in keys.keys),
        *[pa.nulls(len(values), pa.int64())] * (2 - len(keys.keys)),
    ]
    return pa.Table.from_arrays(
        [
            pa.repeat(pa.scalar(number, pa.int32()), len(values)),
            ids,
            *shown,
            *(
                # No count is below 0, so that an interval need not be either.
                pa.array(each)
                for each in (values, np.maximum(values - near, 0), np.maximum(values + near, 0))
            ),
        ],
        schema=ROWS,
    )


def _write_groups(
    groupings: _Groupings, released: Graph, permutations: Mapping[str, np.ndarray], path: Path
) -> None:
    with pq.ParquetWriter(path, MEMBERS, compression="zstd") as writer:
        for number, (kind, labels) in enumerate(groupings.found):
            own = labels[permutations[kind]]
            columns = [
                pa.repeat(pa.scalar(number, pa.int32()), len(own)),
                released.nodes[kind].id_array().cast(pa.string()),
                pa.repeat(pa.scalar(kind), len(own)),
                pa.array(own),
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=MEMBERS))


def _whole(each: Measurement, kinds: _Kinds) -> _Keys:
    return _Keys()


def _nodes(each: Measurement, kinds: _Kinds) -> _Keys:
    return _Keys(by_node=True, names=("id",))


def _numbered(name: str) -> Callable[[Measurement, _Kinds], _Keys]:
    return lambda each, kinds: _Keys(keys=(np.arange(each.size),), names=(name,))


def _thresholds(each: Measurement, kinds: _Kinds) -> _Keys:
    return _Keys(keys=(np.asarray(each.arguments["thresholds"], dtype=np.int64),), names=("at least",))


def _pairs_of_groups(each: Measurement, kinds: _Kinds) -> _Keys:
    names = ("group", "other group")
    if "target_labels" not in each.arguments:
        # Of g groups there are g (g + 1) / 2 pairs: solved for g.
        groups = (math.isqrt(8 * each.size + 1) - 1) // 2
        return _Keys(keys=tuple(np.triu_indices(groups)), names=names)
    labels = each.arguments["target_labels"]
    across = each.arguments.get("target_groups") or int(np.max(labels)) + 1
    return _Keys(keys=tuple(np.divmod(np.arange(each.size), across)), names=names)


def _periods(each: Measurement, kinds: _Kinds) -> _Keys:
    labels = int(np.max(each.arguments["bin_labels"])) + 1
    return _Keys(keys=tuple(np.divmod(np.arange(each.size), labels)), names=("period", "bin label"))


def _nodes_and_labels(each: Measurement, kinds: _Kinds) -> _Keys:
    labels = int(np.max(each.arguments["bin_labels"])) + 1
    return _Keys(by_node=True, keys=(np.arange(each.size) % labels,), names=("id", "bin label"))


def _nodes_and_groups(each: Measurement, kinds: _Kinds) -> _Keys:
    groups = each.arguments.get("groups") or int(np.max(each.arguments["labels"])) + 1
    return _Keys(by_node=True, keys=(np.arange(each.size) % groups,), names=("id", "group"))


def _classes_and_bins(each: Measurement, kinds: _Kinds) -> _Keys:
    """Name the class and the bin; of two attributes of all nodes together, the bins of both."""
    sizes = [bins.count for bins in each.arguments["bins_of"].values()]
    columns = np.divmod(np.arange(each.size), sizes[-1])
    return _Keys(keys=columns, names=("class", "bin") if len(sizes) == 1 else ("bin", "other bin"))


def _pairs_of_bins(each: Measurement, kinds: _Kinds) -> _Keys:
    groups = (math.isqrt(8 * each.size + 1) - 1) // 2
    return _Keys(keys=tuple(np.triu_indices(groups)), names=("bin group", "other bin group"))


def _ordered_pairs_of_bins(each: Measurement, kinds: _Kinds) -> _Keys:
    groups = math.isqrt(each.size)
    keys = np.divmod(np.arange(each.size), groups)
    return _Keys(keys=keys, names=("source bin group", "target bin group"))


def _groups_of_both(each: Measurement, kinds: _Kinds) -> _Keys:
    """Name the groups of both ends; a type without values is one group."""
    target = each.arguments["ends"].get("target")
    across = 1 if target is None else int(np.max(target["bin_groups"])) + 1
    keys = np.divmod(np.arange(each.size), across)
    return _Keys(keys=keys, names=("source bin group", "target bin group"))


def _places_and_bins(each: Measurement, kinds: _Kinds) -> _Keys:
    """Name a vector's place and the bin of its number; that of 0 is not counted."""
    rest, count = each.arguments["bin_of_zero"], each.arguments["bins"].count
    place, other = np.divmod(np.arange(each.size), count - 1)
    # The bin of 0 is not among the columns: those beyond it are one further on.
    return _Keys(keys=(place, other + (other >= rest)), names=("place", "bin"))


_KEYS: Mapping[str, Callable[[Measurement, _Kinds], _Keys]] = {
    "edge_count": _whole,
    "degrees": _nodes,
    "sorted_degrees": _numbered("rank"),
    "degree_histogram": _numbered("degree"),
    "tail_counts": _thresholds,
    "kept_edges": _whole,
    "kept_nodes": _whole,
    "group_matrix": _pairs_of_groups,
    "group_degrees": _nodes_and_groups,
    "value_histogram": _numbered("bin"),
    "values_by_step": _periods,
    "record_histogram": _numbered("bin"),
    "records_by_step": _periods,
    "values_by_node": _nodes_and_labels,
    "node_values": _classes_and_bins,
    VECTORS: _places_and_bins,
    MIXING: _pairs_of_bins,
    DIRECTED_MIXING: _ordered_pairs_of_bins,
    TWO_SIDED_MIXING: _groups_of_both,
}
"""Whose the values are, by query, as :mod:`core.privacy.queries`, :mod:`core.privacy.reads.edge_values`,
:mod:`core.privacy.reads.between_steps`,
:mod:`core.privacy.reads.node_values` and :mod:`core.privacy.reads.mixing_between` order them."""
