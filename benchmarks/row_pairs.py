"""Whether choosing which columns of a row go together is worth its epsilon: printed for rows of two shops.

Four ways to spend the same epsilon on the columns of private rows, one row more or less: every column apart;
the pair that public facts name, drawn as one (``together`` of a mapping); one table of all columns; a tree of
two-way tables, whose pairs the exponential mechanism chooses by how far each is from independent columns
(MST of McKenna et al. 2021), or all two-way tables with the tree chosen from their noisy counts. Noise is of
plain counts, in NumPy, for these tables alone. Epsilon is that of a release: an eighth of it, as under unit
row, is for columns. ``TV``: mean over all pairs of columns; ``V``: Cramér's of the named pair.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks import table_scores
from core.privacy.entropy import public_generator

OF_RELEASE = 0.125
MARGINS, CHOICE = 0.3, 0.2
"""Shares of a tree that is chosen: for single columns, and for the choice."""
Rows = np.ndarray


def counted(rows: Rows, sizes: tuple[int, ...]) -> np.ndarray:
    """Count the rows of every combination of values."""
    flat = np.ravel_multi_index(tuple(rows.T), sizes)
    return np.bincount(flat, minlength=int(np.prod(sizes))).reshape(sizes).astype(float)


def noisy(table: np.ndarray, epsilon: float, generator: Any) -> np.ndarray:
    """Add Laplace noise of L1 1; shares."""
    found = np.maximum(table + generator.laplace(0, 1 / epsilon, table.shape), 0)
    return found / found.sum() if found.sum() > 0 else np.full(table.shape, 1 / table.size)


def margin(table: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Sum over all other axes."""
    return table.sum(axis=tuple(each for each in range(table.ndim) if each not in axes))


def along(axes: tuple[int, ...], part: np.ndarray, dimensions: int) -> np.ndarray:
    """Lay a table along its axes."""
    shape = [1] * dimensions
    for axis, size in zip(axes, part.shape, strict=True):
        shape[axis] = size
    return part.reshape(shape)


def apart(truth: np.ndarray, epsilon: float, generator: Any, named: tuple[int, int] | None) -> np.ndarray:
    """Draw each column by itself; of ``named`` the two as one."""
    alone = [(each,) for each in range(truth.ndim) if named is None or each not in named]
    groups: list[tuple[int, ...]] = [*alone, *([named] if named else [])]
    found = np.ones((1,) * truth.ndim)
    for axes in groups:
        part = noisy(margin(truth, axes), epsilon / len(groups), generator)
        found = found * along(axes, part, truth.ndim)
    return found


def tree(pairs: list[tuple[int, int]], tables: list[np.ndarray], dimensions: int) -> np.ndarray:
    """Join two-way tables that form a tree: each column given the one before it."""
    first = pairs[0]
    found, seen = along(first, tables[0], dimensions), set(first)
    left = list(zip(pairs[1:], tables[1:], strict=True))
    while left:
        pair, table = next(each for each in left if seen & set(each[0]))
        left = [each for each in left if each[0] != pair]
        known = 0 if pair[0] in seen else 1
        given = table / np.maximum(table.sum(axis=1 - known, keepdims=True), 1e-12)
        empty = table.sum(axis=1 - known, keepdims=True) <= 0
        given = np.where(empty, table.sum(axis=known, keepdims=True), given)
        found, seen = found * along(pair, given, dimensions), seen | set(pair)
    shares: np.ndarray = found / found.sum()
    return shares


def grown(scores: dict[tuple[int, int], float], dimensions: int, pick: Any) -> list[tuple[int, int]]:
    """Choose pairs one after another so that they form a tree."""
    group, chosen = list(range(dimensions)), []
    while len(chosen) < dimensions - 1:
        free = [pair for pair in scores if group[pair[0]] != group[pair[1]]]
        pair = free[pick(np.array([scores[each] for each in free]))]
        chosen.append(pair)
        old, new = group[pair[1]], group[pair[0]]
        group = [new if each == old else each for each in group]
    return chosen


def picked_tree(truth: np.ndarray, epsilon: float, generator: Any) -> np.ndarray:
    """Pay for single columns, then for the choice of pairs, then for their tables.

    Scores: the L1 distance of a pair's counts from those of the paid columns, which a row moves by 1.
    """
    dimensions = truth.ndim
    each = MARGINS * epsilon / dimensions
    total = max(float((truth + generator.laplace(0, 1 / each, truth.shape)).sum()), 1.0)
    alone = [noisy(margin(truth, (axis,)), each, generator) for axis in range(dimensions)]
    scores = {
        pair: float(np.abs(margin(truth, pair) - total * np.outer(alone[pair[0]], alone[pair[1]])).sum())
        for pair in itertools.combinations(range(dimensions), 2)
    }
    step = CHOICE * epsilon / (dimensions - 1)

    def pick(found: np.ndarray) -> int:
        return int(np.argmax(found + generator.gumbel(0, 2 / step, len(found))))

    pairs = grown(scores, dimensions, pick)
    own = (1 - MARGINS - CHOICE) * epsilon / len(pairs)
    return tree(pairs, [noisy(margin(truth, pair), own, generator) for pair in pairs], dimensions)


def all_pairs(truth: np.ndarray, epsilon: float, generator: Any) -> np.ndarray:
    """Pay for every two-way table; the tree follows from their noisy counts, at no cost."""
    pairs = list(itertools.combinations(range(truth.ndim), 2))
    tables = {pair: noisy(margin(truth, pair), epsilon / len(pairs), generator) for pair in pairs}
    scores = {
        pair: float(np.abs(each - np.outer(each.sum(axis=1), each.sum(axis=0))).sum())
        for pair, each in tables.items()
    }
    chosen = grown(scores, truth.ndim, lambda found: int(np.argmax(found)))
    return tree(chosen, [tables[pair] for pair in chosen], truth.ndim)


def cramer(shares: np.ndarray) -> float:
    """Cramér's V of a two-way table of shares."""
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    inside = expected > 0
    chi = float(((shares - expected)[inside] ** 2 / expected[inside]).sum())
    return float(np.sqrt(chi / (min(shares.shape) - 1)))


def flights() -> tuple[Rows, tuple[int, ...], tuple[int, int]]:
    """Delay, late, week and weekday of each flight; delay and late are named."""
    true, _ = table_scores.flights("row", together=False, cap=60)
    bins = [-30, -15, 0, 15, 30, 60, 120]
    seen = true["flights"].select(
        pl.sum_horizontal(pl.col("delay") >= each for each in bins).alias("delay"),
        pl.col("late").cast(pl.Int64),
        ((pl.col("day") - pl.date(2001, 1, 1)).dt.total_days() // 7).alias("week"),
        (pl.col("day").dt.weekday() - 1).cast(pl.Int64).alias("weekday"),
    )
    return seen.to_numpy().astype(np.int64), (8, 2, 13, 7), (0, 1)


def ratings(path: Path) -> tuple[Rows, tuple[int, ...], tuple[int, int]]:
    """Month, occupation and genre of each rating, laid into one row; month and occupation are named."""
    true, _ = table_scores.movielens(path, "row")
    joined = true["ratings"].join(true["users"], on="user").join(true["movies"], on="movie")
    columns = [joined[each].rank("dense").to_numpy().astype(np.int64) - 1 for each in table_scores.LAID]
    rows = np.stack(columns, axis=1)
    return rows, tuple(int(each) + 1 for each in rows.max(axis=0)), (0, 1)


def drawn_by(
    way: str, truth: np.ndarray, epsilon: float, generator: Any, named: tuple[int, int]
) -> np.ndarray:
    """Draw shares of every combination in one of the ways."""
    if way in ("apart", "named together"):
        return apart(truth, epsilon, generator, None if way == "apart" else named)
    if way == "one table":
        return noisy(truth, epsilon, generator)
    return (picked_tree if way == "tree, chosen" else all_pairs)(truth, epsilon, generator)


WAYS = ("apart", "named together", "one table", "tree, chosen", "tree, all pairs paid")


def main() -> None:
    """Print each way's scores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--movielens", type=Path, help="ml-100k.txt.gz")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 2.0, 4.0])
    parser.add_argument("--runs", type=int, default=20)
    asked = parser.parse_args()
    of = {"flights": flights()} | ({"ratings": ratings(asked.movielens)} if asked.movielens else {})
    generator = public_generator(5)
    for name, (rows, sizes, named) in of.items():
        truth = counted(rows, sizes)
        shares, pairs = truth / truth.sum(), list(itertools.combinations(range(truth.ndim), 2))
        true = {f"{a}-{b}": round(cramer(margin(shares, (a, b))), 3) for a, b in pairs}
        print(json.dumps({"of": name, "rows": len(rows), "bins": sizes, "V": true}))
        for epsilon, way in itertools.product(asked.epsilon, WAYS):
            drawn = [drawn_by(way, truth, OF_RELEASE * epsilon, generator, named) for _ in range(asked.runs)]
            away = [
                abs(margin(each, pair) - margin(shares, pair)).sum() / 2 for each in drawn for pair in pairs
            ]
            told = {
                "TV": round(statistics.mean(away), 3),
                "V": round(statistics.mean(cramer(margin(each, named)) for each in drawn), 3),
            }
            print(json.dumps({"of": name, "epsilon": epsilon, "way": way, **told}), flush=True)


if __name__ == "__main__":
    main()
