"""Columns of numbers that tell a relation's things apart.

They are public ones, and one for each of some things. Public facts and post-processing.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from core.graphs.schema import EdgeType, GraphSchema
from core.methods.profiles.budget import CLIP, MOST_COLUMNS, SKETCH, WORTH, thing_of
from core.privacy.entropy import public_generator
from core.privacy.reads.people_things import PeopleAndThings
from core.privacy.session.private_graph import PrivateGraph

MOST_CLASSES = 4096
FLOOR = 0.02
"""Least share of the largest variance by which a direction is divided."""
MOST_SINGLE = 192
MOST_ENTRIES = 2**24
"""Of all columns of all things: they are kept in memory."""


def clip_of(columns: int) -> float:
    """Return the length to which profiles are cut."""
    return CLIP * float(np.sqrt(columns))


def public_columns(
    graph: PrivateGraph, reads: PeopleAndThings, relation: EdgeType, schema: GraphSchema
) -> np.ndarray:
    """Collect what is public of the relation's things.

    It is in public columns and public relations; float64 (things, d). d may be 0. More than MOST_COLUMNS of
    them are put down to SKETCH sums of random signs, which are public.
    """
    thing = thing_of(schema, relation)
    count = graph.node_count(thing)
    # Public signs, the same for each release: what is summed up is public too.
    signs = public_generator(0)
    wide: list[np.ndarray] = []
    for values in graph.attributes(thing).public().values():
        wide.append(_numbers(values, count))
    pairs = []
    for each in schema.edge_types:
        if not each.public or thing not in (each.source, each.target):
            continue
        source, target = reads.public_pairs(each.name)
        if each.source == thing:
            pairs.append((source, target, graph.node_count(each.target)))
        if each.target == thing:
            pairs.append((target, source, graph.node_count(each.source)))
    total = sum(part.shape[1] for part in wide) + sum(width for _, _, width in pairs)
    if total <= MOST_COLUMNS:
        for own, other, width in pairs:
            column = np.zeros((count, width))
            column[own, other] = 1.0
            wide.append(column)
        return np.hstack([np.zeros((count, 0)), *wide])
    found = np.zeros((count, SKETCH))
    for part in wide:
        found += (
            (part - part.mean(axis=0))
            / (part.std(axis=0) + 1e-9)
            @ signs.standard_normal((part.shape[1], SKETCH))
        )
    for own, other, width in pairs:
        sketch = signs.standard_normal((width, SKETCH))
        for k in range(SKETCH):
            found[:, k] += np.bincount(own, weights=sketch[other, k], minlength=count)
    return found


def _numbers(values: np.ndarray | pa.Array, count: int) -> np.ndarray:
    """Convert a public column to numbers: categories to one column for each, what is missing to 0."""
    if isinstance(values, pa.Array):
        if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
            codes = values.dictionary_encode()
            width = min(len(codes.dictionary), MOST_CLASSES)
            index = codes.indices.to_numpy(zero_copy_only=False)
            known = np.flatnonzero(np.nan_to_num(np.asarray(index, dtype=np.float64), nan=-1.0) >= 0)
            index = np.asarray(index, dtype=np.float64)[known].astype(np.int64)
            found = np.zeros((count, width))
            found[known[index < width], index[index < width]] = 1.0
            return found
        values = values.to_numpy(zero_copy_only=False)
    numbers = np.asarray(values, dtype=np.float64).reshape(count, -1)
    return np.clip(np.nan_to_num(numbers, nan=0.0, posinf=0.0, neginf=0.0), -1e30, 1e30)


def singled_out(width: int, persons: int, things: int, noise_multiplier: float) -> int:
    """Choose how many things get a column of their own.

    It is in addition to ``width`` public ones; a rule of public facts. The largest eigenvalue of the noise
    grows as the number of columns to the power of 3/2: its deviation by the square of the clip. What persons
    have in common grows as their number. Columns are added while the one is at most WORTH times the other:
    none for few persons, or for a small epsilon.
    """
    # The width at which noise, by width^1.5, is WORTH times what that many persons have in common.
    seen = (WORTH * persons / (2 * CLIP**2 * noise_multiplier)) ** (2 / 3)
    room = min(MOST_SINGLE, things, MOST_ENTRIES // max(things, 1) - width)
    return max(int(min(seen - width, room)), 0)


def single_things(totals: np.ndarray, count: int) -> np.ndarray:
    """Give the ``count`` things with the most edges a column. They are by paid ``totals``; (things, k)."""
    chosen = np.argsort(-totals, kind="stable")[:count]
    found = np.zeros((len(totals), len(chosen)))
    found[chosen, np.arange(len(chosen))] = 1.0
    return found


def whitened(columns: np.ndarray, popularity: np.ndarray) -> np.ndarray:
    """Centre and scale columns over things weighted by popularity.

    Those sampled by ``popularity`` have mean 0 and covariance about 1. Columns that differ hardly but among
    things that nobody has are left out.
    """
    # A hair for things without edges, so that no column is divided by 0.
    weight = np.maximum(popularity, 0) + 1e-6
    weight = weight / weight.sum()
    columns = columns[:, columns.std(axis=0) > 0]
    if not columns.shape[1]:
        return columns
    even, columns = columns.var(axis=0), columns - weight @ columns
    spread = weight @ np.square(columns)
    signal = spread / even
    kept = signal > FLOOR * min(1.0, float(signal.max()))
    columns = columns[:, kept] / np.sqrt(spread[kept])
    values, vectors = np.linalg.eigh(columns.T * weight @ columns)
    kept = values > FLOOR * values.max()
    white: np.ndarray = columns @ (vectors[:, kept] / np.sqrt(values[kept]))
    return white
