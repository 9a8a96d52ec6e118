"""The paid reads of one attribute, and its tables.

The reads, each of which may use what was read before and the edges of a graph that the method's model drew:
1. a histogram of the values' bins (L1 1).
2. for every node, of values with an order the sum of their scores, of others how many of its edges have each
   (L1 the largest score, or 1; twice where both ends are counted).
3. how many edges have which kind of value, between classes of nodes (L1 1). Classes are by sampled degree,
   and by what a node's edges tend to carry.
4. of a relation with time, bins by period (L1 1).
Sensitivities and proofs: :mod:`core.privacy.reads.edge_values`. Their epsilons add up to the attribute's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from core.graphs.columns.tables import EdgeTable
from core.methods._shared.blocks.estimates import norm_sub, norm_sub_groups
from core.methods._shared.frame.columns import Columns
from core.methods._shared.frame.plan import divide
from core.methods._shared.values.bins import TOTAL, Division, divided
from core.methods._shared.values.effects import by_degree, by_mass, node_rates
from core.methods._shared.values.memory import Memory, Nodes, Pairs
from core.privacy.accounting.events import NANO
from core.privacy.reads.bounded_values import BoundedValues
from core.privacy.reads.edge_values import EdgeValueReads

HISTOGRAM, CLASSES, STEPS = 0.1, 0.2, 0.1
"""Shares of the attribute's epsilon; nodes have what is left."""
LITTLE, CLASSES_OF_LITTLE = NANO // 3, 0.3
"""Of less epsilon classes have more of it, as nodes tell little of themselves. Chosen as REACH was."""
MOST_CLASSES = 16
PERIODS = 8
WORTH = 0.1
"""Noise that all pairs of classes may have together, as a part of the edges."""


Drawn = EdgeTable | Mapping[str, np.ndarray]
"""A relation's edges in a graph sampled from the structure's model; or of each side of the reads the degrees
(nodes,) that such a graph is expected to have, where none is sampled as a whole."""


def paid(reads: EdgeValueReads, drawn: Drawn, steps: int, nano_epsilon: int) -> Columns:
    """Pay for one attribute's tables, at ``nano_epsilon`` a cell.

    That is each cell of the relation.

    ``steps``: of the relation.
    Columns: ``histogram`` (fine,) shares; ``bins``, ``kinds``, ``score``: a :class:`Division`;
    ``source_rates``, ``target_rates`` (nodes * columns,): mean score, or share of each bin;
    ``source_classes``, ``target_classes`` (nodes,); ``pairs`` (classes * classes * kinds,) and ``steps``
    (periods * bins,): shares of one pair of classes, of one period; ``periods`` (steps,). Of an undirected
    relation only the source has any. Where records are apart ``total``: how many records the histogram
    counted, and its noise's variance. O(m + n bins).
    """
    return _paid(reads, drawn, steps, nano_epsilon)[0]


def paid_step(
    reads: EdgeValueReads, drawn: EdgeTable, nano_epsilon: int, before: Memory | None, step: int
) -> tuple[Columns, Memory]:
    """Pay for a live snapshot's tables, added to earlier ones.

    Earlier ones are what steps before have measured. Columns as of :func:`paid`, and what the next step may
    know. Values of the snapshot itself are measured by its own histogram, shrunk towards that of all steps by
    as much as its noise weighs.
    """
    return _paid(reads, drawn, 1, nano_epsilon, before, step)


def _paid(
    reads: EdgeValueReads,
    drawn: Drawn,
    steps: int,
    nano_epsilon: int,
    before: Memory | None = None,
    step: int | None = None,
) -> tuple[Columns, Memory]:
    """Pay for the tables; ``step``: of a live stream, None for a whole graph."""
    live = step is not None
    first, between, *timed, nodes = costs_of(nano_epsilon, steps)
    # By how many steps there were, and nothing else: when tables are divided anew is public.
    anew = before is None or before.renews()
    before = None if before is None else before.faded(step or 0)
    here = reads.histogram(nano_epsilon=first, purpose=f"{_of(reads)}: histogram").astype(np.float64)
    whole = here if before is None else here + before.histogram
    histogram = shares_told(whole)
    if before is None or anew:
        division = divided(reads.bins, histogram, max(reads.shape.source_count, reads.shape.target_count))
        before = None if before is None else before.divided_by(division, histogram)
    else:
        division = before.division
    mass = np.bincount(division.bins, weights=histogram, minlength=len(division.kinds))
    read = []
    for place, (side, cost) in enumerate(zip(reads.sides, _even(nodes, len(reads.sides)), strict=True)):
        own = _nodes(reads, side, division, _degrees(reads, side, drawn), cost)
        # Of one snapshot most nodes have no edge: their rows would bring nothing but noise.
        own = own.weighed(_spread(division, mass)) if live else own
        read.append(own if before is None else own.with_more(before.nodes[place]))
    rates = [rates_of(each, division, mass) for each in read]
    if before is None or anew:
        noise = noise_of(reads, between) + (0.0 if before is None else before.pairs.noise)
        # Both ends count in the one vector of an undirected relation.
        edges = float(read[0].drawn.sum()) / (2 if reads.shape.undirected else 1)
        number = class_count(edges, noise, division, reads.shape.undirected)
        classes = tuple(_classes(each, own.drawn, number) for each, own in zip(rates, read, strict=True))
        before = None if before is None else before.classed_by(classes)
    else:
        classes = before.classes
    pairs = between_classes(reads, classes, division, between)
    if before is not None:
        pairs = Pairs(pairs.counts + before.pairs.counts, pairs.noise + before.pairs.noise)
    periods = np.arange(steps) * min(PERIODS, steps) // steps
    by_period = mass[None, :]
    if timed:
        noisy = reads.by_step(
            periods=periods, labels=division.bins, nano_epsilon=timed[0], purpose=f"{_of(reads)}: by step"
        )
        by_period = shares_of(noisy.astype(np.float64), by_period, scale_of(reads, timed[0]))
    elif before is not None:
        # The histogram's own counts once more: no further read.
        counted = np.bincount(division.bins, weights=here, minlength=len(mass))
        by_period = shares_of(counted[None, :], by_period, scale_of(reads, first))
    kept = Memory(
        step or 0, 1 if before is None else before.told + 1, whole, division, tuple(read), classes, pairs
    )
    shares = pair_shares(pairs, division, mass)
    columns = columns_of(histogram, division, (rates, classes), shares, (by_period, periods))
    if reads.relation.records_apart:  # whose sum has little noise, as one record moves it by one
        # The sum of so many entries, each with noise of that variance.
        columns = {**columns, TOTAL: np.array([here.sum(), len(here) * noise_of(reads, first)])}
    return columns, kept


def costs_of(nano_epsilon: int, steps: int) -> tuple[int, ...]:
    """Divide an attribute's epsilon by read.

    It is for the histogram, for classes, with time for steps, and for nodes.
    """
    classes = CLASSES if nano_epsilon >= LITTLE else CLASSES_OF_LITTLE
    return divide(nano_epsilon, HISTOGRAM, classes, *([STEPS] if steps > 1 else []))


def columns_of(
    histogram: np.ndarray,
    division: Division,
    nodes: tuple[Sequence[np.ndarray], Sequence[np.ndarray]],
    pairs: np.ndarray,
    periods: tuple[np.ndarray, np.ndarray],
) -> Columns:
    """Name the tables as :func:`paid` does. ``nodes``: rates and classes, of sources, then of targets; of
    an undirected relation of the first only. ``periods``: their shares, and that of every step."""
    columns = {
        "histogram": histogram,
        "bins": division.bins.astype(np.int32),
        "kinds": division.kinds.astype(np.int32),
        "score": division.score,
        "pairs": pairs.ravel(),
        "steps": periods[0].ravel(),
        "periods": periods[1].astype(np.int32),
    }
    for place, name in enumerate(("source", "target")):
        rates, classes = (each[place] if place < len(each) else np.empty(0) for each in nodes)
        columns[f"{name}_rates"] = rates.astype(np.float32).ravel()
        columns[f"{name}_classes"] = classes.astype(np.int32)
    return columns


def shares_told(counts: np.ndarray) -> np.ndarray:
    """Turn one row of noisy counts into shares. They are even where nothing is left of the counts."""
    kept = norm_sub(counts)
    return kept / kept.sum() if kept.sum() > 0 else np.full(len(kept), 1 / len(kept))


def shares_of(counts: np.ndarray, expected: np.ndarray, scale: float) -> np.ndarray:
    """Turn rows of noisy counts into shares.

    They are shrunk towards ``expected`` by as much as the noise weighs.

    ``counts`` (rows, columns); ``scale`` of the noise. Every row adds up to 1.
    """
    rows, columns = counts.shape
    kept = norm_sub_groups(counts.ravel(), np.repeat(np.arange(rows), columns), rows).reshape(rows, columns)
    # ``expected`` counts like so many records: twice what noise moves a row's entries on the mean, in all.
    weight = 2 * scale * columns
    shares: np.ndarray = (kept + weight * expected) / (kept.sum(axis=1, keepdims=True) + weight)
    return shares


def _of(reads: EdgeValueReads | BoundedValues) -> str:
    return f"values of {reads.bins.attribute.name}"


def _even(total: int, parts: int) -> list[int]:
    return [total // parts] * (parts - 1) + [total - total // parts * (parts - 1)]


def _degrees(reads: EdgeValueReads, side: str, drawn: Drawn) -> np.ndarray:
    """Count the drawn edges of every node of a side, or say how many are expected."""
    if not isinstance(drawn, EdgeTable):
        return drawn[side]
    ends = {"source": [drawn.source], "target": [drawn.target], "both": [drawn.source, drawn.target]}[side]
    count = reads.shape.target_count if side == "target" else reads.shape.source_count
    return np.bincount(np.concatenate(ends), minlength=count)


def noise_of(reads: EdgeValueReads | BoundedValues, cost: int, moved: int = 1) -> float:
    """Bound the noise's variance in a read, slightly above.

    A record moves the read's entries by ``moved``.
    """
    return 2 * scale_of(reads, cost, moved) ** 2


def scale_of(reads: EdgeValueReads | BoundedValues, cost: int, moved: int = 1) -> float:
    """Return the scale of that noise. A unit moves the read by all of its records that count."""
    return float(moved * reads.multiplicity * NANO / cost)


def _nodes(reads: EdgeValueReads, side: str, division: Division, degrees: np.ndarray, cost: int) -> Nodes:
    """Pay for what the edges of a side's nodes carry: the sum of their scores, or how many have each bin."""
    ends = 2 if side == "both" else 1
    purpose = f"{_of(reads)}: nodes, {side}"
    score = division.score
    if len(score):
        most = max(1, int(np.abs(score).max()))
        # An edge adds its score to the rows of its ends: it moves them by the largest of scores at each.
        noise = noise_of(reads, cost, ends * most)
        scores = score[division.bins].astype(np.int64)
        sums = reads.node_sums(side=side, scores=scores, nano_epsilon=cost, purpose=purpose)[:, None]
    else:
        noise = noise_of(reads, cost, ends)
        sums = reads.by_node(side=side, labels=division.bins, nano_epsilon=cost, purpose=purpose)
    return Nodes.read(sums, noise, degrees)


def rates_of(own: Nodes, division: Division, mass: np.ndarray) -> np.ndarray:
    """Estimate every node's mean score or bin shares. The result is (nodes, columns)."""
    score = division.score
    if len(score):
        mean = np.array([mass @ score])
        return node_rates(own, own.ends, mean, mass @ score**2 - mean**2)
    # A row's sum says more of a node's edges than one drawn graph does, the more the less its noise weighs.
    heed = own.chance / (own.chance + own.noise * own.sums.shape[1] + 1e-9)
    size = np.maximum(own.ends + heed * (own.sums.sum(axis=1) - own.ends), 0)
    # No bin is impossible: an edge's other end may ask for it.
    found = np.maximum(node_rates(own, size, mass, mass * (1 - mass)), 1e-4 * mass)
    rates: np.ndarray = found / np.maximum(found.sum(axis=1, keepdims=True), 1e-300)
    return rates


def _spread(division: Division, mass: np.ndarray) -> float:
    """Compute what an edge adds to the variance of an entry of its node, on the average."""
    if len(score := division.score):
        return float(mass @ score**2 - (mass @ score) ** 2)
    return float((mass * (1 - mass)).mean())


def class_count(edges: float, noise: float, division: Division, undirected: bool) -> int:
    """Choose as many classes as their pairs' noise allows.

    They are those on a side, and the noise has that variance; 1..MOST_CLASSES.
    """
    kinds = int(division.kinds.max()) + 1
    # sqrt(noise / 2) is the noise's scale; undirected, about half of the pairs are distinct.
    pairs = WORTH * edges / np.sqrt(noise / 2) / kinds * (2 if undirected else 1)
    return int(np.clip(np.sqrt(pairs), 1, MOST_CLASSES))


def _classes(rates: np.ndarray, degrees: np.ndarray, number: int) -> np.ndarray:
    """Divide nodes by degree, then by what sets their rates most apart; ``number`` of them at most."""
    by = 3 if number >= 9 else 2 if number >= 4 else 1
    groups = by_degree(degrees, by)
    weight = degrees / max(float(degrees.sum()), 1.0)
    away = rates - weight @ rates
    # The first principal component, weighed by degree.
    direction = np.linalg.eigh((away * weight[:, None]).T @ away)[1][:, -1]
    return by_mass(away @ direction, degrees, groups, max(1, number // by))


def between_classes(
    reads: EdgeValueReads | BoundedValues, classes: tuple[np.ndarray, ...], division: Division, cost: int
) -> Pairs:
    """Pay for the kinds of value between classes."""
    noisy = reads.by_classes(
        sources=classes[0],
        targets=classes[-1],
        labels=division.kinds[division.bins],
        nano_epsilon=cost,
        purpose=f"{_of(reads)}: classes",
    ).astype(np.float64)
    if reads.shape.undirected:  # an edge stands where the smaller class comes first: its mirror image too
        first = np.moveaxis(noisy, 2, 0)
        noisy = np.moveaxis(np.triu(first) + np.swapaxes(np.triu(first, 1), 1, 2), 0, 2)
    return Pairs(noisy, noise_of(reads, cost))


def pair_shares(pairs: Pairs, division: Division, mass: np.ndarray) -> np.ndarray:
    """Compute each class pair's shares of the kinds. The result is (classes, classes, kinds), float64."""
    counts, scale = pairs.counts, float(np.sqrt(pairs.noise / 2))
    overall = np.bincount(division.kinds, weights=mass)
    a, b, count = counts.shape
    # A margin sums so many independent noises.
    rows = shares_of(counts.sum(axis=1), overall[None, :], scale * np.sqrt(b))
    columns = shares_of(counts.sum(axis=0), overall[None, :], scale * np.sqrt(a))
    # As if both classes acted independently: only what a pair has beyond that must stand out from its noise.
    expected = rows[:, None, :] * columns[None, :, :] / np.maximum(overall, 1e-12)
    expected = expected / expected.sum(axis=2, keepdims=True)
    found = shares_of(counts.reshape(-1, count), expected.reshape(-1, count), scale)
    return found.reshape(a, b, count)
