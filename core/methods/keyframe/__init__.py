"""Key frames and counters: our own method for streams of sparse graphs under w-event privacy.

Under pure epsilon, costs add up linearly. What is asked at every step of a window of w gets noise of scale
w / epsilon, so that its mean over the window has sd sqrt(2 w) / epsilon; asked once a window, sqrt(2) /
epsilon. So what must follow the present is read at every step, and what changes slowly in one burst a window.

1. Every step: the number of edges, and how many nodes have at least j edges, for public j (1 to 6, then about
   two for every doubling). The edges are followed by Bayes' rule on a grid, where they drift, jump or stop
   (:mod:`core.methods.keyframe.counts`); every counter by a bank of Kalman filters, which starts anew where
   the edges changed more than fivefold: nights and mornings are followed at once. Where the schema's time
   grid declares a ``period``, the edges of one period ago are recalled, at no cost.
2. A key frame, every w steps by the clock: the degrees of all nodes, filtered over the frames; then the
   number of edges inside and between two classes of nodes of equal degree volume, which those define.
3. Once a window, a key frame's step and the next one together: how many edges both have, and, where the
   noise is at most an eighth of all nodes, how many nodes have an edge in both.
   With few nodes, declared fewer than five standard deviations of a counter's noise, no counters are read:
   edge counts and key frames have their share, and frames tell the law of degrees
   (:mod:`core.methods.keyframe.few`). By public facts alone.
4. Free: a degree curve with a cap is fitted to the counters and to the number of edges. Who is active is
   drawn: those of the step before at the rate that stays, the others by their odds, given what key frames saw
   (:mod:`core.methods.keyframe.stays`). Active nodes get the curve's degrees by the rank of their filtered
   degrees, evident hubs near their own. Of the edges that were sampled for the step before, the share stays
   that was read; the other ends are matched at random inside and between the classes.

What is read, at which sensitivity to one edge of one step: the number of edges, 1; the tail counters, 2 in L1
whatever the thresholds, as an edge raises two degrees by one and a degree that goes from d to d + 1 changes
the counter of d + 1 alone (a histogram would cost 4); the degrees, 2; the classes' edge counts, 1, as classes
are functions of earlier outputs and an edge lies in one of the cells; kept edges 1 and kept nodes 2 to one
edge of either step. All by discrete Laplace noise on integers.

Proof of the total, unit w-event: a window of w steps holds at most w steps and, as key frames stand w steps
apart, at most one of them. A read of two steps is paid half by each, by the clock: the key frame's step sets
its half aside, whether the next one comes or not, and is charged for it; the next pays its own. Of w >= 2
steps in a row one at most is of either kind, and for w = 1 each step is both. With frame f = (degrees +
cells) of epsilon, k for what stays and (epsilon - f - k) / w for a step, rounded down, it costs epsilon at
most; this holds for windows that reach past a grid, and for streams with missing steps, whose neighbours
are read with no other (:mod:`core.privacy.reads.between_steps`). A step divides its grant between its
readings, which follow one another. Nothing is skipped, moved or repeated for reasons of the data. A finished
grid of fewer steps than w is one window. Unit event:
cells hold disjoint edges, so each step has all of epsilon and a key frame. Unit pair: a pair may be in all
steps of all relations, so epsilon is divided over the relations, and over all steps as over one window.
Several relations under w-event: the unit has one edge a step, so each relation has all of epsilon.

With ``node_attribute_share``, a share of epsilon pays for protected attributes of nodes
(:mod:`core.methods._shared.node_values`, with the reads and proofs of :mod:`core.privacy.reads.node_values`):
every node is dealt values for all steps, by its degrees in all of them, and the edges of every step are drawn
by the groups of both ends beside the degree classes, as the mixing matrix says that was read of all steps
together. Not in live streams.

What a frame tells of a node is its degree over the mean degree of the step: what is remembered is a node's
part of the stream, whether that fills or empties, and a frame on a nearly empty step weighs next to nothing.

A missing step is passed over by the filters. A key frame whose step is missing is not made up for: until the
next one, the last frame's degrees stand. Before the first, nodes are ordered at random. After a missing
step all edges are drawn anew. Between steps only noisy outputs and what follows from them are kept, and of a
live stream the edges that were published.

What to expect at epsilon 1 and mean degree 3: numbers of edges, degree distribution and long-run hubs. No
communities, no single ties. In steps of some hundred edges in a large universe clustering is mostly noise:
on CollegeMsg (1,899 nodes, w = 5) transitivity is off by .8 of its value in windows of 28 days, by 1.7 in
weeks, by 2.7 in a step of 303 edges. After a key frame on a nearly empty step hubs are those of the frame
before (docs/results.md): ``first_frame`` moves it, where it is public which steps are empty. A step that is
weak beside its noise (38 edges of some 1,400) may come out at half or twice its size. See docs/w_event.md,
also for what w-event privacy leaves open.
Source: our own; filters: Kalman (1960); matching: configuration model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from core.graphs.schema import GraphSchema
from core.late import late
from core.methods._shared.frame.stages import staged
from core.methods._shared.node_values.stage import NodeValueStage
from core.methods._shared.values.stage import VALUES
from core.methods.base import GraphKinds, Method, PublicFacts, require_accepted
from core.methods.keyframe.budget import NAME, KeyframeParams, divide, granted_to, make_plan
from core.privacy.accounting.plan import GuaranteeKind, PlannedRead, PrivacyPlan
from core.privacy.units import Unit


def plan(params: KeyframeParams, public: PublicFacts) -> PrivacyPlan:
    """Allot counters at every step and a key frame where the clock says so; see ``budget.make_plan``."""
    require_accepted(EDGES, public)
    return make_plan(NAME, params, public)


def planned_reads(
    params: KeyframeParams, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
) -> Sequence[PlannedRead]:
    """Return every step's counters, its key frames' reads and those of two steps. See :class:`Method`.

    A plan's first step reads nothing together with the one before it, which a live stream may not have.
    """
    cells = Counter(
        (name, step > 0, tuple(granted.items())) for (name, step), granted in granted_to(plan).items()
    )
    return [
        PlannedRead(name, query, (nano_epsilon,), count)
        for (name, follows, granted), count in cells.items()
        for query, nano_epsilon in divide(params, dict(granted)).reads(follows=follows).items()
    ]


EDGES = Method(
    module=__name__,
    name=NAME,
    title="Key frames",
    summary=(
        "Edge count and degree tail counters at every step, filtered over time; node degrees and class "
        "cells in one key frame a window. For streams. Pure epsilon under w-event, event or pair privacy."
    ),
    assurance="proven",
    Params=KeyframeParams,
    accepts=GraphKinds(temporal=True, heterogeneous=True),
    units=frozenset({Unit.W_EVENT, Unit.EVENT, Unit.PAIR}),
    kinds=frozenset({GuaranteeKind.PURE}),
    plan=plan,
    fit=late("core.methods.keyframe.fit:fit"),
    step=late("core.methods.keyframe.fit:fit_snapshot"),
    planned_reads=planned_reads,
    load=late("core.methods.keyframe.fit:load"),
)
GENERATOR = staged(EDGES, VALUES, NodeValueStage(late("core.methods.keyframe.labels:CrossedClasses")))
"""Edges, and what they and nodes carry where shares are set aside for it; nodes not in live streams."""
