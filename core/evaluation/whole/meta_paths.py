"""Meta-paths: frequencies of node type sequences.

How often each occurs along simple paths of 2, 3 and 4 nodes. Edges are undirected, a path visits no node
twice, and a path and its reverse are one: both graphs are counted alike. Shares are taken within one length.
A path's name reads from the type that is declared first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from core.evaluation.utility import relative
from core.evaluation.whole.layers import Layer
from core.late import late

Path = tuple[int, ...]
Counts = dict[Path, float]

_by_types = late("core.evaluation.whole._typed_triangles:by_types")

LENGTHS = (2, 3, 4)
# The number of types along four nodes grows with the fourth power; a public rule.
MAX_TYPES_OF_FOUR = 8
MAX_LISTED = 4096
_CHUNK = 1 << 18


def lengths_of(kinds: int) -> tuple[int, ...]:
    """Choose the path lengths counted for so many types. One type has no meta-paths to compare."""
    if kinds < 2:
        return ()
    return LENGTHS if kinds <= MAX_TYPES_OF_FOUR else LENGTHS[:2]


def counts(layer: Layer, length: int) -> Counts:
    """Count simple paths of ``length`` nodes by types.

    The counts are float64; meta-paths without a path are left out. 2 and 3 nodes: O(n types + m). 4 nodes:
    O(m (types^2 + arboricity)).
    """
    of_length = {2: _edges, 3: _wedges, 4: _fours}[length]
    by_path: Counts = {}
    for path, count in of_length(layer):
        path = min(path, path[::-1])
        by_path[path] = by_path.get(path, 0.0) + count
    return {path: count for path, count in by_path.items() if count}


def _edges(layer: Layer) -> Iterator[tuple[Path, float]]:
    for pair, (u, _) in layer.edges.items():
        yield pair, float(len(u))


def _wedges(layer: Layer) -> Iterator[tuple[Path, float]]:
    degrees = layer.typed_degrees
    for (centre, a), to_a in degrees.items():
        for (other, b), to_b in degrees.items():
            if other != centre or b < a:
                continue
            # Two different neighbours of one type, or one of each.
            ends = float(to_a @ (to_a - 1)) / 2 if a == b else float(to_a @ to_b)
            yield (a, centre, b), ends


def _fours(layer: Layer) -> Iterator[tuple[Path, float]]:
    """Count paths x-u-v-y around every middle edge u-v: pairs of their neighbours, less those they share."""
    neighbours: dict[int, list[int]] = {}
    for a, b in layer.typed_degrees:
        neighbours.setdefault(a, []).append(b)
    closed = _closed(layer)
    for (b, c), (u, v) in layer.edges.items():
        table = _around(layer, (b, c), u, v, neighbours)
        for i, a in enumerate(neighbours[b]):
            for j, d in enumerate(neighbours[c]):
                if b == c and a != d and i > j:
                    continue  # a middle edge within one type: a-b-b-d and d-b-b-a are one meta-path
                both = float(table[i, j] + table[j, i]) if b == c and a != d else float(table[i, j])
                yield (a, b, c, d), both - (closed.get((b, c, a), 0.0) if a == d else 0.0)


def _around(
    layer: Layer, middle: tuple[int, int], u: np.ndarray, v: np.ndarray, neighbours: dict[int, list[int]]
) -> np.ndarray:
    """Count in ``[i, j]`` pairs of u's neighbours of type i and v's of type j, over all middle edges u-v."""
    b, c = middle
    left = np.stack([layer.typed_degrees[b, a] for a in neighbours[b]], axis=1)
    right = np.stack([layer.typed_degrees[c, d] for d in neighbours[c]], axis=1)
    # u's neighbours count v where it is of their type, and v's count u: neither is an end of the path.
    less_left = np.array([float(a == c) for a in neighbours[b]])
    less_right = np.array([float(d == b) for d in neighbours[c]])
    total = np.zeros((left.shape[1], right.shape[1]))
    for low in range(0, len(u), _CHUNK):
        part = slice(low, low + _CHUNK)
        total += (left[u[part]] - less_left).T @ (right[v[part]] - less_right)
    return total


def _closed(layer: Layer) -> dict[Path, float]:
    """Count in ``[b, c, a]`` triangles over edges between types b <= c whose third corner has type a."""
    view, kinds = layer.view, len(layer.layout.names)
    order = np.argsort(view.degrees, kind="stable")
    rank = np.empty(view.node_count, dtype=np.int32)
    rank[order] = np.arange(view.node_count, dtype=np.int32)
    kind = np.repeat(np.arange(kinds), layer.layout.counts)
    triangles = _by_types(view.node_count, view.u, view.v, rank, kind, kinds)
    closed: dict[Path, float] = {}
    for corners in np.argwhere(triangles):
        a, b, c = (int(corner) for corner in corners)
        for key in ((b, c, a), (a, c, b), (a, b, c)):  # one entry for each edge of the triangle
            closed[key] = closed.get(key, 0.0) + float(triangles[a, b, c])
    return closed


def shares(found: Counts) -> Counts | None:
    """Compute every meta-path's share among paths of its length. None without a path."""
    total = sum(found.values())
    return {path: count / total for path, count in found.items()} if total else None


def total_variation(original: Counts | None, synthetic: Counts | None) -> float | None:
    """Compute ``1/2 sum |p - q|`` of two share tables.

    It is 1 where only one has paths, None where neither has.
    """
    if original is None or synthetic is None:
        return None if original is synthetic else 1.0
    paths = set(original) | set(synthetic)
    return sum(abs(original.get(path, 0.0) - synthetic.get(path, 0.0)) for path in paths) / 2


def listed(
    names: tuple[str, ...], gathered: dict[int, tuple[list[Counts | None], list[Counts | None]]]
) -> list[dict[str, Any]]:
    """Average shares over steps, commonest in the original first.

    The report shows them as bars. ``gathered[length]`` holds a share table a step for either graph. At most
    4096 meta-paths.
    """
    rows = []
    for length, (ours, theirs) in gathered.items():
        paths = sorted({path for table in (*ours, *theirs) if table for path in table})
        found: list[dict[str, Any]] = [
            {
                "path": "-".join(names[kind] for kind in path),
                "length": length,
                "original": _mean_share(ours, path),
                "synthetic": _mean_share(theirs, path),
            }
            for path in paths
        ]
        rows += sorted(found, key=lambda row: (-(row["original"] or 0.0), -(row["synthetic"] or 0.0)))
    return rows[:MAX_LISTED]


def _mean_share(tables: list[Counts | None], path: Path) -> float | None:
    share = relative.mean([table.get(path, 0.0) for table in tables if table is not None])
    return None if share is None else min(share, 1.0)
