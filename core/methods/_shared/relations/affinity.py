"""Log odds gained by pairs of groups above chance.

Post-processing. A relation's first step holds ``group`` int32 (n,), the group of every node, and ``affinity``
float64 (k k,), what a pair of groups gains; between two node types ``group`` of the sources, ``target_group``
of the targets, and ``affinity`` (source groups * target groups,). The chain's law over graphs with the paid
degrees is then that of a block model: uniform but for these odds. A pair has one edge at most, so that nodes
of many edges soon know all of a small group: the odds are those of a model of single pairs, by groups and
degrees, in which groups meet as was read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from core.methods._shared.frame.columns import Columns
from core.methods._shared.node_values.blocks import square
from core.methods._shared.node_values.ends import Ends

ROUNDS = 50
LARGEST = 12.0
"""Log odds beyond which groups as good as always, or never, meet."""
FINEST = 512
"""Classes of nodes by group and degree: by half octaves where there are so few, else by octaves."""


def affinity(
    share: np.ndarray, ends: Ends, groups: np.ndarray, steps: int = 1, targets: np.ndarray | None = None
) -> np.ndarray:
    """Compute log odds by which group pairs exceed chance.

    With them groups meet in these shares; (k k,).

    ``share``: of the edges, (k(k+1)/2,), of a directed relation (k k,). Fitted to the groups' ends first.
    ``steps``: over which a pair may have as many edges. ``targets``: the groups of the targets, of a relation
    between two types: ``share`` and the odds are (source groups, target groups) then.
    """
    directed = ends.target is not None
    if share.ndim == 1:
        side = int(np.sqrt(len(share)))
        share = share.reshape(side, side) if directed else square(share)
    own = groups if targets is None else targets
    # A hair, so that a group without ends divides nothing by 0.
    rows = np.bincount(groups, weights=ends.source, minlength=share.shape[0]) + 1e-9
    columns = rows
    if ends.target is not None:
        columns = np.bincount(own, weights=ends.target, minlength=share.shape[1]) + 1e-9
    rows, columns, meet = rows / rows.sum(), columns / columns.sum(), share
    # Iterative proportional fitting: what was read is led to the ends that groups have.
    for _ in range(ROUNDS):
        meet = meet * (rows / np.maximum(meet.sum(axis=1), 1e-300))[:, None]
        meet = meet * (columns / np.maximum(meet.sum(axis=0), 1e-300))[None, :]
    if not directed:
        meet = (meet + meet.T) / 2
    # Relative to chance: groups that meet in proportion to their ends have odds of 0.
    odds = np.clip(np.log(np.maximum(meet, 1e-300)) - np.log(np.outer(rows, columns)), -LARGEST, LARGEST)
    sides = [_Side.of(ends.source / steps, groups)]
    if ends.target is not None:
        sides.append(_Side.of(ends.target / steps, own))
    found = _of_single_pairs(odds, meet / meet.sum(), sides[0], sides[-1])
    return found if targets is not None else found.ravel()


class _Side(NamedTuple):
    """Classes of nodes by group and degree: the group of each, how many nodes, and their mean degree."""

    group: np.ndarray
    nodes: np.ndarray
    degree: np.ndarray

    @classmethod
    def of(cls, degrees: np.ndarray, groups: np.ndarray) -> _Side:
        """Divide the nodes that have edges."""
        own, group = degrees[degrees > 0], groups[degrees > 0]
        for octaves in (2, 1):
            level = np.floor(octaves * np.log2(own + 1)).astype(np.int64)
            # 128 levels suffice: half octaves of any int64.
            number, place, count = np.unique(group * 128 + level, return_inverse=True, return_counts=True)
            if len(number) <= FINEST:
                break
        mean = np.bincount(place, weights=own, minlength=len(number)) / count
        return cls(number // 128, count.astype(np.float64), mean)


def _of_single_pairs(odds: np.ndarray, meet: np.ndarray, source: _Side, target: _Side) -> np.ndarray:
    """Raise the odds until groups ``meet`` as they do where pairs have one edge at most; from ``odds`` on.

    A pair is linked with the logistic of its odds and of what either class is given, so that classes have
    their degrees on the mean. O(rounds * classes^2).
    """
    total = float(source.nodes @ source.degree)
    if total <= 0:
        return odds
    found, pairs = odds.copy(), np.outer(source.nodes, target.nodes)
    of_source, of_target = np.eye(len(meet))[source.group], np.eye(meet.shape[1])[target.group]
    # Chung-Lu's law to begin with: log(d_u d_v / total), half of the total on either side.
    left, right = (np.log(side.degree) - np.log(total) / 2 for side in (source, target))
    for _ in range(ROUNDS):
        logit = left[:, None] + right[None, :] + found[np.ix_(source.group, target.group)]
        # Expected edges between classes; the clip keeps exp from overflowing.
        edges = pairs / (1 + np.exp(-np.clip(logit, -50, 50)))
        # Half of the way each, as both sides move at once.
        left = left + np.log(source.nodes * source.degree / edges.sum(axis=1)) / 2
        right = right + np.log(target.nodes * target.degree / edges.sum(axis=0)) / 2
        between = of_source.T @ edges @ of_target
        step = np.log(np.maximum(meet * total, 1e-9)) - np.log(np.maximum(between, 1e-9))
        # Half a step, and one at most: pairs of groups share nodes, so that their odds pull at one another.
        found = np.clip(found + np.clip(step, -1, 1) / 2, -LARGEST, LARGEST)
    return found


def score(columns: Columns) -> tuple[np.ndarray, np.ndarray]:
    """Return vectors of nodes whose product is a pair's gain.

    They are rows for every node of either side, (n, k) each.
    """
    groups, targets = columns["group"].astype(np.int64), columns.get("target_group", ())
    odds = columns["affinity"]
    if not len(targets):
        k = int(np.sqrt(len(odds)))
        # Row of the source's odds times the unit vector of the target's group: the pair's own odds.
        return odds.reshape(k, k)[groups], np.eye(k)[groups]
    odds = odds.reshape(int(groups.max(initial=0)) + 1, -1)
    return odds[groups], np.eye(odds.shape[1])[np.asarray(targets, dtype=np.int64)]
