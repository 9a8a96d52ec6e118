"""One step of keyframe: its reads, and its state. What it pays for, and what it hands to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from core.methods._shared.frame.columns import Columns
from core.methods.keyframe import few
from core.methods.keyframe.budget import StepBudget
from core.methods.keyframe.counts import EdgeCount, Phase
from core.methods.keyframe.filters import Bank
from core.methods.keyframe.stays import Stays
from core.methods.keyframe.tail import Counters, curve, longest, sequence, thresholds, to_total
from core.privacy.accounting.events import NANO
from core.privacy.accounting.plan import SET_ASIDE
from core.privacy.entropy import Generator as Rng
from core.privacy.session.private_graph import PrivateCell, PrivateGraph

SMALLEST_EDGES = 1.0  # what a ratio of numbers of edges may have below the line
GROWTH = (0.2, 5.0)  # of the number of edges in one step: beyond it the counters start anew
MEMORY = 0.95  # per step: correlation of a node's relative degree with itself
SMALLEST_MEMORY, SMALLEST_VARIANCE = 1e-6, 1e-9
SPREAD, DENSE_SPREAD = 4.0, 0.05  # least variance of relative degrees: below a frame's noise, and above
CLASS_PRIOR, CLASS_DRIFT = 0.15, 0.02  # variance of a cell's ratio at first, and what a frame adds
SMALLEST_RATIO = 0.02
HUBS, EVIDENT = 0.02, 3.0  # the share of nodes, and the standard deviations, for a degree of its own
RANK_ERROR, STALE_ERROR = 0.3, 0.25  # relative errors of a degree by rank, and of a score of long ago


@dataclass(frozen=True)
class Nodes:
    """What is known of single nodes. A relative degree is one over the mean degree of its step.

    ``score`` float64 (n,): relative degrees as the key frames saw them; before the first, random numbers that
    only order the nodes. ``variance``: error of every score. ``spread``: variance of relative degrees over
    nodes, and ``spread_weight`` the precision of that. ``label`` int8 (n,): degree class. ``ratio``,
    ``ratio_variance`` float64 (3,): edges in the classes' cells over those of a Chung-Lu graph. ``step``: of
    the last key frame, None before it. ``law`` float64 (laws,): of few nodes, how likely key frames make each
    law of degrees.
    """

    score: np.ndarray
    variance: float
    spread: float
    spread_weight: float
    label: np.ndarray
    ratio: np.ndarray
    ratio_variance: np.ndarray
    step: int | None
    law: np.ndarray = field(default_factory=lambda: np.zeros(few.LAWS))

    @classmethod
    def unknown(cls, count: int, rng: Rng) -> Nodes:
        """Start before any key frame: nodes in a random order."""
        ratio = np.ones(3)
        label = np.zeros(count, np.int8)
        return cls(rng.random(count), 0.0, SPREAD, 0.0, label, ratio, CLASS_PRIOR * ratio, None)

    def expected(self) -> tuple[np.ndarray, float]:
        """Estimate relative degrees, float64 (n,), and their variance.

        They are scores, shrunk to the mean of 1.
        """
        trust = self.spread / (self.spread + self.variance)
        return 1 + trust * (self.score - 1), trust * self.variance


@dataclass(frozen=True)
class Memory:
    """What a step hands to its relation's next.

    It is outputs already paid for, nothing else.

    ``step``: whose outputs these are. ``edges``: the filtered number of edges. ``keys``: of a live stream,
    the edges that were published. ``phases``: of a declared period, what was last known of the number of
    edges in each of its steps.
    """

    step: int
    edges: float
    count: EdgeCount
    tail: Bank
    nodes: Nodes
    stays: Stays = field(default_factory=Stays)
    keys: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    phases: Mapping[int, Phase] = field(default_factory=dict)


def fit_step(
    graph: PrivateGraph,
    cell_of: tuple[str, int],
    budget: StepBudget,
    memory: Memory | None,
    step: int,
    rng: Rng,
) -> tuple[Columns, Memory]:
    """Pay for the step's columns, at the budget's cost.

    Included is what the next step may know.

    ``cell_of``: the relation and the graph's step. ``step`` counts from the start of the stream; steps
    between it and the memory's are missing. ``rng`` makes choices that are independent of the graph.
    O(n log n + m).
    """
    cell = graph.cell(*cell_of)
    nodes = cell.shape.source_count
    phases = {} if memory is None else memory.phases
    phase = step % graph.schema.time.period if graph.schema.time and graph.schema.time.period else None
    past = None if phase is None else phases.get(phase)
    counters, count, tail = _followed(cell, nodes, budget, memory, step, past)
    known = Nodes.unknown(nodes, rng) if memory is None else memory.nodes
    if budget.degrees:
        known = _framed(cell, nodes, budget, known, counters.edges, step, rng)
    order = np.argsort(-known.score, kind="stable")
    ranked = _ranked(counters, known, order, nodes)
    stays = Stays() if memory is None else memory.stays
    # By the clock and by which steps there are, both public: never by what a read said.
    if budget.kept_edges and memory is not None and memory.step == step - 1:
        stays = stays.measured(graph.between(*cell_of), budget, counters.edges, ranked)
    if budget.aside:
        # Paid whether the next step comes or not, so that what a window costs does not depend on it.
        graph.aside.pay(*cell_of, nano_epsilon=budget.aside, purpose=SET_ASIDE)
    mean = 2 * counters.edges / nodes
    stays = stays.drawn(known.score, known.variance, mean, ranked, known.step is not None, rng)
    degrees = _attached(counters, known, order[stays.active[order]], ranked, nodes, step)
    if budget.degrees:
        known = _classified(cell, budget, known, order, degrees, counters.edges)
    columns = {
        "degree": degrees.astype(np.float32),
        "label": known.label,
        "ratio": known.ratio,
        "kept": np.array([_stay(stays, memory, step)], dtype=np.float32),
    }
    phases = phases if phase is None else {**phases, phase: count.phase()}
    return columns, Memory(step, counters.edges, count, tail, known, stays, phases=phases)


def _stay(stays: Stays, memory: Memory | None, step: int) -> float:
    """Return the share of the step's edges that its last published one had. None after missing steps."""
    return stays.edges.estimate(0.0) if memory is not None and memory.step == step - 1 else 0.0


def _followed(
    cell: PrivateCell, nodes: int, budget: StepBudget, memory: Memory | None, step: int, past: Phase | None
) -> tuple[Counters, EdgeCount, Bank]:
    """Pay for the step's number of edges and tail counters, and update their filters.

    The counters are taken to grow with the number of edges. Where that changed more than fivefold they are
    those of another time of day, and start anew.
    """
    at = thresholds(nodes) if budget.tail else np.empty(0, dtype=np.int64)
    edge = cell.laplace("edge_count", nano_epsilon=budget.count, purpose="edge count")
    far, far_noise = np.empty(0), 1.0
    if budget.tail:
        spent, purpose = budget.tail, "degree tail counters"
        far = cell.laplace("tail_counts", nano_epsilon=spent, purpose=purpose, thresholds=at)
        far_noise = _variance(2, budget.tail)
    gap = 1 if memory is None else step - memory.step
    if gap < 1:
        raise ValueError("a stream's steps come in order")
    known = float(edge[0]), NANO / budget.count, cell.shape.slots
    count = EdgeCount.start(*known) if memory is None else memory.count.step(*known, gap, past)
    edges, variance = count.estimate()
    growth = 0.0 if memory is None else max(edges, SMALLEST_EDGES) / max(memory.edges, SMALLEST_EDGES)
    if memory is None or not GROWTH[0] <= growth <= GROWTH[1]:
        tail = Bank.start(far, far_noise)
    else:
        tail = memory.tail.step(far, far_noise, gap, growth)
    return Counters(at, *tail.estimate(), edges, variance), count, tail


def _variance(sensitivity: int, nano_epsilon: int) -> float:
    """Bound the variance of discrete Laplace noise, a little above."""
    return 2 * (sensitivity * NANO / nano_epsilon) ** 2


def _framed(
    cell: PrivateCell, nodes: int, budget: StepBudget, before: Nodes, edges: float, step: int, rng: Rng
) -> Nodes:
    """Update the scores by a key frame's noisy degrees over the step's mean degree.

    So what is remembered of a node is its part of the stream, whether that fills or empties; and a frame at
    night, whose noise over a small mean is large, weighs nothing. Relative degrees drift about 1: a Kalman
    filter per node, of common variance, that keeps what was seen apart from what nodes are like.
    """
    noisy = cell.laplace("degrees", nano_epsilon=budget.degrees, purpose="degrees at a key frame")
    # Whole numbers tie; ties that are broken by node order would reveal the order of the upload.
    measured = noisy + rng.random(nodes) - 0.5
    mean = 2 * max(edges, SMALLEST_EDGES) / nodes
    seen, noise = measured / mean, _variance(2, budget.degrees) / mean**2
    varied = max(float(seen.var()), SMALLEST_VARIANCE)
    spread = max(varied - noise, SPREAD if noise > 1 else DENSE_SPREAD)
    # The variance of an estimated variance is about 2 varied^2 / nodes: this is its precision.
    weight = nodes / (2 * varied**2)
    spread = (before.spread * before.spread_weight + spread * weight) / (before.spread_weight + weight)
    law = before.law
    if not budget.tail:
        passed = 0 if before.step is None else step - before.step
        law = few.seen(law, measured, 2 * NANO / budget.degrees, 2 * edges / nodes, passed)
    score, variance = seen, noise
    if before.step is not None:
        keep = max(MEMORY ** (step - before.step), SMALLEST_MEMORY)
        # An old score as a measurement of the present one, x: x_old - 1 = keep (x - 1), with a drift of
        # variance (1 - keep^2) spread; solved for x.
        held = 1 + (before.score - 1) / keep
        drifted = (before.variance + (1 - keep**2) * spread) / keep**2
        gain = drifted / (drifted + noise)
        score, variance = held + gain * (seen - held), noise * gain
    return replace(
        before,
        score=score,
        variance=variance,
        spread=spread,
        spread_weight=before.spread_weight + weight,
        step=step,
        law=law,
    )


def _ranked(counters: Counters, known: Nodes, order: np.ndarray, nodes: int) -> np.ndarray:
    """List the step's degrees in descending order, float64 (n,), before they are scaled to its edges."""
    mean = 2 * counters.edges / nodes
    if not len(counters.at):
        return few.ranked(known.law, mean, nodes)
    expected, _ = known.expected()
    largest = 0.0 if known.step is None else float(expected[order[0]]) * mean
    return sequence(curve(counters, longest(counters, largest, nodes), nodes), nodes)


def _attached(
    counters: Counters, known: Nodes, active: np.ndarray, ranked: np.ndarray, nodes: int, step: int
) -> np.ndarray:
    """Give nodes degrees, float64 (n,) in node order: by rank of the score, evident hubs one of their own.

    ``active``: the nodes that have any, in descending order of the score.
    """
    mean = 2 * counters.edges / nodes
    degrees = np.zeros(nodes)
    degrees[active] = ranked[: len(active)]
    if known.step is not None and mean:
        expected, variance = known.expected()
        top = active[: int(np.ceil(HUBS * nodes))]
        top = top[expected[top] - expected.mean() > EVIDENT * np.sqrt(variance)]
        own = expected[top] * mean
        # The longer ago the frame, the less a score says of a hub's present degree.
        aged = STALE_ERROR**2 * (1 - MEMORY ** (2 * (step - known.step)))
        by_rank = 1 / np.maximum(RANK_ERROR * degrees[top], 0.5) ** 2
        by_score = 1 / (variance * mean**2 + aged * own**2)
        # By precision.
        degrees[top] = (degrees[top] * by_rank + own * by_score) / (by_rank + by_score)
    return to_total(degrees, 2 * counters.edges, nodes - 1)


def _classified(
    cell: PrivateCell, budget: StepBudget, known: Nodes, order: np.ndarray, degrees: np.ndarray, edges: float
) -> Nodes:
    """Split nodes into two classes of equal volume; pay for their edge counts, over a Chung-Lu graph's."""
    volume = np.cumsum(degrees[order])
    label = np.ones(len(degrees), dtype=np.int8)
    # Half of the volume, so that both classes have counts that stand out alike.
    label[order[: int(np.searchsorted(volume, volume[-1] / 2)) + 1]] = 0
    counted = cell.laplace(
        "group_matrix",
        nano_epsilon=budget.cells,
        purpose="edges between degree classes",
        labels=label,
        groups=2,
    )
    parts = np.bincount(label, weights=degrees, minlength=2)
    expected = np.maximum(
        np.array([parts[0] ** 2 / 2, parts[0] * parts[1], parts[1] ** 2 / 2])
        / max(2 * edges, SMALLEST_EDGES),
        1e-3,
    )
    noise = _variance(1, budget.cells) / expected**2
    before = known.ratio_variance + (0.0 if known.step is None else CLASS_DRIFT)
    gain = before / (before + noise)
    ratio = known.ratio + gain * (counted / expected - known.ratio)
    return replace(
        known,
        label=label,
        ratio=np.maximum(ratio, SMALLEST_RATIO),
        ratio_variance=before * (1 - gain),
    )
