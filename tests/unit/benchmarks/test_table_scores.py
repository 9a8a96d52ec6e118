"""Tables that are scored: MovieLens's three go round, and the ways to pay for pairs of columns are what they
say."""

from __future__ import annotations

import gzip
import itertools
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import graphveil as gv
from benchmarks import row_pairs, table_scores
from core.privacy.entropy import public_generator


@pytest.fixture
def movielens(tmp_path: Path) -> Path:
    """A file of the same form: users with an occupation, movies with a genre, ratings in seven months."""
    rows = [f"u{user} o{user % 3} u o 1" for user in range(30)]
    rows += [f"m{movie} g{movie % 4} m g 1" for movie in range(20)]
    rows += [
        f"u{user} m{movie} u m {1 + user % 7}"
        for user, movie in itertools.product(range(30), range(20))
        if (user + movie) % 3
    ]
    path = tmp_path / "ml.txt.gz"
    with gzip.open(path, "wt") as file:
        file.write("\n".join(rows))
    return path


@pytest.mark.parametrize(("unit", "delta"), [("row", None), ("person", "1e-6")])
def test_three_tables_of_ratings_go_round(movielens: Path, unit: str, delta: str | None):
    true, plan = table_scores.movielens(movielens, unit)
    made = gv.read_tables(true, plan).synthesize(
        20, budget=gv.Budget.unlimited(), delta=delta, progress=False
    )
    again = {name: pl.from_arrow(each) for name, each in made.tables.items()}
    for name, frame in true.items():
        assert again[name].schema == frame.schema
    assert set(again["ratings"]["user"]) <= set(again["users"]["user"])
    assert set(again["ratings"]["movie"]) <= set(again["movies"]["movie"])
    assert again["ratings"].select("user", "movie").is_unique().all()
    scores = table_scores.rating_scores(true, again)
    assert all(math.isfinite(each) for each in scores.values())


def test_rows_that_are_the_true_ones_score_best(movielens: Path):
    true, _ = table_scores.movielens(movielens, "row")
    scores = table_scores.rating_scores(true, true)
    assert {scores[each] for each in scores if each.startswith(("KS", "TV", "rows"))} == {0.0}
    assert scores["task: month by user and movie, hits"] == scores["task: month by user and movie, hits true"]
    assert scores["V month and user"] == pytest.approx(scores["V month and user, true"])


@pytest.mark.parametrize("way", row_pairs.WAYS)
def test_without_noise_each_way_keeps_what_it_pays_for(way: str):
    rng = np.random.default_rng(3)
    first = rng.integers(0, 4, 5_000)
    rows = np.stack([first, first // 2, rng.integers(0, 3, 5_000)], axis=1)
    truth = row_pairs.counted(rows, (4, 2, 3))
    found = row_pairs.drawn_by(way, truth, 1e9, public_generator(1), (0, 1))
    assert found.sum() == pytest.approx(1)
    for axis in range(3):
        wanted = row_pairs.margin(truth, (axis,)) / truth.sum()
        assert row_pairs.margin(found, (axis,)) == pytest.approx(wanted, abs=1e-6)
    named = row_pairs.cramer(row_pairs.margin(found, (0, 1)))
    assert named == pytest.approx(0 if way == "apart" else 1, abs=1e-3)
