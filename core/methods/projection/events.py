"""The reads of ``projection`` for directed or timed relations.

Laws of both sides, steps, mutual pairs. A law of degrees is that of all steps together: events of all steps
stand in one list. Edges are measured by period: even stretches of steps, as many as their noise allows.
"""

from __future__ import annotations

import numpy as np

from core.graphs.schema import EdgeType
from core.methods._shared.blocks.estimates import norm_sub
from core.methods._shared.degrees.fitted import DegreeLaw
from core.methods._shared.frame.columns import Columns
from core.methods._shared.frame.plan import divide
from core.methods.projection.law import kept_share
from core.methods.projection.looks import (
    NOBODY,
    UNTOLD,
    counted,
    ends_of,
    laws_of,
    most_of,
    theta_of,
    told_of,
)
from core.methods.projection.params import ProjectionParams
from core.privacy.accounting.events import NANO
from core.privacy.limits import MAX_SENSITIVITY
from core.privacy.reads.people import People

MUTUAL_THETA = 3.0  # in mean degrees
PERIOD_THETA = 4.0  # in mean numbers of a person's events in a period
PERIOD_NOISE = 0.25  # of the edges of a mean period: more of them are not told apart
PARTS = 12  # shares of a person's events at which what a projection loses is computed


def fit(people: People, nano_epsilon: int, params: ProjectionParams) -> Columns:
    """Measure the values of a directed or timed relation.

    They are noisy, at ``nano_epsilon`` in all. Columns: ``grid`` int64 (g,) and ``mass`` float64 (g,), the
    law of degrees, over all steps; of a directed relation that of what goes out, and ``grid_in`` and
    ``mass_in`` of what comes in (else empty); ``between`` and ``theta``: see :func:`told_of`; ``most`` int64
    (2,), public, of both sides; ``total`` float64 (1,), edges of all steps; ``steps`` float64 (steps,), their
    shares; ``mutual`` float64 (1,), pairs that are linked both ways in one step, or (); ``labels``,
    ``inside`` and ``across`` as of relations that are
    plain: one group.
    """
    most = most_of(people)
    budget = shares(params, nano_epsilon, people.relation, people.steps)
    if most < 1:  # one person: there is nothing to read, and a plan is never left unread
        counted(people, 1, nano_epsilon, "edges")
        return {
            **UNTOLD,
            **_columns(people, 0, [NOBODY] * (2 // ends_of(people)), 0.0, np.ones(1), np.empty(0)),
        }
    laws, wide = laws_of(people, most, budget)
    mean = float(np.mean([law.grid @ law.mass for law in laws]))
    total = mean * people.count / ends_of(people)
    mutual = np.empty(0)
    if "mutual" in budget:
        mutual = np.array([mutual_pairs(people, laws[0], total, most, budget["mutual"])])
    steps = np.ones(1)
    if "steps" in budget:
        whole = DegreeLaw(laws[0].grid * len(laws), laws[0].mass)  # of both sides together, about
        steps = step_shares(people, whole, total, budget["steps"])
    return {**told_of(laws, wide, people), **_columns(people, most, laws, total, steps, mutual)}


def _columns(
    people: People, most: int, laws: list[DegreeLaw], total: float, steps: np.ndarray, mutual: np.ndarray
) -> Columns:
    empty = DegreeLaw(np.empty(0), np.empty(0))
    out, into = (*laws, empty)[:2]
    own = min(most, people.steps) if people.relation.functional else most
    return {
        "grid": out.grid.astype(np.int64),
        "mass": out.mass.astype(np.float64),
        "grid_in": into.grid.astype(np.int64),
        "mass_in": into.mass.astype(np.float64),
        "most": np.array([own, most], dtype=np.int64),
        "total": np.array([total], dtype=np.float64),
        "steps": np.resize(steps, people.steps).astype(np.float64) / np.resize(steps, people.steps).sum(),
        "mutual": mutual.astype(np.float64),
        "labels": np.zeros(people.count, dtype=np.int32),
        "inside": np.array([total], dtype=np.float64),
        "across": np.zeros(1),
    }


def shares(params: ProjectionParams, nano_epsilon: int, relation: EdgeType, steps: int) -> dict[str, int]:
    """Return the nano-epsilon of every paid read. They sum to ``nano_epsilon``."""
    named = {"scale": params.scale_share, "edges": params.edge_share}
    if relation.directed:
        named["mutual"] = params.mutual_share
    if steps > 1:
        named["steps"] = params.step_share
    return dict(zip((*named, "law"), divide(nano_epsilon, *named.values()), strict=True))


def mutual_pairs(people: People, law: DegreeLaw, arcs: float, most: int, nano_epsilon: int) -> float:
    """Estimate pairs linked both ways in one step. The projection is undone; 0 at least."""
    theta = theta_of(float(law.grid @ law.mass), MUTUAL_THETA, most)
    kept = people.mutual(theta).edge_count(nano_epsilon=nano_epsilon, purpose="mutual pairs")
    found = float(np.clip(kept, 0, arcs / 2))
    for _ in range(4):  # how much a projection takes hangs on the share of arcs that are mutual
        part = float(np.clip(2 * found / max(arcs, 1.0), 0.01, 1.0))
        found = float(np.clip(kept / kept_share(law, part, theta), 0, arcs / 2))
    return found


def step_shares(people: People, law: DegreeLaw, total: float, nano_epsilon: int) -> np.ndarray:
    """Estimate each step's share of edges, float64 (steps,).

    It is even where noise tells no periods apart.

    ``law``: of a person's events, both sides together.
    """
    mean, periods = float(law.grid @ law.mass), people.steps
    while periods > 1:
        # A person moves all periods together by the sum of their thetas, which has a limit.
        theta = int(np.clip(round(PERIOD_THETA * mean / periods), 1, MAX_SENSITIVITY // periods))
        if periods * theta * NANO / nano_epsilon <= PERIOD_NOISE * total / periods:
            break
        periods = -(-periods // 2)
    if periods == 1:
        return np.ones(people.steps)
    of = np.arange(people.steps) * periods // people.steps
    kept = people.by_period(of, [theta] * periods).counts(nano_epsilon=nano_epsilon, purpose="edges by step")
    shares = norm_sub(kept.astype(np.float64))
    if shares.sum() <= 0:
        return np.ones(people.steps)
    parts = np.geomspace(0.1 / periods, 1.0, PARTS)
    held = [kept_share(law, float(part), theta) for part in parts]
    found = shares
    for _ in range(4):  # a projection takes more of a busy period
        found = shares / np.interp(found / found.sum(), parts, held)
    # Even inside a period, which may have a step more than others.
    return np.asarray((found / np.bincount(of))[of])
