"""The reads of ``projection``. What each costs, and how the next one is chosen from noisy numbers."""

from __future__ import annotations

import numpy as np

from core.methods._shared.blocks.estimates import norm_sub
from core.methods._shared.degrees.fitted import DegreeLaw
from core.methods._shared.frame.columns import Columns
from core.methods._shared.frame.plan import divide
from core.methods.projection.law import kept_share
from core.methods.projection.looks import (
    NOBODY,
    UNTOLD,
    counted,
    laws_of,
    most_of,
    theta_of,
    told_of,
    variance,
)
from core.methods.projection.params import ProjectionParams
from core.privacy.accounting.events import NANO
from core.privacy.limits import MAX_SENSITIVITY
from core.privacy.mechanisms.packing import MAX_TAU
from core.privacy.reads import bounded
from core.privacy.reads.people import People
from core.privacy.reads.public_groups import group_attribute

INSIDE_SHARE = 0.7  # of what groups cost, for edges inside them
INSIDE_THETA, ACROSS_THETA = 3.0, 3.0  # in mean degrees
APART_THETA = 1.0  # of edges across protected values, whose noise all of them share
CLUMPED = 2.0  # one person in so many has the edges across groups, more or less
MOST_GROUPS = 256
ROUGH_SHARE = 0.25  # of what triangles cost, for the first look
ROUGH_TAU = 16
MOST_BOUND = 1_448  # of degrees: beyond it the noise of all triangles together is out of reach
MOST_TRIANGLES = 50_000  # in the first look, were the graph as full of them as its degrees allow
TRIANGLES = 20_000  # in the second look, about
TAU_NOISE = 0.15  # of the triangles
ROUGHLY_SEEN, SEEN = 2.0, 3.0  # scales of Laplace noise: what lies below may be noise alone


def fit(people: People, nano_epsilon: int, params: ProjectionParams) -> Columns:
    """Measure the values of an undirected relation without time.

    They are noisy, at ``nano_epsilon`` in all. Columns: ``grid`` int64 (g,) and ``mass`` float64 (g,), the
    law of degrees; ``between`` and ``theta``: see :func:`told_of`; ``most`` int64 (1,), public; ``labels``
    int32 (n,), public groups; ``inside`` float64 (groups,), edges inside each, and ``across`` float64 (1,);
    ``triangles`` float64 (1,), or () where none are paid for, or none were seen in the noise.
    """
    nodes, most = people.count, most_of(people)
    budget = shares(params, nano_epsilon, group_attribute(people.kind, params.groups) is not None)
    labels, groups = public_groups(people, params.groups)
    if most < 1:  # one person: there is nothing to read, and a plan is never left unread
        counted(people, 1, nano_epsilon, "edges")
        return {**UNTOLD, **_columns(NOBODY, 0, labels, np.zeros(groups), 0.0, np.empty(0))}
    [law], wide = laws_of(people, most, budget)
    total = float(law.grid @ law.mass) * nodes / 2
    inside, across = np.array([total]), 0.0
    if "groups" in budget:
        inside, across = group_counts(people, labels, groups, law, total, most, budget["groups"])
    triangles = np.empty(0)
    if "triangles" in budget:
        full = most_triangles(law, nodes, total, people.kind.degree_bound)
        triangles = counted_triangles(people, full, budget["triangles"])
    return {**told_of([law], wide, people), **_columns(law, most, labels, inside, across, triangles)}


def _columns(
    law: DegreeLaw, most: int, labels: np.ndarray, inside: np.ndarray, across: float, triangles: np.ndarray
) -> Columns:
    return {
        "grid": law.grid.astype(np.int64),
        "mass": law.mass.astype(np.float64),
        "most": np.array([most], dtype=np.int64),
        "labels": labels.astype(np.int32),
        "inside": inside.astype(np.float64),
        "across": np.array([across], dtype=np.float64),
        "triangles": triangles.astype(np.float64),
    }


def shares(params: ProjectionParams, nano_epsilon: int, grouped: bool) -> dict[str, int]:
    """Return the nano-epsilon of every paid read. They sum to ``nano_epsilon``."""
    named = {"scale": params.scale_share, "edges": params.edge_share}
    if grouped:
        named["groups"] = params.group_share
    if params.triangle_share:
        named["triangles"] = params.triangle_share
    return dict(zip((*named, "law"), divide(nano_epsilon, *named.values()), strict=True))


def public_groups(people: People, name: str | None) -> tuple[np.ndarray, int]:
    """Return the persons' public groups and their number. Those of fewest persons are together; free."""
    chosen = group_attribute(people.kind, name)
    if chosen is None:
        return np.zeros(people.count, dtype=np.int64), 1
    labels = people.groups(chosen, MOST_GROUPS)
    return labels, int(labels.max(initial=0)) + 1


def group_counts(
    people: People,
    labels: np.ndarray,
    groups: int,
    law: DegreeLaw,
    total: float,
    most: int,
    nano_epsilon: int,
) -> tuple[np.ndarray, float]:
    """Estimate edges inside each group, and across.

    None is negative, together they are ``total``, with the projections undone.
    """
    first, second = divide(nano_epsilon, INSIDE_SHARE)
    mean = float(law.grid @ law.mass)
    wide, narrow = theta_of(mean, INSIDE_THETA, most), theta_of(mean, ACROSS_THETA, most)
    inside = people.inside(labels, groups, wide).counts(nano_epsilon=first, purpose="edges inside groups")
    across = people.across(labels, groups, narrow).edge_count(
        nano_epsilon=second, purpose="edges across groups"
    )
    inside_noise = groups * variance(wide, first)
    across_noise = variance(narrow, second)
    share = 0.5
    for _ in range(4):  # how much a projection takes hangs on the share of edges that it sees
        kept_inside, kept_across = _kept_by(law, share, (wide, narrow))
        # Two estimates of the edges inside: what is read there, and all but what is read across.
        within, other = inside.sum() / kept_inside, total - across / kept_across
        # By precision: dividing by what is kept divides the noise's deviation by it too.
        weights = kept_inside**2 / inside_noise, kept_across**2 / across_noise
        number = (weights[0] * within + weights[1] * other) / sum(weights)
        share = float(np.clip(number / max(total, 1), 0.01, 0.99))
    return _divided(total, share, inside)


def _kept_by(law: DegreeLaw, share: float, thetas: tuple[int, int]) -> tuple[float, float]:
    """The shares of edges that are kept inside groups and across, where so many of all edges are inside."""
    return kept_share(law, share, thetas[0]), kept_share(law, min(1.0, CLUMPED * (1 - share)), thetas[1])


def _divided(total: float, share: float, inside: np.ndarray) -> tuple[np.ndarray, float]:
    """Divide all edges, of which a share is inside groups: the number inside each, and across."""
    even = norm_sub(inside.astype(np.float64))
    if even.sum() <= 0:
        even = np.ones(len(inside))
    return even * (share * total / even.sum()), (1 - share) * total


def met(
    people: People, known: tuple[DegreeLaw, float], attribute: str, labels: np.ndarray, nano_epsilon: int
) -> tuple[np.ndarray, float]:
    """Estimate edges inside groups of protected values, and across.

    They are of one attribute, at ``nano_epsilon`` in all.

    ``known``: the law of persons' edges, and how many there are. ``labels`` (bins,): each bin's group. Both
    numbers are of one read, at like noise: their proportion is heeded, and not how many there are in all.
    """
    law, total = known
    groups, mean, most = int(labels.max()) + 1, float(law.grid @ law.mass), MAX_SENSITIVITY // 3
    wide, narrow = (theta_of(mean, times, most) for times in (INSIDE_THETA, APART_THETA))
    # Each group has a number for itself; all pairs across share the last one.
    pairs = np.full((groups, groups), groups)
    np.fill_diagonal(pairs, np.arange(groups))
    read = people.by_rows(attribute, labels, pairs, [wide] * groups + [narrow])
    kept = read.counts(nano_epsilon=nano_epsilon, purpose=f"edges by {attribute} of both ends")
    share = 0.5
    for _ in range(4):
        inside, across = _kept_by(law, share, (wide, narrow))
        within, other = max(kept[:-1].sum() / inside, 0.0), max(kept[-1] / across, 0.0)
        share = float(np.clip(within / max(within + other, 1.0), 0.01, 0.99))
    return _divided(total, share, kept[:-1])


def most_triangles(law: DegreeLaw, nodes: int, edges: float, bound: int | None) -> float:
    """Bound the triangles of a graph of that law.

    At most so many have room in it, or in one of so many edges; 1 at least.
    """
    pairs = nodes * float(law.grid * (law.grid - 1.0) @ law.mass) / 2  # of neighbours: a triangle takes three
    # The most that so many edges can form, and that so many paths can close.
    found = min((2 * edges) ** 1.5 / 6, pairs / 3)
    most: float = max(found if bound is None else min(found, edges * (bound - 1) / 3), 1.0)
    return most


def counted_triangles(people: People, full: float, nano_epsilon: int) -> np.ndarray:
    """Measure the number of triangles.

    It is (1,) or () where it cannot be told from noise; ``full``: no more have room. A rough one first, which
    says at what tau to look again; all triangles at once, under a declared bound, where that is the less
    noise. A target of pure noise, scaled up by the share that was looked at, would be worse than the
    triangles that a draw has by chance.
    """
    exact = bounded_noise(people.kind.degree_bound)
    share = min(1.0, MOST_TRIANGLES / full)
    # Noise of packed triangles is blown up by the share that is looked at.
    if exact <= (ROUGH_TAU + 1) / share:
        return _seen(exact_triangles(people, nano_epsilon), exact * NANO / nano_epsilon, full)
    first, second = divide(nano_epsilon, ROUGH_SHARE)
    rough = people.packed_triangles(
        tau=ROUGH_TAU, share=share, nano_epsilon=first, purpose="triangles, roughly"
    )
    floor = ROUGHLY_SEEN * (ROUGH_TAU + 1) * NANO / first / share
    aim = rough if rough > floor else floor / 2  # a middling number of those that hide in the noise
    rough = min(max(rough, floor), full)
    share = min(1.0, TRIANGLES / rough)
    tau = min(max(1, round(TAU_NOISE * share * min(aim, full) * second / NANO)), MAX_TAU)
    if exact <= (tau + 1) / share:
        return _seen(exact_triangles(people, second), exact * NANO / second, full)
    found = people.packed_triangles(tau=tau, share=share, nano_epsilon=second, purpose="triangles")
    return _seen(found, (tau + 1) * NANO / second / share, full)


def bounded_noise(bound: int | None) -> float:
    """Bound what one person may change of all triangles. It is by a declared bound; infinite without one."""
    if bound is None or bound > MOST_BOUND:
        return np.inf
    return bounded.triangles(bound)[0]


def exact_triangles(people: People, nano_epsilon: int) -> float:
    """All triangles together, under the declared bound."""
    graph = people.bounded(people.kind.degree_bound or 0)
    return float(graph.triangles(nano_epsilon=nano_epsilon, purpose="triangles"))


def _seen(found: float, scale: float, full: float) -> np.ndarray:
    """What was found, unless noise of that ``scale`` may be all there is."""
    return np.array([min(found, full)]) if found > SEEN * scale else np.empty(0)
