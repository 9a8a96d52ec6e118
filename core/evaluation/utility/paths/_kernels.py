"""Bit-parallel breadth-first search. It takes 512 sources at a time, eight words of 64 bits a node."""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel

WORDS = 8
SOURCES = 64 * WORDS
# A frontier with less than this share of all edges pushes to its neighbours; a larger one is pulled from.
_PUSH_SHARE = 16
# What an edge pushed along costs beside one that is pulled from: measured, roughly.
_PUSH_PRICE = 4
# After so many neighbours, a pulling node checks whether every source has reached it.
_STRIDE = 4


@kernel(inline="always")
def _ones(x: np.uint64) -> np.int64:
    # The number of set bits, by sums of ever wider neighbouring fields.
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def csr(node_count: int, u: np.ndarray, v: np.ndarray, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Build the adjacency of (u, v), node i renamed place[i].

    It is int64 row starts, int32 columns. O(n + m).
    """
    start = np.zeros(node_count + 2, dtype=np.int64)
    for e in range(len(u)):
        # Counted two places on: filling moves each start to the end of its row, so that starts come out in
        # place.
        start[place[u[e]] + 2] += 1
        start[place[v[e]] + 2] += 1
    for i in range(2, node_count + 2):
        start[i] += start[i - 1]
    columns = np.empty(2 * len(u), dtype=np.int32)
    for e in range(len(u)):
        a, b = place[u[e]], place[v[e]]
        columns[start[a + 1]] = b
        columns[start[b + 1]] = a
        start[a + 1] += 1
        start[b + 1] += 1
    return start[:-1], columns


@kernel
def _push(
    start: np.ndarray,
    columns: np.ndarray,
    queue: np.ndarray,
    length: int,
    frontier: np.ndarray,
    following: np.ndarray,
    mark: np.ndarray,
    stamp: int,
    touched: np.ndarray,
) -> int:
    count = 0
    for i in range(length):
        w = queue[i]
        for e in range(start[w], start[w + 1]):
            x = columns[e]
            if mark[x] != stamp:
                mark[x] = stamp
                touched[count] = x
                count += 1
            for k in range(WORDS):
                following[x, k] |= frontier[w, k]
    return count


@kernel
def _pull(
    start: np.ndarray,
    columns: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    full: np.ndarray,
    seen: np.ndarray,
    frontier: np.ndarray,
    following: np.ndarray,
    touched: np.ndarray,
) -> int:
    count = 0
    heard = np.empty(WORDS, dtype=np.uint64)
    for part in range(len(low)):
        for x in range(low[part], high[part]):
            missing = np.uint64(0)
            for k in range(WORDS):
                heard[k] = 0
                missing |= full[part, k] & ~seen[x, k]
            # Every source of this part that can reach x has done so.
            if missing == 0:
                continue
            e, last = start[x], start[x + 1]
            while missing != 0 and e < last:
                # Some neighbours at a time: to ask after each of them costs more than it saves.
                stop = min(e + _STRIDE, last)
                while e < stop:
                    w = columns[e]
                    for k in range(WORDS):
                        heard[k] |= frontier[w, k]
                    e += 1
                missing = np.uint64(0)
                for k in range(WORDS):
                    missing |= full[part, k] & ~(seen[x, k] | heard[k])
            touched[count] = x
            count += 1
            for k in range(WORDS):
                following[x, k] = heard[k]
    return count


@kernel
def _settle(
    start: np.ndarray,
    touched: np.ndarray,
    count: int,
    seen: np.ndarray,
    following: np.ndarray,
    queue: np.ndarray,
    arrived: np.ndarray,
) -> tuple[int, int, np.int64]:
    """Keep in ``following`` what is new, and queue its nodes: their number, degrees and bits."""
    length, work, arrivals = 0, 0, np.int64(0)
    counting = len(arrived) > 0
    for i in range(count):
        x = touched[i]
        here = np.int64(0)
        for k in range(WORDS):
            new = following[x, k] & ~seen[x, k]
            following[x, k] = new
            seen[x, k] |= new
            here += _ones(new)
            if counting:
                while new != 0:
                    # The lowest new bit less one: as many ones as its place.
                    below = (new & (~new + np.uint64(1))) - np.uint64(1)
                    arrived[64 * k + _ones(below)] += 1
                    new &= new - np.uint64(1)
        if here:
            queue[length] = x
            length += 1
            work += start[x + 1] - start[x]
            arrivals += here
    return length, work, arrivals


@kernel
def spread(
    start: np.ndarray,
    columns: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    full: np.ndarray,
    sources: np.ndarray,
    bits: np.ndarray,
    words: np.ndarray,
    lists: np.ndarray,
    counts: np.ndarray,
    sums: np.ndarray,
    reached: np.ndarray,
) -> tuple[int, int]:
    """Run one batch of searches.

    Returned are the largest distance, and the work in edge visits; ``counts`` gains pairs by distance. Node
    ranges ``low[i]..high[i]`` are the components that hold a source; ``full[i]`` has the bits of their
    sources. ``sources[j]`` starts with bit ``bits[j]``; components may share bits. ``sums`` and ``reached``,
    where not empty, get every bit's sum of distances and nodes reached. ``words`` (3, n, 8) and ``lists`` (3,
    n) are scratch. A level costs the frontier's edges, or at most one pass over all of them.
    """
    seen, frontier, following = words[0], words[1], words[2]
    queue, touched, mark = lists[0], lists[1], lists[2]
    total = 0
    for part in range(len(low)):
        for x in range(low[part], high[part]):
            mark[x] = -1
            for k in range(WORDS):
                seen[x, k] = 0
                frontier[x, k] = 0
                following[x, k] = 0
        total += start[high[part]] - start[low[part]]
    length, work, visited = 0, 0, 0
    for j in range(len(sources)):
        bit = np.uint64(1) << np.uint64(bits[j] % 64)
        seen[sources[j], bits[j] // 64] |= bit
        frontier[sources[j], bits[j] // 64] |= bit
        queue[length] = sources[j]
        length += 1
        work += start[sources[j] + 1] - start[sources[j]]
    counts[0] += len(sources)
    arrived = np.zeros(len(sums), dtype=np.int64)
    distance = 0
    while True:
        # Whichever is cheaper at this level (Beamer, Asanovic, Patterson, SC 2012).
        if _PUSH_SHARE * work < total:
            visited += _PUSH_PRICE * work
            count = _push(start, columns, queue, length, frontier, following, mark, distance, touched)
        else:
            visited += total
            count = _pull(start, columns, low, high, full, seen, frontier, following, touched)
        # Only nodes of the frontier have bits there: clearing costs no more than they do.
        for i in range(length):
            for k in range(WORDS):
                frontier[queue[i], k] = 0
        arrived[:] = 0
        length, work, arrivals = _settle(start, touched, count, seen, following, queue, arrived)
        if arrivals == 0:
            return distance, visited
        distance += 1
        counts[distance] += arrivals
        for j in range(len(sums)):
            sums[j] += distance * arrived[j]
            reached[j] += arrived[j]
        frontier, following = following, frontier


@kernel
def levels(start: np.ndarray, columns: np.ndarray, roots: np.ndarray) -> np.ndarray:
    """Compute every node's distance to the nearest root.

    The result is int32; -1 where none is reached. O(n + m).
    """
    distance = np.full(len(start) - 1, -1, dtype=np.int32)
    queue = np.empty(len(start) - 1, dtype=np.int32)
    tail = 0
    for root in roots:
        distance[root] = 0
        queue[tail] = root
        tail += 1
    head = 0
    while head < tail:
        w = queue[head]
        head += 1
        for e in range(start[w], start[w + 1]):
            x = columns[e]
            if distance[x] < 0:
                distance[x] = distance[w] + 1
                queue[tail] = x
                tail += 1
    return distance
