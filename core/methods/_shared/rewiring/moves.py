"""The compiled moves: proposed, weighed and made.

A part of :mod:`core.methods._shared.rewiring.triangles`. Graphs are rows of neighbours that know how many
triangles each edge is in, see :mod:`core.methods._shared.rewiring.rows`. ``rows``: what ``Rows.arrays``
gives. ``triangles`` and ``clustering``: (now, aim); the latter sums the ``weight`` (n,) of every triangle's
corners. ``products``: (now, aim, band, whether to steer); a move keeps the sum of degree products within the
band or brings it nearer.
"""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel
from core.methods._shared.matching.keyset import Int
from core.methods._shared.rewiring.exchange import (
    exchange,
    gained,
    joined,
    lost,
    most_gained,
    places_for,
    worth,
)
from core.methods._shared.rewiring.rows import Arrays, Move, Products, degree_of, linked, mark, marked
from core.privacy.entropy import Generator

# How edges are chosen that x and y give up: how many are looked at, and whether by number; see `closing`.
LAGGING, AHEAD, ALONE = (2, 3, False), (6, 8, True), (2, 3, True)
VISIT = 8  # proposals at a node before the next: nodes of few edges, whose triangles weigh most, have a turn
TURNS = 0.25  # of the proposals go so; then hubs, where most triangles are closed, have as many as edges
HEAVY = 4.0  # what a triangle may weigh, in what each should on the way to both aims, where clustering lags
PATIENCE = 8  # proposals an end until that doubles: aims that noise set apart must not stop the closing
EASE = 1.02  # what it may weigh where clustering is ahead grows so with a node that closed none
PICKS = 16  # choices of a node whose triangles may be light enough
TINY = 1e-12
HALF, LOW = np.uint64(32), np.uint64(2**32 - 1)  # of a random word: each half chooses one place


@kernel
def shift_product(
    rows: Arrays, product: int, aim: int, band: int, proposals: int, rng: Generator
) -> tuple[int, int]:
    """Swap ends of equal label towards ``aim``'s product sum.

    It is random, until the sum is within ``band``; returned are the product sum, and the proposals made.
    Triangles are counted afterwards. Edges (x, a) and (y, b), x and y of one label, become (x, b) and (y, a).
    """
    start, others, back, first, labels, kept = rows[:6]
    ends, made = others.size, 0
    while made < proposals and abs(product - aim) > band:
        made += 1
        one = int(rng.random() * ends)
        # The owner of an entry is what its other entry holds: rows need no list of owners.
        x, a = others[back[one]], others[one]
        label = labels[x]
        # Entries stand by the label of their owner, so that a partner of equal label needs no search.
        two = first[label] + int(rng.random() * (first[label + 1] - first[label]))
        y, b = others[back[two]], others[two]
        # ``kept``: edges that were put into groups stay.
        if x in (y, b) or a in (y, b) or (kept.size and (kept[one] or kept[two])):
            continue
        # d_x d_b + d_y d_a - d_x d_a - d_y d_b, factored.
        shift = degree_of(start, x) - degree_of(start, y)
        shift *= degree_of(start, b) - degree_of(start, a)
        if abs(product + shift - aim) >= abs(product - aim):
            continue
        # Last, as it reads rows: most proposals are refused for less.
        if linked(start, others, x, b) or linked(start, others, y, a):
            continue
        back_a, back_b = back[one], back[two]
        others[one], others[two], others[back_a], others[back_b] = b, a, y, x
        back[one], back[two], back[back_a], back[back_b] = back_b, back_a, two, one
        product += shift
    return product, made


@kernel
def close_triangles(
    rows: Arrays,
    weight: np.ndarray,
    triangles: tuple[Int, Int],
    clustering: tuple[float, float],
    products: Products,
    proposals: int,
    rng: Generator,
) -> tuple[Int, float, int, int]:
    """Close triangles until there are as many as aimed at.

    Returned are triangles, clustering, product sum and the proposals made. x and y have a common neighbour
    and one label, and are not linked: (x, a) and (y, b) become (x, y) and (a, b). Where clustering runs ahead
    of the triangles on the way to both aims, only light triangles are closed, those of nodes of many edges;
    where it lags, nodes of few edges have their turn too. An aim of clustering below 0: it is left as it is;
    triangles are closed at all nodes alike first, then at hubs.
    """
    start, others = rows[0], rows[1]
    (count, target), (total, wanted), (product, aim, band, steer) = triangles, clustering, products
    nodes, made = start.size - 1, 0
    places, pairs = places_for(start), np.empty((max(1, np.diff(start).max()), 2), np.int32)
    slope = (wanted - total) / max(target - count, 1)  # clustering to gain with each triangle
    begun, limit = total - slope * count, max(slope, TINY)
    while made < proposals and count < target:
        made += 1
        # Above the straight line from where both stood to both aims.
        ahead = wanted >= 0 and (slope <= 0 or total > begun + slope * count)
        heaviest, looks = (limit, AHEAD) if ahead else (np.inf, ALONE)
        if wanted >= 0 and not ahead:
            looks = LAGGING
            heaviest = HEAVY * slope * 2.0 ** (made / (PATIENCE * others.size))
        x = np.int64(rng.random() * nodes)
        # Triangles at x weigh three times x's weight if its neighbours are like it: heavy ones would be
        # refused.
        for _ in range(PICKS if ahead else 0):
            if 3 * weight[x] <= limit:
                break
            x = np.int64(rng.random() * nodes)
        degree = degree_of(start, x)
        few = not ahead and made < TURNS * proposals
        visit = min(degree, VISIT) if few else degree
        mark(start, others, places[0], x)
        met = False
        made += visit
        seed = np.uint64(rng.integers(0, 2**63))
        for number in range(near(rows, x, visit, pairs, seed)):
            if not linkable(places[0], x, pairs[number, 1]):
                continue
            # Numbers below ``visit`` chose the pairs in :func:`near`: the same words must not choose twice.
            steered, own = (product, aim, band, steer), scattered(seed, visit + number)
            move, shift = closing(rows, weight, x, pairs[number], looks, heaviest, steered, own)
            if move[4] < 0:
                continue
            joins = joined(rows, places, move)
            # The best case first: most proposals end here, without b's row being read.
            if most_gained(rows, move, joins) < 0:
                continue
            more = gained(rows, places, move, joins)
            if more <= 0:
                continue
            lost(rows, places, move)
            gain = worth(rows, weight, places, move)
            exchange(rows, places, move)
            met = True
            count, total, product = count + more, total + gain, product + shift
        if ahead:
            # Eased while nothing light enough is met, else it would wait for ever; then tightened again.
            limit = max(slope, limit / EASE, TINY) if met else limit * EASE
    return count, total, product, made


@kernel
def near(rows: Arrays, x: Int, tries: int, pairs: np.ndarray, seed: np.uint64) -> int:
    """Collect pairs (v, y) that may close triangles with x.

    They go into ``pairs``, met by going from x to a neighbour v and on to a neighbour y, in so many
    ``tries``, where x and y may be linked to close triangles; returned is how many. All are looked for before
    the first is linked, as the processor fetches several at once then.
    """
    start, others, _, _, labels, _, circles, hub, begin = rows
    degree, size = degree_of(start, x), 0
    low, high = begin[circles[x]], begin[circles[x] + 1]
    large = degree >= hub
    for number in range(tries):
        drawn = scattered(seed, number)
        # One word for both: its high half chooses v, its low half y.
        v = others[start[x] + _place(drawn >> HALF, degree)]
        y = others[start[v] + _place(drawn, degree_of(start, v))]
        if low <= y < high or (large and labels[y] == labels[x] and degree_of(start, y) >= hub):
            pairs[size, 0], pairs[size, 1] = v, y
            size += 1
    return size


@kernel(inline="always")
def linkable(at: np.ndarray, x: Int, y: Int) -> bool:
    """Tell whether x, whose neighbours are marked, may be linked with y."""
    return y != x and not marked(at, y)


@kernel(inline="always")
def scattered(seed: np.uint64, number: Int) -> np.uint64:
    """Return the random word of that number.

    It is splitmix64 (Steele, Lea, Flood 2014), for a redraw of public values.
    """
    z = seed + np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel(inline="always")
def _place(word: np.uint64, size: Int) -> Int:
    """Choose one of 0 to size - 1 by the low half of a random word."""
    # A product and a shift in place of a remainder: faster, with a bias below size / 2^32.
    return np.int64(((word & LOW) * np.uint64(size)) >> HALF)


@kernel
def closing(
    rows: Arrays,
    weight: np.ndarray,
    x: Int,
    pair: np.ndarray,
    looks: tuple[int, int, bool],
    heaviest: float,
    products: Products,
    seed: np.uint64,
) -> tuple[Move, int]:
    """Propose a move that links x with y.

    It is made if y is no neighbour yet, where ``pair`` is (v, y) as :func:`near` met them; returned too is
    what it does to the product sum; its entries are -1 where there is none. a or b has that label too. No
    triangle is closed that weighs more than ``heaviest``. Of the edges that are looked at, those go that are
    in the smallest share of the triangles that they could be in, or in the fewest; by number, edges to nodes
    of few others go first, and clustering grows less. ``looks``: at how many of x, of y, and whether it goes
    by number.
    """
    start, others, labels, closed = rows[0], rows[1], rows[4], rows[5]
    product, aim, band, steer = products
    degree, by_number = degree_of(start, x), looks[2]
    v, y = pair[0], pair[1]
    nothing = (x, x, x, x, -1, -1), 0
    if weight[x] + weight[v] + weight[y] > heaviest:
        return nothing
    place_a = _poorest(start, others, closed, x, looks[0], by_number, seed)
    a = others[place_a]
    # Without (x, v) the triangle x, v, y is not closed.
    if a == v:
        return nothing
    # Half of the shift d_x d_y + d_a d_b - d_x d_a - d_y d_b = (d_x - d_b)(d_y - d_a).
    grows = degree_of(start, y) - degree_of(start, a)
    best, best_b, best_shift, best_room = -1, -1, 0, 1
    for number in range(looks[1]):
        place = start[y] + _place(scattered(seed, looks[0] + number), degree_of(start, y))
        b = others[place]
        if b in (a, v) or (labels[a] != labels[x] and labels[b] != labels[x]):
            continue
        # How many triangles an edge may be in at most: as many as its end of fewer edges has others.
        room = 1 if by_number else max(min(degree_of(start, y), degree_of(start, b)) - 1, 1)
        # Shares compared by cross-multiplication, in whole numbers.
        if best >= 0 and closed[place] * best_room >= closed[best] * room:
            continue
        shift = (degree - degree_of(start, b)) * grows
        # Within the band, or strictly nearer to the aim.
        if not steer or abs(product + shift - aim) <= max(band, abs(product - aim) - 1):
            best, best_b, best_shift, best_room = place, b, shift, room
            # None is in fewer triangles than none.
            if not closed[place]:
                break
    if best >= 0:
        return (x, np.int64(y), np.int64(a), np.int64(best_b), place_a, best), best_shift
    return nothing


@kernel
def open_triangles(
    rows: Arrays,
    weight: np.ndarray,
    triangles: tuple[Int, Int],
    products: Products,
    proposals: int,
    rng: Generator,
) -> tuple[Int, int, int]:
    """Swap at random until triangles are few enough.

    Swaps lose triangles, until there are as many as aimed at or fewer; returned are triangles, product sum
    and the proposals made.
    """
    start, others = rows[0], rows[1]
    (count, target), (product, aim, band, steer) = triangles, products
    places, made = places_for(start), 0
    while made < proposals and count > target:
        made += 1
        move, shift = swapping(rows, (product, aim, band, steer), rng)
        if move[4] < 0:
            continue
        x = move[0]
        mark(start, others, places[0], x)
        gain = gained(rows, places, move, joined(rows, places, move))
        # No farther below the target than it is above now.
        if gain < 0 and count + gain >= 2 * target - count:
            lost(rows, places, move)
            exchange(rows, places, move)
            count, product = count + gain, product + shift
    return count, product, made


@kernel
def swapping(rows: Arrays, products: Products, rng: Generator) -> tuple[Move, int]:
    """Propose a swap of any two edges of equal label.

    They are (x, a) and (y, b), x and b of one label, no two nodes the same; returned too is what it does to
    the product sum; its entries are -1 where those that were met may not be moved, or are in no triangle.
    """
    start, others, back, first, labels, closed = rows[:6]
    product, aim, band, steer = products
    place_a = np.int64(rng.random() * others.size)
    x, a = np.int64(others[back[place_a]]), np.int64(others[place_a])
    label = labels[x]
    two = first[label] + np.int64(rng.random() * (first[label + 1] - first[label]))
    b, y = np.int64(others[back[two]]), np.int64(others[two])
    nothing = (x, x, x, x, np.int64(-1), np.int64(-1)), 0
    # Edges in no triangle have none to lose.
    if not closed[place_a] + closed[two]:
        return nothing
    if x == y or x == b or a == y or a == b:  # noqa: SIM109 (compiled)
        return nothing
    shift = (degree_of(start, x) - degree_of(start, b)) * (degree_of(start, y) - degree_of(start, a))
    if steer and abs(product + shift - aim) > max(band, abs(product - aim) - 1):
        return nothing
    if linked(start, others, x, y) or linked(start, others, a, b):
        return nothing
    return (x, y, a, b, place_a, np.int64(back[two])), shift


@kernel
def _poorest(
    start: np.ndarray,
    others: np.ndarray,
    closed: np.ndarray,
    v: Int,
    looks: int,
    by_number: bool,
    seed: np.uint64,
) -> Int:
    """Of so many random entries in v's row, the one whose edge is in the fewest triangles, by their number or
    as a share of those that it could be in."""
    degree = degree_of(start, v)
    best: Int = start[v] + _place(scattered(seed, 0), degree)
    room = 0
    for number in range(1, looks):
        # None is in fewer.
        if not closed[best]:
            break
        if not room and not by_number:
            room = max(min(degree, degree_of(start, others[best])) - 1, 1)
        other = start[v] + _place(scattered(seed, number), degree)
        if by_number:
            if closed[other] < closed[best]:
                best = other
            continue
        other_room = max(min(degree, degree_of(start, others[other])) - 1, 1)
        if closed[other] * room < closed[best] * other_room:
            best, room = other, other_room
    return best
