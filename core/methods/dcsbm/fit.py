"""The paid reads of a cell of ``dcsbm``, and its model. The numbers of its model follow from them."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from core.errors import NotAccepted
from core.methods._shared.blocks.estimates import norm_sub
from core.methods._shared.degrees.counts import noisy_count, summed_variance
from core.methods._shared.degrees.fitted import (
    DegreeLaw,
    Evidence,
    degree_law,
    fitted_degrees,
    posterior_means,
    scaled_to,
)
from core.methods._shared.degrees.tails import Ends, counted_tails, law_with_tails, thresholds
from core.methods._shared.frame.columns import Columns
from core.methods._shared.rewiring.clustering import told_clustering
from core.methods._shared.rewiring.products import degree_covariance
from core.methods._shared.triangles.draw import triangle_aim
from core.methods.dcsbm.budget import FREED, FREED_BY_GROUPS, shares, without_labels
from core.methods.dcsbm.params import DCSBMParams
from core.privacy import limits
from core.privacy.accounting.events import NANO
from core.privacy.accounting.plan import CellKey
from core.privacy.entropy import Generator as Rng
from core.privacy.mechanisms.label_stream import LabelRule, LabelStream, split
from core.privacy.reads.public_groups import MOST_PUBLIC
from core.privacy.session.counted import CountedCell, CountedSession
from core.privacy.session.private_graph import PrivateCell

SMALLEST_WEIGHT = 0.5  # what a node counts for whose noisy degree is lower
MOST_GROUPS = 16
EDGES_A_LABEL = 4.0  # a label needs so many noise scales of a mean node's edges to be told from the others
BIN, BINS = 50, 40  # nodes in a stretch of the order, at least, and stretches, about
LEAST_SHARE = 0.02
LEAST_EVIDENCE = 3.2  # labels below which there is one only, at epsilon 1 and more


def fit(
    cell: CountedCell,
    nodes: int,
    nano_epsilon: int,
    params: DCSBMParams,
    rng: Rng,
    told: np.ndarray | None = None,
) -> Columns:
    """The noisy values of one cell, at ``nano_epsilon`` in all.

    Columns: ``labels`` int32 (n,) 0..k-1; ``degrees`` float32 (n,), whole numbers; ``blocks`` float64
    (k(k+1)/2,), edges between labels i <= j, none negative; ``triangles`` int64 (1,), what is aimed at,
    and ``clustering`` float64 (3,), see ``ToldClustering``, or () where none are paid for; ``covariance``
    float64 (2,), the mean of (d(u) - mean)(d(v) - mean) over edges {u, v} and the standard deviation of
    its noise, or (). ``rng`` makes choices that are independent of the graph. ``told`` int64 (n,): public
    labels 0..k-1, which take the place of those that are read. A cell in parts is counted only: NotAccepted
    where labels or triangles would be read, see :mod:`core.methods.dcsbm.counts`.
    O(n k + m + n * grid + triangles' count) time, O(n k + m) memory.
    """
    # A visit's table has a number for each node and label.
    budget, most = shares(params, nano_epsilon), max(1, limits.MAX_VALUES // nodes)
    number = params.groups if isinstance(params.groups, int) else None
    # An answer says how many labels there are, and with that how much noise the rest has.
    of_degrees, of_blocks = usual_variances(budget, nodes, cell.multiplicity)
    decides = told is None and number is None
    # Precisions add: degrees and blocks both sum to the edges.
    both = 1 / (1 / of_degrees + 1 / of_blocks)
    count = noisy_count(cell, budget["count"], both if decides else None) if "count" in budget else None
    groups = None  # until it is known
    if told is not None:
        groups = int(told.max(initial=0)) + 1
        budget = without_labels(budget, FREED_BY_GROUPS if groups > 1 else FREED)
    elif count is not None:
        groups = min(number or groups_of(count, nodes, budget["label"], nano_epsilon), most)
        if groups == 1:
            budget = without_labels(budget)
    noisy = cell.laplace(
        "degrees",
        nano_epsilon=budget["degree"],
        purpose="degrees",
        decides=of_blocks if decides and count is None else None,
    )
    if groups is None:
        # Without a count of edges the degrees tell how many labels they can bear.
        groups = min(number or groups_for(noisy, budget["label"]), most)
    tails = counted_tails(cell, thresholds(noisy), budget["tail"]) if "tail" in budget else None
    stream, labels = None, np.zeros(nodes, dtype=np.int64) if told is None else told
    if "label" in budget:
        order, rule, stream = streamed(whole(cell), noisy, groups, budget["label"], params, rng)
        labels = stream.labels
    blocks, edges = block_counts(cell, labels, groups, budget, count)
    triangles, covariance = np.empty(0, dtype=np.int64), np.empty(0)
    if "triangle" in budget:
        found = whole(cell).triangle_count(nano_epsilon=budget["triangle"], purpose="triangles")
        triangles = np.array([found], dtype=np.int64)
    clustering = np.empty(0)
    if "clustering" in budget:
        clustering = told_clustering(whole(cell), nodes, budget["clustering"]).column()
    if "product" in budget:
        total = whole(cell).degree_product_sum(
            noisy_degrees=noisy, nano_epsilon=budget["product"], purpose="degree products over edges"
        )
        covariance = degree_covariance(total, blocks.sum(), noisy, budget["degree"], budget["product"])
    scale = 2 * NANO / budget["degree"]
    law = degree_law(noisy, scale) if tails is None else law_with_tails(noisy, scale, tails, edges)
    evidence = None
    if stream is not None:
        evidence = seen_edges(stream, noisy, order, rule, law, budget["degree"], budget["label"])
    degrees = fitted_degrees(noisy, budget["degree"], rng, evidence, law=law)
    if "triangle" in budget and params.transitivity is not None:
        scaled = scaled_to(degrees, round(edges.total))
        aim = triangle_aim(int(triangles[0]), budget["triangle"], scaled, params.transitivity)
        triangles = np.array([round(aim)], dtype=np.int64)
    return {
        "labels": labels.astype(np.int32),
        "degrees": degrees.astype(np.float32),
        "blocks": blocks,
        "triangles": triangles,
        "clustering": clustering,
        "covariance": covariance,
    }


def whole(cell: CountedCell) -> PrivateCell:
    """Return the cell for reads that need its edges together. NotAccepted where they are in parts."""
    if not isinstance(cell, PrivateCell):
        raise NotAccepted(
            "edges in parts are counted, and nothing else is read; choose parameters that read counts",
            field="params",
        )
    return cell


def streamed(
    cell: PrivateCell, noisy: np.ndarray, groups: int, nano_epsilon: int, params: DCSBMParams, rng: Rng
) -> tuple[np.ndarray, LabelRule, LabelStream]:
    """Pay for the labels of all nodes. With them are the order of the visit and the rule."""
    weights = np.maximum(noisy, SMALLEST_WEIGHT)
    # Ties at random: node numbers would carry the order of the upload into the labels.
    order = np.lexsort((rng.random(len(noisy)), -weights))
    rule = LabelRule(groups, int(params.core * len(noisy)), params.forward_share, params.resolution)
    stream = cell.label_stream(
        nano_epsilon=nano_epsilon, order=order, weights=weights, rule=rule, purpose="labels"
    )
    return order, rule, stream


def block_counts(
    cell: CountedCell, labels: np.ndarray, groups: int, budget: Mapping[str, int], count: int | None
) -> tuple[np.ndarray, Ends]:
    """Estimate edges inside and between labels, none negative.

    Returned too is what they and ``count`` say of the edge ends. A count that was paid for is weighed against
    the blocks' sum by their variances, and the blocks scaled to what comes out.
    """
    counts = cell.laplace(
        "group_matrix",
        nano_epsilon=budget["block"],
        purpose="edges inside and between labels",
        labels=labels,
        groups=groups,
    )
    blocks = norm_sub(counts)
    # Of the sum of all cells.
    variance = len(blocks) * 2 * (NANO / budget["block"]) ** 2
    if count is None:
        return blocks, Ends(2 * float(blocks.sum()), 4 * variance)
    other = 2 * (NANO / budget["count"]) ** 2
    sum_of_blocks = float(blocks.sum())
    # By precision: each of both counts by the other's variance.
    edges = (other * sum_of_blocks + variance * count) / (other + variance)
    if sum_of_blocks:
        blocks = blocks * (edges / sum_of_blocks)
    # Ends are twice the edges, so that their variance is four times that of the weighted mean.
    return blocks, Ends(2 * edges, 4 * variance * other / (variance + other))


def usual_variances(budget: Mapping[str, int], nodes: int, multiplicity: int) -> tuple[float, float]:
    """Compute the edge count's variances by degrees and by blocks. They lie between one label and most."""
    # Degrees have more where no labels are read: the geometric mean of both.
    degree = math.isqrt(budget["degree"] * without_labels(budget)["degree"])
    blocks = math.isqrt(MOST_GROUPS * (MOST_GROUPS + 1) // 2)
    return (
        summed_variance(nodes, degree, multiplicity),
        summed_variance(blocks, budget["block"], multiplicity),
    )


def groups_of(count: int, nodes: int, label: int, nano_epsilon: int) -> int:
    """Choose as many labels as a mean degree can tell apart.

    It is a node's, at the labels' nano-epsilon; 1..MOST_GROUPS.

    ``count``: a noisy number of edges. 1 where the evidence is less than LEAST_EVIDENCE, times the root of
    the cell's epsilon below 1: a partition would be noise, and what it costs tells more of degrees and
    triangles.
    """
    evidence = 2 * max(count, 0) / nodes * label / NANO / EDGES_A_LABEL
    least = LEAST_EVIDENCE * math.sqrt(min(1.0, nano_epsilon / NANO))
    return 1 if evidence < least else int(np.clip(round(evidence), 2, MOST_GROUPS))


def groups_for(noisy: np.ndarray, nano_epsilon: int) -> int:
    """Choose as many labels as noisy degrees can tell apart.

    It is by the mean noisy degree of a node, at that epsilon; 2..MOST_GROUPS. A row spreads a node's edges
    over the labels; each entry must stand out from noise of scale 1/epsilon.
    """
    evidence = max(float(noisy.mean()), 0.0) * nano_epsilon / NANO
    return int(np.clip(round(evidence / EDGES_A_LABEL), 2, MOST_GROUPS))


def seen_edges(
    stream: LabelStream,
    noisy: np.ndarray,
    order: np.ndarray,
    rule: LabelRule,
    law: DegreeLaw,
    degree: int,
    label: int,
) -> Evidence:
    """Compute a second, free measurement of all degrees.

    It is the sums of the nodes' noisy rows. A row holds the edges to earlier nodes, in the core those to
    other core nodes. Which part of a node's edges that is, is estimated in stretches of the order. ``degree``
    and ``label``: nano-epsilon.
    """
    nodes, scale = len(order), 2 * NANO / degree
    seen = (stream.forward + stream.backward).sum(axis=1).astype(np.float64)
    place = np.empty(nodes, dtype=np.int64)
    place[order] = np.arange(nodes)
    size, inside = max(BIN, nodes // BINS), place < rule.core
    # The core has stretches of its own: its rows hold edges to core nodes only.
    stretch = np.where(inside, place // size, rule.core // size + 1 + (place - rule.core) // size)
    means = posterior_means(noisy, scale, law)
    expected = np.bincount(stretch, weights=means)
    share = np.bincount(stretch, weights=seen) / np.maximum(expected, SMALLEST_WEIGHT)
    first, second = split(label, rule)
    core = (NANO / first) ** 2 + (NANO / second) ** 2
    variance = 2 * rule.groups * np.where(inside, core, (NANO / label) ** 2).mean()
    return Evidence(seen, np.clip(share, LEAST_SHARE, 1)[stretch], float(variance))


def paid(graph: CountedSession, key: CellKey, nano_epsilon: int, params: DCSBMParams, rng: Rng) -> Columns:
    """Pay for the columns of one cell. Its labels are the public groups where they are named."""
    kind, public = graph.schema.edge_type(key[0]).source, None
    if isinstance(params.groups, str):
        public = graph.attributes(kind).groups(params.groups, MOST_PUBLIC)
    return fit(graph.cell(*key), graph.node_count(kind), nano_epsilon, params, rng, public)
