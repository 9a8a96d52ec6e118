"""The fit of ``profiles``: one relation's reads and columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.methods._shared.degrees.counts import to_total
from core.methods._shared.frame.columns import Columns
from core.methods.profiles.budget import Read, gives_classes
from core.methods.profiles.columns import (
    clip_of,
    public_columns,
    single_things,
    singled_out,
    whitened,
)
from core.methods.profiles.draw import Drawing, Frame, persons_of
from core.methods.profiles.law import gaussian_law, smooth_counts
from core.methods.profiles.params import CLIP_QUANTILE, PURE_QUANTILE, ProfilesParams
from core.methods.profiles.persons import Active, active_bins, activity_counts, degree_bins
from core.methods.profiles.structure import fitted_tastes
from core.privacy.accounting.events import Pure
from core.privacy.entropy import Generator as Rng
from core.privacy.reads.people_things import MOST_RADIUS, Noise, Noisy, PeopleAndThings
from core.privacy.session.private_graph import PrivateGraph

MOST_SPREAD = 4.0
COMMON = 0.1
"""Squared relative spread of a thing's edges over periods, beyond chance, where the noise hides it."""
DOUBT = 0.03
"""By how much persons' histograms may be off about a period's share of all edges."""
FIT_SWEEPS = 3.0
MOST_EDGES = 2**18
"""Of the graph on which tastes are tried."""
_EMPTY = np.empty(0)


class Relation:
    """One relation while it is read and fitted."""

    def __init__(
        self,
        graph: PrivateGraph,
        reads: PeopleAndThings,
        frame: Frame,
        noise: Mapping[str, Noise],
        params: ProfilesParams,
        rng: Rng,
    ) -> None:
        self._graph, self._reads, self._frame = graph, reads, frame
        self._noise, self._params, self._rng = noise, params, rng
        self._name = frame.shape.edge_type.name
        self.bound = 1
        """Persons of more edges are clipped in sums over things; known once it is fitted."""

    def fitted(self) -> Columns:
        """Read and fit the relation's columns. See :class:`core.methods.profiles.model.ProfilesModel`."""
        found = {"degrees": _EMPTY, "activity": _EMPTY, "classes": _EMPTY, "things": _EMPTY, "tastes": _EMPTY}
        if gives_classes(self._graph.schema, self._frame.shape.edge_type):
            classes = self._reads.class_histogram(self._name, **self._paid("classes"))
            counts = to_total(classes.values, self._frame.persons, self._frame.persons)
            return {**found, "classes": counts, "activity": self._activity(counts[0])}
        bounds = degree_bins(self._frame.most_degree)
        histogram = self._reads.degree_histogram(self._name, bounds=bounds, **self._paid("degrees"))
        found["degrees"] = smooth_counts(
            histogram.values, histogram.deviation, self._frame.persons, bounds, self._frame.most_degree
        )
        found["activity"] = self._activity(found["degrees"][0])
        active = persons_of(self._frame, found, self._rng)
        things = self._things(active)
        found["things"] = things.ravel()
        if self._granted("structure") is not None:
            found["tastes"] = self._tastes(active, things).ravel()
        return found

    def _activity(self, idle: float) -> np.ndarray:
        """Read when persons begin and how many steps they use; nothing where the relation has no steps."""
        if self._granted("activity") is None:
            return _EMPTY
        bounds, periods = active_bins(self._frame.steps), self._frame.periods
        found = self._reads.activity_histogram(
            self._name, periods=periods, bounds=bounds, **self._paid("activity")
        )
        return activity_counts(found.values, found.deviation, periods, bounds, idle, self._frame.persons)

    def _things(self, active: Active) -> np.ndarray:
        """Read and fit what things have in every period; int64 (things, periods)."""
        degrees = np.bincount(active.person, weights=active.edges)
        busy = np.sort(degrees[degrees > 0])
        pure = isinstance(self._granted("totals"), Pure)
        quantile = self._params.clip_quantile or (PURE_QUANTILE if pure else CLIP_QUANTILE)
        most = MOST_RADIUS if pure else 2**30
        bound = int(np.clip(np.quantile(busy, quantile), 1, most)) if len(busy) else 1
        self.bound = bound
        total = float(busy.sum())
        # What clipping leaves: all but D of a person's edges go (L1), or the root of D d counts (L2).
        mass = float(np.minimum(busy, bound if pure else np.sqrt(bound * busy)).sum())
        undone = total / max(mass, 1.0)  # what clipping took
        together = np.zeros_like(self._all_periods())
        read = self._reads.thing_totals(self._name, periods=together, bound=bound, **self._paid("totals"))
        totals = self._ranked(read.values[:, 0] * undone, read.deviation * undone, total)
        if self._granted("steps") is None:
            return totals[:, None]
        read = self._reads.thing_totals(
            self._name, periods=self._all_periods(), bound=bound, **self._paid("steps")
        )
        period = self._frame.periods[active.step]
        persons = np.bincount(period, weights=active.edges, minlength=read.values.shape[1]) / max(total, 1.0)
        return self._in_periods(totals, read.values * undone, read.deviation * undone, persons)

    def _all_periods(self) -> np.ndarray:
        """Return the period of every step of the schema's grid; zeros for a relation without time."""
        if self._frame.timed:
            return self._frame.periods
        return np.zeros(self._graph.schema.steps, dtype=np.int64)

    def _ranked(self, noisy: np.ndarray, deviation: float, total: float) -> np.ndarray:
        """Give the quantiles of the things' law to the things in their noisy order; int64."""
        law = gaussian_law(noisy, deviation, total / len(noisy), self._frame.most_total)
        # Ties at random: the order of things must not say which has more.
        order = np.lexsort((self._rng.random(len(noisy)), noisy))
        found = np.empty(len(noisy))
        found[order] = law.quantiles(len(noisy))
        return found

    def _in_periods(
        self, totals: np.ndarray, noisy: np.ndarray, deviation: float, persons: np.ndarray
    ) -> np.ndarray:
        """Share the things' totals over periods; a thing's own shares as far as the noise lets them be seen.

        ``persons``: the shares of the periods that persons' paid histograms give, where the table's own sums
        are too noisy to tell.
        """
        own = noisy.sum(axis=0) / max(float(totals.sum()), 1.0)
        noise = len(noisy) * deviation**2 / max(float(totals.sum()), 1.0) ** 2
        # The table's own sums as far as their noise is less than what histograms may be off.
        share = np.maximum(persons + (own - persons) * DOUBT**2 / (DOUBT**2 + noise), 0.0)
        mean = totals[:, None] * (share / max(float(share.sum()), 1e-12))
        off = noisy - mean
        # How far a thing's shares are its own: by the cells where it could show, drawn to what is common.
        weight = np.square(mean)
        size = max(float(np.square(weight).sum()), 1e-12)
        # Squares beyond the noise's and Poisson's variance, which is the mean.
        beyond = float((weight * (np.square(off) - deviation**2 - mean)).sum()) / size
        doubt = 2 * deviation**4 / size
        spread = max(beyond * COMMON**2 + COMMON * doubt, 0.0) / (COMMON**2 + doubt)
        variance = mean + min(spread, MOST_SPREAD) * weight
        believed = variance / np.maximum(variance + deviation**2, 1e-12)
        centre = np.maximum(mean + believed * off, 0.0)
        return _counts(centre, variance * (1 - believed), self._rng)

    def _tastes(self, active: Active, things: np.ndarray) -> np.ndarray:
        """Read and fit how tastes count; float64 (things, r). Of a large relation some persons are drawn."""
        columns = public_columns(self._graph, self._reads, self._frame.shape.edge_type, self._graph.schema)
        paid_for, totals = self._paid("structure"), things.sum(axis=1)
        noise = float(paid_for["noise"])
        count = singled_out(columns.shape[1], self._frame.persons, self._frame.things, noise)
        attributes = whitened(np.hstack([columns, single_things(totals, count)]), totals)
        if not attributes.shape[1]:
            return np.zeros((self._frame.things, 0))
        clip = clip_of(attributes.shape[1])
        paid: Noisy = self._reads.second_moments(self._name, attributes=attributes, clip=clip, **paid_for)
        part = min(1.0, MOST_EDGES / max(float(active.edges.sum()), 1.0))
        few = active.of_first(max(1, int(part * self._frame.persons)))  # persons stand in a random order
        drawing = Drawing(self._frame, few, things, self._rng)
        return fitted_tastes(paid, attributes, drawing, clip, FIT_SWEEPS, part)

    def _granted(self, what: str) -> Noise | None:
        return self._noise.get(Read(self._name, what, 0.0).purpose)

    def _paid(self, what: str) -> dict[str, Any]:
        """Name what a read pays: its noise, as the plan grants it, and its purpose."""
        purpose = Read(self._name, what, 0.0).purpose
        return {"noise": self._noise[purpose], "purpose": purpose}


def _counts(mean: np.ndarray, variance: np.ndarray, rng: Rng) -> np.ndarray:
    """Draw whole numbers of these means and, about, variances: Poisson's on top of what is certain where the
    variance is below the mean, negative binomial where it is above; int64."""
    certain = np.floor(np.maximum(mean - variance, 0.0))
    left = mean - certain
    beyond = np.maximum(variance - left, 0.0)
    shape = np.where(beyond > 0, np.square(left) / np.maximum(beyond, 1e-9), 1.0)
    # A gamma rate under Poisson's law: negative binomial, of the variance that is wanted.
    rate = np.where(beyond > 0, rng.gamma(np.maximum(shape, 1e-6)) * left / np.maximum(shape, 1e-6), left)
    counts_drawn: np.ndarray = (certain + rng.poisson(np.minimum(rate, 2.0**40))).astype(np.int64)
    return counts_drawn
