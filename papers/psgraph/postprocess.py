"""Post-processing to the paid-for number of edges.

Edges are added or removed until the graph has it (PSGraph, post-processing step). The list holds two entries
per node, the gap between wanted and sampled degree inside and outside its community. It is walked once,
largest gap first: the step ends when the count is met or the list is used up.
"""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel
from core.methods._shared.matching.keyset import add, table_for
from core.privacy.entropy import Generator as Rng

TRIALS = 8  # tries per missing edge before an entry is left: a full neighbourhood must not stall the walk


def post_process(
    keys: np.ndarray,
    labels: np.ndarray,
    d_in: np.ndarray,
    d_out: np.ndarray,
    edges: int,
    rng: Rng,
) -> np.ndarray:
    """Add or remove edges up to ``edges``.

    It is met where the gaps allow it; sorted keys.

    ``keys``: sorted int64 ``low * n + high`` of a simple graph; ``d_in``, ``d_out``: wanted degrees (n,).
    O((n + m) log m). Reads noisy values only.
    """
    missing = edges - len(keys)
    if missing == 0 or len(labels) < 2:
        return keys
    nodes = len(labels)
    low, high = np.divmod(keys, nodes)
    same = labels[low] == labels[high]
    drawn = np.stack([_degrees(low, high, same, nodes), _degrees(low, high, ~same, nodes)])
    gap = np.stack([d_in, d_out]) - drawn
    entries = np.argsort(-gap.ravel() if missing > 0 else gap.ravel(), kind="stable")
    seed = rng.integers(2**63)
    if missing > 0:
        order = np.argsort(labels, kind="stable")
        start = np.searchsorted(labels[order], np.arange(int(labels.max()) + 2))
        added = _add(keys, labels, order, start, gap, entries, missing, np.uint64(seed))
        return np.sort(np.concatenate([keys, added]))
    incident = _incidence(low, high, same, nodes, rng)
    kept = _remove(low, high, same, *incident, gap, entries, -missing)
    remaining: np.ndarray = keys[kept]
    return remaining


def _degrees(low: np.ndarray, high: np.ndarray, mask: np.ndarray, nodes: int) -> np.ndarray:
    ends = np.concatenate([low[mask], high[mask]])
    return np.bincount(ends, minlength=nodes).astype(np.float64)


def _incidence(
    low: np.ndarray, high: np.ndarray, same: np.ndarray, nodes: int, rng: Rng
) -> tuple[np.ndarray, np.ndarray]:
    """Sort edges by entry (node inside, then node outside), at random within each; return starts too."""
    edge = rng.permutation(len(low))
    edge = np.concatenate([edge, edge])
    half = len(low)
    node = np.concatenate([low[edge[:half]], high[edge[half:]]])
    entry = np.where(same[edge], node, node + nodes)
    order = np.argsort(entry, kind="stable")
    start = np.searchsorted(entry[order], np.arange(2 * nodes + 1))
    return edge[order], start


@kernel
def _next(state: np.ndarray) -> np.uint64:
    # splitmix64 (Steele, Lea, Flood 2014): a redraw of public values, never noise.
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word: np.uint64 = z ^ (z >> np.uint64(31))
    return word


@kernel
def _add(
    keys: np.ndarray,
    labels: np.ndarray,
    order: np.ndarray,
    start: np.ndarray,
    gap: np.ndarray,
    entries: np.ndarray,
    missing: int,
    seed: np.uint64,
) -> np.ndarray:
    nodes = len(labels)
    table = table_for(missing + 1)
    added = np.empty(missing, dtype=np.int64)
    count = 0
    state = np.empty(1, dtype=np.uint64)
    state[0] = seed
    for entry in entries:
        if count == missing:
            break
        kind, v = entry // nodes, entry % nodes
        own, own_end = start[labels[v]], start[labels[v] + 1]
        candidates = own_end - own if kind == 0 else nodes - (own_end - own)
        wanted = np.int64(np.rint(gap[kind, v]))
        if wanted <= 0 or candidates == 0:
            continue
        trials = TRIALS * wanted + TRIALS
        while wanted > 0 and trials > 0 and count < missing:
            trials -= 1
            place = np.int64(_next(state) % np.uint64(candidates))
            if kind == 0:
                place += own
            elif place >= own:
                place += own_end - own
            u = order[place]
            key = min(u, v) * nodes + max(u, v)
            if u == v:
                continue
            found = np.searchsorted(keys, key)
            if (found < len(keys) and keys[found] == key) or not add(table, key):
                continue
            added[count] = key
            count += 1
            wanted -= 1
            gap[kind, v] -= 1
            gap[kind, u] -= 1
    return added[:count]


@kernel
def _remove(
    low: np.ndarray,
    high: np.ndarray,
    same: np.ndarray,
    incident: np.ndarray,
    start: np.ndarray,
    gap: np.ndarray,
    entries: np.ndarray,
    surplus: int,
) -> np.ndarray:
    nodes = gap.shape[1]
    kept = np.ones(len(low), dtype=np.bool_)
    for entry in entries:
        if surplus == 0:
            break
        kind, v = entry // nodes, entry % nodes
        unwanted = np.int64(np.rint(-gap[kind, v]))
        for place in range(start[entry], start[entry + 1]):
            if unwanted <= 0 or surplus == 0:
                break
            edge = incident[place]
            if not kept[edge]:
                continue
            kept[edge] = False
            surplus -= 1
            unwanted -= 1
            gap[kind, low[edge]] += 1
            gap[kind, high[edge]] += 1
    return kept
