"""Directions of a relation, by private power iteration.

Who goes with whom, as a few directions, over a relation's steps put together. Both sides get coordinates, and
a matrix of their products. Four passes sum the coordinates of one side's nodes over the other's edges, under
Gaussian noise; the start is free: relations that are released anyway, and paid degrees. Then weights are
fitted so that graphs with the paid degrees, sampled with exp(product of coordinates) on every pair, have on
average the products that were measured: the graphs of largest entropy that do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from core.methods._shared.relations.budget import proposals_for
from core.methods._shared.slots.markov_chain import rewired
from core.methods.anchored.passes import DIRECTIONS
from core.privacy.accounting.plan import CellKey
from core.privacy.entropy import Generator as Rng
from core.privacy.queries import Shape
from core.privacy.session.private_graph import PrivateGraph

RANK = 4
SKETCH = 8  # random directions, where nothing is known of the targets
FULL_NORM = 0.75  # the quantile of lengths that becomes 1; longer coordinates are cut
ROUNDS, SWEEPS = 40, 3
FIRST_STEP, LATER_STEP, LARGEST_CHANGE = 0.5, 0.25, 1.0
_TINY = 1e-12


@dataclass(frozen=True)
class Directions:
    """Paid-for coordinates.

    ``source`` (sources, r) and ``target`` (targets, r), rows of length at most 1; ``products`` (r, r): over
    all edges, the sum of the outer products of both ends, with noise.
    """

    source: np.ndarray
    target: np.ndarray
    products: np.ndarray


def start(popularity: np.ndarray, layers: Sequence[np.ndarray], rng: Rng) -> np.ndarray:
    """Make start rows for the targets, of length 1 at most.

    All of it is public or paid for; float64 (targets, d).

    ``popularity`` (targets,): paid degrees. ``layers``: matrices (targets, columns) of released relations
    without time, such as a film's genres; without any, random directions stand in.
    """
    parts = [_centred(np.log1p(np.maximum(popularity, 0.0))[:, None])]
    parts += [_centred(np.asarray(layer, dtype=np.float64)) for layer in layers]
    if not layers:
        parts.append(rng.standard_normal((len(popularity), SKETCH)))
    rows = np.hstack(parts)
    # No longer than 1: that is the read's sensitivity to one edge.
    unit: np.ndarray = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
    return unit


def measure(
    graph: PrivateGraph,
    cells: Sequence[CellKey],
    features: np.ndarray,
    degrees: tuple[np.ndarray, np.ndarray],
    multiplier: Fraction,
) -> Directions:
    """Measure coordinates of a relation's two sides over ``cells``.

    The relation is sided; each cell pays PASSES Gaussian events.

    ``features``: those of :func:`start`. ``degrees``: paid degrees of sources and targets, summed over the
    cells. Sensitivity 1 in L2 each: one edge adds one row of length at most 1 to one row of sums. Passes are
    adaptive; each reads coordinates that the passes before have paid for. O(edges * d).
    """

    def read(rows: np.ndarray, side: str) -> np.ndarray:
        return graph.aggregate(rows, cells=cells, side=side, noise_multiplier=multiplier, purpose=DIRECTIONS)

    of_source, of_target = degrees
    noise = float(multiplier) ** 2
    source = _coordinates(read(features, "source"), features, of_source, of_target, noise)
    target = _coordinates(read(source, "target"), source, of_target, of_source, noise)
    source = _coordinates(read(target, "source"), target, of_source, of_target, noise)
    return Directions(source, target, read(source, "target").T @ target)


def fitted_score(
    found: Directions,
    steps: Sequence[tuple[np.ndarray, Mapping[str, np.ndarray]]],
    shape: Shape,
    rng: Rng,
) -> tuple[np.ndarray, np.ndarray]:
    """Fit a swap score to the measured products.

    It is for :func:`core.methods._shared.slots.markov_chain.rewired`.

    ``steps``: for each step, the keys of a graph with its paid degrees, and its evidence (or none). Steps of
    a relation whose pairs occur once keep out of each other's way. The number of rounds is constant.
    """
    keys = [held for held, _ in steps]
    weights = np.zeros_like(found.products)
    size = _spread(found, keys, shape)
    for done in range(ROUNDS):
        score = (found.source @ weights, found.target)
        for i, (_, columns) in enumerate(steps):
            others = [held for j, held in enumerate(keys) if j != i]
            taken = np.concatenate(others) if shape.edge_type.once and others else None
            proposals = proposals_for(len(keys[i]), SWEEPS)
            keys[i] = rewired(keys[i], columns, shape, proposals, rng, taken=taken, score=score)
        # Long steps first: swaps of a round are a noisy answer to the last change.
        step = FIRST_STEP if 2 * done < ROUNDS else LATER_STEP
        # About Newton's step: a sum of products moves with its weight by the sum of squares.
        change = step * (found.products - _products(found, keys, shape)) / size
        weights += np.clip(change, -LARGEST_CHANGE, LARGEST_CHANGE)
    return found.source @ weights, found.target


def _coordinates(
    sums: np.ndarray, features: np.ndarray, degrees: np.ndarray, others: np.ndarray, noise: float
) -> np.ndarray:
    """Reduce what sums have beyond their expectation to RANK directions; rows of length at most 1."""
    degrees = np.maximum(np.asarray(degrees, dtype=np.float64), 0)
    mean = others @ features / max(float(np.sum(others)), 1.0)
    # Chance spreads a sum of d rows by about d, and noise adds its own variance: like spread for all nodes.
    beyond = (sums - degrees[:, None] * mean) / np.sqrt(degrees + noise)[:, None]
    _, _, axes = np.linalg.svd(beyond, full_matrices=False)
    rows = beyond @ axes[:RANK].T
    lengths = np.linalg.norm(rows, axis=1)
    # Most rows become shorter than 1: cut ones would lose how far they lie out.
    rows /= max(float(np.quantile(lengths, FULL_NORM)), _TINY)
    unit: np.ndarray = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
    return unit


def _products(found: Directions, keys: Sequence[np.ndarray], shape: Shape) -> np.ndarray:
    """Sum the outer products over the edges of all steps."""
    source, target = np.divmod(np.concatenate(keys), shape.target_count)
    products: np.ndarray = found.source[source].T @ found.target[target]
    return products


def _spread(found: Directions, keys: Sequence[np.ndarray], shape: Shape) -> np.ndarray:
    """Estimate how far a sum of products moves with its weight: the sum of squared products."""
    source, target = np.divmod(np.concatenate(keys), shape.target_count)
    squares = np.square(found.source[source]).T @ np.square(found.target[target])
    spread: np.ndarray = np.maximum(squares, _TINY + 1e-3 * len(source))
    return spread


def _centred(columns: np.ndarray) -> np.ndarray:
    """Standardise columns to mean 0 and standard deviation 1."""
    spread = columns.std(axis=0)
    centred: np.ndarray = (columns - columns.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return centred
