"""What a plan's noise means for callers' questions. It is worked out by stated methods, from public facts
only.

A relative answer needs a size: what the caller assumes, or else a declared bound. Never the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from core.errors import InvalidInput
from core.graphs.schema import MAX_TYPES, EdgeType, GraphSchema
from core.methods.base import Method, no_reads
from core.privacy.accounting.events import NANO
from core.privacy.accounting.measurements import deviation
from core.privacy.accounting.plan import PlannedRead, PrivacyPlan
from core.privacy.queries import Shape
from core.privacy.units import Unit
from core.reports.precision import CONFIDENCE, planned, planned_noise, sum_within, within
from graphveil.models.plans import Expected
from graphveil.models.reports import Precision

MISSED = 0.05
"""How often one node may be taken for another sort of node."""
TOP = 0.01
"""The share of the nodes that are hubs."""
SHAPE = 3.0
"""Degrees are assumed to pass d with probability (1 + d / (2 mean))^-SHAPE. Of six tails that were tried the
one that is right on average, on the graphs that judge it: the mean error of ``benchmarks.hubs_expected`` is
fitted, and single graphs are far off."""
SHAPES = 2.0, 6.0
"""Tails of heavy and of light hubs, between which the printed range lies."""
POINTS, STEPS = 100, 32
TOTALS = {
    "thing_totals": ("thing_total_within_95", "edges of a thing", "a thing"),
    "value_totals": ("value_total_within_95", "records that carry values of one bin", "a bin of values"),
    "value_totals_of_things": (
        "thing_value_total_within_95",
        "records of a thing that carry values of one kind",
        "a thing and a kind of value",
    ),
}
"""Sums over clipped persons, by their query: the question, its unit, and what is summed."""
BY_PERIOD = frozenset({"value_total_within_95"})
"""Paid for each period of a relation with several steps: a bin's total of all time is a sum of such."""


TRIANGLES = "triangles"
"""The read of :func:`core.privacy.mechanisms.ladder.ladder`, which has no law of its own: rungs are as wide
as the graph has common neighbours."""
Noises = Mapping[tuple[str, str], tuple[list[Fraction], int]]


def _whole(said: Any) -> Any:
    """Take 5.0 for 5, as JSON does; texts and truth values stay no sizes."""
    return int(said) if isinstance(said, float) and said.is_integer() else said


Size = Annotated[int, Field(ge=1, le=10**12, strict=True), BeforeValidator(_whole)]

Sizes = Size | Annotated[dict[str, Size], Field(min_length=1, max_length=MAX_TYPES)]


class Assume(BaseModel):
    """Sizes that relative answers take for granted: the caller's guesses, or facts that are public."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    edges: Sizes | None = Field(
        default=None,
        description="Edges of a relation (of one snapshot, where it has time), or a number for each by name.",
        examples=[90_000],
    )
    nodes: Sizes | None = Field(
        default=None,
        description="Nodes that have edges in a relation, or a number for each by name; the node universe "
        "unless given.",
    )


@dataclass(frozen=True)
class Facts:
    """What an answer may depend on. These are public facts, and the noises that a plan pays for.

    ``nodes``: the sizes of the universes. ``noises``: of :func:`noises_of`.
    """

    schema: GraphSchema
    nodes: Mapping[str, int]
    assume: Assume | None
    noises: Noises


def noises_of(plan: PrivacyPlan, schema: GraphSchema, reads: Sequence[PlannedRead]) -> Noises:
    """Find the noises that answers follow from. They are those of discrete Laplace reads, and 1 / epsilon of
    ladders."""
    found = planned_noise(plan.unit, schema, plan, reads)
    for read in reads:
        if read.query == TRIANGLES and plan.unit is not Unit.NODE:
            # The ladder reads at epsilon, not with Laplace noise: 1 / epsilon stands in for its scale.
            scale = max(Fraction(NANO, cost) for cost in read.nano_epsilon)
            known = found.get((read.edge_type, read.query), ([scale], 0))
            found[read.edge_type, read.query] = [max(scale, known[0][0])], known[1] + read.cells
    return found


Answered = tuple[float, str | None]
"""A value, and what it takes for granted."""


@dataclass(frozen=True)
class Question:
    """``answer(facts, relation, scales)``: None where public facts do not tell. ``query``: whose noise it
    follows from. ``larger``: whether more is better."""

    query: str
    unit: str
    method: str
    answer: Callable[[Facts, EdgeType, list[Fraction]], Answered | None]
    larger: bool = False


def edges_of(facts: Facts, relation: EdgeType) -> tuple[int, str] | None:
    """Return how many edges to reckon with. Returned is whence that is, too; None where nothing says so."""
    given = size_of(facts.assume.edges, relation) if facts.assume else None
    if given is not None:
        return given, f"{given} edges, as the request says"
    declared = min(bounds(relation, facts.schema, facts.nodes), default=None)
    return (
        None
        if declared is None
        else (declared[0], f"{declared[0]} edges: {declared[1]}; fewer would be told worse")
    )


def _within(facts: Facts, relation: EdgeType, scales: list[Fraction]) -> Answered:
    return float(sum_within(scales)), None


def _relative(facts: Facts, relation: EdgeType, scales: list[Fraction]) -> Answered | None:
    edges = edges_of(facts, relation)
    return None if edges is None or not edges[0] else (sum_within(scales) / edges[0], edges[1])


def _from_zero(facts: Facts, relation: EdgeType, scales: list[Fraction]) -> Answered:
    """2 t + 1, where noise passes t at most so often: a node of degree 0 seldom shows more, and one of that
    degree seldom shows less."""
    each = 1 - 2 * MISSED / len(scales)  # of both tails
    return 2.0 * sum(within(scale, each) for scale in scales) + 1, None


def _hubs(facts: Facts, relation: EdgeType, scales: list[Fraction]) -> Answered | None:
    edges = edges_of(facts, relation)
    if edges is None or not relation.homogeneous or relation.directed:
        return None
    given = size_of(facts.assume.nodes, relation) if facts.assume else None
    count = given or facts.nodes[relation.source]
    if count < 1 / TOP:
        return None
    # A degree is a sum of reads: independent noises add by variance.
    noise = math.sqrt(math.fsum(deviation(scale) ** 2 for scale in scales))
    mean, most = 2 * edges[0] / count, count - 1
    ends = sorted(hubs_found(mean, most, noise, shape) for shape in SHAPES)
    assumed = f"{edges[1]}; {count} nodes; a power law of degrees; {ends[0]:.2f} to {ends[1]:.2f} by its tail"
    return hubs_found(mean, most, noise), assumed


def hubs_found(mean: float, most: float, noise: float, shape: float = SHAPE) -> float:
    """Compute the expected share of hubs that are identified. They are the 1 % of nodes of most edges that
    are among the 1 % of highest noisy degree.

    Degrees have the given mean and pass d with probability (1 + d / (mean (shape - 1)))^-shape, none of them
    ``most``; the noise is Laplace of that standard deviation. By quantiles of the law. O(POINTS STEPS).
    """
    # As many points in the top 1 % as below it: what is in question is decided near the threshold.
    middle = (np.arange(POINTS) + 0.5) / POINTS
    passed = np.concatenate([TOP * middle, TOP + (1 - TOP) * middle])
    unit = mean * (shape - 1)
    # The share that a law without an end would put beyond the most: it is cut off, and the rest scaled up.
    beyond = (1 + most / unit) ** -shape
    degrees = unit * ((beyond + passed * (1 - beyond)) ** (-1 / shape) - 1)
    weights = np.repeat([TOP, 1 - TOP], POINTS) / POINTS
    # Of Laplace noise, whose standard deviation is scale times the root of 2; not 0, by which one divides.
    scale = max(noise / math.sqrt(2), 1e-9)

    def shown(threshold: float) -> np.ndarray:
        """How likely a node of each degree shows more than the threshold."""
        over = (degrees - threshold) / scale
        tail = np.exp(-np.abs(over)) / 2
        likely: np.ndarray = np.where(over > 0, 1 - tail, tail)
        return likely

    # Laplace noise passes 50 scales with probability e^-50 / 2: the threshold lies within.
    low, high = -50 * scale, float(degrees.max()) + 50 * scale
    for _ in range(STEPS):
        # Bisection: the share that shows more falls as the threshold rises.
        threshold = (low + high) / 2
        low, high = (threshold, high) if weights @ shown(threshold) > TOP else (low, threshold)
    return float(shown(low)[:POINTS].mean())


def _triangles(facts: Facts, relation: EdgeType, scales: list[Fraction]) -> Answered | None:
    declared = facts.schema.node_type(relation.source).degree_bound
    if declared is None:
        return None
    cap = max(1, facts.nodes[relation.source] - 2)
    reached = ladder_within(min(declared, cap), cap, float(1 / scales[0]))
    assumed = f"two nodes have at most {declared} neighbours in common, the declared degree_bound"
    return float(reached), assumed


def ladder_within(common: int, cap: int, epsilon: float) -> int:
    """Bound how far the ladder's answer is off. It is 95 % likely, where two nodes have so many neighbours in
    common at most.

    Rung t has 2 min(cap, c + t - 1) integers of weight q^t, q = exp(-epsilon / 2), c the most neighbours in
    common. P(rung > k) is a mean of q^k and q^(k-1) (k (1 - q) + q) at most, whatever c; where rungs stop to
    widen it is less. So k is the least for which the larger one is at most 5 %, and rung k reaches no further
    than the sum of widths up to it.
    """
    rate = epsilon / 2
    q = math.exp(-rate)
    low, high = 0, 1

    def beyond(k: int) -> float:
        return math.exp(-rate * (k - 1)) * (-math.expm1(-rate) * k + q)

    # Doubled until it is passed, then bisected: low is always too few, high enough.
    while beyond(high) > MISSED:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if beyond(middle) > MISSED else (low, middle)
    # The widths c, c + 1, ... up to rung high, none wider than the cap.
    return min(high * cap, high * common + high * (high - 1) // 2)


QUESTIONS: Mapping[str, Question] = {
    "edges_within_95": Question(
        "edge_count",
        "edges",
        "The paid number of edges of a snapshot (of all, without time) is at most so far off, with "
        "probability 95 %: the quantile of its noise.",
        _within,
    ),
    "edges_relative_95": Question(
        "edge_count",
        "share of the edges",
        "The same, divided by the number of edges that is assumed.",
        _relative,
    ),
    "degree_within_95": Question(
        "degrees",
        "edges at a node",
        "The paid degree of a node is at most so far off, with probability 95 %, each node by itself.",
        _within,
    ),
    "degree_told_from_zero": Question(
        "degrees",
        "edges at a node",
        "The least degree that can be told from 0: at the threshold halfway, a node without edges passes at "
        "most once in 20 and a node of this degree misses it at most once in 20, each by itself.",
        _from_zero,
    ),
    "triangles_within_95": Question(
        TRIANGLES,
        "triangles",
        "The paid number of triangles is at most so far off, with probability 95 %: how far the ladder "
        "reaches where two nodes have as many neighbours in common as is declared.",
        _triangles,
    ),
    "hubs_found": Question(
        "degrees",
        "share of the top 1 % of nodes",
        "Expected share of the 1 % of nodes of most edges that are among the 1 % of highest paid degree, "
        "where degrees pass d with probability (1 + d / (2 mean))^-3. Where hubs end early, fewer are found.",
        _hubs,
        larger=True,
    ),
}
"""Derived answers by name; a target asks for one by the same name."""


def told(
    generator: Method,
    params: BaseModel,
    plan: PrivacyPlan,
    schema: GraphSchema,
    nodes: Mapping[str, int],
    assume: Assume | None,
    requested: Collection[str],
) -> tuple[tuple[Precision, ...], tuple[Expected, ...]]:
    """Predict how near paid figures will be. What follows from it comes too; of a method that names its
    reads.

    ``nodes``: the sizes of the universes; ``requested``: the relations to synthesise. Raises InvalidInput
    where ``assume`` cannot be.
    """
    check_assumed(assume, schema, nodes, requested)
    if generator.planned_reads is no_reads:
        return (), ()
    reads = list(generator.planned_reads(params, plan, schema, nodes))
    facts = Facts(schema, nodes, assume, noises_of(plan, schema, reads))
    return planned(plan.unit, schema, plan, reads), (*answers(facts), *_totals(schema, reads))


def _totals(schema: GraphSchema, reads: Iterable[PlannedRead]) -> Iterator[Expected]:
    """Tell how near paid totals of things are, where a bound on persons' edges is declared."""
    protected = schema.protected_type
    if protected is None or protected.degree_bound is None:
        return
    for read in reads:
        if read.query in TOTALS and read.deviation is not None:
            question, unit, total = TOTALS[read.query]
            if question in BY_PERIOD and schema.edge_type(read.edge_type).temporal and schema.steps > 1:
                unit, total = f"{unit} in one period", f"{total} in one period"
            clipped = read.deviation * math.sqrt(protected.degree_bound)
            yield Expected(
                question=question,
                edge_type=read.edge_type,
                value=math.ceil(NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * clipped),
                unit=unit,
                method=f"The paid total of {total}, persons clipped, is at most so far off, with probability "
                "95 %: the normal quantile of its noise, which grows with the root of the clip.",
                assumed=f"persons are clipped at {protected.degree_bound} edges, the declared degree_bound; "
                "the clip itself is a paid quantile of their degrees",
            )


def answers(facts: Facts, wanted: Collection[str] | None = None) -> Iterator[Expected]:
    """Answer questions for every relation. The ``wanted`` ones are answered, or all, where they follow from
    its noise."""
    for (name, query), (scales, _) in facts.noises.items():
        for key, question in QUESTIONS.items():
            if question.query != query or (wanted is not None and key not in wanted):
                continue
            found = question.answer(facts, facts.schema.edge_type(name), scales)
            if found is not None:
                value, assumed = found
                yield Expected(
                    question=key,
                    edge_type=name,
                    value=value,
                    unit=question.unit,
                    method=question.method,
                    assumed=assumed,
                )


def check_assumed(
    assume: Assume | None, schema: GraphSchema, nodes: Mapping[str, int], requested: Collection[str]
) -> None:
    """Check assumed sizes against declared facts. InvalidInput, with the field to mend, where facts of the
    relations ``requested`` contradict what is assumed, or where it names another relation."""
    if assume is None:
        return
    for field, given in (("edges", assume.edges), ("nodes", assume.nodes)):
        named = given if isinstance(given, dict) else {}
        for name in sorted(set(named) - set(requested)):
            raise InvalidInput(f"Relation {name!r} is not asked for.", field=f"assume.{field}.{name}")
    for relation in schema.edge_types:
        if relation.name not in requested:
            continue
        most, why = _most_edges(relation, schema, nodes)
        edges, count = size_of(assume.edges, relation), size_of(assume.nodes, relation)
        if edges is not None and edges > most:
            raise InvalidInput(
                f"Relation {relation.name!r} has at most {most} edges in a snapshot: {why}.",
                field="assume.edges",
            )
        universe = _universe(relation, nodes)
        if count is not None and count > universe:
            raise InvalidInput(
                f"Relation {relation.name!r} is between {universe} nodes at most.", field="assume.nodes"
            )


def size_of(sizes: Sizes | None, relation: EdgeType) -> int | None:
    """Return what is given for the relation."""
    return sizes.get(relation.name) if isinstance(sizes, dict) else sizes


def _universe(relation: EdgeType, nodes: Mapping[str, int]) -> int:
    return nodes[relation.source] + (0 if relation.homogeneous else nodes[relation.target])


def bounds(relation: EdgeType, schema: GraphSchema, nodes: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    """List the declared bounds on edges. They are those of a relation in one snapshot."""
    if relation.edge_bound is not None:
        yield relation.edge_bound, "its declared edge_bound"
    if relation.functional:
        yield nodes[relation.source], "it is declared functional"
    ends = [schema.node_type(relation.source), schema.node_type(relation.target)]
    for kind in ends[:1] if relation.homogeneous else ends:
        if kind.degree_bound is not None:
            total = kind.degree_bound * nodes[kind.name]
            twice = relation.homogeneous and not relation.directed
            yield total // 2 if twice else total, f"the declared degree_bound of {kind.name!r}"


def _most_edges(relation: EdgeType, schema: GraphSchema, nodes: Mapping[str, int]) -> tuple[int, str]:
    slots = Shape(relation, nodes[relation.source], nodes[relation.target]).slots
    return min([(slots, "so many pairs of nodes there are"), *bounds(relation, schema, nodes)])
