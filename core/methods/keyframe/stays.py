"""What stays from step to step: how much of the edges and of the active nodes, and which nodes.

Once a window two steps are read together (:mod:`core.privacy.reads.between_steps`): how many edges and how
many nodes both have. The shares of the later step that those make are averaged over windows by precision.
Which nodes are active at a step is drawn: each one's odds to have an edge, given what key frames saw of it
and the step's own degree law, race against chances of its own; of those active at the step before, the share
that stays is kept. Post-processing of noisy values.

Constants were set on AS-733, email-Eu, CollegeMsg, bitcoin-otc, radoslaw-email and contacts at a workplace.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from core.methods.keyframe.budget import NODES_SINCE, StepBudget
from core.privacy.accounting.events import NANO
from core.privacy.accounting.plan import SINCE_BEFORE
from core.privacy.entropy import Generator as Rng
from core.privacy.reads.between_steps import EDGES, NODES, BetweenSteps

DRIFT = 0.03  # of a share, standard deviation from window to window
OWN = (0.03, 0.05)  # standard deviations of a step's own shares, of edges and nodes, about a window's
UNKNOWN = (0.25, 0.09)  # variances before the first read: of edges about none, of nodes as degrees foretell
FEW = 1.0  # the least number of edges, or nodes, that a share is of
STEADY = (0.6, 0.3, 0.95)  # chances last where more than this share of nodes stays, over this range; at most
GRID = 512  # points at which odds are worked out
MOST_ODDS = 40.0  # logarithm


@dataclass(frozen=True)
class Share:
    """A share that stays, as windows have told it: its estimate, with variance. None before the first."""

    value: float | None = None
    variance: float = 0.0

    def seen(self, value: float, noise: float, prior: tuple[float, float]) -> Share:
        """Update it by a window's share of that noise; ``prior``: its mean and variance before the first."""
        mean, before = prior if self.value is None else (self.value, self.variance + DRIFT**2)
        gain = before / (before + noise)
        return Share(mean + gain * (value - mean), before * (1 - gain))

    def estimate(self, otherwise: float) -> float:
        """Return it within 0..1."""
        return otherwise if self.value is None else float(np.clip(self.value, 0, 1))


@dataclass(frozen=True)
class Stays:
    """What a step hands to the next. ``chance`` float64 (n,): exponential; ``active`` bool (n,)."""

    edges: Share = field(default_factory=Share)
    nodes: Share = field(default_factory=Share)
    chance: np.ndarray = field(default_factory=lambda: np.empty(0))
    active: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=bool))

    def measured(
        self, between: BetweenSteps | None, budget: StepBudget, edges: float, ranked: np.ndarray
    ) -> Stays:
        """Pay for what the clock grants. Nothing where the step before is not known.

        ``edges``: of the step; ``ranked``: its degrees in descending order.
        """
        found = self
        if between is None:
            return found
        if budget.kept_edges:
            nano = budget.kept_edges
            kept = between.kept_edges(nano_epsilon=nano, purpose=SINCE_BEFORE)
            part = _seen(kept, edges, EDGES, nano, OWN[0])
            found = replace(found, edges=found.edges.seen(*part, (0.0, UNKNOWN[0])))
        if budget.kept_nodes:
            nano = budget.kept_nodes
            kept = between.kept_nodes(nano_epsilon=nano, purpose=NODES_SINCE)
            part = _seen(kept, float(np.count_nonzero(ranked)), NODES, nano, OWN[1])
            found = replace(found, nodes=found.nodes.seen(*part, (foretold(ranked), UNKNOWN[1])))
        return found

    def drawn(
        self, score: np.ndarray, variance: float, mean: float, ranked: np.ndarray, known: bool, rng: Rng
    ) -> Stays:
        """Draw who is active. As many nodes are as ``ranked`` has degrees above 0. O(n log n).

        ``score``, ``variance``: relative degrees as seen, over a step of ``mean`` degree; not ``known``
        before a key frame, when all odds are alike.
        """
        nodes, wanted = len(ranked), int(np.count_nonzero(ranked))
        share = self.nodes.estimate(foretold(ranked))
        chance = self._renewed(nodes, share, rng)
        race = np.log(np.maximum(chance, np.finfo(float).tiny))
        if known and mean > 0:
            race -= 2 * log_odds(score * mean, variance * mean**2, ranked)
        active = np.zeros(nodes, dtype=bool)
        before = self.active if len(self.active) else active
        # Those who stay; then new ones; then whoever is left, should either be too few.
        active[_first(race, before, int(np.rint(share * wanted)))] = True
        active[_first(race, ~(active | before), wanted - int(active.sum()))] = True
        active[_first(race, ~active, wanted - int(active.sum()))] = True
        return replace(self, chance=chance, active=active)

    def _renewed(self, nodes: int, share: float, rng: Rng) -> np.ndarray:
        """Draw anew the chances that do not last, float64 (n,): all but where nearly all nodes stay."""
        low, over, most = STEADY
        lasts = float(np.clip((share - low) / over, 0, most)) if len(self.chance) else 0.0
        if not lasts:
            return np.asarray(rng.exponential(size=nodes))
        anew = np.flatnonzero(rng.random(nodes) >= lasts)
        chance = self.chance.copy()
        chance[anew] = rng.exponential(size=len(anew))
        return chance


def _first(race: np.ndarray, among: np.ndarray, count: int) -> np.ndarray:
    """Return the nodes that are first in the race, of those marked ``among``; O(n)."""
    running = np.flatnonzero(among)
    if count <= 0 or count >= len(running):
        return running[: max(count, 0)]
    # A partition is linear; the order among the first is of no concern.
    return running[np.argpartition(race[running], count)[:count]]


def _seen(kept: int, of: float, sensitivity: int, nano_epsilon: int, own: float) -> tuple[float, float]:
    """Return a window's share, with the variance of its noise and of its own."""
    whole = max(of, FEW)
    # A Laplace law of scale b has the variance 2 b^2; the step's own deviation comes on top.
    return kept / whole, 2 * (sensitivity * NANO / nano_epsilon / whole) ** 2 + own**2


def _law(ranked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the degrees that occur, ascending, and how often. O(n): they are in order."""
    ends = np.append(np.flatnonzero(np.diff(ranked)) + 1, len(ranked))
    return ranked[ends - 1][::-1], np.diff(ends, prepend=0)[::-1]


def foretold(ranked: np.ndarray) -> float:
    """Foretell the share of active nodes that stays, by degrees alone: each node draws its edges afresh."""
    degrees, counts = _law(ranked)
    # A node with d edges to expect has one at least with probability 1 - e^-d, by Poisson's law.
    some = -np.expm1(-degrees)
    whole = float(counts @ some)
    # Active in both steps, independently, over active in one.
    return float(counts @ some**2) / whole if whole else 0.0


def log_odds(seen: np.ndarray, variance: float, ranked: np.ndarray) -> np.ndarray:
    """Compute each node's log odds to have an edge, float64 (n,).

    ``seen``: its degree under normal noise of ``variance``; ``ranked``: the law of degrees. Worked out on a
    grid and interpolated: O(n + grid * degrees).
    """
    degrees, counts = _law(ranked)
    law = counts / len(ranked)
    if degrees[0] > 0 or len(degrees) == 1:
        return np.zeros(len(seen))
    spread = max(variance, 0.25)
    low, high = float(seen.min()), float(seen.max())
    # Points are denser at the lower end, where odds change most.
    grid = low + (high - low) * np.linspace(0, 1, GRID) ** 2
    far = -((grid[:, None] - degrees) ** 2) / (2 * spread)
    top = far[:, 1:].max(axis=1)
    # By the largest term, so that not all underflow.
    some = top + np.log(np.exp(far[:, 1:] - top[:, None]) @ law[1:])
    odds = np.clip(some - far[:, 0] - np.log(law[0]), -MOST_ODDS, MOST_ODDS)
    found: np.ndarray = np.interp(seen, grid, odds)
    return found
