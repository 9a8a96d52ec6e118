"""Sampling of one relation from paid tables. Persons' steps, things' degrees, ends matched, ends swapped."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from core.methods._shared.degrees.sides import summing_to
from core.methods._shared.frame.columns import Columns
from core.methods._shared.relations.budget import proposals_for
from core.methods._shared.relations.stubs import completed, joined, matched
from core.methods._shared.slots import markov_chain
from core.methods.profiles.persons import (
    Active,
    active_bins,
    degree_bins,
    degrees_from,
    periods_of,
    spread_over_steps,
)
from core.privacy.entropy import Generator as Rng
from core.privacy.queries import Shape
from core.privacy.reads.people_things import Edges

_NONE: Mapping[str, np.ndarray] = {}


class Frame:
    """The public frame of a relation. Its shape, on which side persons are, and its steps."""

    def __init__(self, shape: Shape, persons_first: bool, steps: int) -> None:
        self.shape, self.persons_first = shape, persons_first
        self.timed = shape.edge_type.temporal
        self.steps = steps if self.timed else 1
        both = shape.source_count, shape.target_count
        self.persons, self.things = both if persons_first else both[::-1]
        self.repeated = self.timed and not shape.edge_type.once
        self.periods = periods_of(self.steps, self.things)

    @property
    def most_degree(self) -> int:
        """Return a person's largest degree over all steps."""
        return self.things * (self.steps if self.repeated else 1)

    @property
    def most_total(self) -> int:
        """Return a thing's largest degree over all steps."""
        one = self.shape.edge_type.functional and not self.persons_first
        return (1 if one else self.persons) * (self.steps if self.repeated else 1)

    def sides(self, persons: np.ndarray, things: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Order what belongs to persons and things by relation. It is put in the relation's own order."""
        return (persons, things) if self.persons_first else (things, persons)

    def ends(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Split keys into (person, thing)."""
        source, target = np.divmod(keys, self.shape.target_count)
        return self.sides(source, target)

    def keys(self, person: np.ndarray, thing: np.ndarray) -> np.ndarray:
        """Join the ends of pairs to keys."""
        source, target = self.sides(person, thing)
        slots: np.ndarray = source * self.shape.target_count + target
        return slots


def persons_of(frame: Frame, columns: Columns, rng: Rng) -> Active:
    """Sample persons' numbers of edges by step. Persons are in a random order."""
    bounds = degree_bins(frame.most_degree)
    ascending = degrees_from(columns["degrees"], bounds, frame.most_degree, rng)
    degrees = np.zeros(frame.persons, dtype=np.int64)
    degrees[: len(ascending)] = ascending[: frame.persons]
    degrees = rng.permutation(degrees)
    if not len(columns["activity"]):
        person = np.flatnonzero(degrees)
        return Active(person, np.zeros(len(person), dtype=np.int64), degrees[person])
    return spread_over_steps(degrees, columns["activity"], frame.periods, active_bins(frame.steps), rng)


class Drawing:
    """A relation's edges in every step, while ends are swapped. Persons keep their coordinates."""

    def __init__(self, frame: Frame, active: Active, things: np.ndarray, rng: Rng) -> None:
        """Match persons' ends and things': ``things`` (things, periods), what they have in a period."""
        self.frame, self._rng = frame, rng
        self.keys: list[np.ndarray] = []
        order = np.argsort(active.step, kind="stable")
        cuts = np.searchsorted(active.step[order], np.arange(frame.steps + 1))
        taken = np.empty(0, dtype=np.int64)
        left = None
        if frame.shape.edge_type.functional and not frame.persons_first:
            left = np.ones(frame.things, dtype=np.int64)
        for step in range(frame.steps):
            own = order[cuts[step] : cuts[step + 1]]
            degrees = np.zeros(frame.persons, dtype=np.int64)
            degrees[active.person[own]] = np.minimum(active.edges[own], frame.things)
            found = self._matched(degrees, things[:, frame.periods[step]], taken, left)
            # A pair that occurs once over time is out of reach for all later steps.
            if not frame.repeated and frame.timed:
                taken = joined(taken, found)
            if left is not None:
                left[frame.ends(found)[1]] = 0
            self.keys.append(found)
        self.normal = np.zeros((frame.persons, 0))

    def _matched(
        self, degrees: np.ndarray, mass: np.ndarray, taken: np.ndarray, left: np.ndarray | None
    ) -> np.ndarray:
        """Draw one step: every person's degree, things' degrees in proportion to ``mass``."""
        wanted = int(degrees.sum())
        most = self.frame.persons if left is None else 1
        if left is not None:
            mass = mass * left
            wanted = min(wanted, int(left.sum()))
        if not mass.any():
            mass = np.ones(len(mass)) if left is None else left.astype(np.float64)
        sides = self.frame.sides(degrees, summing_to(mass, wanted, most, self._rng))
        shape, rng = self.frame.shape, self._rng
        keys = matched(*sides, shape, rng, taken=taken)
        if left is not None:
            return keys
        return completed(
            keys, *sides, shape, min(wanted, self.frame.persons * self.frame.things), rng, taken=taken
        )

    def swap(self, directions: np.ndarray, proposals_per_edge: float) -> None:
        """Swap ends by tastes. ``directions`` (things, r) times a person's coordinates are log odds."""
        width = directions.shape[1]
        if not width:
            return
        # Coordinates that persons have stay: only further directions get new ones.
        if self.normal.shape[1] < width:
            more = self._rng.standard_normal((self.frame.persons, width - self.normal.shape[1]))
            self.normal = np.hstack([self.normal, more])
        score = self.frame.sides(self.normal[:, :width], directions)
        for step, keys in enumerate(self.keys):
            # What other steps hold must stay theirs where a pair occurs once.
            others = [held for j, held in enumerate(self.keys) if j != step]
            taken = joined(*others) if others and not self.frame.repeated else None
            proposals = proposals_for(len(keys), proposals_per_edge)
            self.keys[step] = markov_chain.rewired(
                keys, _NONE, self.frame.shape, proposals, self._rng, taken=taken, score=score
            )

    def edges(self) -> Edges:
        """Return the sampled edges as persons have them."""
        person, thing = self.frame.ends(np.concatenate(self.keys))
        step = np.repeat(np.arange(self.frame.steps), [len(keys) for keys in self.keys])
        return Edges(person, thing, step, self.frame.persons, self.frame.things)
