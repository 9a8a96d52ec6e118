"""The reads of every relation by ``projection``.

They are a rough mean degree, tails of degrees, the number of edges. Of a directed relation all of it is read
of a double cover, at the same theta on both sides, which a person moves twice as far; of a timed one, of
events of all steps. Degrees are those of one side then.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from core.methods._shared.degrees.fitted import DegreeLaw
from core.methods.projection.law import LOST, CappedEdges, CappedTails, fitted_law, fitted_laws, kept_share
from core.privacy.accounting.events import NANO
from core.privacy.mechanisms.projection import MAX_THETA
from core.privacy.reads.people import People

FIRST_THETA, RUNGS_APART = 4, 4
SPARSE = 0.35  # of theta: a mean number of kept edges below it says that most edges were kept
GROWN = 1.08  # times an earlier number of kept edges: more says that hubs were cut
LONGEST = 4.0  # root n: no theta of the first look is larger
LEAST_MEAN = 0.5
LAW_THETA, LAW_NOISE = {1: (1.5, 4.0), 2: (1.0, 4.0)}, 0.015
"""Theta for the law of degrees, in mean degrees: noise about LAW_NOISE of the nodes, within limits by sides.
Looked at on Cora, LastFM, CollegeMsg and bitcoin-otc; Facebook, of 44 edges a person, would have more."""
EDGE_THETA, THETAS = (12.0, 200.0), 12
"""Thetas for the number of edges, in mean degrees, of which the best is taken."""
MOST_THRESHOLDS = 60
REACH = 1.25  # the law ends at so many times the largest theta
CONFIDENCE = 0.95
NOBODY = DegreeLaw(np.zeros(1, np.int64), np.ones(1))
"""The law of one person, who knows nobody."""
UNTOLD = {"between": np.empty(0), "theta": np.empty(0, dtype=np.int64)}


def sides_of(people: People) -> int:
    """Count the sides of a relation that are capped.

    They are capped by themselves: two, where it is directed.
    """
    return 2 if people.relation.directed else 1


def ends_of(people: People) -> int:
    """How many ends of an edge a degree counts."""
    return 1 if people.relation.directed else 2


def most_of(people: People) -> int:
    """Return the largest degree allowed on one side. Public facts, and the samplers, allow it."""
    slots = (people.count - 1) * people.steps
    return min(slots, people.kind.degree_bound or slots, MAX_THETA // sides_of(people))


def counted(people: People, theta: int, nano_epsilon: int, purpose: str) -> CappedEdges:
    """The number of edges that a projection keeps, paid for."""
    if people.relation.directed:
        count = people.directed((theta, theta)).arc_count(nano_epsilon=nano_epsilon, purpose=purpose)
    else:
        count = people.projected(theta).edge_count(nano_epsilon=nano_epsilon, purpose=purpose)
    return CappedEdges(theta, count, variance(sides_of(people) * theta, nano_epsilon))


def variance(sensitivity: int, nano_epsilon: int) -> float:
    """The variance of discrete Laplace noise of that scale, about."""
    return 2 * (sensitivity * NANO / nano_epsilon) ** 2


def laws_of(people: People, most: int, budget: Mapping[str, int]) -> tuple[list[DegreeLaw], CappedEdges]:
    """Measure the law of degrees, or of a directed relation those of what goes out and of what comes in.

    With it comes the number of edges at the largest theta that was looked at.
    """
    edges, rough, mean, left = scale_of(people, most, budget["scale"])
    tails = law_tails(people, mean, most, budget["law"])
    edges.append(wide_count(people, rough, mean, most, budget["edges"] + left))
    reach = reach_of(edges[-1].theta, most)
    if people.relation.directed:
        return list(fitted_laws(people.count, reach, edges, (tails[0], tails[1]))), edges[-1]
    return [fitted_law(people.count, reach, edges, tails)], edges[-1]


def told_of(laws: list[DegreeLaw], wide: CappedEdges, people: People) -> dict[str, np.ndarray]:
    """Return what a release says of its number of edges.

    Columns: ``between`` float64 (2,), where the number is expected, and ``theta`` int64 (1,), up to which
    edges of a person were counted. The lower end is noise alone, as a projection adds no edge; the upper one
    takes twice what the law says was cut off, which is too little where few hubs have most edges.
    """
    # Laplace noise of scale b lies beyond b ln(1 / (1 - c)) on either side with probability 1 - c.
    noise = np.sqrt(wide.variance / 2) * np.log(1 / (1 - CONFIDENCE))
    mean = float(np.mean([law.grid @ law.mass for law in laws]))
    kept = float(np.mean([kept_share(law, 1.0, wide.theta) for law in laws]))
    cut = (1 - kept) * mean * people.count / ends_of(people)
    low, high = wide.count - noise, wide.count + noise + 2 * cut
    return {"between": np.maximum([low, high], 0.0), "theta": np.array([wide.theta], dtype=np.int64)}


def scale_of(people: People, most: int, nano_epsilon: int) -> tuple[list[CappedEdges], DegreeLaw, float, int]:
    """Measure kept edges at growing thetas, and a rough law.

    Returned are their numbers, the law, its mean, and the nano-epsilon that was left. Every theta that public
    facts allow has an equal share. The look ends where few edges were cut off and a larger theta kept hardly
    more (of a few hubs the first by itself would say that), or where the next noise would hide the last
    number. The law explains all counts: one may be nothing but noise.
    """
    limit = min(most, int(LONGEST * np.sqrt(people.count)))
    ends, thetas = ends_of(people), [min(FIRST_THETA, most)]
    while RUNGS_APART * thetas[-1] <= limit:
        thetas.append(RUNGS_APART * thetas[-1])
    each, left, found = nano_epsilon // len(thetas), nano_epsilon, list[CappedEdges]()
    for theta in thetas:
        before = found[-1].count if found else 0.0
        # Decided by public numbers and earlier answers, so that neighbours make the same reads.
        if found and np.sqrt(variance(sides_of(people) * theta, each)) > max(before, 1.0):
            break
        found.append(counted(people, theta, each, "edges, roughly"))
        left -= each
        few = max(ends * found[-1].count / people.count, LEAST_MEAN) <= SPARSE * theta
        if len(found) > 1 and few and found[-1].count <= GROWN * before:
            break
    far = max(limit, reach_of(found[-1].theta, most))  # hubs beyond the last look have edges too
    law = fitted_law(people.count, far, found, [], ends)
    return found, law, float(np.clip(law.grid @ law.mass, LEAST_MEAN, found[-1].theta)), left


def wide_count(people: People, law: DegreeLaw, mean: float, most: int, nano_epsilon: int) -> CappedEdges:
    """Count edges at the theta of least error.

    There noise and what it cuts off by the rough law are least.
    """
    thetas = [theta_of(mean, times, most) for times in np.geomspace(*EDGE_THETA, THETAS)]
    theta = min(thetas, key=lambda each: _missed(people, law, each, nano_epsilon))
    return counted(people, theta, nano_epsilon, "edges")


def _missed(people: People, law: DegreeLaw, theta: int, nano_epsilon: int) -> float:
    """The squared error of a number of edges: noise, and half of what a projection cuts off."""
    cut = 1 - kept_share(law, 1.0, theta)
    lost = cut * float(law.grid @ law.mass) * people.count / ends_of(people)
    return variance(sides_of(people) * theta, nano_epsilon) + (LOST * lost) ** 2


def law_tails(people: People, mean: float, most: int, nano_epsilon: int) -> list[CappedTails]:
    """Measure how many nodes have at least j edges. It is for the law of degrees of each side."""
    moved = 2 * sides_of(people)  # for each 1 of theta
    noise = moved * mean * NANO / nano_epsilon / people.count  # of the nodes, for each mean degree in theta
    theta = theta_of(mean, float(np.clip(LAW_NOISE / noise, *LAW_THETA[sides_of(people)])), most)
    at = np.unique(np.rint(np.geomspace(1, theta, MOST_THRESHOLDS)).astype(np.int64))
    counts: tuple[np.ndarray, ...]
    if people.relation.directed:
        counts = people.directed((theta, theta)).tail_counts(
            thresholds=(at, at), nano_epsilon=nano_epsilon, purpose="degrees"
        )
    else:
        kept = people.projected(theta)
        counts = (kept.tail_counts(thresholds=at, nano_epsilon=nano_epsilon, purpose="degrees"),)
    return [CappedTails(theta, at, count, variance(moved * theta, nano_epsilon)) for count in counts]


def reach_of(theta: int, most: int) -> int:
    """Return the largest degree of a law read at ``theta``."""
    return min(most, max(round(REACH * theta), FIRST_THETA))


def theta_of(mean: float, times: float, most: int) -> int:
    """So many mean degrees as a theta."""
    return int(np.clip(round(times * mean), 1, most))
