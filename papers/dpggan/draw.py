"""Sampling of one relation's edges.

It goes by its degrees and triangles, its learned scores, or both. With a frame, a graph of the paid degrees
is matched at random, edges exchange ends by a Metropolis walk whose weight is the learned score (and what the
noisy graph says of each pair), and then edges are rewired until the triangles are met: degrees stay exact
throughout. Without one, the paid number of pairs is sampled without replacement by their scores (Gumbel
noise, then the largest): the largest without noise would clump.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.methods._shared.degrees.counts import integers
from core.methods._shared.matching.exact import matched, one_block
from core.methods._shared.matching.pairs import triangle
from core.methods._shared.slots import markov_chain
from core.methods._shared.slots.evidence import flips_of, log_likelihood_ratio
from core.methods._shared.triangles.draw import rewired_to_aims
from core.privacy.entropy import Generator as Rng
from core.privacy.queries import Shape
from papers._shared.blocks.ranks import distinct

if TYPE_CHECKING:
    from core.methods._shared.frame.columns import Columns
    from papers.dpggan.params import LinkParams

Scores = tuple[np.ndarray, np.ndarray]
"""(left, right) float64, a row for each node: a pair's score is the product of its two rows."""

EXACT_NODES = 2000
"""Up to so many nodes every pair is weighed."""
CANDIDATES_AN_EDGE = 16
AT_ONCE = 2**16
BLOCK = 256
FULL_EDGES = 2**15
"""Cells of up to so many edges get their full number of exchanges; beyond, it grows with the square root."""


def draw(columns: Columns, shape: Shape, params: LinkParams, scores: Scores | None, rng: Rng) -> np.ndarray:
    """Draw sorted keys ``low * n + high`` of one graph.

    O(m log m + exchanges + rewirings * degree) with a frame, else O(candidates); O(n + m) memory but for
    universes of up to EXACT_NODES.
    """
    if "degrees" not in columns:
        return by_score(columns, shape, scores, rng)
    degrees = integers(columns["degrees"], rng)
    labels = np.zeros(len(degrees), dtype=np.int64)
    keys = matched(degrees, labels, one_block(int(degrees.sum())), rng)
    if not len(keys):
        return keys
    evidence = _evidence(columns)
    if scores is not None or evidence:
        steps = int(params.exchanges * min(len(keys), np.sqrt(len(keys) * FULL_EDGES)))
        keys = markov_chain.rewired(keys, evidence, shape, steps, rng, score=scores)
    return rewired_to_aims(keys, columns, shape.source_count, params, rng)


def _evidence(columns: Columns) -> Columns:
    return {name: columns[name] for name in ("y", "flips")} if len(columns.get("flips", ())) else {}


def by_score(columns: Columns, shape: Shape, scores: Scores | None, rng: Rng) -> np.ndarray:
    """Sample distinct pairs by their scores.

    There are as many as were paid for, and what the noisy graph says counts too.
    """
    nodes, wanted = shape.source_count, int(columns["count"][0])
    slots = nodes * (nodes - 1) // 2
    evidence = _evidence(columns)
    if not wanted or (scores is None and not evidence):
        return _keys(distinct(np.array([wanted]), np.array([slots]), rng)[1], nodes)
    marked = np.asarray(evidence.get("y", ()), dtype=np.int64)
    ratio = log_likelihood_ratio(flips_of(evidence)) if evidence else 0.0
    few = min(slots, CANDIDATES_AN_EDGE * wanted)
    if nodes <= EXACT_NODES or few == slots:
        keys = _keys(np.arange(slots), nodes)
        value = np.zeros(slots)
    else:  # a uniform pair stands for as many as were not looked at
        others = _keys(distinct(np.array([few]), np.array([slots]), rng)[1], nodes)
        keys = np.union1d(others, marked)
        value = np.where(np.isin(keys, marked, assume_unique=True), 0.0, np.log(slots / few))
    if scores is not None:
        for first in range(0, len(keys), AT_ONCE):
            low, high = np.divmod(keys[first : first + AT_ONCE], nodes)
            value[first : first + AT_ONCE] += np.einsum("ij,ij->i", scores[0][low], scores[1][high])
    if evidence:
        value += ratio * np.isin(keys, marked, assume_unique=True)
    value += rng.gumbel(size=len(keys))
    return np.sort(keys[np.argpartition(-value, wanted - 1)[:wanted]])


def _keys(rank: np.ndarray, nodes: int) -> np.ndarray:
    high, low = triangle(rank)
    keys: np.ndarray = low * np.int64(nodes) + high
    return keys


def largest(scores: Scores, nodes: int, wanted: int) -> np.ndarray:
    """Return sorted keys of the ``wanted`` largest scores, as published. O(n^2 width), n * BLOCK memory."""
    kept, best = np.empty(0, dtype=np.int64), np.empty(0)
    for first in range(0, nodes, BLOCK):
        value = scores[0][first : first + BLOCK] @ scores[1].T
        row = np.arange(first, first + len(value))[:, None]
        place = np.flatnonzero(row < np.arange(nodes)[None, :])
        low, high = np.divmod(place, nodes)
        keys = np.concatenate([kept, (low + first) * np.int64(nodes) + high])
        best = np.concatenate([best, value.ravel()[place]])
        if len(keys) > wanted:
            top = np.argpartition(-best, wanted)[:wanted]
            keys, best = keys[top], best[top]
        kept = keys
    return np.sort(kept)
