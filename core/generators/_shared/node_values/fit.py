"""What is paid for of one node type's protected attributes, and the labels and blocks that follow from it.

The reads, each of which may use what was read before and the paid degrees of the structure:
1. nodes by class and value of the first attribute (a row replaced: L1 2). Classes are by paid degree, and by
   community where the structure tells some.
2. for every further attribute, nodes by its value and the first one's (L1 2).
3. for every relation inside the type, edges by the groups of both ends' first values, all steps together: of
   each node as many edges count as a cap says, that follows from paid degrees (a row replaced: L1 2 cap; an
   edge: L1 3).
Proofs: :mod:`core.privacy.node_values`. Every node is then dealt values by its class and its degrees, so that
groups have as many edge ends as read 3 tells (:mod:`core.generators._shared.node_values.ends`), and edges are
drawn with what it says: homophily is inside the draw.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from core.generators._shared.blocks.estimates import norm_sub
from core.generators._shared.blocks.partition import upper_triangle
from core.generators._shared.frame.plan import divide
from core.generators._shared.node_values.blocks import MOST_LABELS
from core.generators._shared.node_values.ends import Ends, Told, by_level
from core.generators._shared.values.bins import merged
from core.generators._shared.values.fit import shares_of
from core.privacy.events import NANO
from core.privacy.node_values import EDGE_MOVES, MOST_CAP, ROW_MOVES, mixing_noise

if TYPE_CHECKING:
    from core.privacy.entropy import Generator as Rng
    from core.privacy.node_values import NodeValueReads

TABLES, TABLES_OF_SEVERAL = 0.3, 0.5
"""Shares of the rows' epsilon for nodes by value, of one attribute and of several; mixing has the rest."""
CLASSES, NODES_A_CELL = 4, 5.0
"""Degree classes at most; each of their cells has so many noise scales of nodes on average."""
MOST_GROUPS, MOST_ORDERED = 64, 8
"""Groups whose mixing is read: of categories, and of numbers, which have an order."""
MOST_JOINT = 2**16
"""Cells of a table of two attributes; beyond, the second is read by degree class."""
LOST = 0.04
"""What capping costs: a matrix from which all edges but few are missing is off by so much."""
CAPS = 24
ANYWHERE = 1e-6


class Labelled(NamedTuple):
    """``values``: the bin of every node by attribute, int64 (n,). ``groups`` int64 (n,): the node's group
    among those that mixing is read of; ``blocks``: shares of the edges by relation, (k(k+1)/2,) each, of a
    directed one (k k,)."""

    values: dict[str, np.ndarray]
    groups: np.ndarray
    blocks: dict[str, np.ndarray]


def labelled(
    reads: NodeValueReads,
    names: tuple[str, ...],
    ends: Mapping[str, Ends],
    degrees: np.ndarray,
    communities: np.ndarray,
    row_nano_epsilon: int,
    edge_nano_epsilon: Mapping[str, int],
    rng: Rng,
) -> Labelled:
    """Pay for the attributes ``names``, and deal every node values.

    ``ends``: by relation inside the type; ``degrees`` (n,): of all relations together, paid too;
    ``communities`` (n,): public or paid labels, one for all where there are none; ``edge_nano_epsilon``: what
    every cell of each relation inside the type may spend.
    ``rng`` makes choices that are independent of the graph. O(n + m log m + groups^2).
    """
    tables = TABLES if len(names) == 1 else TABLES_OF_SEVERAL
    parts = divide(row_nano_epsilon, *[tables / len(names)] * len(names), *_even(1 - tables, len(ends)))
    first, *others = names
    fine = reads.bins(first)
    classes = node_classes(degrees, communities, fine.count, parts[0])
    purpose = f"nodes by {first}"
    noisy = reads.table([first], classes=classes, nano_epsilon=parts[0], purpose=purpose)
    by_class, overall = conditional(noisy, ROW_MOVES * NANO / parts[0])
    most = min(MOST_ORDERED if fine.ordered else MOST_GROUPS, MOST_LABELS // (int(communities.max()) + 1))
    of_bin = merged(overall, most, fine.ordered)
    told = {
        relation: _mixing(reads, relation, first, of_bin, own, edge_nano_epsilon[relation], cost)
        for (relation, own), cost in zip(ends.items(), parts[len(names) :], strict=True)
    }
    levels, by_value = by_level(classes, by_class, of_bin, list(told.values()))
    values = {first: dealt(by_value, levels, rng)}
    for name, cost in zip(others, parts[1:], strict=False):
        values[name] = _following(reads, first, name, values[first], classes, cost, rng)
    groups = of_bin[values[first]]
    blocks = {}
    for relation, each in told.items():
        sides = [side for side in each.ends if side is not None]
        by_group = (np.bincount(groups, weights=side, minlength=len(each.counts)) for side in sides)
        blocks[relation] = block_shares(each.counts, *by_group)
    return Labelled(values, groups, blocks)


def _mixing(
    reads: NodeValueReads,
    relation: str,
    attribute: str,
    of_bin: np.ndarray,
    ends: Ends,
    edge_nano_epsilon: int,
    row_nano_epsilon: int,
) -> Told:
    """Read which groups meet in a relation, under the cap that suits it."""
    budgets, times = (edge_nano_epsilon, row_nano_epsilon), reads.multiplicity(relation)
    cap = cap_for(ends.both, int(of_bin.max()) + 1, *budgets, times)
    noisy = reads.mixing(
        relation,
        attribute,
        groups=of_bin,
        cap=cap,
        edge_nano_epsilon=edge_nano_epsilon,
        row_nano_epsilon=row_nano_epsilon,
        purpose=f"edges by {attribute} of both ends",
    )
    noise = mixing_noise(cap, *budgets, times)
    return Told(noisy, cap, noise.moved * NANO / noise.nano_epsilon, ends)


def _even(share: float, parts: int) -> list[float]:
    """Divide a share evenly; the last part is what :func:`divide` leaves."""
    return [share / parts] * (parts - 1)


def _following(
    reads: NodeValueReads,
    first: str,
    name: str,
    given: np.ndarray,
    classes: np.ndarray,
    cost: int,
    rng: Rng,
) -> np.ndarray:
    """Deal a further attribute by the first one's values, or by degree where both have many."""
    sizes = reads.bins(first).count, reads.bins(name).count
    scale, purpose = ROW_MOVES * NANO / cost, f"nodes by {name}"
    if sizes[0] * sizes[1] > MOST_JOINT:
        noisy = reads.table([name], classes=classes, nano_epsilon=cost, purpose=purpose)
        return dealt(conditional(noisy, scale)[0], classes, rng)
    nobody = np.zeros(len(given), dtype=np.int64)
    noisy = reads.table([first, name], classes=nobody, nano_epsilon=cost, purpose=purpose)
    return dealt(conditional(noisy[0], scale)[0], given, rng)


def node_classes(degrees: np.ndarray, communities: np.ndarray, bins: int, nano_epsilon: int) -> np.ndarray:
    """Divide the nodes into as many classes as the noise of their table allows; int64 (n,), from 0 on.

    By community where there is room for all, and by paid degree.
    """
    room = len(degrees) * nano_epsilon / NANO / (ROW_MOVES * NODES_A_CELL * bins)
    count = int(communities.max()) + 1
    apart = communities if room >= count else np.zeros(len(degrees), dtype=np.int64)
    number = int(np.clip(room / count if room >= count else room, 1, CLASSES))
    cuts = np.quantile(degrees, np.arange(1, number) / number)
    found = apart * CLASSES + np.searchsorted(cuts, degrees, side="right")
    return np.unique(found, return_inverse=True)[1].astype(np.int64)


def conditional(noisy: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Turn noisy counts (rows, bins) into shares of each row, and of all rows together."""
    counts = noisy.astype(np.float64)
    whole = norm_sub(counts.sum(axis=0))
    overall = whole / whole.sum() if whole.sum() > 0 else np.full(len(whole), 1 / len(whole))
    return shares_of(counts, overall[None, :], scale), overall


def dealt(shares: np.ndarray, classes: np.ndarray, rng: Rng) -> np.ndarray:
    """Deal every node a bin: in each class about as many of each as its shares say; int64.

    What is rounded in one class is made up for in the next: all together each bin has its number, or a few
    more or less.
    """
    found = np.empty(len(classes), dtype=np.int64)
    order = np.argsort(classes, kind="stable")
    ends = np.searchsorted(classes[order], np.arange(len(shares) + 1))
    owed = np.zeros(shares.shape[1])
    for row, start, end in zip(shares, ends[:-1], ends[1:], strict=True):
        owed += row * (end - start)
        due = np.cumsum(np.maximum(owed, 0))
        # Evenly spaced along what is due from a random start: each bin gets its number, up or down by one.
        places = np.searchsorted(
            due, (np.arange(end - start) + rng.random()) * (due[-1] / max(end - start, 1))
        )
        places = np.minimum(places, len(row) - 1)
        owed -= np.bincount(places, minlength=len(row))
        found[order[start:end]] = rng.permutation(places)
    return found


def cap_for(
    degrees: np.ndarray, groups: int, edge_nano_epsilon: int, row_nano_epsilon: int, multiplicity: int = 1
) -> int:
    """Choose how many edges of a node count: more tell more, and make more noise. From paid degrees alone.

    Nothing is gained below the cap at which the edges' budget decides how much noise there is.
    ``multiplicity``: edges that a cell is charged for.
    """
    moved = EDGE_MOVES * multiplicity
    least = max(1, -(-moved * row_nano_epsilon // (ROW_MOVES * edge_nano_epsilon)))
    ends = float(degrees.sum())
    most = max(least, int(degrees.max(initial=1)))
    if ends <= 0 or least >= MOST_CAP:
        return min(least, MOST_CAP)
    caps = np.unique(np.rint(np.geomspace(least, min(most, MOST_CAP), CAPS))).astype(np.int64)
    # An edge counts about where either end keeps it: in shares of their degrees, both independently.
    kept = np.array([np.minimum(degrees, cap).sum() for cap in caps]) ** 2 / (2 * ends)
    told = min(groups * (groups + 1) // 2, 2 * groups)  # cells of a matrix in which like meets like
    noise = told * ROW_MOVES * caps * NANO / row_nano_epsilon
    off = LOST * (1 - kept / (ends / 2)) + noise / np.maximum(kept, 1e-9)
    return int(caps[int(off.argmin())])


def block_shares(noisy: np.ndarray, ends: np.ndarray, targets: np.ndarray | None = None) -> np.ndarray:
    """Turn noisy counts of capped edges into shares of all edges: (k(k+1)/2,), on and above the diagonal;
    where ``targets`` are given, of a directed relation, (k k,).

    ``ends``, ``targets``: of the drawn edges, by group; they alone decide where nothing stands out from the
    noise.
    """
    if targets is not None:
        by_chance, counts = np.outer(ends, targets).ravel() + 1e-12, noisy.ravel()
    else:
        row, column = (side.astype(np.int64) for side in upper_triangle(len(noisy)))
        by_chance = ends[row] * ends[column] * np.where(row == column, 0.5, 1.0) + 1e-12
        counts = noisy[row, column]
    found = norm_sub(counts)
    found = found / max(found.sum(), 1.0) + ANYWHERE * by_chance / by_chance.sum()
    return found / found.sum()
