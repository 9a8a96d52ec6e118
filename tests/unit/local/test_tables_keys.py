"""Keys that may be null, and third keys into many rows: what is drawn of them, and what is refused."""

from __future__ import annotations

from datetime import date
from typing import Any

import polars as pl
import pytest

import graphveil as gv
from graphveil.problems import InvalidInput
from tests.unit.local.test_tables import ITEMS, KEY, UNLIMITED, USERS, drawn, holds, to, visits

pytestmark = pytest.mark.extras

TOWNS = pl.DataFrame(
    {"id": range(6_000), "land": [("north", "south", None)[row % 3] for row in range(6_000)]},
    schema={"id": pl.Int64, "land": pl.String},
)


def towned(group: Any, null: bool = False, **said: Any) -> tuple[dict[str, pl.DataFrame], dict[str, Any]]:
    """Visits whose third key names a town: of the north by users of even number, else of the south."""
    town = {"type": "int64", "is": "protected", "references": "towns", "group": group, "null": null}
    plan = visits(columns={"user": to("users"), "item": to("items"), "town": town}, repeats=2) | said
    land = {"type": "string", "is": "public", "null": True}
    plan["tables"]["towns"] = {"rows": "public", "columns": {"id": KEY, "land": land}}
    # Towns 0, 3, 6 .. are northern, 1, 4, 7 .. southern.
    rows = drawn(900).with_columns(town=(pl.col("item") * 60 // 3) * 3 + pl.col("user") % 2)
    if null:
        rows = rows.with_columns(town=pl.when(pl.col("item") < 10).then(None).otherwise(pl.col("town")))
    return {"users": USERS, "items": ITEMS, "towns": TOWNS, "visits": rows}, plan


@pytest.mark.parametrize("keys", ["public", "fresh"])
def test_a_third_key_into_many_rows_is_drawn_by_a_public_column_of_theirs(keys: str):
    frames, plan = towned("land", keys=keys)
    made = gv.read_tables(frames, plan).synthesize(40, budget=UNLIMITED, progress=False)
    holds(made, "visits", "town", "towns", "id")
    again = pl.from_arrow(made["visits"]).join(pl.from_arrow(made["towns"]), left_on="town", right_on="id")
    shares = again.group_by("land").len()
    found = dict(zip(shares["land"], shares["len"] / again.height, strict=True))
    assert found["north"] + found["south"] > 0.9  # no visit was of the others, a third of the towns
    assert again["town"].n_unique() > 100


def test_a_third_key_into_many_rows_is_drawn_by_their_order():
    frames, plan = towned(12, null=True)
    made = gv.read_tables(frames, plan).synthesize(40, budget=UNLIMITED, progress=False)
    holds(made, "visits", "town", "towns", "id")
    towns = pl.from_arrow(made["visits"])["town"]
    assert 0 < towns.null_count() < len(towns)
    assert (towns.drop_nulls() < 1_900).mean() > 0.9  # as in the rows: four groups of 500
    assert frames["visits"]["town"].max() < 1_900


@pytest.mark.parametrize(
    ("group", "keys", "words"),
    [
        (None, "public", "third key into more than 4096 rows or groups.*say group: a public column of towns"),
        (None, "fresh", "name a public column of towns as its group"),
        (12, "fresh", "fresh keys have no order; name a public column of towns"),
        (0, "public", "one at least"),
        (6000, "public", "more than 4096 rows or groups"),
        ("name", "public", "grouped by 'name', which is no public column of towns; name one"),
    ],
)
def test_groups_that_nobody_knows_are_refused(group: Any, keys: str, words: str):
    frames, plan = towned(group, keys=keys)
    with pytest.raises(InvalidInput, match=words):
        gv.read_tables(frames, plan)


def test_an_end_has_no_groups():
    plan = visits(columns={"user": to("users"), "item": to("items", group=3)})
    with pytest.raises(InvalidInput, match=r"is an end of its rows.*leave group out"):
        gv.read_tables({"users": USERS, "items": ITEMS, "visits": drawn()}, plan)


@pytest.mark.parametrize("keys", ["public", "fresh"])
@pytest.mark.parametrize("unit", ["row", "pair", "person"])
def test_a_key_that_may_be_null_is_null_as_often(keys: str, unit: str):
    """Null in a third of the rows: paid for with the ends of all others, under the same epsilon."""
    columns = {"user": to("users"), "item": to("items", null=True)}
    plan = visits(columns=columns, repeats=1, lacking=4) | {"keys": keys, "unit": unit, "person": "users"}
    times = 1 if unit == "person" else 4  # how many rows of 20 persons have is told by noise alone
    some = drawn(1200).filter(pl.col("item") < 2 * times).select("user", "item")
    lacking = USERS.filter(pl.col("id") % 2 == 0).select(user="id", item=pl.lit(None, pl.Int64))
    rows = pl.concat([some, *[lacking] * times])
    true = rows["item"].null_count() / rows.height
    assert 0.1 < true < 0.9
    frames = {"users": USERS, "items": ITEMS, "visits": rows}
    delta = {"delta": "1e-6"} if unit == "person" else {}
    for _ in range(3):
        made = gv.read_tables(frames, plan).synthesize(40, budget=UNLIMITED, progress=False, **delta)
        again = pl.from_arrow(made["visits"])
        holds(made, "visits", "item", "items", "id")
        assert made["items"].num_rows == ITEMS.height
        assert again.drop_nulls().is_unique().all()
        if abs(again["item"].null_count() / max(again.height, 1) - true) < 0.1:
            return
    pytest.fail(f"{again['item'].null_count()} of {again.height}, where {true:.2f} are null")


@pytest.mark.parametrize(
    ("rows", "said", "words"),
    [
        ({"user": [1], "item": [None]}, {"user": to("users", null=True)}, "name nobody at either end"),
        (
            {"user": [1, 1], "item": [None, None]},
            {},
            "an end of visits without item has more than lacking: 1",
        ),
    ],
)
def test_rows_without_ends_are_held_against_what_is_declared(rows: Any, said: Any, words: str):
    columns = {"user": to("users"), "item": to("items", null=True)} | said
    if said:
        rows = {"user": [None], "item": [None]}
    frames = {
        "users": USERS,
        "items": ITEMS,
        "visits": pl.DataFrame(rows, schema=dict.fromkeys(rows, pl.Int64)),
    }
    with pytest.raises(InvalidInput, match=words):
        gv.read_tables(frames, visits(columns=columns, repeats=1))


def test_both_ends_may_be_null_in_turn_and_dates_and_values_come_back():
    when = {"type": "date", "is": "protected", "bounds": ["2024-01-01", "2024-03-31"], "width": "1w"}
    columns = {"user": to("users", null=True), "item": to("items", null=True), "when": when}
    days = (pl.lit(date(2024, 1, 1)) + pl.duration(days=pl.col("user"))).cast(pl.Date)
    rows = drawn(900, when=days)
    ends = [
        pl.when((pl.col("user") + 2 * pl.col("item")) % 9 != place).then(pl.col(name)).alias(name)
        for place, name in enumerate(("user", "item"))
    ]
    plan = visits(columns=columns, repeats=1, lacking=30)
    frames = {"users": USERS, "items": ITEMS, "visits": rows.with_columns(ends)}
    again = pl.from_arrow(
        gv.read_tables(frames, plan).synthesize(40, budget=UNLIMITED, progress=False)["visits"]
    )
    assert again.columns == ["user", "item", "when"]
    assert again["user"].null_count() > 20 < again["item"].null_count()
    assert again.filter(pl.col("user").is_null() & pl.col("item").is_null()).is_empty()
    assert again["when"].is_between(date(2024, 1, 1), date(2024, 3, 31)).all()


@pytest.mark.parametrize(("sign", "least"), [(">=", 0), (">", 1)])
def test_a_number_that_is_above_another_stays_so(sign: str, least: int):
    number = {"type": "int64", "is": "protected", "bounds": [0, 50]}
    columns = {
        "user": to("users"),
        "item": to("items"),
        "left": number,
        "arrived": {**number, "bounds": [0, 90]},
    }
    plan = visits(columns=columns, constraints=[f"arrived {sign} left"])
    rows = drawn(left=pl.col("user"), arrived=pl.col("user") + pl.col("item") + least)
    made = gv.read_tables({"users": USERS, "items": ITEMS, "visits": rows}, plan).synthesize(
        2, budget=UNLIMITED, progress=False
    )
    again = pl.from_arrow(made["visits"])
    assert (again["arrived"] - again["left"]).min() >= least
    assert again["arrived"].is_between(0, 90).all()
