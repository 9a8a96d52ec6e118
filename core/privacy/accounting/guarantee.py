"""The guarantee that a release prints. It is the plan's cost, once the transcript is shown to lie within the
plan.

A snapshot of a live stream prints what any window of the stream may cost.

It is computed, never declared. What a paper claims for its method has no place here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

from core.errors import InvalidInput, PlanExceeded
from core.graphs.schema import EdgeType, GraphSchema
from core.privacy.accounting import accountant
from core.privacy.accounting.events import (
    LAZY_RESPONSE,
    NANO,
    Composed,
    Event,
    GaussianEvent,
    Parallel,
    PoissonSampled,
    Pure,
    Repeated,
    Unprotected,
    pure_nano_epsilon,
    unprotected_reasons,
)
from core.privacy.accounting.meter import TranscriptEntry, replay, require_metered
from core.privacy.accounting.plan import ATTO, COUNTED_ROWS, GuaranteeKind, PrivacyPlan
from core.privacy.rounding import LONGEST_CHAIN, MAX_RADIUS, MOST_CANCELLING, place_slack, radius_of
from core.privacy.units import RECORD_WISE, Unit
from graphveil.models.reports import ROWS

MARK = "Made from declarations; nothing was read."
"""What marks whatever was made so, wherever it is shown."""

EXACT = (
    "Laplace, Gaussian, exponential-mechanism and randomised-response draws are exact on integers, from "
    "operating-system entropy "
    "(ChaCha20 or OpenDP); no floating-point noise is added to a released value."
)
COMPUTATIONAL = (
    "Of randomised response that is worked out slot by slot, the coins are SipHash-2-4 of the slot under a "
    "fresh 128-bit key from the operating system: the guarantee holds against whoever cannot tell that "
    "function from chance (computational, not unconditional). The fitted model holds the edges and the key: "
    "it is private content, erased with the dataset, and further samples are free only while it exists."
)


def sampled_note(radius: int) -> str:
    """Say what DP-SGD assumes of floating point. The clipping norm has ``radius`` grid steps where training
    computes it."""
    cpu, gpu = (place_slack(radius, device, 1) for device in ("cpu", "cuda"))
    return (
        "Of DP-SGD steps, gradients are computed in floating point, in batches of one shape, and cut to "
        "integers; sampling coins, clipped sums and discrete Gaussian noise are exact on integers. Assumed: "
        f"that a row's gradient moves with its place in a batch by at most {cpu} grid steps on a CPU, and on "
        f"a GPU by at most {gpu}, with the root of the number of trained values in the place of {cpu} of "
        f"them where it is more (the clipping norm has {radius}): the bound for sums of {LONGEST_CHAIN} "
        f"terms one after another, which cancel to one in {MOST_CANCELLING}. A GPU trains no longer "
        "ones. Each training checks what moves on a chunk of pairs drawn from the public universe, without "
        "the edges."
    )


@dataclass(frozen=True)
class Guarantee:
    """The promise about one unit. For kind NONE, ``nano_epsilon`` is None and ``reasons`` say why."""

    kind: GuaranteeKind
    nano_epsilon: int | None
    delta_atto: int
    unit: Unit
    window: int | None
    statement: str
    assurance: tuple[str, ...]
    reasons: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()

    @property
    def epsilon(self) -> float | None:
        """Epsilon as a float, for display; None for kind NONE."""
        return None if self.nano_epsilon is None else self.nano_epsilon / NANO

    @property
    def delta(self) -> float:
        """Delta as a float, for display."""
        return self.delta_atto / ATTO

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": str(self.kind),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "nano_epsilon": self.nano_epsilon,
            "delta_atto": self.delta_atto,
            "unit": str(self.unit),
            "window": self.window,
            "statement": self.statement,
            "assurance": list(self.assurance),
            "reasons": list(self.reasons),
        }


def guarantee_of(
    plan: PrivacyPlan,
    transcript: Sequence[TranscriptEntry],
    delta_atto: int,
    stream_nano_epsilon: int | None = None,
) -> Guarantee:
    """State the plan's guarantee, pre-committed; the transcript only has to stay within it.

    ``delta_atto`` is the delta that the job was given; it must be the plan's own where the plan is
    approximate, and does not matter to a pure plan. ``stream_nano_epsilon``, for one snapshot of a live
    stream, is what any window of the stream's steps may cost: then that is the guarantee, because the release
    follows from what the snapshots before it have put out too, which depends on their edges. Raises
    UnmeteredFit for an empty transcript, PlanExceeded when the transcript does not fit the plan or the plan
    the stream, InvalidInput when it is out of sequence or holds an unknown event. Of a plan that reads
    nothing the transcript must be empty, and epsilon is 0: the release has one law, whatever the data are.
    """
    if plan.kind is GuaranteeKind.UNREAD:
        replay(plan, transcript)  # any read is one too many
        return Guarantee(GuaranteeKind.UNREAD, 0, 0, plan.unit, plan.window, _UNREAD, ())
    require_metered(transcript)
    replay(plan, transcript)
    # The plan's events too: what might have been read voids the promise, whether or not it was.
    events = [*(a.event for a in plan.allotments), *(e.event for e in transcript)]
    reasons = tuple(dict.fromkeys(reason for event in events for reason in unprotected_reasons(event)))
    if reasons:
        statement = "No privacy guarantee: the method read the raw graph. " + " ".join(reasons)
        return Guarantee(GuaranteeKind.NONE, None, 0, plan.unit, plan.window, statement, (), reasons)
    cost = plan.cost()
    if cost.kind is GuaranteeKind.APPROXIMATE and (
        delta_atto != plan.delta_atto or cost.nano_epsilon is None
    ):
        raise InvalidInput("an approximate plan is converted at its own delta", field="delta_atto")
    assert cost.nano_epsilon is not None
    nano_epsilon, own = cost.nano_epsilon, None
    if stream_nano_epsilon is not None:
        # What this snapshot puts out follows from those before
        # it, so that the stream's window is the promise.
        if nano_epsilon > stream_nano_epsilon:
            raise PlanExceeded("a snapshot costs more than a window of its stream may")
        nano_epsilon, own = stream_nano_epsilon, nano_epsilon
    statement = _statement(plan, nano_epsilon, cost.delta_atto, own)
    assurance = _assurance(e.event for e in transcript)
    return Guarantee(
        cost.kind,
        nano_epsilon,
        cost.delta_atto,
        plan.unit,
        plan.window,
        statement,
        assurance,
        apart=plan.apart,
    )


def _assurance(events: Iterable[Event]) -> tuple[str, ...]:
    """Choose one note for each kind of noise in the events."""
    exact = computational = False
    radius = 0  # the finest grid of any training, on which a row moves by most steps
    for event in events:
        match event:
            case Pure(mechanism=mechanism) if mechanism == LAZY_RESPONSE:
                computational = True
            case Pure() | GaussianEvent() | Parallel():
                exact = True
            case PoissonSampled() | Repeated() | Composed():
                radius = max(radius, _finest(event))
            case Unprotected():
                pass
    return (EXACT,) * exact + ((sampled_note(radius),) if radius else ()) + (COMPUTATIONAL,) * computational


def _finest(event: Event) -> int:
    """Return the steps that the clipping norm has on the finest grid of a training."""
    match event:
        case GaussianEvent(noise_multiplier=multiplier):
            return radius_of(multiplier)
        case PoissonSampled(event=inner) | Repeated(event=inner):
            return _finest(inner)
        case Composed(events=events):
            return max(map(_finest, events))
        case _:
            return MAX_RADIUS


_UP = Context(prec=40, rounding=ROUND_CEILING)
_SHOWN = Context(prec=3, rounding=ROUND_CEILING)


def of_several(epsilon: Decimal, delta: Decimal, units: int) -> tuple[Decimal, Decimal]:
    """Compute (epsilon, delta) for ``units`` units at once. It must hold for one; both are rounded up.

    k epsilon, and delta (1 + e^eps + ... + e^((k-1) eps)). Vadhan, The Complexity of Differential Privacy
    (2017), Lemma 2.2.
    """
    growth = Decimal(0)
    for k in range(units if delta else 0):
        # exp() rounds to the nearest, whatever the context says.
        growth = _UP.add(growth, _UP.next_plus(_UP.exp(_UP.multiply(k, epsilon))))
    return _UP.multiply(epsilon, units), _UP.multiply(delta, growth)


def inequality(epsilon: Decimal, delta: Decimal = Decimal(0)) -> str:
    """Write ``P[S] <= e^epsilon P'[S] + delta``. Epsilon is exact, delta as by :func:`rounded_up`."""
    return f"P[S] <= e^{epsilon.normalize():f} P'[S]" + (f" + {rounded_up(delta)}" if delta else "")


def rounded_up(value: Decimal) -> str:
    """Write three digits of a positive bound. They are never below it: ``0.0372``, ``1.24e-6``."""
    shown = _SHOWN.plus(value).normalize()
    return f"{shown:f}" if shown >= Decimal("0.001") else f"{shown:e}"


_UNITS = {
    Unit.EDGE: "any one edge of the graph, which one of them lacks",
    Unit.EVENT: "any one edge at any one timestamp, which one of them lacks",
    Unit.W_EVENT: "any changes inside any {window} consecutive timestamps, at most one edge per timestamp"
    " and one edge without time",
    Unit.PAIR: "everything between any one pair of nodes, over all timestamps and edge types, which one of "
    "them lacks",
    Unit.NODE: "all edges of any one node of the protected type, over all timestamps and edge types, and its "
    "row of protected attributes, which are replaced by any others",
}


_UNREAD = (
    f"{MARK} Whatever the data are, this graph has one law: it costs epsilon 0, and says nothing of them. "
    "The node set, node and edge types, directedness and the time grid are public."
)


def _of_rows(plan: PrivacyPlan) -> str:
    """Say what covers one node's row of protected attributes; nothing where the plan reads none.

    Rows of numbers that are read with Gaussian noise are replaced by zeros; counts of nodes and of edges are
    proved for a row that is replaced by any other (:mod:`core.privacy.reads.node_values`).
    """
    rows = {key: events for key, events in plan.cells.items() if key[0].startswith(ROWS)}
    if not rows:
        return ""
    if any(
        allotment.edge_type.startswith(ROWS)
        and allotment.purpose != COUNTED_ROWS
        and pure_nano_epsilon(allotment.event) is None
        for allotment in plan.allotments
    ):
        return (
            ". The same holds for one node's row of protected attributes, present or replaced by zeros; "
            "another row in its place counts as two such changes"
        )
    nano = max(
        accountant.cell_nano_epsilon(allotment, plan.delta_atto, plan.accountant)
        for allotment in rows.values()
    )
    pure = all(pure_nano_epsilon(event) is not None for events in rows.values() for event in events)
    delta = Decimal(0 if pure else plan.delta_atto) / ATTO
    both = "the two add up" if pure else "those are two such changes"
    return (
        ". For one node's row of protected attributes, replaced by any other row while all edges stay: "
        f"{inequality(Decimal(nano) / NANO, delta)}. Where an edge and a row are different, {both}"
    )


def unit_of(plan: PrivacyPlan) -> str:
    """Say what two neighbours differ in; of relations whose records are apart, one record."""
    unit = _UNITS[plan.unit].format(window=plan.window)
    if not plan.apart:
        return unit
    return (
        f"{unit}, or, of {', '.join(plan.apart)}, in any one record of one edge, with that edge where it "
        "is the only one (an edge with k records counts as k such changes)"
    )


def protects(
    unit: Unit,
    window: int | None,
    kind: GuaranteeKind,
    apart: Sequence[str] | None,
    edge_types: Sequence[str],
) -> str | None:
    """Say what one release of these relations hides: rows of tables where records are ``apart`` (None: of
    which is not known, and no more than rows is promised). None where nothing is promised."""
    if kind not in (GuaranteeKind.PURE, GuaranteeKind.APPROXIMATE):
        return None
    whole = _UNITS[unit].format(window=window)
    if apart is None and unit in RECORD_WISE:
        return f"{whole}; of relations whose records are apart any one row"
    if not apart:
        return whole
    beside = [relation for relation in edge_types if relation not in apart]
    elsewhere = f"; of {', '.join(beside)} {whole}" if beside else ""
    return (
        f"any one row of {' or '.join(apart)}, there or not; a changed row counts twice, k rows count k "
        f"times{elsewhere}"
    )


def _statement(plan: PrivacyPlan, nano_epsilon: int, delta_atto: int, own: int | None = None) -> str:
    """Put it in words; ``own``: the nano-epsilon of a live stream's snapshot alone, within its window's."""
    epsilon, delta = Decimal(nano_epsilon) / NANO, Decimal(delta_atto) / ATTO
    text = (
        f"Take any two graphs that differ only in {unit_of(plan)}, and let P "
        "and P' be the probabilities of what is released from the one and from the other: "
        f"{inequality(epsilon, delta)} for every set S of releases"
    )
    if own is not None:
        text += f"; for one edge at this timestamp alone: {inequality(Decimal(own) / NANO)}"
    text += _of_rows(plan)
    twice, grown = of_several(epsilon, delta, 2)
    # A delta of 1 or more promises nothing.
    two = inequality(twice, grown) if grown < 1 else "of which this says nothing"
    change = "Changes at two such nodes are" if plan.unit.replaced else "Moving an edge elsewhere is"
    if plan.apart:
        change = "Moving an edge elsewhere, or where records are apart one record, is"
    return (
        f"{text}. {change} two such changes: {two}. "
        "The node set, node and edge types, directedness and the time grid are public and not protected."
    )


MOST_EDGES = 4
"""Above so many edges a node, 2 D epsilon says nothing that is worth printing."""


@dataclass(frozen=True)
class NodePrice:
    """The guarantee for all edges of one node. It is of ``node_type``, and has at most ``edges`` of them."""

    node_type: str
    edges: int
    epsilon: Decimal
    delta: Decimal


def edges_of_node(schema: GraphSchema, node_type: str) -> int | None:
    """Bound a node's protected edges by declared facts. It is the most that a node of the type has; None
    without any.

    Either by ``degree_bound``, or because every protected relation that touches the type is functional from
    it: one target a source, thus one edge, or one a step where a pair may occur in several.
    """
    touching = [e for e in schema.edge_types if not e.public and node_type in (e.source, e.target)]
    declared = schema.node_type(node_type).degree_bound
    if not touching:
        return None
    if not all(each.functional and each.target != node_type for each in touching):
        return declared
    single = sum(_occurrences(schema, each) for each in touching)
    return single if declared is None else min(single, declared)


def _occurrences(schema: GraphSchema, relation: EdgeType) -> int:
    return schema.steps if relation.temporal and not relation.once else 1


def node_prices(schema: GraphSchema, unit: Unit, epsilon: Decimal, delta: Decimal) -> tuple[NodePrice, ...]:
    """Price every node type with a declared bound. Bounds are at most MOST_EDGES; none under units but EDGE
    and EVENT.

    (epsilon, delta) is what one edge is promised. A type of which delta would say nothing is left out; so is
    one whose edges are as many units as they have records.

    Proof. Let no node of a type have more than D edges in the protected relations, all steps together:
    declared, and checked at ingest. Replace all edges of one such node by any others that keep the bound: at
    most D are removed and at most D added, one after another, and each graph on the way is a part of the
    first or of the last, so that it keeps what is declared. What one edge is promised, all edges of the node
    are promised as 2 D edges are (:func:`of_several`). Nothing here reads data.
    """
    if unit not in (Unit.EDGE, Unit.EVENT):
        return ()
    prices = []
    # Where records are apart an edge is as many units as it has records: a bound on edges bounds no epsilon.
    apart = {end for each in schema.edge_types if each.records_apart for end in (each.source, each.target)}
    for kind in schema.node_types:
        edges = None if kind.name in apart else edges_of_node(schema, kind.name)
        # 2 D single changes: at most D edges go, and at most D come.
        if edges is not None and edges <= MOST_EDGES:
            total, grown = of_several(epsilon, delta, 2 * edges)
            if grown < 1:
                prices.append(NodePrice(kind.name, edges, total, grown))
    return tuple(prices)
