"""One step of PSGraph: what it pays for, and how a graph is drawn from that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.generators._shared.counts import integers
from core.generators.psgraph.budget import PSGraphParams, StepBudget
from core.generators.psgraph.partition import private_partition, upper_triangle
from core.generators.psgraph.perturb import Estimate, combine, norm_sub, norm_sub_groups
from core.generators.psgraph.reconstruct import Blocks, Layout, capacity, reconstruct, top_up
from core.privacy.entropy import Generator as Rng

if TYPE_CHECKING:
    from core.privacy.private_graph import PrivateCell


@dataclass(frozen=True)
class StepModel:
    """Paid-for output of one step; everything a redraw needs.

    ``edges``: noisy number of edges. ``labels``: int32 (n,) communities 0..k-1. ``d_in``, ``d_out``: float32
    (n,), non-negative degrees inside and outside the own community. ``between``: non-zero edge counts between
    communities, float64 in its ``edges`` column.
    """

    edges: int
    labels: np.ndarray
    d_in: np.ndarray
    d_out: np.ndarray
    between: Blocks


@dataclass(frozen=True)
class Memory:
    """What a step hands to the next one: outputs already paid for, nothing else.

    ``partition_edges``: the noisy number of edges when the partition was made. ``inside``, ``outside``:
    degree estimates with their weights.
    """

    partition_edges: int
    labels: np.ndarray
    inside: Estimate
    outside: Estimate


def fit_step(
    cell: PrivateCell,
    nodes: int,
    budget: StepBudget,
    params: PSGraphParams,
    memory: Memory | None,
    rng: Rng,
) -> tuple[StepModel, Memory]:
    """The step's model and what the next step may know, at ``budget.total`` nano-epsilon at most.

    Both branches cost the same total; the branch is a function of noisy counts only (PSGraph, Algorithm 4).
    ``rng`` makes choices that are independent of the graph. O(n + m + S^2 + k^2).
    """
    noisy_count = cell.laplace("edge_count", nano_epsilon=budget.count, purpose="edge count")
    edges = int(np.clip(noisy_count[0], 0, nodes * (nodes - 1) // 2))
    repartition = (
        memory is None
        or not params.reuse_partition
        or abs(edges - memory.partition_edges) > params.threshold_factor * nodes
    )
    if repartition:
        labels = private_partition(
            cell,
            nodes,
            initial_nano_epsilon=budget.initialise,
            adjust_nano_epsilon=budget.adjust,
            super_node_size=params.super_node_size,
            max_super_nodes=params.max_super_nodes,
            rng=rng,
        ).astype(np.int32)
        partition_edges, before = edges, None
    else:
        assert memory is not None
        labels, partition_edges = memory.labels, memory.partition_edges
        before = memory if params.combine else None
    inside, outside, between = _perturb(cell, labels, budget.perturb(repartition), params)
    if before is not None:
        precise = params.combine_weights == "inverse_variance"
        inside = combine(inside, before.inside, inverse_variance=precise)
        outside = combine(outside, before.outside, inverse_variance=precise)
    model = StepModel(
        edges=edges,
        labels=labels,
        d_in=inside.values.astype(np.float32),
        d_out=outside.values.astype(np.float32),
        between=between,
    )
    return model, Memory(partition_edges, labels, inside, outside)


def _perturb(
    cell: PrivateCell, labels: np.ndarray, nano_epsilon: int, params: PSGraphParams
) -> tuple[Estimate, Estimate, Blocks]:
    """Noisy degrees inside and outside the communities, and noisy counts between communities.

    An edge lies inside a community or between two, never both, and the partition is an earlier output: the
    two branches compose in parallel, each at ``nano_epsilon``.
    """
    count = int(labels.max()) + 1
    between_budget = max(1, int(nano_epsilon * params.between_share))
    outside_budget = nano_epsilon - between_budget
    with cell.parallel(nano_epsilon=nano_epsilon, labels=labels) as (within, across):
        d_in = within.laplace("degrees", nano_epsilon=nano_epsilon, purpose="degrees inside communities")
        d_out = across.laplace("degrees", nano_epsilon=outside_budget, purpose="degrees outside communities")
        matrix = across.laplace(
            "group_matrix",
            nano_epsilon=between_budget,
            purpose="edges between communities",
            labels=labels,
            groups=count,
        )
    row, column = upper_triangle(count)
    off = row < column  # the diagonal holds no edge of this branch, only noise
    clean = norm_sub(matrix[off])
    kept = clean > 0
    between = Blocks(row[off][kept].astype(np.int64), column[off][kept].astype(np.int64), clean[kept])
    precise = params.combine_weights == "inverse_variance"
    return (
        Estimate(norm_sub_groups(d_in, labels, count), _weight(nano_epsilon, precise)),
        Estimate(norm_sub_groups(d_out, labels, count), _weight(outside_budget, precise)),
        between,
    )


def _weight(nano_epsilon: int, precise: bool) -> float:
    epsilon = nano_epsilon / 1e9
    return epsilon * epsilon if precise else epsilon


def draw(model: StepModel, params: PSGraphParams, rng: Rng) -> np.ndarray:
    """Sorted int64 keys ``low * n + high`` of one synthetic graph; free, as it reads the model only."""
    labels = model.labels.astype(np.int64)
    communities = int(labels.max()) + 1
    blocks, d_in, d_out = _targets(model, labels, communities, params, rng)
    keys = reconstruct(labels, d_in, d_out, blocks, rng)
    if params.post_process and len(keys) != model.edges:
        from core.generators.psgraph.postprocess import post_process

        keys = post_process(keys, labels, d_in, d_out, model.edges, rng)
    if params.totals == "noisy_count":
        keys = top_up(keys, len(labels), model.edges, rng)
    return keys


def _targets(
    model: StepModel, labels: np.ndarray, communities: int, params: PSGraphParams, rng: Rng
) -> tuple[Blocks, np.ndarray, np.ndarray]:
    """Integer totals of all non-empty blocks, and the degrees that belong to them."""
    d_in, d_out = model.d_in.astype(np.float64), model.d_out.astype(np.float64)
    inner = np.bincount(labels, weights=d_in, minlength=communities) / 2
    diagonal = np.arange(communities)
    row = np.concatenate([diagonal, model.between.row])
    column = np.concatenate([diagonal, model.between.column])
    mass = np.concatenate([inner, model.between.edges])
    if params.totals == "as_published":
        return Blocks(row, column, integers(mass, rng)), d_in, d_out
    room = capacity(
        Layout.of(labels, communities, d_in).sizes,
        Layout.of(labels, communities, d_out).sizes,
        Blocks(row, column, mass),
    )
    mass = fill(mass, room, model.edges)
    scale_in = np.divide(mass[:communities], inner, out=np.zeros(communities), where=inner > 0)
    wanted = np.bincount(row[communities:], weights=mass[communities:], minlength=communities)
    wanted += np.bincount(column[communities:], weights=mass[communities:], minlength=communities)
    outer = np.bincount(labels, weights=d_out, minlength=communities)
    scale_out = np.divide(wanted, outer, out=np.zeros(communities), where=outer > 0)
    return Blocks(row, column, integers(mass, rng)), d_in * scale_in[labels], d_out * scale_out[labels]


def fill(mass: np.ndarray, room: np.ndarray, total: int) -> np.ndarray:
    """``mass`` rescaled to sum to ``total``, no entry above ``room``; what is cut goes to the others.

    Where only full blocks carry mass, the sum stays below ``total``. Without any mass the room itself is the
    mass: a uniform graph.
    """
    if mass.sum() <= 0:
        mass = room.astype(np.float64)
    result = np.zeros(len(mass))
    for _ in range(32):
        free = (result < room) & (mass > 0)
        left = total - result.sum()
        if left < 0.5 or not free.any():
            break
        share = np.where(free, mass, 0.0)
        result = np.minimum(result + share * (left / share.sum()), room)
    return result
