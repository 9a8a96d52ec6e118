"""Tables in, tables out: round trips, with keys that hold, of every pattern of keys."""

from __future__ import annotations

import itertools
from copy import deepcopy
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy

import graphveil as gv
from core.reports.html.wording import unit_words
from core.reports.model import GuaranteePart
from graphveil.problems import InvalidInput
from tests.unit.local import table_shop

pytestmark = pytest.mark.extras
UNLIMITED = gv.Budget.unlimited()
KEY = {"type": "int64", "is": "key"}


def to(table: str, **more: Any) -> dict[str, Any]:
    return {"type": "int64", "is": "protected", "references": table, **more}


def said(tables: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"unit": "row", "person": "none", "keys": "public", "tables": tables, **more}


def listed(*columns: str, **more: Any) -> dict[str, Any]:
    return {"rows": "public", "columns": {"id": KEY, **more}}


USERS = pl.DataFrame({"id": list(range(40))})
ITEMS = pl.DataFrame({"id": list(range(30))})


def visits(**more: Any) -> dict[str, Any]:
    """Users, items, and who had which: the least of two keys."""
    table = {"rows": "private", "repeats": 3, "columns": {"user": to("users"), "item": to("items")}}
    return said({"users": listed(), "items": listed(), "visits": table | more})


def drawn(rows: int = 400, **columns: Any) -> pl.DataFrame:
    made = pl.DataFrame(
        {
            "user": [place % 40 for place in range(rows)],
            "item": [(place + place // 40 * 7) % 30 for place in range(rows)],
        }
    )
    return made.unique().sort("user", "item").with_columns(**columns)


def holds(tables: Any, table: str, column: str, other: str, key: str) -> None:
    values = set(tables[table][column].to_pylist()) - {None}
    assert values <= set(tables[other][key].to_pylist())


def test_a_shop_of_four_tables_goes_round(tmp_path: Path):
    folder = table_shop.write(tmp_path / "shop")
    shop = gv.read_tables(folder)
    made = shop.synthesize(8, budget=gv.Budget(tmp_path / "budget.json", epsilon=8), progress=False)
    made.write(tmp_path / "synthetic")
    made.write(f"sqlite:///{tmp_path}/synthetic.db")

    for name, frame in table_shop.frames().items():
        again = pl.from_arrow(made[name])
        assert again.columns == frame.columns
        assert again.schema == frame.schema
        if name != "flights":
            assert sorted(again.rows()) == sorted(frame.rows())
        assert pl.read_csv(tmp_path / "synthetic" / f"{name}.csv").height == again.height
    holds(made, "flights", "origin", "airports", "airport")
    holds(made, "flights", "destination", "airports", "airport")
    flights = pl.from_arrow(made["flights"])
    assert flights["flight"].to_list() == list(range(1, flights.height + 1))
    assert flights["day"].is_between(date(2001, 1, 1), date(2001, 3, 31)).all()
    assert flights["delay"].is_between(-60, 240).all()
    assert 10_000 < flights.height < 40_000
    # The database itself finds no key that dangles.
    with sqlalchemy.create_engine(f"sqlite:///{tmp_path}/synthetic.db").connect() as connection:
        assert connection.exec_driver_sql("PRAGMA foreign_key_check").all() == []
        assert connection.exec_driver_sql("SELECT count(*) FROM flights").scalar() == flights.height
    assert "One row of flights, there or not" in made.guarantee


def test_a_row_more_of_a_pair_with_rows_is_covered_by_epsilon():
    shop = gv.read_tables(table_shop.frames(), table_shop.mapping())
    made = shop.synthesize(2, budget=UNLIMITED, progress=False, parameters={"attribute_share": 0.7})
    assert "of flights, in any one record of one edge" in made.release.guarantee
    part = GuaranteePart.model_validate(made.release.report["guarantee"])
    assert unit_words(part)[1].startswith("one row of flights, with its edge")
    told = {each["code"]: each["text"] for each in made.release.report["caveats"]}
    assert "flights the guarantee covers one record" in told["unit_record"]
    assert "one record of an edge" in told["edge_values_synthesised"]


def test_one_row_changes_one_edge_or_the_records_of_one():
    """All tables of up to three rows on two pairs: what the proof of the unit row calls its two cases."""
    users, items = pl.DataFrame({"id": [0, 1]}), pl.DataFrame({"id": [0]})
    cell = [(user, 0, value) for user in (0, 1) for value in (0, 1)]
    columns = {
        "user": to("users"),
        "item": to("items"),
        "stars": {"type": "int64", "is": "protected", "bounds": [0, 1]},
    }
    plan = said(
        {
            "users": listed(),
            "items": listed(),
            "visits": {"rows": "private", "repeats": 3, "columns": columns},
        }
    )
    seen = set()
    for size in (1, 2, 3):
        for rows in itertools.combinations_with_replacement(cell, size):
            whole, less = (_records(users, items, each, plan) for each in (rows, rows[1:]))
            moved = {pair for pair in whole | less if whole.get(pair) != less.get(pair)}
            assert len(moved) == 1
            (pair,) = moved
            seen.add("edge" if pair not in less else "records")
            assert len(whole[pair]) == len(less.get(pair, [])) + 1
    assert seen == {"edge", "records"}


def _records(users: pl.DataFrame, items: pl.DataFrame, rows: Any, plan: Any) -> dict[Any, list[int]]:
    schema = {"user": pl.Int64, "item": pl.Int64, "stars": pl.Int64}
    frames = {"users": users, "items": items, "visits": pl.DataFrame(list(rows), schema=schema, orient="row")}
    tables = gv.read_tables(frames, plan)
    edges = pq.read_table(tables._folder / "edges.parquet").to_pylist()
    found: dict[Any, list[int]] = {}
    for each in edges:
        found.setdefault((each["source"], each["target"]), []).append(each["visits_stars"])
    return {pair: sorted(values) for pair, values in found.items()}


@pytest.mark.parametrize("keys", ["public", "fresh"])
def test_two_keys_without_values_keep_repeats(keys: str):
    plan = visits(repeats=6) | {"keys": keys}
    frames = {"users": USERS, "items": ITEMS, "visits": pl.concat([drawn(), drawn()])}
    made = gv.read_tables(frames, plan).synthesize(8, budget=UNLIMITED, progress=False)
    again = pl.from_arrow(made["visits"])
    assert again.group_by("user", "item").len()["len"].max() > 1
    holds(made, "visits", "user", "users", "id")
    assert made["users"]["id"].to_pylist() == (sorted if keys == "fresh" else list)(
        made["users"]["id"].to_pylist()
    )
    assert min(made["users"]["id"].to_pylist()) == (1 if keys == "fresh" else 0)


def test_pairs_that_are_once_have_snapshots_and_are_once_again():
    when = {"type": "date", "is": "protected", "bounds": ["2024-01-01", "2024-03-31"], "width": "1w"}
    columns = {"user": to("users"), "item": to("items"), "when": when}
    plan = visits(repeats=1, columns=columns, constraints=["unique(user, item)"])
    days = (pl.lit(date(2024, 1, 1)) + pl.duration(days=(pl.col("user") * 2))).cast(pl.Date)
    shop = gv.read_tables({"users": USERS, "items": ITEMS, "visits": drawn(when=days)}, plan)
    assert shop.unit == "event"
    again = pl.from_arrow(shop.synthesize(8, budget=UNLIMITED, progress=False)["visits"])
    assert again.schema == {"user": pl.Int64, "item": pl.Int64, "when": pl.Date}
    assert again.select("user", "item").is_unique().all()
    assert again["when"].is_between(date(2024, 1, 1), date(2024, 3, 31)).all()


def test_rows_of_a_pair_are_apart_by_named_steps():
    when = {"type": "date", "is": "protected", "bounds": ["2024-01-01", "2024-01-28"], "width": "1w"}
    columns = {"user": to("users"), "item": to("items"), "when": when}
    rows = drawn(when=pl.date(2024, 1, 2))
    later = rows.with_columns(when=pl.date(2024, 1, 9))
    plan = visits(columns=columns, repeats=1, steps="when")
    frames = {"users": USERS, "items": ITEMS, "visits": pl.concat([rows, later])}
    shop = gv.read_tables(frames, plan)
    assert shop.unit == "event"
    again = pl.from_arrow(shop.synthesize(8, budget=UNLIMITED, progress=False)["visits"])
    weeks = again.select("user", "item", week=(pl.col("when") - pl.date(2024, 1, 1)).dt.total_days() // 7)
    assert weeks.is_unique().all()
    assert set(weeks["week"]) <= {0, 1, 2, 3}
    with pytest.raises(InvalidInput, match="more than repeats: 1 rows"):
        gv.read_tables({**frames, "visits": pl.concat([rows, rows])}, plan)
    with pytest.raises(InvalidInput, match="steps of visits names 'item', which is no protected date"):
        gv.read_tables(frames, visits(columns=columns, repeats=1, steps="item"))


def test_a_third_key_is_a_value_and_missing_ends_and_values_come_back_missing():
    shops = pl.DataFrame({"id": [10, 20]})
    columns = {
        "user": to("users"),
        "item": to("items", null=True),
        "shop": to("shops"),
        "price": {"type": "double", "is": "protected", "bounds": [0, 10], "null": True},
        "note": {"type": "string", "is": "withheld"},
    }
    plan = visits(columns=columns, repeats=2)
    plan["tables"]["shops"] = listed()
    rows = drawn(1200).with_columns(
        item=pl.when(pl.col("item") == 0).then(None).otherwise(pl.col("item")),
        shop=pl.when(pl.col("user") % 2 == 0).then(10).otherwise(20).cast(pl.Int64),
        price=pl.when(pl.col("user") % 2 == 0).then(None).otherwise(5.0),
        note=pl.lit("secret"),
    )
    frames = {"users": USERS, "items": ITEMS, "shops": shops, "visits": rows}
    made = gv.read_tables(frames, plan).synthesize(20, budget=UNLIMITED, progress=False)
    again = pl.from_arrow(made["visits"])
    assert again.columns == ["user", "item", "shop", "price", "note"]
    assert 0 < again["item"].null_count() < again.height
    assert 0 < again["price"].null_count() < again.height
    assert set(again["shop"]) == {10, 20}
    assert again["note"].null_count() == again.height
    assert set(made["items"]["id"].to_pylist()) == set(range(30))


@pytest.mark.parametrize("ends", [None, ["user", "kind"]])
def test_events_of_one_entity_end_at_a_category_or_at_the_table_itself(ends: Any):
    kind = {"type": "string", "is": "protected", "categories": ["a", "b", "c"]}
    table: dict[str, Any] = {"rows": "private", "repeats": 9, "columns": {"user": to("users"), "kind": kind}}
    if ends:
        table["ends"] = ends
    rows = drawn().select(
        "user", kind=pl.when(pl.col("item") % 3 == 0).then(pl.lit("a")).otherwise(pl.lit("b"))
    )
    rows = (
        rows.with_columns(pl.int_range(pl.len()).over("user", "kind").alias("n"))
        .filter(pl.col("n") < 4)
        .drop("n")
    )
    for keys in ("public", "fresh"):
        plan = said({"users": listed(), "visits": table}, keys=keys)
        made = gv.read_tables({"users": USERS, "visits": rows}, plan).synthesize(
            20, budget=UNLIMITED, progress=False
        )
        again = pl.from_arrow(made["visits"])
        assert again.columns == ["user", "kind"]
        assert again.height > 20  # at most nine records an edge: their number is the noisiest
        assert {"b"} <= set(again["kind"]) <= {"a", "b", "c"}
        holds(made, "visits", "user", "users", "id")


def test_keys_of_listed_rows_are_one_a_row_filled_and_without_circles():
    people = pl.DataFrame(
        {
            "id": list(range(200)),
            "chief": [None, *((place - 1) // 4 for place in range(1, 200))],
            "team": [place % 5 for place in range(200)],
        }
    )
    staff = {
        "rows": "public",
        "columns": {"id": KEY, "chief": to("staff", null=True), "team": to("teams")},
        "constraints": ["acyclic(chief)"],
    }
    plan = said({"staff": staff, "teams": listed()}, person="staff")
    made = gv.read_tables({"staff": people, "teams": pl.DataFrame({"id": [0, 1, 2, 3, 4]})}, plan).synthesize(
        4, budget=UNLIMITED, progress=False
    )
    again = pl.from_arrow(made["staff"])
    assert again.height == 200
    assert again["team"].null_count() == 0
    holds(made, "staff", "team", "teams", "id")
    chiefs = dict(zip(again["id"], again["chief"], strict=True))
    for row in chiefs:
        steps, at = 0, row
        while at is not None:
            at, steps = chiefs[at], steps + 1
            assert steps <= 200
    assert again["chief"].null_count() < 200


def test_protected_columns_of_listed_rows_are_drawn_with_their_types():
    age = {"type": "int64", "is": "protected", "bounds": [0, 99], "cuts": [18, 40, 65], "null": True}
    plan = visits(columns={"user": to("users"), "item": to("items")})
    plan["tables"]["users"]["columns"] |= {
        "age": age,
        "sex": {"type": "string", "is": "protected", "categories": ["f", "m"]},
        "since": {"type": "date", "is": "public"},
    }
    people = USERS.with_columns(
        age=pl.when(pl.col("id") == 3).then(None).otherwise(pl.col("id") + 20),
        sex=pl.when(pl.col("id") % 2 == 0).then(pl.lit("f")).otherwise(pl.lit("m")),
        since=pl.lit(date(2020, 2, 29)),
    )
    made = gv.read_tables({"users": people, "items": ITEMS, "visits": drawn()}, plan).synthesize(
        4, budget=UNLIMITED, progress=False
    )
    again = pl.from_arrow(made["users"])
    assert again.schema == people.schema
    assert set(again["sex"]) <= {"f", "m"}
    assert again["age"].drop_nulls().is_between(0, 99).all()
    assert again["since"].to_list() == [date(2020, 2, 29)] * 40


def test_columns_that_are_drawn_as_one_keep_how_they_go_together():
    letters = {"type": "string", "is": "protected", "categories": ["a", "b"]}
    columns = {
        "user": to("users"),
        "item": to("items"),
        "x": letters,
        "n": {"type": "int64", "is": "protected", "bounds": [0, 9], "cuts": [5]},
    }
    coin = (pl.col("user") * 31 + pl.col("item") * 57) ** 2 % 97 % 2 == 0  # no node leans to a side
    rows = drawn(
        1200,
        x=pl.when(coin).then(pl.lit("a")).otherwise(pl.lit("b")),
        n=pl.when(coin).then(2).otherwise(7).cast(pl.Int64),
    )
    agree = {}
    for together in ([], [["x", "n"]]):
        plan = visits(columns=columns, together=together, repeats=1)
        made = gv.read_tables({"users": USERS, "items": ITEMS, "visits": rows}, plan).synthesize(
            20, budget=UNLIMITED, progress=False
        )
        again = pl.from_arrow(made["visits"])
        agree[bool(together)] = ((again["x"] == "a") == (again["n"] < 5)).mean()
    assert agree[True] > 0.9
    assert agree[False] < 0.8


def test_a_person_is_hidden_with_all_that_reaches_them():
    plan = visits() | {"unit": "person", "person": "users"}
    shop = gv.read_tables({"users": USERS, "items": ITEMS, "visits": drawn()}, plan)
    assert shop.unit == "node"
    made = shop.synthesize(4, budget=UNLIMITED, delta="1e-6", progress=False)
    assert made.release.report["guarantee"]["protected_type"] == "users"
    assert "One row of users with all that reaches it over keys (rows of visits)" in made.guarantee
    holds(made, "visits", "user", "users", "id")


def test_all_rows_of_a_pair_are_one_unit_where_that_is_asked():
    when = {"type": "date", "is": "protected", "bounds": ["2024-01-01", "2024-03-31"], "width": "1w"}
    columns = {"user": to("users"), "item": to("items"), "when": when}
    rows = drawn(when=pl.lit(date(2024, 2, 2)))
    for repeats, unit in ((1, "pair"), (3, "edge")):
        plan = visits(columns=columns, repeats=repeats) | {"unit": "pair"}
        shop = gv.read_tables({"users": USERS, "items": ITEMS, "visits": rows}, plan)
        assert shop.unit == unit
        made = shop.synthesize(4, budget=UNLIMITED, progress=False)
        assert "All rows of visits with one pair of ends" in made.guarantee
        assert made["visits"].num_rows > 0


def test_a_plan_costs_nothing_and_reads_no_secret():
    shop = gv.read_tables(table_shop.frames(), table_shop.mapping())
    assert shop.plan(1).epsilon == "1"


def test_frames_of_pandas_and_arrow_are_taken():
    frames = {"users": USERS.to_pandas(), "items": ITEMS.to_arrow(), "visits": drawn().to_pandas()}
    assert gv.read_tables(frames, visits()).schema["edge_types"][0]["source"] == "users"


def test_a_release_that_was_saved_is_read_as_tables(tmp_path: Path):
    made = gv.read_tables({"users": USERS, "items": ITEMS, "visits": drawn()}, visits()).synthesize(
        2, budget=UNLIMITED, progress=False
    )
    made.release.save(tmp_path / "release")
    (tmp_path / "tables.yaml").write_text(made.mapping.dump(), encoding="utf-8")
    again = gv.back_to_tables(tmp_path / "release", tmp_path / "tables.yaml")
    assert again["visits"].equals(made["visits"])
    assert isinstance(again["users"], pa.Table)


def changed(**tables: Any) -> dict[str, Any]:
    plan = deepcopy(visits())
    plan["tables"] |= tables
    return plan


ORDERS = {"rows": "public", "columns": {"id": KEY, "user": to("users")}}
LINES = {"rows": "private", "repeats": 1, "columns": {"order": to("orders"), "item": to("items")}}
PRICE = {"type": "double", "is": "protected", "bounds": [0, 9]}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "orders derived from private rows are no nodes": (
        said({"users": listed(), "items": listed(), "orders": ORDERS, "lines": LINES}, person="users"),
        r"rows of orders are said to be public.*Say rows: private of orders",
    ),
    "orders that are said to be public where nobody is a person": (
        said({"users": listed(), "items": listed(), "orders": ORDERS, "lines": LINES}),
        r"rows of orders are said to be public.*say rows: private; else is: public of",
    ),
    "private rows that others name": (
        said(
            {
                "users": listed(),
                "items": listed(),
                "orders": ORDERS | {"rows": "private", "repeats": 9},
                "lines": LINES,
            }
        ),
        r"lines.order names rows of orders, which are private.*withhold lines.order",
    ),
    "persons of two tables": (
        visits() | {"person": "users, sellers", "unit": "person"},
        "merged into one, or one of the two",
    ),
    "a person who is not named": (visits() | {"unit": "person"}, "person names no table; name it"),
    "persons who are not listed": (visits() | {"person": "visits"}, "never hidden. List all who"),
    "a key of two columns": (
        changed(users={"rows": "public", "columns": {"id": KEY, "no": KEY}}),
        "key of several columns; give it one column",
    ),
    "listed rows without a key": (
        changed(users={"rows": "public", "columns": {"a": {"type": "int64", "is": "public"}}}),
        "no key; say which",
    ),
    "a circle of keys that must be there": (
        changed(
            users={"rows": "public", "columns": {"id": KEY, "best": to("items")}},
            items={"rows": "public", "columns": {"id": KEY, "owner": to("users")}},
        ),
        "form a circle, and none may be null; say null: true",
    ),
    "a key into nowhere": (
        changed(visits={"rows": "private", "repeats": 1, "columns": {"user": to("persons")}}),
        "which the mapping has not; add it",
    ),
    "public columns of private rows": (
        visits(columns={"user": to("users"), "item": {**to("items"), "is": "public"}}),
        "is public, but the rows of visits are private",
    ),
    "no word of repeats": (
        changed(visits={"rows": "private", "columns": {"user": to("users")}}),
        "say repeats",
    ),
    "free text": (
        visits(columns={"user": to("users"), "note": {"type": "string", "is": "protected"}}),
        "declare its categories, or withhold it",
    ),
    "an unknown constraint": (
        visits(constraints=["weekday(day) = 1"]),
        "is not kept; kept are .*Leave it out",
    ),
    "a number that is more than another, not whole": (
        visits(
            columns={"user": to("users"), "item": to("items"), "a": PRICE, "b": PRICE}, constraints=["a > b"]
        ),
        "kept of whole numbers; say a >= b",
    ),
    "a column that is unique": (visits(constraints=["unique(item)"]), "only keys are.*Leave it out"),
    "a third key under fresh keys": (
        visits(columns={"user": to("users"), "item": to("items"), "other": to("items")}) | {"keys": "fresh"},
        "is a third key, which is known by its name; say keys: public",
    ),
    "nothing to hide": (said({"users": listed()}), "nothing is to be hidden"),
    "rows without a key to others": (
        changed(visits={"rows": "private", "repeats": 1, "columns": {"id": KEY}}),
        "name no other table",
    ),
    "an open question": (visits() | {"unit": "ask"}, "leaves questions open: unit; answer"),
    "an unknown word": (visits() | {"units": "row"}, "units: Extra inputs"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_graph_can_be_is_refused_by_name(name: str):
    plan, words = REFUSED[name]
    with pytest.raises(InvalidInput, match=words):
        gv.read_tables({"users": USERS, "items": ITEMS, "visits": drawn()}, plan)


STARS = {"type": "int64", "is": "protected", "bounds": [1, 5]}
WRONG: dict[str, tuple[dict[str, pl.DataFrame], dict[str, Any], str]] = {
    "a key that dangles": (
        {"visits": drawn().with_columns(item=pl.lit(99, pl.Int64))},
        {},
        "visits.item names rows that items has not; list them",
    ),
    "a key that is there twice": ({"users": pl.concat([USERS, USERS])}, {}, "users.id is no key"),
    "more repeats": ({"visits": pl.concat([drawn()] * 4)}, {}, "more than repeats: 3 rows; declare more"),
    "a missing key": ({"visits": drawn().with_columns(item=pl.lit(None, pl.Int64))}, {}, "say null: true"),
    "a value out of bounds": (
        {"visits": drawn(stars=pl.lit(9, pl.Int64))},
        {"stars": STARS},
        "outside its bounds; declare more",
    ),
    "a column that is not there": ({}, {"stars": STARS}, "has no column 'stars'"),
    "another type": ({"visits": drawn(stars=pl.lit("x"))}, {"stars": STARS}, "does not hold int64"),
}


@pytest.mark.parametrize("name", WRONG)
def test_rows_that_break_the_mapping_are_refused_before_anything_is_charged(name: str):
    frames, columns, words = WRONG[name]
    plan = visits(columns={"user": to("users"), "item": to("items"), **columns})
    with pytest.raises(InvalidInput, match=words):
        gv.read_tables({"users": USERS, "items": ITEMS, "visits": drawn()} | frames, plan)
