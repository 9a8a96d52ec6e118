"""One step of PSGraph. What it pays for, and what the next step may know of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.methods._shared.blocks.estimates import norm_sub_groups
from core.methods._shared.blocks.whole import Blocks
from core.methods._shared.degrees.counts import summed_variance
from core.methods._shared.degrees.tails import Ends, Tails, counted_tails, tails_tell, thresholds
from core.privacy import limits
from core.privacy.accounting.events import NANO
from core.privacy.entropy import Generator as Rng
from papers._shared.blocks.partition import noisy_blocks, private_partition, streamed_partition
from papers.psgraph.budget import PSGraphParams, StepBudget, between_communities
from papers.psgraph.combined import Estimate, all_past, two_steps
from papers.psgraph.degrees import deconvolved, heavy_tailed, with_tails

if TYPE_CHECKING:
    from core.privacy.session.private_graph import PrivateCell

GROWTH = (0.2, 5.0)  # most that one step rescales the past degrees by
SPREAD = 1.0  # standard deviation of a node's inside share around its community's


@dataclass(frozen=True)
class StepModel:
    """Paid-for output of one step; everything a redraw needs.

    ``edges``: noisy number of edges. ``labels``: int32 (n,) communities 0..k-1. ``d_in``, ``d_out``: float32
    (n,), non-negative degrees inside and outside the own community. ``between``: non-zero edge counts between
    communities, float64 in its ``edges`` column. ``triangles``: their noisy number, where it was bought.
    """

    edges: int
    labels: np.ndarray
    d_in: np.ndarray
    d_out: np.ndarray
    between: Blocks
    triangles: int | None = None


@dataclass(frozen=True)
class Memory:
    """What a step hands to the next one.

    It is outputs already paid for, nothing else.

    ``edges``: the noisy number of edges; ``partition_edges``: that of the step which made the partition.
    ``inside``, ``outside``: degree estimates; ``tails``: of the tail counts at ``public_thresholds``, where
    the step bought them.
    """

    edges: int
    partition_edges: int
    labels: np.ndarray
    inside: Estimate
    outside: Estimate
    tails: Estimate | None = None


@dataclass(frozen=True)
class Reading:
    """What the perturbation bought. Noisy degrees inside and outside the communities, and counts between."""

    inside: Estimate
    outside: Estimate
    between: Blocks


def fit_step(
    cell: PrivateCell,
    nodes: int,
    budget: StepBudget,
    params: PSGraphParams,
    memory: Memory | None,
    rng: Rng,
) -> tuple[StepModel, Memory]:
    """Pay for the step's model and the next step's memory.

    It costs ``budget.total`` nano-epsilon at most. All branches cost the same total at most; which one is
    taken is a function of noisy counts and of public facts only (PSGraph, Algorithm 4; tails:
    :func:`tails_tell`). ``rng`` makes choices that are independent of the graph. O(n log n + m + S^2 + k^2).
    """
    usual = budget.usual(params.way.partition)
    decides = summed_variance(nodes, usual, cell.multiplicity) if usual else None
    noisy_count = cell.laplace("edge_count", nano_epsilon=budget.count, purpose="edge count", decides=decides)
    edges = int(np.clip(noisy_count[0], 0, nodes * (nodes - 1) // 2))
    method = _partition_method(params, budget, nodes, edges)
    anew = memory is None or _changed(params, memory, nodes, edges, method)
    if anew:
        labels, before = _partition(cell, nodes, budget, params, method, rng), None
    else:
        assert memory is not None
        labels, before = memory.labels, memory
    spent, telling = anew and method != "single", tails_tell(nodes, edges, budget.tail)
    reading = _perturb(cell, labels, budget.perturb(spent, telling), params)
    if before is not None and params.combine:
        reading = _combined(reading, before, params, edges)
    tails = _tails(cell, nodes, budget.tail, params, memory, edges) if telling else None
    triangles = None
    if budget.triangles:
        triangles = cell.triangle_count(nano_epsilon=budget.triangles, purpose="triangles")
    whole = _whole_degrees(reading, tails, nodes, edges, budget, params, rng)
    d_in, d_out = _parts(whole, reading, labels, params)
    model = StepModel(
        edges, labels, d_in.astype(np.float32), d_out.astype(np.float32), reading.between, triangles
    )
    partition_edges = edges if before is None else before.partition_edges
    return model, Memory(edges, partition_edges, labels, reading.inside, reading.outside, tails)


def public_thresholds(nodes: int) -> np.ndarray:
    """Choose thresholds that suit every step of a stream.

    They go up to the largest degree that there can be; int64.
    """
    return thresholds(np.concatenate([[nodes - 1], np.zeros(max(nodes - 1, 0), dtype=np.int64)]))


def _partition_method(params: PSGraphParams, budget: StepBudget, nodes: int, edges: int) -> str:
    """Choose how this step would partition; ``auto`` goes by the noisy count and public facts."""
    if params.way.partition != "auto":
        return params.way.partition
    noise = degree_noise(budget.perturb(True, tails_tell(nodes, edges, budget.tail)), params)
    return "label_stream" if 2 * edges > noise * nodes else "single"


def degree_noise(nano_epsilon: int, params: PSGraphParams) -> float:
    """Compute the standard deviation of a whole degree's noise.

    It is that inside and outside, after a partition.
    """
    inside, outside = _variance(nano_epsilon), _variance(between_communities(params, nano_epsilon)[0])
    return float(np.sqrt(inside + outside))


def _changed(params: PSGraphParams, memory: Memory, nodes: int, edges: int, method: str) -> bool:
    if not params.reuse_partition:
        return True
    if method != "single" and params.way.partition == "auto" and not memory.labels.any():
        return True  # the graph has become dense enough for a partition
    before = memory.partition_edges if params.way.trigger == "last_partition" else memory.edges
    return method != "single" and abs(edges - before) > params.threshold_factor * nodes


def _partition(
    cell: PrivateCell, nodes: int, budget: StepBudget, params: PSGraphParams, method: str, rng: Rng
) -> np.ndarray:
    """Label nodes 0..k-1, int32 (n,), at ``initialise + adjust`` nano-epsilon, or none for one community."""
    if method == "single":
        return np.zeros(nodes, dtype=np.int32)
    shares = {"initial_nano_epsilon": budget.initialise, "adjust_nano_epsilon": budget.adjust}
    if method == "label_stream":
        groups = min(params.groups, max(1, limits.MAX_VALUES // nodes))  # a number for each, of every node
        return streamed_partition(cell, nodes, groups=groups, rng=rng, **shares).astype(np.int32)
    sizes = {"super_node_size": params.way.super_node_size, "max_super_nodes": params.way.max_super_nodes}
    return private_partition(cell, nodes, rng=rng, **shares, **sizes).astype(np.int32)


def _variance(nano_epsilon: int) -> float:
    return 2 * (2 * NANO / nano_epsilon) ** 2  # discrete Laplace noise on degrees, whose L1 sensitivity is 2


def _estimate(values: np.ndarray, nano_epsilon: int, params: PSGraphParams) -> Estimate:
    variance = _variance(nano_epsilon)
    weight = nano_epsilon / NANO if params.way.combination == "two_steps" else 1 / variance
    return Estimate(values.astype(np.float64), variance, weight)


def _perturb(cell: PrivateCell, labels: np.ndarray, nano_epsilon: int, params: PSGraphParams) -> Reading:
    """Pay for noisy degrees inside and outside the communities, and noisy counts between communities.

    An edge lies inside a community or between two, never both, and the partition is an earlier output: the
    two branches compose in parallel, each at ``nano_epsilon``. One community has an inside only.
    """
    count = int(labels.max(initial=0)) + 1
    if count == 1:
        noisy = cell.laplace("degrees", nano_epsilon=nano_epsilon, purpose="degrees")
        nothing = Estimate(np.zeros(len(labels)), 0.0, 1.0)
        none = np.empty(0, dtype=np.int64)
        reading = Reading(_estimate(noisy, nano_epsilon, params), nothing, Blocks(none, none, np.empty(0)))
        return _cleaned(reading, labels, count, params) if _cleans_first(params) else reading
    outside_budget, between_budget = between_communities(params, nano_epsilon)
    with cell.parallel(nano_epsilon=nano_epsilon, labels=labels) as (within, across):
        d_in = within.laplace("degrees", nano_epsilon=nano_epsilon, purpose="degrees inside communities")
        d_out = across.laplace("degrees", nano_epsilon=outside_budget, purpose="degrees outside communities")
        row, column, edges = noisy_blocks(across, labels, count, between_budget)
    between = Blocks(row.astype(np.int64), column.astype(np.int64), edges)
    reading = Reading(
        _estimate(d_in, nano_epsilon, params), _estimate(d_out, outside_budget, params), between
    )
    return _cleaned(reading, labels, count, params) if _cleans_first(params) else reading


def _cleans_first(params: PSGraphParams) -> bool:
    """Tell whether degrees are cleaned before they are combined: the paper; means of steps stay raw."""
    return params.way.degrees == "norm_sub" and params.way.combination == "two_steps"


def _cleaned(reading: Reading, labels: np.ndarray, count: int, params: PSGraphParams) -> Reading:
    if params.norm_sub == "vector":  # one group of all nodes
        labels, count = np.zeros_like(labels), 1
    inside, outside = (
        Estimate(norm_sub_groups(part.values, labels, count), part.variance, part.weight)
        for part in (reading.inside, reading.outside)
    )
    return Reading(inside, outside, reading.between)


def _combined(reading: Reading, before: Memory, params: PSGraphParams, edges: int) -> Reading:
    """Combine the reading with what past steps said of the same partition."""
    # The paper, which combines two steps, rescales nothing.
    growth = 1.0 if params.way.combination == "two_steps" else _growth(before, edges)
    inside = _joined(reading.inside, before.inside.grown(growth), params)
    outside = _joined(reading.outside, before.outside.grown(growth), params)
    return Reading(inside, outside, reading.between)


def _growth(before: Memory, edges: int) -> float:
    return float(np.clip(edges / max(before.edges, 1), *GROWTH))


def _joined(now: Estimate, before: Estimate, params: PSGraphParams) -> Estimate:
    """Combine what a step read with what was known, as ``params.way.combination`` says."""
    if params.way.combination == "two_steps":
        return two_steps(now, before)
    return all_past(now, before, params.way.past_weight)


def _tails(
    cell: PrivateCell, nodes: int, nano_epsilon: int, params: PSGraphParams, memory: Memory | None, edges: int
) -> Estimate:
    """Pay for the step's tail counts, and combine them with those of the steps before that bought them.

    Sensitivity: L1 = 2 (:func:`counted_tails`). They are of whole degrees, whatever the partition.
    """
    count = counted_tails(cell, public_thresholds(nodes), nano_epsilon).count
    now = _estimate(count, nano_epsilon, params)
    if not params.combine or memory is None or memory.tails is None:
        return now
    return _joined(now, memory.tails.grown(_growth(memory, edges)), params)


def _whole_degrees(
    reading: Reading,
    tails: Estimate | None,
    nodes: int,
    edges: int,
    budget: StepBudget,
    params: PSGraphParams,
    rng: Rng,
) -> np.ndarray | None:
    """Fit non-negative degrees, float64 (n,); None where those that NormSub makes of the reading stand."""
    if params.way.degrees == "norm_sub":
        return None
    noisy = reading.inside.values + reading.outside.values
    variance = reading.inside.variance + reading.outside.variance
    if tails is not None:
        told = Tails(public_thresholds(nodes), tails.values, tails.variance)
        return with_tails(noisy, variance, told, Ends.of_count(edges, budget.count), rng)
    plain = params.way.degrees == "deconvolved"
    if plain or (params.way.degrees == "auto" and 2 * edges > np.sqrt(variance) * nodes):
        return deconvolved(noisy, variance, rng)
    return heavy_tailed(noisy, variance, edges, rng)


def _parts(
    whole: np.ndarray | None, reading: Reading, labels: np.ndarray, params: PSGraphParams
) -> tuple[np.ndarray, np.ndarray]:
    """Divide degrees between the inside and the outside of the communities, float64 (n,) each."""
    count = int(labels.max(initial=0)) + 1
    clean = _cleaned(reading, labels, count, params)
    if whole is None:
        return clean.inside.values, clean.outside.values
    part = _inside_part(whole, reading, clean, labels, count)
    return part, whole - part


def _inside_part(
    whole: np.ndarray, reading: Reading, clean: Reading, labels: np.ndarray, count: int
) -> np.ndarray:
    """Estimate how much of every node's degree lies inside its community; float64 (n,), within 0..``whole``.

    The mean of three witnesses by precision: the noisy inside degree, what the noisy outside degree leaves,
    and the share that the community has as a whole.
    """
    if count == 1:
        return whole
    inside, outside = (
        np.bincount(labels, weights=part.values, minlength=count) for part in (clean.inside, clean.outside)
    )
    both = inside + outside
    usual = whole * np.divide(inside, both, out=np.ones(count), where=both > 0)[labels]
    own, left = 1 / reading.inside.variance, 1 / reading.outside.variance
    alike = 1 / (1 + (SPREAD * whole) ** 2)
    weighed = own * reading.inside.values + left * (whole - reading.outside.values) + alike * usual
    expected: np.ndarray = np.clip(weighed / (own + left + alike), 0, whole)
    return expected
