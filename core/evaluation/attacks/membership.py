"""Person membership: who took part.

It is tested on a twin of the release that lacks half of the targets. In the release itself everybody took
part, so that an attacker who says so of anybody is always right. The question has an answer only where some
did not. Hence a game: of at most ``MOST_TARGETS`` persons with edges a random half loses all of them (the
neighbour that the unit node speaks of, with an empty profile), the method publishes what is left at the
release's own epsilon, and an attacker is shown each target's profile. The bits are independent and every
target meets the same release, as in an audit in one run (Steinke, Nasr and Jagielski, "Privacy Auditing with
One (1) Training Run", NeurIPS 2023), so that the method's (epsilon, delta) bounds the expected AUC
(:func:`bound`). Nothing of the twin is kept; the figures are the curators'.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from core.evaluation.attacks import scoring
from core.graphs.graph import EdgeTable, Graph
from core.graphs.schema import EdgeType
from core.privacy.entropy import Generator

MOST_TARGETS, FEWEST_TARGETS = 2_000, 40
CHUNK = 4_000_000
"""Entries of a product of profiles that are held at once."""

ATTACKS: tuple[tuple[str, str, str], ...] = (
    (
        "membership_totals",
        "Who took part, by totals",
        "Knows a person's whole profile, everybody else's, and who of them took part; adds up by how much "
        "the release's totals of the profile's items exceed those of the others, as a log likelihood ratio. "
        "The strongest knowledge that the guarantee speaks of.",
    ),
    (
        "membership_nearest",
        "Who took part, by the nearest released person",
        "Knows a person's whole profile; takes the cosine of the most similar person of the release.",
    ),
    (
        "membership_own",
        "Who took part, by the own row",
        "Knows a person's whole profile and which released node is that person; takes the cosine of both.",
    ),
)
"""Name, title, and what the attacker knows and does. Each is shown profiles of a twin of the release."""


@dataclass(frozen=True)
class Game:
    """One game of membership.

    ``held``: the graph without those left out; ``target``: persons; ``present``: who of them is in it.
    """

    held: Graph
    target: np.ndarray
    present: np.ndarray


def deal(original: Graph, person_type: str, relations: list[EdgeType], rng: Generator) -> Game | None:
    """Leave out a random half of the targets. None with fewer than ``FEWEST_TARGETS``. O(m)."""
    count = original.nodes[person_type].count
    edges = np.zeros(count, dtype=np.int64)
    for relation in relations:
        for name, end in _ends(original, relation):
            if name == person_type:
                edges += np.bincount(end, minlength=count)
    target = rng.permutation(np.flatnonzero(edges))[:MOST_TARGETS]
    if len(target) < FEWEST_TARGETS:
        return None
    present = rng.permutation(len(target)) < len(target) // 2
    out = np.zeros(count, dtype=bool)
    out[target[~present]] = True
    tables = dict(original.edges)
    for relation in relations:
        table = original.edges[relation.name]
        gone = np.zeros(table.count, dtype=bool)
        for name, end in _ends(original, relation):
            if name == person_type:
                gone |= out[end]
        step = None if table.step is None else table.step[~gone]
        tables[relation.name] = EdgeTable(table.source[~gone], table.target[~gone], step)
    return Game(Graph.build(original.schema, original.nodes, tables), target, present)


def entries(
    original: Graph,
    game: Game,
    twin: Graph,
    person_type: str,
    relations: list[EdgeType],
    bound: float,
) -> list[dict[str, Any]]:
    """Make the report's Attack entries.

    Each attacker is run on ``twin``, and had the held graph been published. Deterministic for given
    arguments. Time: each target's profile against all persons who share an item.
    """
    every, held, released = (profiles(g, person_type, relations) for g in (original, game.held, twin))
    # A candidate's profile as it would be in the twin: without persons who are not there.
    shown = every[game.target]
    if any(relation.homogeneous for relation in relations):
        shown = shown @ sp.diags_array(_there(game, every.shape[1], original, person_type, relations))
    shown = sp.csr_array(shown)
    rows = []
    published, reference = (scores(shown, game, held, seen) for seen in (released, held))
    for name, title, knowledge in ATTACKS:
        row = entry(name, title, knowledge, bound=bound)
        row["positives"], row["negatives"] = int(game.present.sum()), int((~game.present).sum())
        row["published"] = scoring.score(published[name], game.present)
        row["reference"] = scoring.score(reference[name], game.present)
        rows.append(row)
    return rows


def entry(
    name: str, title: str, knowledge: str, bound: float | None = None, not_run: str | None = None
) -> dict[str, Any]:
    """Make an Attack entry without any result yet."""
    return {
        "name": name,
        "title": title,
        "knowledge": knowledge,
        "edge_type": None,
        "positives": 0,
        "negatives": 0,
        "published": None,
        "reference": None,
        "bound": bound,
        "not_run": not_run,
    }


def not_run(reason: str) -> list[dict[str, Any]]:
    """Make the entries of attacks that were not run. They say why."""
    return [entry(*attack, not_run=reason) for attack in ATTACKS]


def bound(epsilon: float, delta: float) -> float:
    """Bound the AUC of any test of one unit's presence.

    Under (epsilon, delta) it is 1 - (1-delta)^2 / (1+e^eps). The area under the trade-off curve of (epsilon,
    delta)-DP: segments from (0, delta) by (x, 1-x), x = (1-delta) / (1+e^eps), to (1-delta, 1) (Kairouz, Oh,
    Viswanath 2015).
    """
    # By e^-epsilon, which becomes 0 where e^epsilon would overflow.
    falling = math.exp(-epsilon)
    return 1 - (1 - delta) ** 2 * falling / (1 + falling)


def profiles(graph: Graph, person_type: str, relations: list[EdgeType]) -> sp.csr_array:
    """Build the persons' incidence matrix, steps united.

    It lays all persons' edges next to one another: ones (persons, other ends of every relation).
    """
    blocks = []
    count = graph.nodes[person_type].count
    for relation in relations:
        (first, source), (second, target) = _ends(graph, relation)
        if relation.homogeneous:
            rows, columns = np.append(source, target), np.append(target, source)
        else:
            rows, columns = (source, target) if first == person_type else (target, source)
        width = graph.nodes[second if first == person_type else first].count
        # Steps united: each pair once.
        keys = np.unique(rows * max(width, 1) + columns)
        ends = keys // max(width, 1), keys % max(width, 1)
        blocks.append(sp.csr_array((np.ones(len(keys)), ends), shape=(count, width)))
    return sp.csr_array(sp.hstack(blocks))


def scores(shown: sp.csr_array, game: Game, held: sp.csr_array, seen: sp.csr_array) -> dict[str, np.ndarray]:
    """Score every target by each attacker, float64. ``shown``: their profiles, ``seen``: the release."""
    present = sp.diags_array(game.present.astype(np.float64))
    mine = sp.csr_array(present @ held[game.target])
    totals, others = seen.sum(axis=0), held.sum(axis=0)
    # x (e - x/2) / (1 + r): r the others' totals, e what the release shows beyond them; x is 0 or 1.
    reference = shown.multiply(others[None, :]).tocsr() - shown.multiply(mine).tocsr()
    beyond = shown.multiply(totals[None, :]).tocsr() - reference
    # One more on the items of the profile, and on these only: the others have no entry.
    weight = reference.copy() + shown
    weight.data = 1 / weight.data
    ratio = (beyond - shown * 0.5).multiply(weight).sum(axis=1)
    own = _cosine(shown.multiply(seen[game.target]).sum(axis=1), _norms(shown), _norms(seen)[game.target])
    return {
        "membership_totals": np.asarray(ratio).ravel(),
        "membership_nearest": _nearest(shown, seen),
        "membership_own": np.asarray(own).ravel(),
    }


def _nearest(shown: sp.csr_array, seen: sp.csr_array) -> np.ndarray:
    """Find the largest cosine of each profile with a released person's; bounded memory."""
    lengths = _norms(seen)
    inverse = sp.diags_array(1 / np.where(lengths > 0, lengths, 1))
    columns = (inverse @ seen).T.tocsr()
    own = _norms(shown)
    chunk = max(1, CHUNK // max(seen.shape[0], 1))
    found = np.zeros(shown.shape[0])
    for low in range(0, shown.shape[0], chunk):
        part = slice(low, low + chunk)
        product = sp.csr_array(shown[part] @ columns)
        found[part] = product.max(axis=1).toarray().ravel()
    return found / np.where(own > 0, own, 1)


def _there(
    game: Game, width: int, original: Graph, person_type: str, relations: list[EdgeType]
) -> np.ndarray:
    """Mark with 1 the columns of profiles that are no person left out."""
    gone = game.target[~game.present]
    there, first = np.ones(width), 0
    for relation in relations:
        other = relation.target if relation.source == person_type else relation.source
        if relation.homogeneous:
            there[first + gone] = 0
        first += original.nodes[other].count
    return there


def _ends(graph: Graph, relation: EdgeType) -> tuple[tuple[str, np.ndarray], tuple[str, np.ndarray]]:
    table = graph.edges[relation.name]
    return (
        (relation.source, table.source.astype(np.int64)),
        (relation.target, table.target.astype(np.int64)),
    )


def _norms(rows: sp.csr_array) -> np.ndarray:
    norms: np.ndarray = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return norms


def _cosine(product: np.ndarray, one: np.ndarray, two: np.ndarray) -> np.ndarray:
    length = one * two
    return np.asarray(product).ravel() / np.where(length > 0, length, 1)
