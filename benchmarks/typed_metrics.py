"""Figures of a typed temporal release beside its original: THEPUFF's seven, its attack, and structure.

THEPUFF's measures are met by right degrees alone: a random graph with the original's degrees scores as the
original does. The structure measures tell more apart. One timed relation is looked at closely, the *focus*:

- ``auc``: the synthetic pairs of the focus (its steps put together, normalised by degrees) are put down to
  their components 2 to 16 by singular values; the first is the degrees. AUC of real pairs against real pairs
  with shuffled targets: .5 says that nothing is kept beyond degrees. The original does not reach 1 on itself.
- ``auc_new``: the same on pairs that the synthetic graph does not have, so that copied edges earn nothing.
- ``chain_tv``: how often each first node meets each last one along a chain of relations, such as occupation,
  user, movie, genre; total variation of the two tables, mean over steps.
- ``cycles``: 4-cycles of the focus, sum over steps, synthetic / original; 1 is best.
- ``active_tv``: in how many steps a source of the focus has an edge, total variation.

For every relation and side: ``degree_tv``, total variation of the degree distributions, mean over steps; and
``node_l1``, the sum over nodes of |degree - original degree| over all steps together, by the edges' number.
These are figures for public data: they read the original freely.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import svds

from core.evaluation.attacks.degree_signature import degree_signature
from core.evaluation.attacks.scoring import auc as pair_auc
from core.evaluation.utility.degrees import shares, total_variation
from core.evaluation.utility.motifs import kernels
from core.evaluation.utility.motifs.four import total
from core.evaluation.utility.motifs.ordered import Ordered
from core.evaluation.view import UndirectedView, sides
from core.graphs.graph import EdgeTable, Graph
from papers.thepuff.benchmarks.golden import scores as thepuff_scores

RANK = 16

Figures = dict[str, float | None]


@dataclass(frozen=True)
class Reading:
    """What is looked at closely: the timed, sided relation ``focus``, and a chain of relations.

    A link of the chain is a relation's name, with a leading ``~`` where it is walked from target to source.
    """

    focus: str
    chain: tuple[str, ...]


def figures(original: Graph, synthetic: Graph, reading: Reading) -> Figures:
    """Every figure of this page, THEPUFF's seven under their titles, and the attack's probabilities.

    ``attack`` is Eq. 23 with degrees as they leave the stored source, ``attack_focus`` limits victims and
    crowd to the focus's sources (Eq. 28). Both graphs have one schema. None: undefined.
    """
    attack = degree_signature(original, synthetic, range(original.schema.steps), "out")
    kind = original.schema.edge_type(reading.focus).source
    found = thepuff_scores(original, synthetic) | structure(original, synthetic, reading)
    return found | {"attack": attack["per_step"], "attack_focus": attack["per_type"][kind]}


def structure(original: Graph, synthetic: Graph, reading: Reading) -> Figures:
    """The structure measures alone."""
    found: Figures = {}
    for relation in original.schema.edge_types:
        found |= degree_figures(original, synthetic, relation.name)
    cycles = [four_cycles(graph, reading.focus) for graph in (original, synthetic)]
    found["cycles"] = cycles[1] / cycles[0] if cycles[0] else None
    found["active_tv"] = active_tv(original, synthetic, reading.focus)
    found["chain_tv"] = chain_tv(original, synthetic, reading.chain)
    found["auc"], found["auc_new"] = preference_aucs(original, synthetic, reading.focus)
    return found


def degree_figures(original: Graph, synthetic: Graph, relation: str) -> Figures:
    """``degree_tv`` and ``node_l1`` of every side of one relation, as ``degree_tv RELATION SIDE``."""
    apart: dict[str, list[float]] = {}
    totals: dict[str, np.ndarray] = {}
    for step in original.schema.steps_of(relation):
        ours, theirs = (sides(graph.cell(relation, step)) for graph in (original, synthetic))
        for side in ours:
            apart.setdefault(side, []).append(total_variation(*shares(ours[side], theirs[side])))
            totals[side] = totals.get(side, 0) + np.stack([ours[side], theirs[side]])
    found: Figures = {}
    for side, (ours, theirs) in totals.items():
        found[f"degree_tv {relation} {side}"] = float(np.mean(apart[side]))
        edges = int(ours.sum())
        found[f"node_l1 {relation} {side}"] = float(np.abs(ours - theirs).sum() / edges) if edges else None
    return found


def four_cycles(graph: Graph, relation: str) -> int:
    """The number of 4-cycles of a relation, directions dropped, sum over steps. Exact."""
    found = 0
    for step in graph.schema.steps_of(relation):
        ordered = Ordered.of(UndirectedView.of(graph.cell(relation, step)))
        found += total(kernels.four_cycles(ordered.indptr, ordered.indices, ordered.out_ptr)[0])
    return found


def active_tv(original: Graph, synthetic: Graph, relation: str) -> float:
    """Total variation of "steps in which a source has an edge", over all sources."""
    found = []
    for graph in (original, synthetic):
        cells = [graph.cell(relation, step) for step in graph.schema.steps_of(relation)]
        active = [np.bincount(cell.source, minlength=cell.source_count) > 0 for cell in cells]
        found.append(np.sum(active, axis=0))
    return total_variation(*shares(*found))


def chain_tv(original: Graph, synthetic: Graph, chain: tuple[str, ...]) -> float | None:
    """Total variation of the tables of both ends of a chain's walks, mean over steps.

    1 in a step where one graph alone has walks; steps where neither has any are left out.
    """
    found = []
    for step in range(original.schema.steps):
        tables = [_chained(graph, chain, step) for graph in (original, synthetic)]
        totals = [table.sum() for table in tables]
        if any(totals):
            ours, theirs = (table / max(total, 1) for table, total in zip(tables, totals, strict=True))
            found.append(float(abs(ours - theirs).sum()) / 2 if all(totals) else 1.0)
    return float(np.mean(found)) if found else None


def _chained(graph: Graph, chain: tuple[str, ...], step: int) -> sp.csr_array:
    """``[i, j]``: walks from i to j along the chain in one step, float64."""
    product = None
    for link in chain:
        name = link.removeprefix("~")
        timed = graph.schema.edge_type(name).temporal
        matrix = graph.cell(name, step if timed else None).adjacency.astype(np.float64)
        matrix = matrix.T.tocsr() if link.startswith("~") else matrix
        product = matrix if product is None else product @ matrix
    return product


def preference_aucs(
    original: Graph, synthetic: Graph, relation: str, seed: int = 0
) -> tuple[float | None, float | None]:
    """``auc`` and ``auc_new``; the shuffle repeats for the same seed. None where a class has no pair.

    Targets are shuffled within a step, so that either end keeps its degree in every step. Shuffled pairs that
    are real ones are left out, for ``auc_new`` also those of the synthetic graph. O(m log m).
    """
    kind = original.schema.edge_type(relation)
    if kind.homogeneous and not kind.directed:
        raise ValueError(f"the focus needs two sides; {relation!r} is undirected inside one node type")
    rows, columns = original.nodes[kind.source].count, original.nodes[kind.target].count
    table = original.edges[relation]
    real, drawn = (_keys(graph.edges[relation], columns) for graph in (original, synthetic))
    step = np.zeros(table.count, dtype=np.int64) if table.step is None else table.step
    left, right = _coordinates(np.unique(drawn), rows, columns)
    rng = np.random.default_rng(seed)

    def auc(chosen: np.ndarray, known: np.ndarray) -> float | None:
        """AUC of the chosen edges against their shuffle, of which ``known`` pairs are left out."""
        positive = real[chosen]
        order = np.lexsort((rng.random(len(positive)), step[chosen]))
        in_step = np.argsort(step[chosen], kind="stable")
        shuffled = positive[in_step] // columns * columns + positive[order] % columns
        negative = shuffled[~np.isin(shuffled, known)]
        if not len(positive) or not len(negative):
            return None
        found = [
            np.einsum("ij,ij->i", left[keys // columns], right[keys % columns])
            for keys in (positive, negative)
        ]
        return pair_auc(*found)["value"]

    return auc(np.ones(len(real), dtype=bool), real), auc(~np.isin(real, drawn), np.union1d(real, drawn))


def _keys(table: EdgeTable, columns: int) -> np.ndarray:
    return table.source.astype(np.int64) * columns + table.target


def _coordinates(keys: np.ndarray, rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates (rows, 15) and (columns, 15) from pairs, each once; products of both score a pair.

    A matrix entry is 1 / sqrt(degree of source * degree of target), so that the first component, which is
    dropped, holds the degrees and nothing else. Zeros without pairs.
    """
    source, target = np.divmod(keys, columns)
    rank = min(RANK, rows - 1, columns - 1)
    if rank < 2 or not len(keys):
        return np.zeros((rows, 1)), np.zeros((columns, 1))
    weight = 1 / np.sqrt(np.bincount(source)[source] * np.bincount(target)[target])
    matrix = sp.csr_array((weight, (source, target)), shape=(rows, columns))
    # A fixed start makes the figure repeat; it is not constant, lest it be orthogonal to a component.
    start = np.random.default_rng(0).random(min(rows, columns))
    u, values, v = svds(matrix, k=rank, v0=start)
    order = np.argsort(values)[::-1][1:]
    return u[:, order] * values[order], v[order].T
