"""Paid tables of protected node attributes, and their labels.

Blocks follow from them too.

The reads of one type, each of which may use what was read before and the paid degrees of the structure:
1. nodes by class and value of the first attribute (a row replaced: L1 2). Classes are by paid degree, and by
   community where the structure tells some.
2. for every further attribute, nodes by its value and the first one's (L1 2).
3. for every relation of the type, edges by the groups of both ends' first values, all steps together: of each
   node that has values as many edges count as a cap says, that follows from paid degrees (a row replaced: L1
   2 cap; an edge: L1 3). Between two types the other end's first values are those of its own.
Proofs: :mod:`core.privacy.reads.node_values`, :mod:`core.privacy.reads.mixing_between`. Every node is then
dealt values by its class and its degrees, so that groups have as many edge ends as read 3 measures
(:mod:`core.methods._shared.node_values.ends`), and edges are sampled with what it says: homophily is
inside the sampling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from core.methods._shared.blocks.estimates import norm_sub
from core.methods._shared.frame.plan import divide
from core.methods._shared.node_values.between import Marked, read_between
from core.methods._shared.node_values.blocks import MOST_LABELS
from core.methods._shared.node_values.ends import Ends, OneSide, Told, by_level
from core.methods._shared.node_values.meeting import shares_met
from core.methods._shared.node_values.share import TABLES, TABLES_OF_SEVERAL
from core.methods._shared.values.bins import merged
from core.methods._shared.values.fit import shares_of
from core.privacy.accounting.events import NANO
from core.privacy.entropy import Generator as Rng
from core.privacy.reads.mixing_between import MixingBetween
from core.privacy.reads.node_values import EDGE_MOVES, MOST_CAP, ROW_MOVES, NodeValueReads, mixing_noise

CLASSES, NODES_A_CELL = 4, 5.0
"""Degree classes at most; each of their cells has so many noise scales of nodes on average."""
MOST_GROUPS, MOST_ORDERED = 64, 8
"""Groups whose mixing is read: of categories, and of numbers, which have an order."""
MOST_JOINT = 2**16
"""Cells of a table of two attributes; beyond, the second is read by degree class."""
LOST = 0.08
"""What capping costs: a matrix from which all edges but few are missing is off by so much. Chosen of .02 to
.24, on polblogs, lastfm, cora, citeseer and acm."""
CAPS = 24


class Rows(NamedTuple):
    """One node type's reads, attributes and budget.

    The first attribute mixes; the budget is what a row may spend.

    ``degrees`` (n,): paid, of all relations together; ``communities`` (n,): public or paid labels, one for
    all where there are none.
    """

    reads: NodeValueReads
    names: tuple[str, ...]
    degrees: np.ndarray
    communities: np.ndarray
    nano_epsilon: int


class Meeting(NamedTuple):
    """A relation by whose ends values mix.

    The types of both, its paid degrees, and what each of its cells may spend. ``reads``: of a relation
    between two types.
    """

    source: str
    target: str
    ends: Ends
    nano_epsilon: int
    reads: MixingBetween | None = None


class Labelled(NamedTuple):
    """Labels and values of nodes.

    ``values``: by node type and attribute the bin of every node, int64 (n,). ``groups``: by node type the
    node's group among those that mixing is read of, int64 (n,). ``blocks``: by relation shares of its edges,
    (k(k+1)/2,); of a directed one (k k,), and between two types (source groups, target groups). ``of_bin``:
    by node type the group of each bin of the first attribute.
    """

    values: dict[str, dict[str, np.ndarray]]
    groups: dict[str, np.ndarray]
    blocks: dict[str, np.ndarray]
    of_bin: dict[str, np.ndarray]


class _Table(NamedTuple):
    """What was read of a type's nodes: their classes, shares of the first attribute's bins in each, and the
    group of each bin; ``further`` and ``meeting``: what a row may spend on each other attribute, relation."""

    classes: np.ndarray
    by_class: np.ndarray
    of_bin: np.ndarray
    further: tuple[int, ...]
    meeting: dict[str, int]


def labelled(kinds: Mapping[str, Rows], meetings: Mapping[str, Meeting], rng: Rng) -> Labelled:
    """Pay for attributes and mixing, and deal every node values.

    Attributes are of node types, by name; mixing is who meets whom. A type that is at an end of a relation,
    but not among ``kinds``, has no values, and is one group. ``rng`` makes choices that are independent of
    the graph. O(n + m log m + groups^2).
    """
    tables = {name: _nodes_by_value(rows, _along(meetings, name)) for name, rows in kinds.items()}
    learnt: dict[str, list[Told | OneSide]] = {name: [] for name in kinds}
    counts = {}
    for relation, each in meetings.items():
        if each.reads is None:
            cost = tables[each.source].meeting[relation]
            mixing = _mixing(kinds[each.source], relation, tables[each.source].of_bin, each, cost)
            counts[relation] = mixing.counts, mixing.scale
            learnt[each.source].append(mixing)
            continue
        sides = [
            Marked(kinds[kind].names[0], tables[kind].of_bin, tables[kind].meeting[relation])
            if kind in kinds
            else None
            for kind in (each.source, each.target)
        ]
        crossing = read_between(
            each.reads, relation, (sides[0], sides[1]), each.ends, each.nano_epsilon, LOST
        )
        counts[relation] = crossing.counts, crossing.scale
        for kind, side in zip((each.source, each.target), crossing.sides, strict=True):
            if side is not None:
                learnt[kind].append(side)
    values, groups = {}, {}
    for name, rows in kinds.items():
        table, (first, *others) = tables[name], rows.names
        levels, by_value = by_level(table.classes, table.by_class, table.of_bin, learnt[name])
        values[name] = {first: dealt(by_value, levels, rng)}
        for other, cost in zip(others, table.further, strict=True):
            given = values[name][first]
            values[name][other] = _following(rows.reads, first, other, given, table.classes, cost, rng)
        groups[name] = table.of_bin[values[name][first]]
    blocks = {each: _blocks(*counts[each], meeting, groups) for each, meeting in meetings.items()}
    return Labelled(values, groups, blocks, {name: table.of_bin for name, table in tables.items()})


def dealt_alone(rows: Rows, rng: Rng) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Pay for a type's attributes separately, and deal values.

    All that its rows may spend is spent, and every node has values. Returns the bin of every node by
    attribute, and the group of each bin of the first one. Classes are the communities, where there is room
    for them.
    """
    table, (first, *others) = _nodes_by_value(rows, ()), rows.names
    values = {first: dealt(table.by_class, table.classes, rng)}
    for other, cost in zip(others, table.further, strict=True):
        given = values[first]
        values[other] = _following(rows.reads, first, other, given, table.classes, cost, rng)
    return values, table.of_bin


def _along(meetings: Mapping[str, Meeting], kind: str) -> list[str]:
    return [name for name, each in meetings.items() if kind in (each.source, each.target)]


def _nodes_by_value(rows: Rows, along: Sequence[str]) -> _Table:
    """Read nodes by class and value of the first attribute; and divide what a row may spend."""
    first, count = rows.names[0], len(rows.names)
    tables = TABLES if count == 1 else TABLES_OF_SEVERAL
    if along:
        parts = divide(rows.nano_epsilon, *[tables / count] * count, *_even(1 - tables, len(along)))
    else:
        parts = divide(rows.nano_epsilon, *_even(1, count))
    fine = rows.reads.bins(first)
    classes = node_classes(rows.degrees, rows.communities, fine.count, parts[0])
    purpose = f"nodes by {first}"
    noisy = rows.reads.table([first], classes=classes, nano_epsilon=parts[0], purpose=purpose)
    by_class, overall = conditional(noisy, ROW_MOVES * NANO / parts[0])
    # Labels join communities and groups: of many of the one there can be few of the other.
    most = MOST_LABELS // (int(rows.communities.max(initial=0)) + 1)
    of_bin = merged(overall, min(MOST_ORDERED if fine.ordered else MOST_GROUPS, most), fine.ordered)
    meeting = dict(zip(along, parts[count:], strict=True))
    return _Table(classes, by_class, of_bin, tuple(parts[1:count]), meeting)


def _blocks(
    counts: np.ndarray, scale: float, meeting: Meeting, groups: Mapping[str, np.ndarray]
) -> np.ndarray:
    """Turn noisy counts of capped edges into shares of edges, by the drawn ends of every group."""
    kinds, sides = (meeting.source, meeting.target), [side for side in meeting.ends if side is not None]
    by_group = [
        np.bincount(groups[kind], weights=side, minlength=length)
        if kind in groups
        else np.array([side.sum()])
        for kind, side, length in zip(kinds, sides, counts.shape, strict=False)
    ]
    shares = shares_met(counts, scale, *by_group, between=meeting.reads is not None)
    return shares if meeting.reads is None else shares.reshape(counts.shape)


def _mixing(rows: Rows, relation: str, of_bin: np.ndarray, meeting: Meeting, row_nano_epsilon: int) -> Told:
    """Read which groups meet in a relation inside the type, under the cap that suits it."""
    reads, attribute = rows.reads, rows.names[0]
    budgets, times = (meeting.nano_epsilon, row_nano_epsilon), reads.multiplicity(relation)
    cap = cap_for(meeting.ends.both, int(of_bin.max()) + 1, *budgets, times)
    noisy = reads.mixing(
        relation,
        attribute,
        groups=of_bin,
        cap=cap,
        edge_nano_epsilon=meeting.nano_epsilon,
        row_nano_epsilon=row_nano_epsilon,
        purpose=f"edges by {attribute} of both ends",
    )
    noise = mixing_noise(cap, *budgets, times)
    return Told(noisy, cap, noise.moved * NANO / noise.nano_epsilon, meeting.ends)


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
    """Divide nodes into classes that the table's noise allows.

    There are as many as can be; int64 (n,), from 0 on. By community where there is room for all, and by paid
    degree.
    """
    room = len(degrees) * nano_epsilon / NANO / (ROW_MOVES * NODES_A_CELL * bins)
    count = int(communities.max()) + 1
    # Classes that noise would drown say less than one for all.
    apart = communities if room >= count else np.zeros(len(degrees), dtype=np.int64)
    number = int(np.clip(room / count if room >= count else room, 1, CLASSES))
    cuts = np.quantile(degrees, np.arange(1, number) / number)
    found = apart * CLASSES + np.searchsorted(cuts, degrees, side="right")
    classes: np.ndarray = np.unique(found, return_inverse=True)[1].astype(np.int64)
    return classes


def conditional(noisy: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Turn noisy counts (rows, bins) into shares. They are of each row, and of all rows together."""
    counts = noisy.astype(np.float64)
    whole = norm_sub(counts.sum(axis=0))
    overall = whole / whole.sum() if whole.sum() > 0 else np.full(len(whole), 1 / len(whole))
    return shares_of(counts, overall[None, :], scale), overall


def dealt(shares: np.ndarray, classes: np.ndarray, rng: Rng) -> np.ndarray:
    """Deal every node a bin, in proportion to class shares.

    In each class there are about as many of each as its shares say; int64. What is rounded in one class is
    made up for in the next: all together each bin has its number, or a few more or less.
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
        # Who of a class gets which is chance: the order of nodes must not say.
        found[order[start:end]] = rng.permutation(places)
    return found


def cap_for(
    degrees: np.ndarray, groups: int, edge_nano_epsilon: int, row_nano_epsilon: int, multiplicity: int = 1
) -> int:
    """Choose how many edges of a node count.

    More tell more, and make more noise. From paid degrees only. Nothing is gained below the cap at which the
    edges' budget decides how much noise there is. ``multiplicity``: edges that a cell is charged for.
    """
    moved = EDGE_MOVES * multiplicity
    least = max(1, -(-moved * row_nano_epsilon // (ROW_MOVES * edge_nano_epsilon)))
    ends = float(degrees.sum())
    most = max(least, int(degrees.max(initial=1)))
    if ends <= 0 or least >= MOST_CAP:
        return min(least, MOST_CAP)
    caps = np.unique(np.rint(np.geomspace(least, min(most, MOST_CAP), CAPS))).astype(np.int64)
    # An edge counts about where either end keeps it: in shares of their degrees, both independently.
    # (ends / 2) (sum of min(d, cap) / ends)^2.
    kept = np.array([np.minimum(degrees, cap).sum() for cap in caps]) ** 2 / (2 * ends)
    like_cells = min(groups * (groups + 1) // 2, 2 * groups)  # cells of a matrix in which like meets like
    noise = like_cells * ROW_MOVES * caps * NANO / row_nano_epsilon
    # What capping loses, and the noise relative to what is kept: of paid numbers only.
    off = LOST * (1 - kept / (ends / 2)) + noise / np.maximum(kept, 1e-9)
    return int(caps[int(off.argmin())])
