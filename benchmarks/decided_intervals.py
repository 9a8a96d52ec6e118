"""How often the interval of a total holds where one answer decides how much noise later ones have.

    python -m benchmarks.decided_intervals [--method psgraph ...] [--draws 200000]

``core.publishing.totals`` weighs such answers by public figures, and says how near the total is by the noise
that there was. That noise follows from the first answer, whose own noise is in the total too: an interval of
95 % holds less often where the truth is a little beside a number at which the law changes. Such numbers are
sought; noises are then drawn by the laws between them, for true numbers of edges all around. Printed
for each method, number of nodes and epsilon: how many laws there are, and the share of totals whose interval
holds the truth, at the worst true number and in the mean over those looked at: for intervals of 95 %, and for
those that are published, which are computed at ``totals.DECIDED``.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from typing import Any
from unittest import mock

import networkx as nx
import numpy as np

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.methods import registry
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.events import NANO
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from core.publishing import totals
from core.reports.intervals import Noise, weighted_within
from core.reports.precision import CONFIDENCE

METHODS = ("psgraph", "dcsbm", "anchored")
NODES, EPSILONS = (34, 300, 1_000), (0.5, 1.0, 2.0, 4.0)
LOOKED_AT = 24
"""So many first answers are tried; between two whose laws differ the place is sought."""
FEW = 30
"""Of so many noises the sum is drawn as normal."""
AROUND = (-3.0, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
"""True numbers looked at: so many deviations of the first answer beside each number where the law changes."""


Law = tuple[Noise, ...]
"""The noises in a total once the first answer is known, that answer's own at first."""


class Asked:
    """One method's questions about a graph, by what its first answer was."""

    def __init__(self, method: str, nodes: int, epsilon: float) -> None:
        """Make a graph of so many nodes, of four edges each."""
        schema = GraphSchema(node_types=(NodeType(),), edge_types=(EdgeType(),))
        ends = np.array(sorted(nx.gnm_random_graph(nodes, 4 * nodes, seed=1).edges))
        self.graph = Graph.build(schema, {"node": NodeTable(nodes)}, {"edge": EdgeTable(*ends.T)})
        self.generator = registry.get(method)
        facts = PublicFacts(schema, Unit.EDGE, None, round(epsilon * NANO), 0, ("edge",))
        self.params = self.generator.Params()
        self.plan = self.generator.plan(self.params, facts)
        self._laws: dict[int, Law | None] = {}

    def law(self, first: int) -> Law | None:
        """The total's law after that first number of edges; None where nothing follows from one number."""
        if first not in self._laws:
            self._laws[first] = self._fitted(first)
        return self._laws[first]

    @property
    def laws(self) -> int:
        """How many laws were met."""
        return len({*self._laws.values()})

    def _fitted(self, first: int) -> Law | None:
        true, answered = mechanisms.discrete_laplace, []

        def told(values: np.ndarray, *noise: Any, **given: Any) -> np.ndarray:
            drawn = true(values, *noise, **given)
            if answered or len(values) != 1:
                return drawn
            answered.append(first)
            return np.array([first])

        meter = Meter(self.plan, MemoryRecorder())
        with mock.patch.object(mechanisms, "discrete_laplace", told):
            self.generator.fit(PrivateGraph(self.graph, meter), self.plan, self.params, no_progress)
        with mock.patch.object(totals, "_lines", lambda name, step, known, factors: [known]):
            (known,) = totals.totals(self.graph, meter.measurements)
        decided = any(each.decides is not None and each.query == "edge_count" for each in meter.measurements)
        return known.noises if decided and len(known.noises) > 1 else None  # type: ignore[attr-defined]


def changes(asked: Asked, most: int) -> list[int]:
    """The numbers up to the most from which on the law is another; of two close ones one may be missed."""
    looked = sorted({round(each) for each in np.geomspace(1, most, LOOKED_AT)})
    return [each for low, high in itertools.pairwise(looked) for each in _between(asked, low, high)]


def _between(asked: Asked, low: int, high: int) -> list[int]:
    if asked.law(low) == asked.law(high):
        return []
    if high - low == 1:
        return [high]
    middle = (low + high) // 2
    return _between(asked, low, middle) + _between(asked, middle, high)


def noise_of(each: Noise, draws: int, rng: np.random.Generator) -> np.ndarray:
    """So many sums of the noises."""
    if each.draws > FEW:
        return rng.normal(0.0, each.variance**0.5, draws)
    chance = -np.expm1(-1 / float(each.scale))
    pairs = rng.geometric(chance, (2, draws, each.draws))
    return each.factor * (pairs[0] - pairs[1]).sum(axis=1)


def held(asked: Asked, nodes: int, draws: int, confidence: float = totals.DECIDED) -> dict[int, float]:
    """How many in one hold the truth, by true number of edges; empty where no answer decides."""
    most = nodes * (nodes - 1) // 2
    if asked.law(1) is None:
        return {}
    starts = changes(asked, most)
    rng = np.random.default_rng(7)
    laws = [law for start in (1, *starts) if (law := asked.law(start)) is not None]
    first = noise_of(laws[0][0]._replace(factor=1.0), draws, rng)
    later = [sum(noise_of(each, draws, rng) for each in law[1:]) for law in laws]
    near = [weighted_within(law, confidence) for law in laws]
    around = {round(start + x * float(first.std())) for start in starts for x in AROUND}
    found = {}
    for truth in sorted(each for each in around if 1 <= each <= most):
        place = np.searchsorted(starts, truth + first, side="right")
        inside = 0
        for number, law in enumerate(laws):
            own = place == number
            error = law[0].factor * first[own] + later[number][own]
            inside += int((np.abs(error) <= near[number]).sum())
        found[truth] = inside / draws
    return found


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decided_intervals", description=__doc__)
    parser.add_argument("--method", choices=METHODS, action="append")
    parser.add_argument("--nodes", type=int, action="append")
    parser.add_argument("--epsilon", type=float, action="append")
    parser.add_argument("--draws", type=int, default=200_000)
    given = parser.parse_args()
    print("| method | nodes | epsilon | laws | 95 %: worst | at edges | mean | published: worst | mean |")
    print("|" + "---|" * 9)
    cases = itertools.product(given.method or METHODS, given.nodes or NODES, given.epsilon or EPSILONS)
    for method, nodes, epsilon in cases:
        asked = Asked(method, nodes, epsilon)
        plain, published = (held(asked, nodes, given.draws, each) for each in (CONFIDENCE, totals.DECIDED))
        if plain:
            worst = min(plain, key=plain.__getitem__)
            told = f"{plain[worst]:.3f} | {worst} | {np.mean([*plain.values()]):.3f}"
            told += f" | {min(published.values()):.3f} | {np.mean([*published.values()]):.3f} |"
            print(f"| {method} | {nodes} | {epsilon:g} | {asked.laws} | {told}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
