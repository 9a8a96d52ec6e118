"""Predicted precision of paid figures. It is in their own units; from public facts only.

Noise is what the plan says it is, so that its bounds are known before the data is opened. What a method makes
of a noisy figure, and what it never asked for, is not told here: this is a statement of noise, not a grade.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from core.graphs.schema import EVERY, EdgeType, GraphSchema
from core.graphs.schema.node_bins import moved_by, vectors
from core.privacy.accounting.events import Pure
from core.privacy.accounting.measurements import LAPLACE, Measurement, deviation
from core.privacy.accounting.meter import TranscriptEntry
from core.privacy.accounting.plan import GuaranteeKind, PlannedRead, PrivacyPlan
from core.privacy.units import Unit, edges_of_unit, numbers_of_unit, records_of_unit
from core.reports.base import NANO
from core.reports.statistics import EdgeTypeStatistics, PublicStatistics
from graphveil.models.reports import ROWS, Precision

CONFIDENCE = 0.95
PREFIX = "discrete_laplace/"
ROW_MOVES, EDGE_MOVES = 2, 3
"""L1 of :mod:`core.privacy.reads.node_values`, which a test holds them to: a report loads no arrays."""
VECTORS = "node_vectors"
NUMBERS = frozenset({"record_histogram", "records_by_step", "records_by_classes"})
MIXINGS = frozenset({"mixing", "directed_mixing", "two_sided_mixing"})
MAX_PRECISIONS = 4096


@dataclass(frozen=True)
class _Quantity:
    """What one figure of a query counts, and the most that one edge changes the query's answer (L1)."""

    title: str
    sensitivity: Callable[[EdgeType], int]
    size: Callable[[EdgeTypeStatistics], float | None] = lambda relation: None
    additive: bool = True  # over disjoint sets of edges
    pooled: bool = False  # over all snapshots, each of which is charged for it
    records: bool = False  # of all records of an edge that count
    rounded: bool = False  # the charge is rounded up to a nano-epsilon, and the noise is not


def _ends(relation: EdgeType) -> int:
    """Count both ends inside one node type; which side was asked is not recorded."""
    return 2 if relation.homogeneous else 1


def _one(relation: EdgeType) -> int:
    return 1


def _mean_degree(relation: EdgeTypeStatistics) -> float | None:
    means = [side.mean for side in relation.degrees]
    return math.fsum(means) / len(means) if means else None


PROJECTED = frozenset({"value_histogram", "record_histogram"})
OF_A_PERSON = ", of no person more than a threshold, chosen where its noise and its cut are least together"
"""Beside the quantity of PROJECTED under unit node: the cut is no noise, and follows from paid figures."""
QUANTITIES: Mapping[str, _Quantity] = {
    "edge_count": _Quantity("edges", lambda relation: 1, lambda relation: relation.means.get("edges")),
    "degrees": _Quantity("edges at a node", _ends, _mean_degree),
    "sorted_degrees": _Quantity("edges at the node of each rank", _ends, _mean_degree, False),
    "degree_histogram": _Quantity("nodes of each degree", lambda relation: 2, additive=False),
    "tail_counts": _Quantity("nodes with at least so many edges", lambda relation: 2, additive=False),
    "kept_edges": _Quantity("edges that a step and the one before it have", _one, additive=False),
    "kept_nodes": _Quantity(
        "nodes with an edge in a step and in the one before it", lambda relation: 2, additive=False
    ),
    "group_matrix": _Quantity("edges between two groups of nodes", lambda relation: 1),
    "group_degrees": _Quantity("edges of a node with a group", _ends),
    "pair_classes": _Quantity("edges in a class of pairs", lambda relation: 1),
    "value_histogram": _Quantity(
        "edges (records, where each is kept) that carry values of one bin", _one, pooled=True, records=True
    ),
    "values_by_step": _Quantity(
        "edges (records) of a period that carry values of one bin", _one, pooled=True, records=True
    ),
    "values_by_node": _Quantity(
        "edges (records) of a node that carry values of one bin", _ends, pooled=True, records=True
    ),
    "values_by_classes": _Quantity(
        "edges (records) of two classes of nodes that carry values of one kind",
        _one,
        pooled=True,
        records=True,
    ),
    "record_histogram": _Quantity("edges with so many records", _one, pooled=True),
    "records_by_step": _Quantity("edges of a period with so many records", _one, pooled=True),
    "records_by_classes": _Quantity("edges of two classes of nodes with so many records", _one, pooled=True),
    "node_values": _Quantity("nodes of a class that carry values of one bin", lambda rows: ROW_MOVES),
    VECTORS: _Quantity("nodes of a group with a vector's number in one bin", lambda rows: ROW_MOVES),
    "mixing": _Quantity(
        "edges, few of each node, by what both ends carry",
        lambda relation: EDGE_MOVES,
        rounded=True,
        pooled=True,
    ),
    "directed_mixing": _Quantity(
        "edges, few of each node, by what source and target carry",
        lambda relation: EDGE_MOVES,
        rounded=True,
        pooled=True,
    ),
    "two_sided_mixing": _Quantity(
        "edges, few of each node with values, by what both types carry",
        lambda relation: EDGE_MOVES,
        rounded=True,
        pooled=True,
    ),
}
"""Queries of :mod:`core.privacy.queries`, and the counts of :mod:`core.privacy.reads.edge_values` and of
:mod:`core.privacy.reads.between_steps`, under discrete Laplace noise. A mechanism whose error depends on the
data, or whose flips are not recorded, has no line here."""


OF_PERSONS: Mapping[str, str] = {
    "person_degrees": "persons with so many edges",
    "person_activity": "persons that begin then, or have edges in so many steps",
    "person_classes": "persons with one thing",
}
"""Reads of :mod:`core.privacy.reads.people_things`, under discrete Gaussian noise that hides a whole
person."""


def precisions(
    unit: Unit, schema: GraphSchema, transcript: Sequence[TranscriptEntry], statistics: PublicStatistics
) -> tuple[Precision, ...]:
    """Predict one line for each relation and query. They come in order of first use; it holds for every such
    figure.

    The branches of a parallel group measure parts of a figure, so that their bounds add up. Of several
    measurements and snapshots the least exact is printed. Under unit node there is none: what one node moves
    is each method's own to bound, and is not recorded.
    """
    if unit is Unit.NODE:
        return ()
    nested = {entry.sequence for entry in transcript if entry.group is not None}
    by_query: dict[tuple[str, str], dict[int | None, list[TranscriptEntry]]] = {}
    first: str | None = None
    for entry in transcript:
        if isinstance(entry.event, Pure) and entry.event.mechanism.startswith(PREFIX):
            query = entry.event.mechanism.removeprefix(PREFIX)
            of_rows = entry.edge_type.startswith(ROWS)  # what rows pay of mixing its relation tells
            name = entry.edge_type
            pooled = query in QUANTITIES and (QUANTITIES[query].pooled or of_rows)
            if schema.collection is not None and pooled:
                first = first or name.removeprefix(ROWS)  # each graph is charged for what is read of all
                if name.removeprefix(ROWS) != first:
                    continue
                name = f"{ROWS}{EVERY}" if of_rows else EVERY
            if query in QUANTITIES and not (of_rows and query in MIXINGS):
                by_query.setdefault((name, query), {}).setdefault(entry.step, []).append(entry)
    shown = {relation.name: relation for relation in statistics.edge_types}
    lines = []
    for (name, query), steps in by_query.items():
        quantity = QUANTITIES[query]
        noise = _noise(unit, schema, name, query)
        measured = [list(_measured(entries, noise, quantity, nested)) for entries in steps.values()]
        # Parts that add up to no whole predict nothing of the figure.
        if any(measured):
            released = quantity.size(shown[name]) if name in shown else None
            each = [scales for step in measured for scales in step]
            lines.append(_line(schema, (name, query), each, sum(map(bool, measured)), released))
    # A release that is paid for must not fail over its report: beyond so many lines they are left out.
    return tuple(lines[:MAX_PRECISIONS])


def planned(
    unit: Unit, schema: GraphSchema, plan: PrivacyPlan, reads: Iterable[PlannedRead]
) -> tuple[Precision, ...]:
    """Predict one line for each planned read. Its noise has a law: each figure is at most so far off.

    From public facts alone, before anything is opened. Of a relation's cells that differ the least exact
    is told. Under unit node there are reads of persons, and those of which a method says how far a person
    moves them; without a guarantee none.
    """
    listed = list(reads)
    lines = [
        _line(schema, name, [scales], cells, None)
        for name, (scales, cells) in planned_noise(unit, schema, plan, listed).items()
    ]
    if unit is Unit.NODE:  # which a projection reads: what it cuts off is no noise
        lines = [
            each.model_copy(update={"quantity": f"{each.quantity}{OF_A_PERSON}"})
            if each.query in PROJECTED
            else each
            for each in lines
        ]
    if plan.kind is not GuaranteeKind.NONE:
        lines += [
            _gaussian(each, each.deviation)
            for each in listed
            if each.deviation is not None and each.query in (*OF_PERSONS, VECTORS)
        ]
    return tuple(lines[:MAX_PRECISIONS])


def _gaussian(read: PlannedRead, deviation: float) -> Precision:
    """Tell how near the counts of a read under Gaussian noise of that deviation are, at least."""
    return Precision(
        edge_type=read.edge_type,
        query=read.query,
        quantity=OF_PERSONS.get(read.query) or QUANTITIES[read.query].title,
        within=math.ceil(deviation * NormalDist().inv_cdf((1 + CONFIDENCE) / 2)),
        confidence=CONFIDENCE,
        deviation=deviation,
        snapshots=None,
        released=None,
    )


def planned_noise(
    unit: Unit, schema: GraphSchema, plan: PrivacyPlan, reads: Iterable[PlannedRead]
) -> dict[tuple[str, str], tuple[list[Fraction], int]]:
    """Find the scales of planned noises. By relation and query, they are those whose sum is in the least
    exact of the planned answers; in how many cells it is measured comes too. As :func:`planned`, which makes
    lines of it."""
    if plan.kind is GuaranteeKind.NONE:
        return {}
    found: dict[tuple[str, str], list[PlannedRead]] = {}
    for read in reads:
        laplace = read.deviation is None
        if read.query in QUANTITIES and laplace and (unit is not Unit.NODE or read.moved is not None):
            found.setdefault((read.edge_type, read.query), []).append(read)
    noises = {}
    for (name, query), same in found.items():
        known = None if unit is Unit.NODE else _noise(unit, schema, name, query)
        each = [
            [known(cost) if known else Fraction((read.moved or 0) * NANO, cost) for cost in read.nano_epsilon]
            for read in same
        ]
        # The least exact of them is what all can be held to.
        noises[name, query] = max(each, key=sum_within), sum(read.cells for read in same)
    return noises


def _noise(unit: Unit, schema: GraphSchema, name: str, query: str) -> Callable[[int], Fraction]:
    """Return the scale of a query's noise as a function of what it costs, in nano-epsilon."""
    quantity = QUANTITIES[query]
    if name.startswith(ROWS):  # a unit has one row
        kind = schema.node_type_or_every(name.removeprefix(ROWS))
        moved = max(map(moved_by, vectors(kind))) if query == VECTORS else ROW_MOVES
    else:
        relation = schema.edge_type_or_every(name)
        of_unit = records_of_unit if quantity.records else edges_of_unit
        if query in NUMBERS:
            of_unit = numbers_of_unit
        moved = quantity.sensitivity(relation) * of_unit(unit, relation)
        if query in MIXINGS and unit is Unit.PAIR:  # its edges of all steps, at the cost of one cell
            moved *= len(schema.steps_of(name))
    # By as much as a charge may have been rounded up the noise is wider than it says.
    return lambda nano_epsilon: Fraction(moved * NANO, max(1, nano_epsilon - quantity.rounded))


def _line(
    schema: GraphSchema,
    read: tuple[str, str],
    measured: Sequence[Sequence[Fraction]],
    snapshots: int,
    released: float | None,
) -> Precision:
    """Tell the least exact of the measurements, each of which sums noises of these scales."""
    (name, query), quantity = read, QUANTITIES[read[1]]
    widest = max(measured, key=sum_within)
    return Precision(
        edge_type=name,
        query=query,
        quantity=quantity.title,
        within=sum_within(widest),
        confidence=CONFIDENCE,
        deviation=math.sqrt(math.fsum(deviation(scale) ** 2 for scale in widest)),
        # A pooled read is one number over all snapshots.
        snapshots=snapshots if _temporal(schema, name) and not quantity.pooled else None,
        released=released,
    )


def _temporal(schema: GraphSchema, name: str) -> bool:
    return not name.startswith(ROWS) and schema.edge_type_or_every(name).temporal


def sum_within(scales: Sequence[Fraction]) -> int:
    """Bound a sum of independent noises. It is a union bound, each part may fail with its share of the
    rest."""
    each = 1 - (1 - CONFIDENCE) / len(scales)
    return sum(within(scale, each) for scale in scales)


def within(scale: Fraction, confidence: float) -> int:
    """Bound the absolute discrete Laplace noise. Returned is the least t with P(|X| <= t) >= confidence for
    noise X of that scale."""
    rate = float(1 / scale)
    # P(X = k) is proportional to q^|k|, q = exp(-1/scale), so that P(|X| > t) is 2 q^(t+1) / (1 + q).
    tail = (1 - confidence) * (1 + math.exp(-rate)) / 2
    # A hair of room: rounding must not promise an integer too little.
    return max(0, math.ceil(-math.log(tail) / rate - 1 + 1e-9))


def near(each: Measurement, confidence: float) -> int:
    """Bound the absolute noise of each of a measurement's values, as :func:`within`. Gaussian noise was
    rounded to integers."""
    if each.law == LAPLACE:
        return within(each.scale, confidence)
    return math.ceil(float(each.scale) * NormalDist().inv_cdf((1 + confidence) / 2) + 0.5)


def _measured(
    entries: Sequence[TranscriptEntry],
    noise: Callable[[int], Fraction],
    quantity: _Quantity,
    nested: Set[int],
) -> Iterator[list[Fraction]]:
    """List the noises in each whole measurement of one snapshot; of parts that add up to no whole, none.

    ``nested``: operations inside a parallel group; a group among them holds a part of the edges only.
    """
    groups: dict[int, dict[int, Fraction]] = {}
    for entry in entries:
        assert isinstance(entry.event, Pure)
        scale = noise(entry.event.nano_epsilon)
        if entry.group is None or entry.branch is None:
            yield [scale]
        elif quantity.additive and entry.group not in nested:
            branches = groups.setdefault(entry.group, {})
            # Of a branch that was measured more than once the least exact counts.
            branches[entry.branch] = max(scale, branches.get(entry.branch, scale))
    for branches in groups.values():
        # One branch alone is a part of the figure, and says nothing of the whole.
        if len(branches) > 1:
            yield list(branches.values())


NOTE = (
    "How near the figures that the release paid for are to the truth: so many units or fewer, each figure by "
    "itself. That follows from the noise alone, which is known beforehand. What the method makes of these "
    "figures, and what it never asked for, is not in it."
)
