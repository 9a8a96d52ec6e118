"""Links from paid degrees and profiles: stubs matched within clusters. Reads noisy values only."""

from __future__ import annotations

import numpy as np

from core.methods._shared.blocks.whole import Blocks
from core.methods._shared.matching.exact import SWEEPS, TRIES, completed, matched
from core.privacy.entropy import Generator as Rng
from papers.hetesdg.sound.profiles import ranks

ROUNDS = 30


def joined(
    grouped_degrees: np.ndarray,
    label: np.ndarray,
    stubs: tuple[np.ndarray, np.ndarray],
    counted: int,
    loops: bool,
    rng: Rng,
) -> tuple[np.ndarray, np.ndarray]:
    """Join (grouped node, counted node) by distinct links. Expected O(m log m).

    ``grouped_degrees``: ascending, for nodes that are told apart by their cluster ``label`` only; ``stubs``:
    (node, cluster) of the counted side. Ends are paired within clusters, those in excess at random, those of
    the longer side are left over. ``loops``: False where both sides are one universe.
    """
    from core.methods._shared.matching.placing import place

    nodes, columns = len(label), int(label.max(initial=0)) + 1
    node, cluster = stubs
    degrees = assigned(grouped_degrees, label, np.bincount(cluster, minlength=columns), rng)
    own = rng.permutation(np.repeat(np.arange(nodes), degrees))
    order = rng.permutation(len(node))
    theirs, wanted = node[order], cluster[order]
    left, right = _paired(own, label[own], theirs, wanted, columns, rng)
    total = nodes + counted
    taken = np.empty(0, dtype=np.int64) if loops else np.arange(nodes) * total + nodes + np.arange(nodes)
    # A link changes ends with links of its own cluster alone, on either side: the mix of clusters stays.
    slots = np.stack([label[left], columns + label[left]])
    left, right = left.copy(), right + nodes
    stands = place(left, right, total, slots, taken, 0, TRIES, SWEEPS, rng)
    # A swap may have put a counted node's end first: numbers tell the two sides apart.
    first, second = np.minimum(left, right)[stands], np.maximum(left, right)[stands]
    return first, second - nodes


def assigned(ascending: np.ndarray, label: np.ndarray, wanted: np.ndarray, rng: Rng) -> np.ndarray:
    """Assign ``ascending`` degrees to nodes by clusters' wanted ends.

    Clusters come near to ``wanted`` ends; int64 (n,). Nodes are ranked by chance with a handicap for each
    cluster, which a few rounds adjust.
    """
    found = np.empty(len(label), dtype=np.int64)
    if not len(label):
        return found
    chance = rng.gumbel(size=len(label))
    handicap = np.zeros(len(wanted))
    aim = wanted * (ascending.sum() / max(wanted.sum(), 1))
    for _ in range(ROUNDS):
        found[np.argsort(chance + handicap[label], kind="stable")] = ascending
        have = np.bincount(label, weights=found, minlength=len(wanted))
        handicap += 0.5 * np.log((aim + 1) / (have + 1))
    return found


def _paired(
    own: np.ndarray, of_own: np.ndarray, theirs: np.ndarray, of_theirs: np.ndarray, columns: int, rng: Rng
) -> tuple[np.ndarray, np.ndarray]:
    """Pair ends of one cluster side by side, in the order given; then what is in excess on both sides."""
    places = []
    counts = [np.bincount(each, minlength=columns) for each in (of_own, of_theirs)]
    both = np.minimum(*counts)
    for label in (of_own, of_theirs):
        order = np.argsort(label, kind="stable")
        inside = ranks(label[order], columns) < both[label[order]]
        places.append((order[inside], order[~inside]))
    (mine, spare), (their, rest) = places
    length = min(len(spare), len(rest))
    spare, rest = rng.permutation(spare)[:length], rng.permutation(rest)[:length]
    return own[np.concatenate([mine, spare])], theirs[np.concatenate([their, rest])]


def joined_within(degrees: np.ndarray, label: np.ndarray, ends: np.ndarray, rng: Rng) -> np.ndarray:
    """Match an undirected graph of ``degrees`` (n,) across clusters.

    It has as many ends between clusters as ``ends`` (k, k) says, in proportion; sorted keys ``low * n +
    high``. Expected O(m log m).
    """
    if not degrees.any():
        return np.empty(0, dtype=np.int64)
    mass = np.maximum((ends + ends.T) / 2, 0)
    columns = len(mass)
    have = np.bincount(label, weights=degrees, minlength=columns)
    if not mass.sum() > 0:
        mass = np.outer(have, have)
    mass = mass + 1e-9
    for _ in range(ROUNDS):  # symmetric scaling to the clusters' ends
        factor = np.sqrt(have / np.maximum(mass.sum(axis=1), 1e-12))
        mass = mass * np.outer(factor, factor)
    row, column = np.triu_indices(columns)
    edges = np.floor(np.where(row == column, mass[row, column] / 2, mass[row, column]) + 0.5)
    keys = matched(degrees, label, Blocks(row, column, edges.astype(np.int64)), rng)
    return completed(keys, degrees, rng)
