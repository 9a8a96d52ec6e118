"""False targets. Pairs without a link, and classes that a node has not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.evaluation.attacks.pairs import Pairs, are_linked, contains, pair_keys
from core.evaluation.view import UndirectedView
from core.privacy.entropy import Generator

# Rounds of drawing or exchange: a round settles most of what is left, unless the graph is nearly complete.
ROUNDS = 64


def distinct(kept: np.ndarray, count: int, draw: Callable[[int], np.ndarray]) -> np.ndarray:
    """Add distinct keys to ``kept`` up to ``count``.

    They are in the order of sampling, so that no key is favoured. ``draw(number)`` gives that many keys or
    fewer, int64. Fewer than ``count`` come of a nearly full graph.
    """
    for _ in range(ROUNDS):
        missing = count - len(kept)
        if missing <= 0:
            break
        keys = draw(2 * missing + 16)
        keys = keys[~contains(np.sort(kept), keys)]
        # In the order of sampling: cut from sorted keys, low nodes would be favoured.
        first = np.sort(np.unique(keys, return_index=True)[1])
        kept = np.concatenate([kept, keys[first][:missing]])
    return kept


def uniform(view: UndirectedView, count: int, rng: Generator) -> Pairs:
    """Sample ``count`` distinct pairs without a link.

    They are uniform among all such; fewer in a nearly complete graph. Of a bipartite view one end on each
    side. Expected O(count log m) while most pairs have no link.
    """
    n = view.node_count

    def draw(draws: int) -> np.ndarray:
        if view.bipartite:
            source = rng.integers(0, view.source_count, draws)
            target = rng.integers(view.source_count, n, draws)
        else:
            source, target = rng.integers(0, n, (2, draws))
        free = (source != target) & ~are_linked(view, source, target)
        return pair_keys(n, source[free], target[free])

    return np.divmod(distinct(np.empty(0, dtype=np.int64), count, draw), max(n, 1))


def degree_matched(view: UndirectedView, source: np.ndarray, target: np.ndarray, rng: Generator) -> Pairs:
    """Re-pair the pairs' own ends into pairs without links.

    No new pair is a link, a loop or there twice. Every node stands in as many new pairs as old ones, apart
    from pairs dropped where no exchange exists. Ends change partners first among sources of like degree (same
    power of two), which keeps the joint distribution of degrees too, then, where that fails, among all. O(k
    log k) a round.
    """
    if not view.bipartite:
        # Which end is the source means nothing: either may change its partner.
        turned = rng.random(len(source)) < 0.5
        source, target = np.where(turned, target, source), np.where(turned, source, target)
    group = np.log2(np.maximum(view.degrees[source], 1)).astype(np.int64)
    target = _shuffled_within(group, target, rng)
    for turn in range(ROUNDS):
        bad = np.flatnonzero(_unfit(view, source, target))
        if not len(bad):
            break
        # Among sources of like degree as long as that may settle it; then among all.
        local = turn < ROUNDS // 2
        other = _partners(group, bad, rng) if local else rng.integers(0, len(source), len(bad))
        target = exchanged(target, bad, other, _new_pairs(view, source, target))
    fit = ~_unfit(view, source, target)
    return source[fit], target[fit]


def _shuffled_within(group: np.ndarray, values: np.ndarray, rng: Generator) -> np.ndarray:
    mixed = np.empty_like(values)
    mixed[np.argsort(group, kind="stable")] = values[np.lexsort((rng.random(len(group)), group))]
    return mixed


def _partners(group: np.ndarray, chosen: np.ndarray, rng: Generator) -> np.ndarray:
    """Draw for each chosen place a random place of its group."""
    order = np.argsort(group, kind="stable")
    low, high = (np.searchsorted(group[order], group[chosen], side) for side in ("left", "right"))
    drawn: np.ndarray = order[low + (rng.random(len(chosen)) * (high - low)).astype(np.int64)]
    return drawn


def _unfit(view: UndirectedView, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Mark loops, links, and every occurrence of a pair but its first."""
    again = np.ones(len(source), dtype=bool)
    again[np.unique(pair_keys(view.node_count, source, target), return_index=True)[1]] = False
    marked: np.ndarray = again | (source == target) | are_linked(view, source, target)
    return marked


def exchanged(
    values: np.ndarray,
    bad: np.ndarray,
    other: np.ndarray,
    fits: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> np.ndarray:
    """Exchange values so that both places fit.

    The exchanges are bad <-> other in ``values``; a place is in one at most. ``fits(places, values)`` says
    which values would do at which places.
    """
    places = np.stack([bad, other], axis=1).ravel()
    first = np.zeros(len(places), dtype=bool)
    first[np.unique(places, return_index=True)[1]] = True
    alone = first.reshape(-1, 2).all(axis=1)
    bad, other = bad[alone], other[alone]
    good = fits(bad, values[other]) & fits(other, values[bad])
    bad, other = bad[good], other[good]
    values = values.copy()
    values[bad], values[other] = values[other], values[bad]
    return values


def _new_pairs(
    view: UndirectedView, source: np.ndarray, target: np.ndarray
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Make a test of which targets give a pair that is no loop, no link and none of the pairs there are."""
    present = np.sort(pair_keys(view.node_count, source, target))

    def fits(places: np.ndarray, values: np.ndarray) -> np.ndarray:
        ends = source[places]
        there = contains(present, pair_keys(view.node_count, ends, values))
        fitting: np.ndarray = ~there & (ends != values) & ~are_linked(view, ends, values)
        return fitting

    return fits


def wrong_classes(classes: np.ndarray, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
    """Permute the classes so that nobody keeps their own.

    Returned is ``(places, wrong)``. Each class is dealt as often as it occurs, so that knowing frequencies
    tells nothing. Places for which no exchange exists are left out: where one class holds half or more. O(k
    log k) a round.
    """
    wrong = classes[rng.permutation(len(classes))]
    for _ in range(ROUNDS):
        bad = np.flatnonzero(wrong == classes)
        if not len(bad):
            break
        other = rng.integers(0, len(classes), len(bad))
        wrong = exchanged(wrong, bad, other, lambda places, values: classes[places] != values)
    places = np.flatnonzero(wrong != classes)
    return places, wrong[places]
