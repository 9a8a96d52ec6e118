"""Pairs of groups that meet more often than by chance gain log odds. Post-processing.

A relation's first step holds ``group`` int32 (n,), the group of every node, and ``affinity`` float64 (k k,),
what a pair of groups gains. The chain's law over graphs with the paid degrees is then that of a block model:
uniform but for these odds, so that in sparse graphs as many edges lie between two groups as was read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.generators._shared.node_values.blocks import square

if TYPE_CHECKING:
    from core.generators._shared.frame.columns import Columns
    from core.generators._shared.node_values.ends import Ends

ROUNDS = 50
LARGEST = 12.0
"""Log odds beyond which groups as good as always, or never, meet."""


def affinity(share: np.ndarray, ends: Ends, groups: np.ndarray) -> np.ndarray:
    """Compute the log odds by which pairs of groups exceed chance, so that they meet in these shares; (k k,).

    ``share``: of the edges, (k(k+1)/2,), of a directed relation (k k,). Fitted to the groups' ends first.
    """
    directed = ends.target is not None
    k = int(np.sqrt(len(share))) if directed else len(square(share))
    rows = np.bincount(groups, weights=ends.source, minlength=k) + 1e-9
    columns = np.bincount(groups, weights=ends.target, minlength=k) + 1e-9 if directed else rows
    rows, columns = rows / rows.sum(), columns / columns.sum()
    meet = share.reshape(k, k) if directed else square(share)
    for _ in range(ROUNDS):
        meet = meet * (rows / np.maximum(meet.sum(axis=1), 1e-300))[:, None]
        meet = meet * (columns / np.maximum(meet.sum(axis=0), 1e-300))[None, :]
    if not directed:
        meet = (meet + meet.T) / 2
    odds = np.log(np.maximum(meet, 1e-300)) - np.log(np.outer(rows, columns))
    return np.clip(odds, -LARGEST, LARGEST).ravel()


def score(columns: Columns) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of numbers for every node, (n, k) each: the product of two is what their pair gains."""
    groups = columns["group"].astype(np.int64)
    k = int(np.sqrt(len(columns["affinity"])))
    return columns["affinity"].reshape(k, k)[groups], np.eye(k)[groups]
