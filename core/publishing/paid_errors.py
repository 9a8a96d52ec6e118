"""How far a release's published measurements are from the truth. Reads the original: for curators only.

What was asked is read back from the release's own files, and put back at the original's nodes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from core.evaluation.paid import exact
from core.graphs.graph import Graph
from core.graphs.schema import EVERY, GraphSchema
from core.graphs.schema.node_bins import node_bins
from core.graphs.schema.value_bins import bins_of
from core.graphs.views.joined import joined
from core.graphs.views.records import number_of_records
from core.privacy.accounting.measurements import LAPLACE, Measurement, Part
from core.privacy.accounting.plan import rows_of
from core.privacy.reads.edge_values import MOST_OF_A_PAIR, OF_NUMBERS
from core.privacy.reads.node_values import MIXINGS, TWO_SIDED_MIXING, VECTORS
from core.publishing.measurements import GROUPS, LIST, OF_VECTORS, VALUES

BY_NODE = frozenset({"degrees", "group_degrees", "values_by_node", "records_by_node"})


def paid_errors(
    original: Graph, synthetic: Graph, release: Path, order: Mapping[str, np.ndarray], first_step: int = 0
) -> list[dict[str, Any]]:
    """Compare paid measurements with the truth. There is a row for each relation and quantity; nothing
    without any.

    ``order[type][new_index] == original_index``, of the release below ``release``. Both graphs have the
    original's order. O((n + m) measurements).
    """
    if not (release / LIST).exists():
        return []
    found: dict[tuple[str, str], list[tuple[Measurement, int, str]]] = {}
    if original.schema.collection is not None:
        names = [each.name for each in synthetic.schema.edge_types]
        together = joined(original, names), joined(synthetic, names)
    for each, near, quantity in read_measurements(release, original.schema, order, first_step):
        found.setdefault((each.edge_type, each.query), []).append((each, near, quantity))
    rows = (
        _row(*(together if name == EVERY else (original, synthetic)), measured)
        for (name, _), measured in found.items()
    )
    return [row for row in rows if row is not None]


def _row(
    original: Graph, synthetic: Graph, measured: Sequence[tuple[Measurement, int, str]]
) -> dict[str, Any] | None:
    paid, drawn, held, expected = [], [], [], []
    for each, near, _ in measured:
        truth = exact(original, each)
        if truth is None or each.values is None:
            continue
        off = np.abs(each.values - truth)
        paid.append(off)
        held.append(off <= near)
        expected.append((mean_noise(each.scale, each.law), each.size))
        counted = exact(synthetic, each)
        if counted is not None:
            drawn.append(np.abs(counted - truth))
    if not paid:
        return None
    first, _, quantity = measured[0]
    sizes = [size for _, size in expected]
    return {
        "edge_type": first.edge_type,
        "query": first.query,
        "quantity": quantity,
        "values": sum(sizes),
        "within": max(near for _, near, _ in measured),
        "predicted": float(np.average([noise for noise, _ in expected], weights=sizes)),
        "actual": float(np.concatenate(paid).mean()),
        "held": float(np.concatenate(held).mean()),
        # Over the same numbers as the paid error, or not at all.
        "synthetic": float(np.concatenate(drawn).mean()) if len(drawn) == len(paid) else None,
    }


def mean_noise(scale: Fraction, law: str = LAPLACE) -> float:
    """Return the mean absolute value of noise. Of discrete Laplace noise it is 2 q / (1 - q^2), q =
    exp(-1/scale); of Gaussian noise of that deviation it times the root of 2 / pi."""
    if law != LAPLACE:
        return float(scale) * math.sqrt(2 / math.pi)
    rate = float(1 / scale)
    # By expm1, as 1 - q^2 of wide noise is near 0.
    return 2 * math.exp(-rate) / -math.expm1(-2 * rate)


def read_measurements(
    release: Path, schema: GraphSchema, order: Mapping[str, np.ndarray], first_step: int
) -> Iterator[tuple[Measurement, int, str]]:
    """Read back what ``write_measurements`` wrote. Values stand at the original's nodes, with their bound and
    name."""
    listed = json.loads((release / LIST).read_bytes())["measurements"]
    table = pq.read_table(release / VALUES, columns=["measurement", "key", "other_key", "value"])
    numbers = table["measurement"].to_numpy()
    # Rows of one measurement stand together, in the list's order.
    ends = np.searchsorted(numbers, np.arange(len(listed) + 1))
    groups = _groups(release, order)
    for number, entry in enumerate(listed):
        rows = table.slice(ends[number], ends[number + 1] - ends[number])
        if rows.num_rows:
            measurement = _measurement(entry, rows, schema, order, groups, first_step)
            yield measurement, entry["within"], entry["quantity"]


def _groups(release: Path, order: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """Read every grouping as a label for each node of the original."""
    if not (release / GROUPS).exists():
        return []
    table = pq.read_table(release / GROUPS, columns=["grouping", "type", "group"])
    found = []
    for number in range(int(pc.max(table["grouping"]).as_py()) + 1):
        own = table.filter(pc.equal(table["grouping"], pa.scalar(number, pa.int32())))
        labels = np.empty(own.num_rows, dtype=np.int64)
        labels[order[own["type"][0].as_py()]] = own["group"].to_numpy()
        found.append(labels)
    return found


def _measurement(
    entry: Mapping[str, Any],
    rows: pa.Table,
    schema: GraphSchema,
    order: Mapping[str, np.ndarray],
    groups: Sequence[np.ndarray],
    first_step: int,
) -> Measurement:
    values, query = rows["value"].to_numpy(), entry["query"]
    kind = entry.get("node_type")
    name = rows_of(kind) if kind else entry["edge_type"]
    if query in BY_NODE:
        relation = schema.edge_type(name)
        nodes = order[relation.target if entry["side"] == "target" else relation.source]
        # Back from the order of the release to that of the original.
        shaped = values.reshape(len(nodes), -1)
        own = np.empty_like(shaped)
        own[nodes] = shaped
        values = own.ravel()
    step = None if entry["step"] is None else entry["step"] - first_step
    parts = tuple(Part(groups[each["grouping"]], each["inside"]) for each in entry["counts_edges"])
    labels = [groups[number] for number in entry["groupings"]]
    arguments = _arguments(entry, rows, schema, labels)
    scale, law = Fraction(entry["scale"]), entry["distribution"]
    return Measurement(name, step, query, arguments, parts, scale, len(values), values, "", law=law)


def _arguments(
    entry: Mapping[str, Any], rows: pa.Table, schema: GraphSchema, labels: Sequence[np.ndarray]
) -> dict[str, Any]:
    """Make the arguments that the query was asked with."""
    query = entry["query"]
    side = {} if entry["side"] is None else {"side": entry["side"]}
    if query == "degree_histogram":
        # A row for each degree from 0 on.
        return side | {"most": rows.num_rows - 1}
    if query == "tail_counts":
        return {"thresholds": rows["key"].to_numpy()}
    if query == "group_matrix" and len(labels) == 2:
        across = pc.max(rows["other_key"]).as_py() + 1
        sizes = {"groups": rows.num_rows // across, "target_groups": across}
        return {"labels": labels[0], "target_labels": labels[1], **sizes}
    if query == "group_matrix":
        return {"labels": labels[0], "groups": pc.max(rows["key"]).as_py() + 1}
    if query == "group_degrees":
        return side | {"labels": labels[0], "groups": pc.max(rows["key"]).as_py() + 1}
    if query == "node_values":
        declared = {each.name: each for each in schema.node_type(entry["node_type"]).attributes}
        names = [each["attribute"] for each in entry["attributes"]]
        return {"bins_of": {name: node_bins(declared[name]) for name in names}, "classes": labels[0]}
    if query == VECTORS:
        kind = schema.node_type(entry["node_type"])
        (vector,) = (each for each in kind.attributes if each.name == entry["attribute"])
        named = {name: entry[name] for name in ("attribute", *OF_VECTORS) if name in entry}
        groups = {"bin_groups": np.array(entry["bin_groups"])} if "bin_groups" in entry else {}
        return {"bins": node_bins(vector)} | named | groups
    if query == TWO_SIDED_MIXING:
        return {"ends": {side: _mixed(own) for side, own in entry["ends"].items()}}
    if query in MIXINGS:
        return _mixed(entry)
    if "attribute" in entry:
        relation = schema.edge_type_or_every(entry["edge_type"])
        carried = {each.name: each for each in relation.attributes}
        numbers = query in OF_NUMBERS.values()
        attribute = number_of_records(relation) if numbers else carried[entry["attribute"]]
        tables = {name: np.array(entry[name]) for name in ("periods", "bin_labels") if name in entry}
        pairs = {name: entry[name] for name in (MOST_OF_A_PAIR,) if name in entry}
        return side | {"bins": bins_of(attribute)} | tables | pairs
    return side


def _mixed(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Read what mixing was asked by: an attribute, the groups of its bins, and the cap."""
    groups = np.array(entry["bin_groups"], dtype=np.int64)
    return {"attribute": entry["attribute"], "cap": entry["most_edges_of_a_node"], "bin_groups": groups}
