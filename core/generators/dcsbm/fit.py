"""What one cell of ``dcsbm`` pays for, and the numbers of its model that follow from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.generators._shared.blocks.estimates import norm_sub
from core.generators._shared.degrees.fitted import Evidence, degree_law, fitted_degrees, posterior_means
from core.generators._shared.frame.plan import divide
from core.generators._shared.rewiring.products import degree_covariance
from core.privacy.entropy import Generator as Rng
from core.privacy.events import NANO
from core.privacy.label_stream import LabelRule, LabelStream, split
from core.privacy.queries import MAX_VALUES

if TYPE_CHECKING:
    from core.generators._shared.frame.columns import Columns
    from core.generators.dcsbm.params import DCSBMParams
    from core.privacy.private_graph import PrivateCell

SMALLEST_WEIGHT = 0.5  # what a node counts for whose noisy degree is lower
MOST_GROUPS = 16
EDGES_A_LABEL = 4.0  # a label needs so many noise scales of a mean node's edges to be told from the others
BIN, BINS = 50, 40  # nodes in a stretch of the order, at least, and stretches, about
LEAST_SHARE = 0.02


def fit(cell: PrivateCell, nodes: int, nano_epsilon: int, params: DCSBMParams, rng: Rng) -> Columns:
    """The noisy values of one cell, at ``nano_epsilon`` in all.

    Columns: ``labels`` int32 (n,) 0..k-1; ``degrees`` float32 (n,), whole numbers; ``blocks`` float64
    (k(k+1)/2,), edges between labels i <= j, none negative; ``triangles`` int64 (1,), or () where none are
    paid for; ``covariance`` float64 (2,), the mean of (d(u) - mean)(d(v) - mean) over edges {u, v} and the
    standard deviation of its noise, or (). ``rng`` makes choices that are independent of the graph.
    O(n k + m + n * grid + triangles' count) time, O(n k + m) memory.
    """
    budget = shares(params, nano_epsilon)
    noisy = cell.laplace("degrees", nano_epsilon=budget["degree"], purpose="degrees")
    weights = np.maximum(noisy, SMALLEST_WEIGHT)
    order = np.lexsort((rng.random(nodes), -weights))
    groups = min(params.groups or groups_for(noisy, budget["label"]), max(1, MAX_VALUES // nodes))
    rule = LabelRule(groups, int(params.core * nodes), params.forward_share, params.resolution)
    stream = cell.label_stream(
        nano_epsilon=budget["label"], order=order, weights=weights, rule=rule, purpose="labels"
    )
    counts = cell.laplace(
        "group_matrix",
        nano_epsilon=budget["block"],
        purpose="edges inside and between labels",
        labels=stream.labels,
        groups=groups,
    )
    blocks = norm_sub(counts)
    triangles, covariance = np.empty(0, dtype=np.int64), np.empty(0)
    if "triangle" in budget:
        found = cell.triangle_count(nano_epsilon=budget["triangle"], purpose="triangles")
        triangles = np.array([found], dtype=np.int64)
    if "product" in budget:
        total = cell.degree_product_sum(
            noisy_degrees=noisy, nano_epsilon=budget["product"], purpose="degree products over edges"
        )
        covariance = degree_covariance(total, blocks.sum(), noisy, budget["degree"], budget["product"])
    evidence = seen_edges(stream, noisy, order, rule, budget["degree"], budget["label"])
    return {
        "labels": stream.labels.astype(np.int32),
        "degrees": fitted_degrees(noisy, budget["degree"], rng, evidence).astype(np.float32),
        "blocks": blocks,
        "triangles": triangles,
        "covariance": covariance,
    }


def shares(params: DCSBMParams, nano_epsilon: int) -> dict[str, int]:
    """The nano-epsilon of every read that is paid for; they sum to ``nano_epsilon``."""
    named = {
        "degree": params.degree_share,
        "block": params.block_share,
        "triangle": params.triangle_share,
        "product": params.product_share,
    }
    named = {name: share for name, share in named.items() if share}
    return dict(zip((*named, "label"), divide(nano_epsilon, *named.values()), strict=True))


def groups_for(noisy: np.ndarray, nano_epsilon: int) -> int:
    """As many labels as a node of mean noisy degree can tell apart at that epsilon; 2..MOST_GROUPS.

    A row spreads a node's edges over the labels; each entry must stand out from noise of scale 1/epsilon.
    """
    evidence = max(float(noisy.mean()), 0.0) * nano_epsilon / NANO
    return int(np.clip(round(evidence / EDGES_A_LABEL), 2, MOST_GROUPS))


def seen_edges(
    stream: LabelStream, noisy: np.ndarray, order: np.ndarray, rule: LabelRule, degree: int, label: int
) -> Evidence:
    """A second look at all degrees, free: the sums of the nodes' noisy rows.

    A row holds the edges to earlier nodes, in the core those to other core nodes. Which part of a node's
    edges that is, is estimated in stretches of the order. ``degree`` and ``label``: nano-epsilon.
    """
    nodes, scale = len(order), 2 * NANO / degree
    seen = (stream.forward + stream.backward).sum(axis=1).astype(np.float64)
    place = np.empty(nodes, dtype=np.int64)
    place[order] = np.arange(nodes)
    size, inside = max(BIN, nodes // BINS), place < rule.core
    stretch = np.where(inside, place // size, rule.core // size + 1 + (place - rule.core) // size)
    means = posterior_means(noisy, scale, degree_law(noisy, scale))
    expected = np.bincount(stretch, weights=means)
    share = np.bincount(stretch, weights=seen) / np.maximum(expected, SMALLEST_WEIGHT)
    first, second = split(label, rule)
    core = (NANO / first) ** 2 + (NANO / second) ** 2
    variance = 2 * rule.groups * np.where(inside, core, (NANO / label) ** 2).mean()
    return Evidence(seen, np.clip(share, LEAST_SHARE, 1)[stretch], float(variance))
