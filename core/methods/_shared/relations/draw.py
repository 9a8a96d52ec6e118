"""Sampling of one cell's edges, after earlier steps.

It takes its columns, and what the relation's earlier steps took.
"""

from __future__ import annotations

import numpy as np

from core.methods._shared.frame.columns import Columns
from core.methods._shared.relations import static
from core.methods._shared.relations.affinity import score
from core.methods._shared.relations.budget import proposals_for
from core.methods._shared.relations.params import AnchoredParams
from core.methods._shared.relations.stubs import completed, joined, matched
from core.methods._shared.slots import markov_chain
from core.privacy.entropy import Generator as Rng
from core.privacy.queries import Shape


class Relation:
    """One relation while its steps are sampled, in order.

    It keeps what the declared facts make them share.

    ``once``: pairs of earlier steps are taken. ``functional``: a source keeps the target that it got first.
    """

    def __init__(self, shape: Shape, params: AnchoredParams) -> None:
        self._shape = shape
        self._params = params
        self._once = shape.edge_type.once
        self._taken = np.empty(0, dtype=np.int64)
        self._score: tuple[np.ndarray, np.ndarray] | None = None  # of all steps; the first one's columns
        functional = shape.edge_type.functional
        self._target = np.full(shape.source_count, -1, dtype=np.int64) if functional else None

    def draw(self, columns: Columns, rng: Rng) -> np.ndarray:
        """Sample the next step.

        The result is sorted int64 keys, ``source * targets + target`` or ``low * n + high``. As many edges as
        the paid count, fewer only where the declared facts leave no room. Expected O(m log m + proposals).
        """
        if not len(columns.get("count", ())):
            return static.draw(columns, self._shape, self._params.proposals_per_edge, rng)
        if len(columns.get("score_source", ())):
            sides = self._shape.source_count, self._shape.target_count
            left, right = columns["score_source"], columns["score_target"]
            self._score = left.reshape(sides[0], -1), right.reshape(sides[1], -1)
        if len(columns.get("affinity", ())):
            self._score = score(columns)
        taken = self._taken if self._once else None
        # By degrees first: the chain needs a graph with the right ones to begin with.
        keys = self._matched(columns, rng)
        if len(columns.get("flips", ())) or self._score is not None:
            proposals = proposals_for(int(columns["count"][0]), self._params.proposals_per_edge)
            keys = markov_chain.rewired(
                keys, columns, self._shape, proposals, rng, taken=taken, score=self._score
            )
        return self._kept(keys)

    def base(self, columns: Columns, rng: Rng) -> np.ndarray:
        """Sample as :meth:`draw`, by the step's degrees only. Not for cells of the static recipe."""
        return self._kept(self._matched(columns, rng))

    def _kept(self, keys: np.ndarray) -> np.ndarray:
        """Return the keys as they are, which later steps keep clear of where pairs occur once."""
        if self._once:
            self._taken = joined(self._taken, keys)
        return keys

    def _matched(self, columns: Columns, rng: Rng) -> np.ndarray:
        """Match a graph with the step's degrees, to its count."""
        if self._target is not None:
            return self._functional(columns, rng)
        source = columns["source_degrees"]
        target = None if self._shape.undirected else columns["target_degrees"]
        taken = self._taken if self._once else None
        keys = matched(source, target, self._shape, rng, taken=taken)
        return completed(keys, source, target, self._shape, int(columns["count"][0]), rng, taken=taken)

    def _functional(self, columns: Columns, rng: Rng) -> np.ndarray:
        """Give each source one target at most over all steps; with ``once``, one edge at most."""
        assert self._target is not None
        active = np.flatnonzero(columns["source_degrees"])
        known = self._target[active] >= 0
        kept, fresh = active[known], active[~known]
        # Sources that have their target use up its degree before any fresh one is matched.
        left = columns["target_degrees"] - np.bincount(self._target[kept], minlength=self._shape.target_count)
        degrees = np.zeros(self._shape.source_count, dtype=np.int64)
        degrees[fresh] = 1
        keys = matched(degrees, np.maximum(left, 0), self._shape, rng)
        keys = joined(keys, self._spread(np.setdiff1d(fresh, keys // self._shape.target_count), columns, rng))
        source, target = np.divmod(keys, self._shape.target_count)
        self._target[source] = target
        # Who had an edge before has had its only one.
        if self._once:
            return keys
        return joined(keys, kept * self._shape.target_count + self._target[kept])

    def _spread(self, sources: np.ndarray, columns: Columns, rng: Rng) -> np.ndarray:
        """Draw a target for each of ``sources``, for whom none was left, by the targets' degrees."""
        # One more than the degree: targets without any are left a chance, so that the sum is never 0.
        steps = np.cumsum(columns["target_degrees"] + 1)
        target = np.searchsorted(steps, rng.integers(0, steps[-1], len(sources)), side="right")
        keys = sources * self._shape.target_count + target
        return keys[sources != target] if self._shape.edge_type.homogeneous else keys
