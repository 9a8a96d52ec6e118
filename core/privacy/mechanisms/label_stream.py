"""Labels of nodes, and their neighbours' counts by label. Both are made at once, and noisy.

Nodes are visited in a given order, dense ones first by intent. A node sees a noisy count of its neighbours
among the earlier nodes for each label, and takes the label that stands out. Nodes of the core, the first ones
in the order, then look once at the later core nodes too, and may change their label before the rest follows.
So an edge is read by its later end, and between core nodes by its earlier end as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.errors import InvalidInput
from core.graphs.graph import Cell
from core.privacy import limits
from core.privacy.accounting.events import NANO, check_nano_epsilon
from core.privacy.mechanisms import label_kernels
from core.privacy.mechanisms import noise as mechanisms

MAX_ROUNDS = 100


@dataclass(frozen=True)
class LabelRule:
    """The public part of the pass over nodes. It says how labels are chosen from noisy rows, and how reads
    share epsilon.

    ``groups``: number of labels. ``core``: how many of the first nodes in the order are read twice.
    ``forward_share``: the first reading's share of epsilon inside the core. ``resolution``: weight of the
    neighbours that a label's volume lets expect, 0 for none. ``rounds``: of refinement inside the core.
    """

    groups: int
    core: int
    forward_share: float = 0.6
    resolution: float = 1.0
    rounds: int = 3


@dataclass(frozen=True)
class LabelStream:
    """What the operation put out; all of it is paid for.

    ``labels`` int64 (n,), 0..groups-1, some perhaps unused. ``forward`` int64 (n, groups): a node's noisy
    number of neighbours among earlier nodes, by label. ``backward``: the same among later core nodes, for
    core nodes; zeros elsewhere. A neighbour counts under the label that it had when it was read: core nodes
    under their first label towards the core, and under their last towards the rest.
    """

    labels: np.ndarray
    forward: np.ndarray
    backward: np.ndarray


def split(nano_epsilon: int, rule: LabelRule) -> tuple[int, int]:
    """Split epsilon between forward and backward reading. These are the two inside the core; they sum to the
    whole."""
    # One nano-epsilon at least for either: neither reading may be free.
    first = min(max(1, int(nano_epsilon * rule.forward_share)), nano_epsilon - 1)
    return first, nano_epsilon - first


def check_rule(rule: LabelRule, nodes: int, nano_epsilon: int) -> None:
    """Raise InvalidInput unless the rule and the cost lie within their bounds. Public facts only."""
    check_nano_epsilon(nano_epsilon)
    if nano_epsilon < 2:
        raise InvalidInput("an epsilon of at least 2e-9 is needed", field="epsilon")
    if type(rule.groups) is not int or not 1 <= rule.groups <= max(1, limits.MAX_VALUES // max(nodes, 1)):
        raise InvalidInput(f"groups times nodes is at most {limits.MAX_VALUES}", field="groups")
    if type(rule.core) is not int or not 0 <= rule.core <= nodes:
        raise InvalidInput("the core is a number of nodes", field="core")
    if not 0 < rule.forward_share < 1 or not 0 <= rule.resolution <= 100:
        raise InvalidInput("forward_share lies in (0, 1), resolution in 0..100", field="rule")
    if type(rule.rounds) is not int or not 0 <= rule.rounds <= MAX_ROUNDS:
        raise InvalidInput(f"rounds lie in 0..{MAX_ROUNDS}", field="rounds")


def check_weights(weights: np.ndarray, nodes: int) -> np.ndarray:
    """Return ``weights`` as positive finite float64 (n,), copied; InvalidInput otherwise."""
    array = np.array(weights, dtype=np.float64)
    if array.shape != (nodes,) or not np.isfinite(array).all() or (array <= 0).any():
        raise InvalidInput("weights are one positive number for each node", field="weights")
    return array


def stream(
    cell: Cell, order: np.ndarray, weights: np.ndarray, rule: LabelRule, nano_epsilon: int
) -> LabelStream:
    """Visit all nodes in ``order`` for labels and noisy rows. The pass costs ``nano_epsilon`` (b) in all.

    ``order`` is a permutation of the nodes, ``weights`` their expected degrees; both are public or paid for.
    Noise is discrete Laplace, drawn for every entry before the visit begins: of scale 1/b outside the core,
    1/b1 and 1/b2 for the two readings inside it, b1 + b2 = b (:func:`split`).

    Sensitivity: in any fixed transcript one edge moves one entry by 1 at epsilon b, or two entries by 1 at
    epsilons b1 and b2. Unit: one undirected edge of the cell.
    Proof: call transcript the sequence of all noisy rows in the order of reading. Labels, volumes and the
    refinement are functions of earlier rows, of the order and of the weights, so given the transcript so far
    they are the same for two neighbouring graphs, and the next row is a vector of counts plus independent
    noise. Let the graphs differ in the edge {u, v}, u before v in the order. Forward, v counts u under u's
    label, and u does not count v, which is later. Backward, u counts v only where both lie in the core; v
    does not count u. Hence, if u and v are both in the core, one entry of v's forward row moves by 1, which
    costs at most b1, and one entry of u's backward row, which costs at most b2; otherwise v is in the rest,
    and one entry of its row moves by 1, which costs at most b. Which case holds is decided by the order.
    The ratio of the two densities of a transcript is the product of the conditional ratios, at most
    exp(b1 + b2) or exp(b), both exp(b). What is put out is a function of the transcript.
    The number of steps depends on the true degrees: run times are not for publication.

    O(m + n groups + rounds core groups^2) time, O(m + n groups) memory.
    """
    first, second = split(nano_epsilon, rule)
    nodes = cell.source_count
    # For all entries, before the first node is visited.
    noise = np.concatenate(
        [_noise(rule.core, rule.groups, first), _noise(nodes - rule.core, rule.groups, nano_epsilon)]
    )
    # Both readings' noise together; discrete Laplace noise of scale b has a variance of 2 b^2 at most.
    variance = 2 * (NANO / first) ** 2 + 2 * (NANO / second) ** 2
    start, others = label_kernels.neighbours(cell.source, cell.target, nodes)
    labels, first_rows, second_rows = label_kernels.run(
        start,
        others,
        order,
        weights,
        rule.core,
        rule.groups,
        float(rule.resolution),
        rule.rounds,
        variance,
        noise,
        _noise(rule.core, rule.groups, second),
    )
    forward, backward = np.empty_like(first_rows), np.zeros_like(first_rows)
    forward[order] = first_rows
    backward[order[: rule.core]] = second_rows
    return LabelStream(labels, forward, backward)


def _noise(nodes: int, groups: int, nano_epsilon: int) -> np.ndarray:
    """Draw independent discrete Laplace noise of scale 1/epsilon; int64 (nodes, groups)."""
    nothing = np.zeros(nodes * groups, dtype=np.int64)
    return mechanisms.discrete_laplace(nothing, 1, nano_epsilon).reshape(nodes, groups)
