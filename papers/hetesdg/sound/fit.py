"""The sound variant's reads, in order."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from core.methods._shared.degrees.counts import noisy_count
from core.methods.base import Progress
from core.privacy.accounting.events import NANO
from core.privacy.accounting.plan import CellKey, PrivacyPlan
from papers.hetesdg.budget import (
    NOISY_ROWS,
    Shares,
    follows_back,
    granted,
    sequences_of,
    shares,
)
from papers.hetesdg.inputs import Inputs, grouped, matrix_of
from papers.hetesdg.model import HeteModel, table_of
from papers.hetesdg.params import HeteParams
from papers.hetesdg.sides import Sides, paths_of, returning_side, sides_of
from papers.hetesdg.sound.sequences import ascending
from papers.hetesdg.sound.split import histogram_share
from papers.hetesdg.sound.sums import read_sums
from papers.hetesdg.sound.tables import Table, expected
from papers.hetesdg.sound.vectors import SecondHop, vectors

if TYPE_CHECKING:
    from core.methods._shared.frame.columns import Columns
    from core.privacy.session.private_graph import PrivateCell, PrivateGraph

SPREADS = 3
"""The bound on a relation's edges lies so many scales of its noise above the noisy number."""


@dataclass(frozen=True)
class Reading:
    """One relation as it is read. Its ends, the paths that end with it, and how epsilon is divided."""

    name: str
    sides: Sides
    shares: Shares


def fit_sound(
    method: str, graph: PrivateGraph, plan: PrivacyPlan, params: HeteParams, progress: Progress
) -> HeteModel:
    """Fit variant sound, at the plan's cost at most.

    Read are: protected rows, if requested; of each relation its degree sequences and every counted node's
    neighbours by cluster; along a meta-path the neighbours by part of the type in between; or, instead of
    both, sums of neighbours' rows; links by DP-SGD, if requested. All else follows from these answers, from
    public columns and from public facts.
    """
    grants = granted(plan)
    names = tuple(grants.relations or grants.sums)
    rows = {
        kind: graph.attributes(kind).noisy_rows(
            width=params.row_width, noise_multiplier=sigma, purpose=NOISY_ROWS
        )
        for kind, sigma in grants.rows.items()
    }
    inputs = _inputs(graph, names, rows, params)
    paths = paths_of(graph.schema, names, params.meta_paths, params.rows)
    found: dict[str, dict[str, np.ndarray]] = {}
    if "features" in params.release:
        found["features"] = {kind: values.astype(np.float32) for kind, values in rows.items()}
    if grants.sums:
        paths = paths if grants.followed else ()
        cells, told = read_sums(graph, grants.sums, inputs, paths, params, progress)
    else:
        nano = next(iter(grants.relations.values()))
        paths = paths if follows_back(params, nano) else ()
        cells, told = _read_tables(graph, grants.relations, inputs, paths, params, progress)
    if "embedding" in params.release:
        found["embedding"] = told
    counts = {kind.name: graph.node_count(kind.name) for kind in graph.schema.node_types}
    model = HeteModel(method, graph.schema, counts, params, cells, found)
    if grants.training is None:
        return model
    from papers.hetesdg.sound.training import with_predictors

    return with_predictors(model, inputs, partial(graph.dp_sgd, grants.training), grants.training, progress)


def _read_tables(
    graph: PrivateGraph,
    relations: Mapping[str, int],
    inputs: Mapping[str, Inputs],
    paths: tuple[tuple[str, str], ...],
    params: HeteParams,
    progress: Progress,
) -> tuple[dict[CellKey, Columns], dict[str, np.ndarray]]:
    """Pay for the columns of every relation; compute every node type's vectors, which cost nothing more."""
    cells: dict[CellKey, Columns] = {}
    steps = len(relations) + len(paths)
    readings = {}
    for done, (name, nano) in enumerate(relations.items()):
        progress("read", done, steps)
        cell = graph.cell(name, None)
        sides = sides_of(graph.schema, cell.shape.edge_type, params.rows)
        ending = sum(last == name for _, last in paths)
        known = inputs[sides.grouped]
        parts, bound = _shares(cell, params, nano, sides, ending, known)
        readings[name] = Reading(name, sides, parts)
        cells[name, None] = _tables(cell, sides, parts, known, bound)
    hops = []
    for done, path in enumerate(paths, start=len(relations)):
        progress("read", done, steps)
        hops.append(_second_hop(graph, path, cells, readings, params))
    progress("read", steps, steps)
    if "embedding" not in params.release:
        return cells, {}
    first = {name: (each.sides, table_of(cells[name, None])) for name, each in readings.items()}
    return cells, vectors(inputs, first, hops, params)


def _inputs(
    graph: PrivateGraph, names: tuple[str, ...], rows: Mapping[str, np.ndarray], params: HeteParams
) -> dict[str, Inputs]:
    """Compute coordinates and clusters of every node type at an end of a relation."""
    relations = [graph.schema.edge_type(name) for name in names]
    found = {}
    for kind in sorted({end for relation in relations for end in (relation.source, relation.target)}):
        parts = [matrix_of(graph.attributes(kind).public()), rows.get(kind)]
        known = [part for part in parts if part is not None]
        matrix = np.concatenate(known, axis=1) if known else None
        found[kind] = grouped(matrix, graph.node_count(kind), params.clusters)
    return found


def _shares(
    cell: PrivateCell, params: HeteParams, nano_epsilon: int, sides: Sides, ending: int, known: Inputs
) -> tuple[Shares, int]:
    """Compute the relation's shares, and a bound on the edges' ends on one side.

    Where a graph or bilevel needs it, the bound comes from a noisy number of edges, which is paid for first.
    """
    nodes = cell.shape.target_count if sides.counted_side == "target" else cell.shape.source_count
    each = 2 if sides.undirected else 1
    if "graph" not in params.release and params.split != "bilevel":
        return shares(params, nano_epsilon, sides, nodes, ending), each * cell.shape.slots
    paid = max(1, int(nano_epsilon * params.count_share))
    edges = noisy_count(cell, paid)
    left = nano_epsilon - paid
    bound = each * (edges + math.ceil(SPREADS * NANO / paid))
    if params.split != "bilevel":
        return shares(params, left, sides, nodes, ending), bound
    sequences = sequences_of(params, sides, nodes)
    ranked = nodes if sequences == 2 else max(cell.shape.source_count, cell.shape.target_count)
    entry = each * edges / max(nodes * known.groups, 1)
    table = histogram_share(left / NANO, entry, each * edges / max(ranked, 1), ranked, sequences)
    return shares(params, left, sides, nodes, ending, table), bound


def _tables(
    cell: PrivateCell, sides: Sides, parts: Shares, known: Inputs, bound: int
) -> dict[str, np.ndarray]:
    """Pay for the columns of one relation. Costs the sum of its shares but for the meta-paths'.

    ``bound``: on the sum of a side's degrees.
    """
    one_side = 2 if sides.undirected else 1
    noisy = cell.laplace(
        "group_degrees",
        nano_epsilon=parts.histogram,
        purpose="neighbour histogram",
        labels=known.label,
        groups=known.groups,
        side=sides.counted_side,
    )
    columns = {
        "histogram": noisy,
        "scale": np.array([one_side * NANO / parts.histogram]),
        "groups": np.array([known.groups], dtype=np.int64),
        "label": known.label,
        "membership": known.membership().ravel(),
    }
    nodes = {"source": cell.shape.source_count, "target": cell.shape.target_count}
    nodes["both"] = nodes["source"]
    for name, side, share in (
        ("grouped", sides.grouped_side, parts.grouped),
        ("counted", sides.counted_side, parts.counted),
    ):
        columns[name] = np.empty(0, dtype=np.int64)
        if share:
            sequence = cell.laplace(
                "sorted_degrees", nano_epsilon=share, purpose="degree sequence", side=side
            )
            most = nodes["source"] if side == "target" else nodes["target"]
            if cell.shape.edge_type.homogeneous:
                most -= 1
            columns[name] = ascending(sequence, one_side * NANO / share, most, bound)
    return columns


def _second_hop(
    graph: PrivateGraph,
    path: tuple[str, str],
    cells: Mapping[CellKey, Columns],
    readings: Mapping[str, Reading],
    params: HeteParams,
) -> SecondHop:
    """Pay for a noisy table of the path's last relation: neighbours by part of the type in between.

    A node's part is the cluster in which it has most neighbours beyond what all have, by the first table.
    """
    first = table_of(cells[path[0], None])
    counts = expected(first)
    usual = counts.sum(axis=0) / max(counts.sum(), 1e-9)
    part = (counts / np.maximum(usual, 1e-9)).argmax(axis=1).astype(np.int64)
    parts = first.noisy.shape[1]
    side = returning_side(graph.schema, path, params.rows)
    cell = graph.cell(path[1], None)
    share = readings[path[1]].shares.hop
    noisy = cell.laplace(
        "group_degrees",
        nano_epsilon=share,
        purpose="meta-path histogram",
        labels=part,
        groups=parts,
        side=side,
    )
    sizes = np.bincount(part, minlength=parts) / max(len(part), 1)
    scale = (2 if side == "both" else 1) * NANO / share
    return SecondHop(path, part, Table(noisy.reshape(-1, parts), scale, sizes))
