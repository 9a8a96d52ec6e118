"""Reads of unit ``node`` where persons meet things. They are histograms of persons, clipped sums over them.

One type of nodes is protected, the *persons*; every relation that is read links a person to a thing.
Neighbours differ in one person: all of its edges, in every relation and step, are replaced by any others.
Each read is a sum over persons of what one person's edges say by themselves, so that the neighbours' answers
differ by a - b, one person's part before and after. Relations among persons may stand beside; no read here
looks at them.

Bounds, in units of a radius R that is an integer: both parts have L2 norm at most R, and <a, b> >= 0. So
|a - b|^2 = |a|^2 + |b|^2 - 2<a, b> <= 2 R^2, which is what every read here is noised for.

In L1 both parts have norm at most R too where noise is Laplace, so |a - b| <= 2 R: a histogram's part is one
entry of R, and a clipped vector is scaled down by its sum then, not by its length.

Parts are integers from their making on: a person's vector is cut to the grid towards zero, its norm is
checked in integers, and sums of integers do not depend on their order. What scales a person's vector is
computed from that person's edges, element by element; no value depends on who stands beside it. Sizes of
what is returned follow from the public schema and from arguments. Noise, of a multiplier: discrete Gaussian
of a standard deviation that is an integer of at least multiplier sqrt(2) R grid steps, independent in every
entry (Canonne, Kamath, Steinke 2020, Theorem 14); of a pure event: discrete Laplace of scale 2 R / epsilon
(:mod:`core.privacy.mechanisms.noise`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from core.errors import InvalidInput, NotAccepted
from core.graphs.columns.tables import EdgeTable
from core.graphs.graph import Graph
from core.graphs.schema import EdgeType
from core.graphs.schema.value_bins import bins_of
from core.graphs.views.records import asked_for, each_alone, numbered
from core.privacy import entropy, limits, queries
from core.privacy.accounting.events import NANO, GaussianEvent, Pure, positive_fraction
from core.privacy.accounting.measurements import deviation
from core.privacy.accounting.meter import Meter
from core.privacy.accounting.plan import WHOLE_GRAPH
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.mechanisms import samplers
from core.privacy.mechanisms.aggregation import scale_of
from core.privacy.units import Unit

ATTRIBUTE_GRAIN = 2**12
"""Attributes of things are whole multiples of one over this, ..."""
MOST_ATTRIBUTE = 2**8
"""... and at most this: a person's sums stay exact in 53 bits."""
MOST_COLUMNS = 256
PERSONS_AT_ONCE = 2**12
MOST_RADIUS, STEPS_OF_AN_EDGE = 2**19, 2**8
"""Under Laplace noise: the largest radius in grid steps, and into how many an edge is divided below it."""

Noise = Fraction | float | Pure
"""A multiplier of Gaussian noise, or what discrete Laplace noise may cost."""


@dataclass(frozen=True)
class Edges:
    """One relation as persons have it. It has ``person``, ``thing`` and ``step`` (0 without time) of every
    edge."""

    person: np.ndarray
    thing: np.ndarray
    step: np.ndarray
    persons: int
    things: int

    @property
    def degrees(self) -> np.ndarray:
        """Every person's number of edges, over all steps; int64 (persons,)."""
        return np.bincount(self.person, minlength=self.persons)


@dataclass(frozen=True)
class Noisy:
    """Noisy sums over persons, and their noise. It is given by the standard deviation of the noise in each of
    them."""

    values: np.ndarray
    deviation: float


class PeopleAndThings:
    """The reads of persons and things. Made by ``PrivateGraph.people_and_things``, under unit NODE only."""

    def __init__(self, graph: Graph, meter: Meter) -> None:
        if meter.plan.unit is not Unit.NODE:
            raise NotAccepted("persons and things are read under unit node", field="unit")
        protected = graph.schema.protected_type
        if protected is None:
            raise NotAccepted("unit node needs a protected node type", field="schema.node_types")
        self._graph, self._meter = graph, meter
        self._schema = graph.schema
        self.person_type: str = protected.name

    def public_pairs(self, relation: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of a public relation's edges: (source, target), copies. Free."""
        if not self._declared(relation).public:
            raise NotAccepted(f"{relation!r} is protected", field="edge_type")
        table = self._graph.edges[relation]
        return table.source.astype(np.int64), table.target.astype(np.int64)

    def degree_histogram(self, relation: str, *, bounds: np.ndarray, noise: Noise, purpose: str) -> Noisy:
        """Count the persons by degree, over all steps. Entry i has those of bounds[i] <= degree < bounds[i +
        1].

        ``bounds``: ascending integers from 0, public; the last entry holds all above. Degrees are not cut.

        Sensitivity: L1 2, L2 sqrt(2). Unit: all edges of one person, replaced.
        Proof: a person stands in one entry, with 1; see :mod:`core.privacy.reads.people_things`, R = 1.
        """
        cuts = _bounds(bounds, 0)
        return self._counted(relation, len(cuts), noise, purpose, lambda edges: _place(cuts, edges.degrees))

    def activity_histogram(
        self,
        relation: str,
        *,
        periods: np.ndarray,
        bounds: np.ndarray,
        noise: Noise,
        purpose: str,
    ) -> Noisy:
        """Count persons by first period and active steps. Counted is by the period of their first edge, and
        by in how many steps they have any.

        (1 + periods * bins,): entry 0 the persons without edges, then period by period. ``periods`` (steps,):
        the period 0, 1, ... of every step, ascending; ``bounds``: ascending integers from 1, of which bin i
        begins with bounds[i]. Both public.

        Sensitivity: L1 2, L2 sqrt(2). Unit: all edges of one person, replaced.
        Proof: a person stands in one entry, with 1; see :mod:`core.privacy.reads.people_things`, R = 1.
        """
        cuts, of_step = _bounds(bounds, 1), self._periods(periods)

        def places(edges: Edges) -> np.ndarray:
            first, active = activity(edges, len(of_step))
            # Persons without an edge have no first step; the next line puts them into entry 0.
            entry = 1 + of_step[np.minimum(first, len(of_step) - 1)] * len(cuts) + _place(cuts, active)
            return np.where(active > 0, entry, 0)

        size = 1 + (int(of_step[-1]) + 1) * len(cuts)
        return self._counted(relation, size, noise, purpose, places)

    def class_histogram(self, relation: str, *, noise: Noise, purpose: str) -> Noisy:
        """Count persons by their first thing. It is that of a relation, in index order; (1 + things,).

        Entry 0 counts those without. Of a functional relation it is the only one.

        Sensitivity: L1 2, L2 sqrt(2). Unit: all edges of one person, replaced.
        Proof: a person stands in one entry, with 1; see :mod:`core.privacy.reads.people_things`, R = 1.
        """
        things = self._sizes(relation)[1]

        def places(edges: Edges) -> np.ndarray:
            first = np.full(edges.persons, things, dtype=np.int64)
            np.minimum.at(first, edges.person, edges.thing)
            return np.where(first < things, first + 1, 0)

        return self._counted(relation, 1 + things, noise, purpose, places)

    def thing_totals(
        self,
        relation: str,
        *,
        periods: np.ndarray,
        bound: int,
        noise: Noise,
        purpose: str,
    ) -> Noisy:
        """Sum edges of clipped persons by thing and period. They are persons whose vectors are clipped;
        (things, periods).

        A person's vector has, for every thing and period, the number of its edges there; where its length is
        above sqrt(bound), the whole vector is scaled down to it; under Laplace noise where its sum is above
        ``bound``. ``periods`` (steps,): see
        :meth:`activity_histogram`; zeros put all steps together. ``bound`` is public or already paid for.

        Sensitivity: L2 sqrt(2 bound) edges; L1 2 bound under Laplace noise. Unit: all edges of one person,
        replaced.
        Proof: vectors have no negative entries and norm at most R after :func:`clipped_weights`, and sum at
        most R after :func:`clipped_parts`; see :mod:`core.privacy.reads.people_things`.
        """
        of_step = self._periods(periods)
        if type(bound) is not int or not 1 <= bound <= 2**40:
            raise InvalidInput("a bound is a positive integer", field="bound")
        things, count = self._sizes(relation)[1], int(of_step[-1]) + 1

        def points(edges: Edges, radius: int) -> np.ndarray:
            return clipped_totals(
                edges, of_step[edges.step], count, bound, radius, pure=isinstance(noise, Pure)
            )

        noisy, radius = self._noisy(relation, things * count, noise, purpose, points, bound)
        full = full_weight(bound, radius, pure=isinstance(noise, Pure))
        return Noisy(noisy.values.reshape(things, count) / full, noisy.deviation / full)

    def value_totals(
        self,
        relation: str,
        attribute: str | None,
        *,
        things: np.ndarray,
        periods: np.ndarray,
        labels: np.ndarray,
        bound: int,
        noise: Noise,
        purpose: str,
    ) -> Noisy:
        """Sum the records of clipped persons. Their vectors are clipped by what they carry; (things, periods,
        labels).

        A person's vector has, for every label of a thing, period and label of a bin, the number of its
        records there, and is clipped as for :meth:`thing_totals`. ``things`` (things,), ``labels`` (bins,):
        labels from 0 on; ``periods``: see :meth:`activity_histogram`. ``attribute`` None: an edge is one
        record, which carries how many it has. Labels and ``bound`` are public or already paid for.

        Sensitivity: L2 sqrt(2 bound) records; L1 2 bound under Laplace noise. Unit: all edges of one person,
        with all that they carry, replaced.
        Proof: as of :meth:`thing_totals`; a record lies in one entry, and is one person's.
        """
        of_step, bins = self._periods(periods), bins_of(asked_for(self._declared(relation), attribute))
        of_thing, rows = queries.check_labels(things, self._sizes(relation)[1], None, "things")
        of_bin, count = queries.check_labels(labels, bins.count, None, "labels")
        if type(bound) is not int or not 1 <= bound <= 2**40:
            raise InvalidInput("a bound is a positive integer", field="bound")
        columns = (int(of_step[-1]) + 1) * count

        def points(_: Edges, radius: int) -> np.ndarray:
            table = self._graph.edges[relation]
            records = numbered(table) if attribute is None else each_alone(table)
            held = {} if records.values is None else records.values.columns
            place = of_bin[bins.places(held.get(bins.attribute.name, np.zeros(0, dtype=np.int32)))]
            persons = self._as_persons(relation, records)
            grouped = replace(persons, thing=of_thing[persons.thing], things=rows)
            column = of_step[persons.step] * count + place
            return clipped_totals(grouped, column, columns, bound, radius, pure=isinstance(noise, Pure))

        noisy, radius = self._noisy(relation, rows * columns, noise, purpose, points, bound)
        full = full_weight(bound, radius, pure=isinstance(noise, Pure))
        return Noisy(noisy.values.reshape(rows, -1, count) / full, noisy.deviation / full)

    def second_moments(
        self,
        relation: str,
        *,
        attributes: np.ndarray,
        clip: float,
        noise: Noise,
        purpose: str,
    ) -> Noisy:
        """Sum z z' over persons. z is the profile of a person's things over ``clip``; symmetric (d, d).

        ``attributes`` (things, d): finite, public or already paid for. A profile is the sum of the attributes
        of a person's edges over the root of their number, cut to length ``clip``; see :func:`profiles`.

        Sensitivity: L2 sqrt(2) in such units. Unit: all edges of one person, replaced.
        Proof: |z z'| = |z|^2 <= R, and <z z', y y'> = (z'y)^2 >= 0; see
        :mod:`core.privacy.reads.people_things`. The mean of an entry and its mirror image is post-processing.
        """
        if not (math.isfinite(clip) and clip > 0):
            raise InvalidInput("a clip is a positive number", field="clip")
        if isinstance(noise, Pure):
            raise NotAccepted(
                "second moments are read under Gaussian noise, which needs a delta", field="delta"
            )
        rows = on_attribute_grid(attributes, self._sizes(relation)[1])
        width = rows.shape[1]

        def points(edges: Edges, radius: int) -> np.ndarray:
            # z z' is as long as z's length squared: z is cut to the root of R, so that z z' stays within R.
            return summed_moments(edges, rows, clip, math.isqrt(radius))

        noisy, radius = self._noisy(relation, width * width, noise, purpose, points)
        matrix = noisy.values.reshape(width, width) / math.isqrt(radius) ** 2
        return Noisy((matrix + matrix.T) / 2, noisy.deviation / math.isqrt(radius) ** 2)

    def _counted(
        self,
        relation: str,
        size: int,
        noise: Noise,
        purpose: str,
        places: Callable[[Edges], np.ndarray],
    ) -> Noisy:
        """Count persons by the place in 0..size-1 that their own edges put them in."""

        def points(edges: Edges, radius: int) -> np.ndarray:
            return np.bincount(places(edges), minlength=size) * radius

        noisy, radius = self._noisy(relation, size, noise, purpose, points)
        return Noisy(noisy.values / radius, noisy.deviation / radius)

    def _noisy(
        self,
        relation: str,
        size: int,
        noise: Noise,
        purpose: str,
        points: Callable[[Edges, int], np.ndarray],
        bound: int = 1,
    ) -> tuple[Noisy, int]:
        """Charge, then noise ``points(edges, R)``; in grid steps, and R.

        They move by at most sqrt(2) R in L2; by 2 R in L1 where noise is pure, R being some steps for each of
        ``bound`` edges.
        """
        limits.check_values(size)
        event: GaussianEvent | Pure
        if isinstance(noise, Pure):
            # Several steps for each edge: parts of clipped persons lose little on the grid.
            event, radius = noise, 1 if bound == 1 else max(bound, min(MOST_RADIUS, STEPS_OF_AN_EDGE * bound))
            limits.check_sensitivity(2 * radius)
        else:
            event = GaussianEvent(positive_fraction(noise, "noise"))
            radius, scale = scale_of(2 * event.noise_multiplier**2)
        sides = self._sizes(relation)
        # Paid before an edge is looked at.
        self._meter.charge(WHOLE_GRAPH, None, event, purpose)
        values = np.ascontiguousarray(points(self._edges(relation, *sides), radius).ravel(), dtype=np.int64)
        if isinstance(event, Pure):
            noisy = mechanisms.discrete_laplace(values, 2 * radius, event.nano_epsilon)
            return Noisy(noisy, deviation(Fraction(2 * radius * NANO, event.nano_epsilon))), radius
        noisy = samplers.add_discrete_gaussian_wide(entropy.noise_generator(), values, scale)
        return Noisy(noisy, float(scale)), radius

    def _declared(self, relation: str) -> EdgeType:
        try:
            return self._schema.edge_type(relation)
        except KeyError:
            raise InvalidInput(f"no edge type {relation!r} is declared", field="edge_type") from None

    def _sizes(self, relation: str) -> tuple[int, int]:
        """Look up how many persons and things a protected relation may link. Public."""
        declared = self._declared(relation)
        if declared.public:
            raise NotAccepted(f"{relation!r} is public, and is not measured", field="edge_type")
        if (declared.source == self.person_type) == (declared.target == self.person_type):
            raise NotAccepted(
                f"{relation!r} does not have exactly one end at {self.person_type!r}",
                field=f"schema.edge_types.{relation}",
            )
        thing = declared.target if declared.source == self.person_type else declared.source
        return self._graph.nodes[self.person_type].count, self._graph.nodes[thing].count

    def _periods(self, periods: np.ndarray) -> np.ndarray:
        found = np.asarray(periods)
        steps = self._schema.steps
        if found.shape != (steps,) or not np.issubdtype(found.dtype, np.integer):
            raise InvalidInput(f"periods are {steps} integers, one for each step", field="periods")
        if found[0] != 0 or not np.isin(np.diff(found), (0, 1)).all():
            raise InvalidInput("periods ascend from 0 without a gap", field="periods")
        return found.astype(np.int64)

    def _edges(self, relation: str, persons: int, things: int) -> Edges:
        return self._as_persons(relation, self._graph.edges[relation])

    def _as_persons(self, relation: str, table: EdgeTable) -> Edges:
        """Name persons, things and steps of the table's rows."""
        declared, (persons, things) = self._declared(relation), self._sizes(relation)
        ends = table.source.astype(np.int64), table.target.astype(np.int64)
        person, thing = ends if declared.source == self.person_type else ends[::-1]
        step = np.zeros(len(person), np.int64) if table.step is None else table.step.astype(np.int64)
        return Edges(person, thing, step, persons, things)


def activity(edges: Edges, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Find each person's first step and active steps. The first is that with an edge (``steps`` without any),
    and active ones are counted; int64."""
    first = np.full(edges.persons, steps, dtype=np.int64)
    np.minimum.at(first, edges.person, edges.step)
    # A step counts once for a person, however many edges it has there.
    held = np.unique(edges.person * steps + edges.step)
    return first, np.bincount(held // steps, minlength=edges.persons)


def clipped_weights(squared: np.ndarray, bound: int, radius: int) -> np.ndarray:
    """Compute what one edge of each person counts, in grid steps; int64.

    ``squared``: the squared lengths of the persons' vectors, integers. The weight w is the largest integer
    with w^2 max(squared, bound) <= radius^2, so that no weighted vector is longer than ``radius``: checked
    in integers, whatever the root's rounding.
    """
    most = radius**2 // np.maximum(squared, bound)
    found = np.sqrt(most.astype(np.float64)).astype(np.int64)
    # The root of a float may be off by one, either way.
    found -= found**2 > most
    roots: np.ndarray = found + ((found + 1) ** 2 <= most)
    return roots


def clipped_parts(sums: np.ndarray, bound: int, radius: int) -> np.ndarray:
    """Compute what one edge of each person counts, in grid steps; int64.

    ``sums``: the persons' numbers of edges, none of whom counts for more than ``radius`` in all.
    """
    parts: np.ndarray = radius // np.maximum(sums, bound)
    return parts


def full_weight(bound: int, radius: int, *, pure: bool) -> int:
    """Return the weight of an unclipped person's edge. It is in grid steps."""
    return max(radius // bound if pure else math.isqrt(radius**2 // bound), 1)


def clipped_totals(
    edges: Edges, period: np.ndarray, periods: int, bound: int, radius: int, *, pure: bool = False
) -> np.ndarray:
    """Sum the weighted edges of every thing and period; int64 (things * periods,). O(edges log edges).

    ``pure``: clipped by sums, for Laplace noise; else by lengths.
    """
    columns = edges.things * periods
    place = edges.thing * periods + period
    held, times = np.unique(edges.person * columns + place, return_counts=True)
    person, place = np.divmod(held, max(columns, 1))
    # All are integers below 2^53: sums in floating point are exact, in any order.
    each = times.astype(np.float64) if pure else np.square(times.astype(np.float64))
    size = np.bincount(person, weights=each, minlength=edges.persons).astype(np.int64)
    weight = clipped_parts(size, bound, radius) if pure else clipped_weights(size, bound, radius)
    return np.bincount(place, weights=weight[person] * times, minlength=columns).astype(np.int64)


def on_attribute_grid(attributes: np.ndarray, things: int) -> np.ndarray:
    """Round attributes to multiples of 1 / ATTRIBUTE_GRAIN, held within MOST_ATTRIBUTE; int64 (things, d)."""
    values = np.asarray(attributes, dtype=np.float64)
    if values.ndim != 2 or len(values) != things or not 1 <= values.shape[1] <= MOST_COLUMNS:
        raise InvalidInput(f"attributes are {things} rows of 1 to {MOST_COLUMNS} numbers", field="attributes")
    if not np.isfinite(values).all():
        raise InvalidInput("attributes are finite", field="attributes")
    return np.rint(np.clip(values, -MOST_ATTRIBUTE, MOST_ATTRIBUTE) * ATTRIBUTE_GRAIN).astype(np.int64)


def profiles(edges: Edges, rows: np.ndarray, clip: float, radius: int) -> np.ndarray:
    """Compute each person's profile in grid steps. It is of length at most ``radius``; int64 (persons, d).

    ``rows``: those of :func:`on_attribute_grid`. The sum of the rows of a person's edges, over the root of
    their number and over ``clip``, cut to length 1, times ``radius``, towards zero. Lengths are checked in
    integers; a row that is still too long is cut by a little more, and is zero at last. Every operation is
    exact, or works element by element on one person's numbers. O(edges * d).
    """
    # A person's sum of integers below 2^20 is exact in floating point, in any order.
    shape = edges.persons, edges.things
    held = sp.csr_array((np.ones(len(edges.person)), (edges.person, edges.thing)), shape=shape)
    over = np.sqrt(np.maximum(edges.degrees, 1).astype(np.float64)) * (clip * ATTRIBUTE_GRAIN)
    scaled = (held @ rows.astype(np.float64)) / over[:, None]
    squared = np.zeros(edges.persons)
    for k in range(rows.shape[1]):  # a sum along the row could add up in another order
        squared += np.square(scaled[:, k])
    factor = radius / np.maximum(np.sqrt(squared), 1.0)
    points: np.ndarray = np.trunc(scaled * factor[:, None]).astype(np.int64)
    for _ in range(2):
        points = _shorter(points, radius)
    long = np.square(points).sum(axis=1) > radius**2
    points[long] = 0
    return points


def summed_moments(edges: Edges, rows: np.ndarray, clip: float, radius: int) -> np.ndarray:
    """Sum z z' over persons. z are the rows of :func:`profiles`; int64 (d, d). ``radius`` at most 2^20.

    Some persons at a time, by number, so that memory stays small: integers, whose sums over so many are exact
    in floating point, in any order.
    """
    moments = np.zeros((rows.shape[1], rows.shape[1]), dtype=np.int64)
    order = np.argsort(edges.person, kind="stable")
    person, thing, step = edges.person[order], edges.thing[order], edges.step[order]
    for begin in range(0, edges.persons, PERSONS_AT_ONCE):
        count = min(PERSONS_AT_ONCE, edges.persons - begin)
        own = slice(*np.searchsorted(person, (begin, begin + count)))
        some = Edges(person[own] - begin, thing[own], step[own], count, edges.things)
        points = profiles(some, rows, clip, radius).astype(np.float64)
        moments += (points.T @ points).astype(np.int64)
    return moments


def _shorter(points: np.ndarray, radius: int) -> np.ndarray:
    """Cut rows that are too long by one step more in every entry, towards zero."""
    long = (np.square(points).sum(axis=1) > radius**2)[:, None]
    return np.where(long, points - np.sign(points), points)


def _bounds(bounds: np.ndarray, first: int) -> np.ndarray:
    found = np.asarray(bounds)
    if found.ndim != 1 or not len(found) or not np.issubdtype(found.dtype, np.integer):
        raise InvalidInput("bounds are a vector of integers", field="bounds")
    if found[0] != first or (np.diff(found) < 1).any():
        raise InvalidInput(f"bounds ascend from {first}", field="bounds")
    return found.astype(np.int64)


def _place(bounds: np.ndarray, values: np.ndarray) -> np.ndarray:
    return np.maximum(np.searchsorted(bounds, values, side="right") - 1, 0)
