"""AUC-items: which things one person takes together.

It measures whether the release tells that. A release that protects persons has persons of its own, so a real
one cannot be looked up in it: AUC by identity is .5, as it should be. What can be kept is which items go
together. Hence the items' factors are learned from either graph, real persons are folded in from half of
their items, and the factors rank the other half.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackError, svds

from core.evaluation.attacks.negatives import degree_matched
from core.evaluation.attacks.scoring import auc
from core.evaluation.tasks.entry import task_entry
from core.evaluation.view import UndirectedView
from core.privacy.entropy import Generator, public_generator

NAME = "auc_items"
SEED = 20_261_101
RANK = 32
MOST_PAIRS = 100_000
"""Test pairs, at most: the standard error of an AUC is then below .002."""
FEWEST_PAIRS = 20
MOST_EDGES = 20_000_000
"""Some minutes of Lanczos on one core."""
CHUNK = 65_536

DEFINITION = (
    "Of a relation between two node types, all steps as one graph. Items get factors from a graph: "
    f"components 2 to {RANK} of its adjacency with entries 1/sqrt(degree of person x degree of item); the "
    "first holds the degrees. Every person of the original with two items or more is folded in from a random "
    "half of them; the AUC is that of the other half against as many items that the person does not have, "
    "drawn so that every item stands among them as often. Persons are the protected node type, else the "
    "relation's sources. No identity is used: under the unit node, persons' own rows must give .5."
)
_TOO_LARGE = f"A graph has more than {MOST_EDGES} edges in this relation."
_TOO_FEW = f"Fewer than {FEWEST_PAIRS} pairs can be held out: few persons have two items or more."


def item_preference(
    original: UndirectedView, synthetic: UndirectedView, subject: str, persons_first: bool = True
) -> dict[str, Any]:
    """Measure the fields of the report's Task, measure ``auc``. Both views are bipartite, of one universe.

    ``persons_first``: persons are the views' sources, items their targets; else the other way round. Items
    are aligned by index, persons of the synthetic graph are not matched with anybody. Deterministic.
    O(rank m) a pass of Lanczos; memory O(m + rank n).
    """
    title = "Which items go together (AUC-items)"
    entry = task_entry(NAME, title, DEFINITION, subject, "auc", baseline=0.5)
    if max(original.edge_count, synthetic.edge_count) > MOST_EDGES:
        return entry | {"not_run": _TOO_LARGE}
    pairs = _sided(original, persons_first)
    known, held = _halves(pairs, public_generator(SEED))
    wrong = _not_theirs(original, pairs, held, persons_first, public_generator(SEED + 1))
    if min(len(held), len(wrong[0])) < FEWEST_PAIRS:
        return entry | {"not_run": _TOO_FEW}
    right = pairs[0][held], pairs[1][held]
    halves = pairs[0][known], pairs[1][known]
    for field, view in (("trained_on_original", original), ("trained_on_synthetic", synthetic)):
        factors, degree = item_factors(*_sided(view, persons_first), *_counts(view, persons_first))
        # Persons of both graphs are not matched: those of the original are placed by half of their items.
        people = _folded(halves, factors, degree, _counts(view, persons_first)[0])
        scored = (_scores(people, factors, *ends) for ends in (right, wrong))
        entry[field] = auc(*scored)["value"]
    return entry


def item_factors(
    person: np.ndarray, item: np.ndarray, persons: int, items: int
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the items' factors and degrees.

    Factors are float64 (items, components); zeros without structure.
    """
    degree = np.bincount(item, minlength=items)
    rank = min(RANK, persons - 1, items - 1)
    nothing = np.zeros((items, 1)), degree
    if rank < 2 or not len(person):
        return nothing
    own = np.bincount(person, minlength=persons)
    weight = 1 / np.sqrt(own[person] * degree[item].astype(np.float64))
    matrix = sp.csr_array((weight, (person, item)), shape=(persons, items))
    # A fixed start makes the figure repeat; it is not constant, lest it be orthogonal to a component.
    start = public_generator(SEED).random(min(persons, items))
    try:
        _, values, right = svds(matrix, k=rank, v0=start, return_singular_vectors="vh")
    except ArpackError:  # such as where every person has one item: all singular values are alike
        return nothing
    # Rising values: turned round, and without the first, which holds the degrees.
    return right[np.argsort(values)[::-1][1:]].T, degree


def _sided(view: UndirectedView, persons_first: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges as (person, item), both numbered from 0."""
    ends = view.u, view.v - view.source_count
    return ends if persons_first else (ends[1], ends[0])


def _counts(view: UndirectedView, persons_first: bool) -> tuple[int, int]:
    sides = view.source_count, view.node_count - view.source_count
    return sides if persons_first else (sides[1], sides[0])


def _halves(pairs: tuple[np.ndarray, np.ndarray], rng: Generator) -> tuple[np.ndarray, np.ndarray]:
    """Split each person's edges at random: places that are known (the larger half) and that are held out.

    At most ``MOST_PAIRS`` are held out, a random choice of them.
    """
    person = pairs[0]
    order = np.lexsort((rng.random(len(person)), person))
    sizes = np.bincount(person)
    # Each person's edges stand together in random order: the first half of them is held out.
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    rank = np.arange(len(person)) - first
    held = rank < np.repeat(sizes // 2, sizes)
    return order[~held], rng.permutation(order[held])[:MOST_PAIRS]


def _not_theirs(
    view: UndirectedView,
    pairs: tuple[np.ndarray, np.ndarray],
    held: np.ndarray,
    persons_first: bool,
    rng: Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw (person, item) pairs without an edge, every node as often as in those held out."""
    u, v = degree_matched(view, view.u[held], view.v[held], rng)
    ends = u, v - view.source_count
    return ends if persons_first else (ends[1], ends[0])


def _folded(
    known: tuple[np.ndarray, np.ndarray], factors: np.ndarray, degree: np.ndarray, persons: int
) -> np.ndarray:
    """Place every person at the sum of the factors of the items known, weighted as the adjacency is."""
    own = np.bincount(known[0], minlength=persons)
    # Weighted as the matrix that the factors are of, by what is known of the person.
    weight = 1 / np.sqrt(own[known[0]] * np.maximum(degree, 1)[known[1]].astype(np.float64))
    placed: np.ndarray = sp.csr_array((weight, known), shape=(persons, len(factors))) @ factors
    return placed


def _scores(people: np.ndarray, factors: np.ndarray, person: np.ndarray, item: np.ndarray) -> np.ndarray:
    """Compute the product of each pair's coordinates, a bounded number of pairs at a time."""
    found = np.empty(len(person))
    for low in range(0, len(person), CHUNK):
        part = slice(low, low + CHUNK)
        found[part] = np.einsum("ij,ij->i", people[person[part]], factors[item[part]])
    return found
