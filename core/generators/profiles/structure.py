"""What kinds of things persons prefer: public attributes of things, and random tastes of persons for them.

The paid second moments of persons' profiles say along which directions of the attributes persons differ, and
by how much more than chance makes them. In a draw every person has a random coordinate in each such
direction; how much it counts is set so that drawn persons' profiles have the paid moments. Post-processing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from core.generators.profiles.budget import thing_of
from core.graphs.schema import EdgeType, GraphSchema
from core.privacy.entropy import public_generator
from core.privacy.people_things import on_attribute_grid, profiles

if TYPE_CHECKING:
    from core.generators.profiles.draw import Drawing
    from core.privacy.people_things import Noisy, PeopleAndThings
    from core.privacy.private_graph import PrivateGraph

MOST_COLUMNS = 32
SKETCH = 16
"""Columns of public facts beyond MOST_COLUMNS are put down to so many random sums of them."""
MOST_CLASSES = 4096
FLOOR = 0.02
"""Least share of the largest variance by which a direction is divided."""
ROUNDS = 10
START, MOST_WEIGHT = 0.3, 6.0
FAST, SLOW = 0.5, 0.35
MARGIN = 1.1
RADIUS = 2**10


def clip_of(columns: int) -> float:
    """Return the length to which profiles are cut: 1.5 times that of a person without preferences."""
    return 1.5 * float(np.sqrt(columns))


def public_columns(
    graph: PrivateGraph, reads: PeopleAndThings, relation: EdgeType, schema: GraphSchema
) -> np.ndarray:
    """Collect what public columns and public relations say of the relation's things; float64 (things, d).

    d may be 0. More than MOST_COLUMNS of them are put down to SKETCH sums of random signs, which are public.
    """
    thing = thing_of(schema, relation)
    count = graph.node_count(thing)
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


def whitened(columns: np.ndarray, popularity: np.ndarray) -> np.ndarray:
    """Centre and scale columns so that things drawn by ``popularity`` have mean 0 and covariance about 1."""
    if not columns.shape[1]:
        return columns
    spread = columns.std(axis=0)
    columns = columns[:, spread > 0] / spread[spread > 0]
    weight = np.maximum(popularity, 0) + 1e-6
    weight = weight / weight.sum()
    columns = columns - weight @ columns
    values, vectors = (
        np.linalg.eigh(columns.T * weight @ columns) if columns.shape[1] else (np.ones(0), columns)
    )
    kept = values > FLOOR * values.max(initial=0)
    return columns @ (vectors[:, kept] / np.sqrt(values[kept]))


def fitted_tastes(
    paid: Noisy, attributes: np.ndarray, drawing: Drawing, clip: float, sweeps: float, part: float
) -> np.ndarray:
    """Fit weighted directions (things, r): what a person's standard normal coordinates are multiplied by.

    ``drawing``: a graph without preferences of a ``part`` of the persons, which is swapped towards them. A
    direction is kept where the paid moments exceed those of that graph by more than chance and noise
    together would make the largest eigenvalue. The number of rounds is constant.
    """
    rows = on_attribute_grid(attributes, len(attributes))

    def moments() -> np.ndarray:
        found = profiles(drawing.edges(), rows, clip, RADIUS).astype(np.float64) / RADIUS
        return found.T @ found / part

    width = attributes.shape[1]
    null = moments()
    values, vectors = np.linalg.eigh(paid.values - null)
    chance = float(np.sqrt(max(len(np.unique(drawing.edges().person)), 1))) / part / clip**2
    edge = float(np.hypot(paid.deviation, chance)) * float(np.sqrt(2 * width))
    kept = values > MARGIN * edge
    if not kept.any():
        return np.zeros((len(attributes), 0))
    found, axes = values[kept], vectors[:, kept]
    wanted = (found + np.sqrt(np.maximum(found**2 - edge**2, 0.0))) / 2
    base = np.einsum("ik,ij,jk->k", axes, null, axes)
    weight = np.full(len(wanted), START)
    for turn in range(ROUNDS):
        drawing.swap(attributes @ axes * weight, sweeps)
        excess = np.einsum("ik,ij,jk->k", axes, moments(), axes) - base
        ratio = wanted / np.maximum(excess, 0.1 * wanted)
        weight = np.minimum(weight * ratio ** (FAST if 2 * turn < ROUNDS else SLOW), MOST_WEIGHT)
    return attributes @ axes * weight
