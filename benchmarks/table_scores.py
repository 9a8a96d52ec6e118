"""How near synthetic tables come: cardinalities, columns, pairs within a row and over keys, a task.

Each figure is beside independent columns without a guarantee (each column of the private rows drawn by
itself, ends included), and with ``--hma PYTHON`` beside SDV's HMA run by that interpreter (SDV is for
measuring alone).
MovieLens is read from ``--movielens FILE`` (lines ``source target source_type target_type month``).
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import graphveil as gv
from core.privacy.entropy import public_generator
from tests.unit.local import table_shop

Tables = dict[str, pl.DataFrame]
KEY = {"type": "string", "is": "key"}
START = pl.lit(date(1997, 1, 1))


def ks(left: pl.Series, right: pl.Series) -> float:
    """The largest distance of two distribution functions of counts."""
    values = np.union1d(left.to_numpy(), right.to_numpy())
    above = [np.searchsorted(np.sort(each.to_numpy()), values, "right") / len(each) for each in (left, right)]
    return float(np.abs(above[0] - above[1]).max())


def tv(left: pl.DataFrame, right: pl.DataFrame) -> float:
    """Half the distance of two tables of shares, over all columns of the frames together."""
    names = left.columns
    shares = [each.group_by(names).len().with_columns(pl.col("len") / each.height) for each in (left, right)]
    both = shares[0].join(shares[1], on=names, how="full", coalesce=True, nulls_equal=True)
    return float((both["len"].fill_null(0) - both["len_right"].fill_null(0)).abs().sum() / 2)


def cramer(frame: pl.DataFrame, first: str, second: str) -> float:
    """Cramer's V of two columns."""
    counts = frame.group_by(first, second).len().pivot(second, index=first, values="len").drop(first)
    table = counts.fill_null(0).to_numpy().astype(float)
    if min(table.shape) < 2:
        return 0.0  # one value alone goes with nothing
    expected = np.outer(table.sum(1), table.sum(0)) / table.sum()
    return float(np.sqrt(((table - expected) ** 2 / expected).sum() / table.sum() / (min(table.shape) - 1)))


def children(parents: pl.Series, keys: pl.Series) -> pl.Series:
    """How many rows name each parent, those that none names too."""
    counted = keys.to_frame("key").group_by("key").len()
    return parents.to_frame("key").join(counted, on="key", how="left")["len"].fill_null(0)


def flight_scores(true: Tables, made: Tables) -> dict[str, float]:
    """Score the flights: the smaller, the nearer; ``V`` is Cramer's of the synthetic rows, true first."""
    seen = [_flown(each) for each in (true, made)]
    pairs = [each["flights"].group_by("origin", "destination").len() for each in (true, made)]
    codes = [each["airports"]["airport"] for each in (true, made)]
    return {
        "rows, relative": abs(seen[1].height / seen[0].height - 1),
        "KS flights per origin": ks(
            *(children(*each) for each in zip(codes, (s["origin"] for s in seen), strict=True))
        ),
        "KS routes per origin": ks(
            *(children(*each) for each in zip(codes, (p["origin"] for p in pairs), strict=True))
        ),
        "KS flights per route": ks(*(each["len"] for each in pairs)),
        "TV delay": tv(*(each.select("delay") for each in seen)),
        "TV week": tv(*(each.select("week") for each in seen)),
        "TV delay and late, one row": tv(*(each.select("delay", "late") for each in seen)),
        "V delay and late, true": cramer(seen[0], "delay", "late"),
        "V delay and late": cramer(seen[1], "delay", "late"),
        "TV delay, state of destination": tv(*(each.select("delay", "to") for each in seen)),
        "TV states of a flight, two hops": tv(*(each.select("from", "to") for each in seen)),
        "task: late by origin and week, AUC true": _task(seen[0], seen[0]),
        "task: late by origin and week, AUC": _task(seen[1], seen[0]),
    }


def _flown(tables: Tables) -> pl.DataFrame:
    states = tables["airports"]
    bins = [-30, -15, 0, 15, 30, 60, 120]
    return (
        tables["flights"]
        .join(states.rename({"airport": "origin", "state": "from"}), on="origin")
        .join(states.rename({"airport": "destination", "state": "to"}), on="destination")
        .with_columns(
            delay=pl.sum_horizontal(pl.col("delay") >= each for each in bins).cast(pl.String),
            week=((pl.col("day") - date(2001, 1, 1)).dt.total_days() // 7),
        )
    )


def _task(trained: pl.DataFrame, tested: pl.DataFrame) -> float:
    """Area under the curve of late flights, by shares of origin and week: of one, tested on other."""
    overall = trained["late"].mean()
    score = np.zeros(tested.height)
    for column in ("origin", "week"):
        shares = trained.group_by(column).agg(
            ((pl.col("late").sum() + 20 * overall) / (pl.len() + 20)).alias("p")
        )
        score += (
            tested.join(shares, on=column, how="left", maintain_order="left")["p"]
            .fill_null(overall)
            .to_numpy()
        )
    late = tested["late"].to_numpy()
    ranks = pl.Series(score).rank().to_numpy()
    positive = int(late.sum())
    return float((ranks[late].sum() - positive * (positive + 1) / 2) / (positive * (len(late) - positive)))


def rating_scores(true: Tables, made: Tables) -> dict[str, float]:
    """Score the ratings."""
    seen = [
        each["ratings"]
        .with_columns((pl.col("month") - START).dt.total_days() // 30)
        .join(each["users"], on="user")
        .join(each["movies"], on="movie")
        for each in (true, made)
    ]
    return {
        "rows, relative": abs(seen[1].height / seen[0].height - 1),
        "KS ratings per user": ks(*(children(true["users"]["user"], each["user"]) for each in seen)),
        "KS ratings per movie": ks(*(children(true["movies"]["movie"], each["movie"]) for each in seen)),
        "TV month": tv(*(each.select("month") for each in seen)),
        "V month and user, true": cramer(seen[0], "month", "user"),
        "V month and user": cramer(seen[1], "month", "user"),
        "TV month, occupation": tv(*(each.select("month", "occupation") for each in seen)),
        "TV occupation, genre, two hops": tv(*(each.select("occupation", "genre") for each in seen)),
        "task: month by user and movie, hits true": _hits(seen[0], seen[0]),
        "task: month by user and movie, hits": _hits(seen[1], seen[0]),
    }


def _hits(trained: pl.DataFrame, tested: pl.DataFrame) -> float:
    """Share of months that are named right, by each user's and movie's shares: of one, tested on other."""
    months = range(7)
    score = np.zeros((tested.height, len(months)))
    overall = np.bincount(trained["month"], minlength=len(months))[: len(months)] / trained.height
    for column in ("user", "movie"):
        counts = trained.group_by(column).agg(
            (pl.col("month") == each).sum().alias(str(each)) for each in months
        )
        found = tested.join(counts, on=column, how="left", maintain_order="left")
        held = found.select(str(each) for each in months).fill_null(0).to_numpy() + 5 * overall
        score += np.log(held / held.sum(axis=1, keepdims=True))
    return float((score.argmax(axis=1) == tested["month"].to_numpy()).mean())


def key_scores(true: Tables, made: Tables) -> dict[str, float]:
    """Score keys that may be null and third keys by group: shares of null, states of the third airport."""
    states = true["airports"]
    via = [
        each["flights"]
        .join(states.rename({"airport": "origin", "state": "from"}), on="origin")
        .join(states.rename({"airport": "via", "state": "by"}), on="via")
        for each in (true, made)
    ]
    return {
        "rows, relative": abs(made["flights"].height / true["flights"].height - 1),
        "null, true": true["flights"]["destination"].null_count() / true["flights"].height,
        "null": made["flights"]["destination"].null_count() / made["flights"].height,
        "TV state of via": tv(*(each.select("by") for each in via)),
        "TV state of via, state of origin": tv(*(each.select("by", "from") for each in via)),
        "TV via": tv(*(each.select("via") for each in via)),
    }


def with_keys(unit: str) -> tuple[Tables, dict[str, Any]]:
    """The shop with more keys, made by us: every sixth destination is null, and each flight is by way of an
    airport of its origin's state, which is told by state."""
    true, plan = flights(unit, False, 60)
    states = dict(true["airports"].iter_rows())
    of_state: dict[str, list[str]] = {}
    for airport, state in states.items():
        of_state.setdefault(state, []).append(airport)
    rows = true["flights"]
    via = [
        of_state[states[origin]][place % len(of_state[states[origin]])]
        for place, origin in enumerate(rows["origin"])
    ]
    null = pl.int_range(pl.len()) % 6 == 0
    true["flights"] = rows.select(
        "origin", pl.when(null).then(None).otherwise("destination").alias("destination"), via=pl.Series(via)
    )
    end = {"type": "string", "is": "protected", "references": "airports"}
    counts = true["flights"].group_by("origin", "destination").len()
    lacking = counts.filter(pl.col("destination").is_null())["len"].max()
    plan["tables"]["flights"] = {
        "rows": "private",
        "repeats": 60,
        "lacking": lacking,
        "columns": {"origin": end, "destination": {**end, "null": True}, "via": {**end, "group": "state"}},
    }
    return true, plan


def independent(true: Tables, name: str, generator: Any) -> Tables:
    """Draw every column of the private rows by itself, with no guarantee."""
    rows = true[name]
    drawn = {
        column: rows[column].gather(generator.integers(0, rows.height, rows.height))
        for column in rows.columns
    }
    return {**true, name: pl.DataFrame(drawn)}


def flights(unit: str, together: bool, cap: int, steps: str | None = None) -> tuple[Tables, dict[str, Any]]:
    """The shop of four tables."""
    plan = table_shop.mapping()
    plan["unit"] = unit
    table = plan["tables"]["flights"]
    table["repeats"] = cap
    table["steps"] = steps
    if together:
        table["together"] = [["delay", "late"]]
    return table_shop.frames(), plan


def movielens(path: Path, unit: str) -> tuple[Tables, dict[str, Any]]:
    """Users with an occupation, movies with a genre, ratings with a month."""
    with gzip.open(path, "rt") as file:
        rows = [line.split() for line in file if line.strip()]
    frame = pl.DataFrame(rows, schema=["a", "b", "ka", "kb", "t"], orient="row")
    found = {
        kind: frame.filter((pl.col("ka") == kind[0]) & (pl.col("kb") == kind[1]))
        for kind in ("uo", "mg", "um")
    }
    users = found["uo"].select(user="a", occupation="b").unique("user", keep="first", maintain_order=True)
    movies = found["mg"].select(movie="a", genre="b").unique("movie", keep="first", maintain_order=True)
    ratings = found["um"].select(
        user="a",
        movie="b",
        month=(START + pl.duration(days=(pl.col("t").cast(pl.Int64) - 1) * 30)).cast(pl.Date),
    )
    ratings = ratings.unique(["user", "movie"], keep="first", maintain_order=True)
    users = (
        ratings.select("user")
        .unique()
        .join(users, on="user", how="left")
        .with_columns(pl.col("occupation").fill_null("other"))
    )
    movies = (
        ratings.select("movie")
        .unique()
        .join(movies, on="movie", how="left")
        .with_columns(pl.col("genre").fill_null("other"))
    )
    key = {"type": "string", "is": "protected"}
    public = {"type": "string", "is": "public"}
    when = {"type": "date", "is": "protected", "bounds": ["1997-01-01", "1997-07-29"], "width": "30d"}
    tables = {
        "users": {"rows": "public", "columns": {"user": KEY, "occupation": public}},
        "movies": {"rows": "public", "columns": {"movie": KEY, "genre": public}},
        "ratings": {
            "rows": "private",
            "repeats": 1,
            "columns": {
                "user": {**key, "references": "users"},
                "movie": {**key, "references": "movies"},
                "month": when,
            },
        },
    }
    plan = {"unit": unit, "person": "users", "keys": "public", "tables": tables}
    return {"users": users, "movies": movies, "ratings": ratings}, plan


LAID = ("month", "occupation", "genre")
"""What a rating and its two ends say, in one row."""
Score = Callable[[Tables, Tables], dict[str, float]]


def measured(
    name: str, true: Tables, plan: dict[str, Any], score: Score, asked: argparse.Namespace, **more: Any
) -> None:
    """Print the scores of releases at each epsilon. ``more``: how the release is asked for."""
    for epsilon in asked.epsilon:
        found, spent = [], []
        for _ in range(asked.runs):
            began = time.process_time()
            delta = "1e-6" if plan["unit"] == "person" else None
            made = gv.read_tables(true, plan).synthesize(
                epsilon, budget=gv.Budget.unlimited(), delta=delta, progress=False, **more
            )
            spent.append(time.process_time() - began)
            found.append(score(true, {each: pl.from_arrow(rows) for each, rows in made.tables.items()}))
        show(f"{name}, epsilon {epsilon}", found, statistics.mean(spent))


def show(name: str, found: list[dict[str, float]], seconds: float | None = None) -> None:
    """Print means over the runs."""
    means = {key: round(statistics.mean(each[key] for each in found), 3) for key in found[0]}
    print(json.dumps({"of": name, "cpu_s": seconds and round(seconds, 1), **means}), flush=True)


HMA = """
import sys, json, pandas as pd
from pathlib import Path
from sdv.metadata import Metadata
from sdv.multi_table import HMASynthesizer
folder, said = Path(sys.argv[1]), json.loads(sys.argv[2])
data = {name: pd.read_csv(folder / f"{name}.csv") for name in said["tables"]}
made = HMASynthesizer(Metadata.load_from_dict(said["metadata"]), verbose=False)
made.fit(data)
for name, frame in made.sample(len(data["airports"]), main_table_name="airports").items():
    frame.to_csv(folder / f"{name}.hma.csv", index=False)
"""


def hma(python: str, true: Tables) -> tuple[Tables, float]:
    """Fit SDV's HMA to airports and flights (the whole shop has more levels than it takes)."""
    kinds = {
        "airport": {"sdtype": "id"},
        "state": {"sdtype": "categorical"},
        "flight": {"sdtype": "id"},
        "origin": {"sdtype": "id"},
        "destination": {"sdtype": "id"},
        "day": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"},
        "delay": {"sdtype": "numerical"},
        "late": {"sdtype": "boolean"},
    }
    keys = {"airports": "airport", "flights": "flight"}
    metadata = {
        "METADATA_SPEC_VERSION": "V1",
        "tables": {
            name: {"primary_key": key, "columns": {each: kinds[each] for each in true[name].columns}}
            for name, key in keys.items()
        },
        "relationships": [
            {
                "parent_table_name": "airports",
                "parent_primary_key": "airport",
                "child_table_name": "flights",
                "child_foreign_key": column,
            }
            for column in ("origin", "destination")
        ],
    }
    with tempfile.TemporaryDirectory() as private:
        folder = Path(private)
        for name in keys:
            true[name].write_csv(folder / f"{name}.csv")
        said = json.dumps({"tables": list(keys), "metadata": metadata})
        began = time.perf_counter()
        subprocess.run([python, "-c", HMA, private, said], check=True, capture_output=True, text=True)
        seconds = time.perf_counter() - began
        made = {name: pl.read_csv(folder / f"{name}.hma.csv", try_parse_dates=True) for name in keys}
    made["flights"] = made["flights"].with_columns(
        pl.col("late").cast(pl.Boolean), pl.col("delay").cast(pl.Int64)
    )
    return {**true, **made}, seconds


def million(rows: int) -> None:
    """Print the CPU seconds of a release of so many rows, reading and writing included."""
    generator = public_generator(1)
    pairs = np.unique(
        np.stack(
            [
                (generator.pareto(1.0, 4 * rows) * 4_000 % 100_000),
                (generator.pareto(1.0, 4 * rows) * 800 % 20_000),
            ]
        ).astype(np.int64),
        axis=1,
    )
    chosen = pairs[:, generator.permutation(pairs.shape[1])[:rows]]
    days = pl.Series(generator.integers(0, 365, chosen.shape[1]))
    frame = pl.DataFrame({"user": chosen[0], "item": chosen[1]}).with_columns(
        stars=pl.Series(generator.integers(1, 6, chosen.shape[1])),
        day=(pl.date(2024, 1, 1) + pl.duration(days=days)).cast(pl.Date),
    )
    key, end = {"type": "int64", "is": "key"}, {"type": "int64", "is": "protected"}
    ratings = {
        "rows": "private",
        "repeats": 4,
        "columns": {
            "user": {**end, "references": "users"},
            "item": {**end, "references": "items"},
            "stars": {**end, "bounds": [1, 5], "cuts": [2, 3, 4, 5]},
            "day": {"type": "date", "is": "protected", "bounds": ["2024-01-01", "2024-12-31"], "width": "4w"},
        },
    }
    listed = {name: {"rows": "public", "columns": {"id": key}} for name in ("users", "items")}
    plan = {"unit": "row", "person": "none", "keys": "fresh", "tables": {**listed, "ratings": ratings}}
    tables = {
        "users": pl.DataFrame({"id": range(100_000)}),
        "items": pl.DataFrame({"id": range(20_000)}),
        "ratings": frame,
    }
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        made = gv.read_tables(tables, plan).synthesize(2, budget=gv.Budget.unlimited(), progress=False)
        made.write(folder, "parquet")
        spent = time.process_time() - began
    print(
        json.dumps(
            {
                "of": "rows in, rows out",
                "rows": frame.height,
                "drawn": made["ratings"].num_rows,
                "cpu_s": round(spent, 1),
            }
        )
    )


def main() -> None:
    """Measure what is asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--movielens", type=Path, help="ml-100k.txt.gz")
    parser.add_argument("--hma", help="a Python that has SDV")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 2.0, 4.0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", choices=("flights", "degrees", "keys", "ratings"), help="one part")
    parser.add_argument(
        "--million", type=int, default=0, metavar="ROWS", help="only the time of so many rows"
    )
    asked = parser.parse_args()
    if asked.million:
        million(asked.million)
        return
    generator = public_generator(7)
    if asked.only in (None, "flights"):
        true, _ = flights("row", False, 60)
        show(
            "flights, independent columns",
            [flight_scores(true, independent(true, "flights", generator)) for _ in range(asked.runs)],
        )
        if asked.hma:
            made, seconds = hma(asked.hma, true)
            show(f"flights, HMA of two tables, {seconds:.0f} wall s", [flight_scores(true, made)])
        else:
            print(
                json.dumps({"of": "flights, HMA of two tables", "skipped": "name a Python with SDV: --hma"})
            )
        for together, cap, steps in (
            (False, 60, None),
            (True, 60, None),
            (False, 9, "day"),
            (True, 9, "day"),
        ):
            joint = ", delay and late together" if together else ""
            name = f"flights, {'weekly' if steps else 'untimed'}, cap {cap}{joint}"
            measured(name, *flights("row", together, cap, steps), flight_scores, asked)
        measured("flights, pair, untimed, cap 60", *flights("pair", False, 60, None), flight_scores, asked)
    if asked.only in (None, "degrees"):
        measured(
            "flights, untimed, cap 60, delay and late together, degrees alone",
            *flights("row", True, 60, None),
            flight_scores,
            asked,
            method="anchored",
            parameters={"evidence": "none", "attribute_share": 0.25},
        )
    if asked.only in (None, "keys"):
        for unit in ("row", "pair"):
            measured(f"flights with more keys, {unit}", *with_keys(unit), key_scores, asked)
    if asked.movielens and asked.only in (None, "ratings"):
        true, _ = movielens(asked.movielens, "row")
        show(
            "ratings, independent columns",
            [rating_scores(true, independent(true, "ratings", generator)) for _ in range(asked.runs)],
        )
        for unit in ("row", "person"):
            measured(f"ratings, {unit}", *movielens(asked.movielens, unit), rating_scores, asked)


if __name__ == "__main__":
    sys.exit(main())
