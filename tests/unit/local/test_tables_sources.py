"""Where tables come from: what is proposed of them, databases, SDV's metadata, the command line."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path

import polars as pl
import pytest
import sqlalchemy
import yaml
from typer.testing import CliRunner

import graphveil as gv
from graphveil.cli.app import app
from graphveil.errors import ClientError
from graphveil.problems import InvalidInput
from graphveil.sources.query import Query, write
from graphveil.tables.layout import layout_of
from graphveil.tables.mapping import mapping_of
from graphveil.tables.reading import engine_of
from tests.unit.local import table_shop

pytestmark = pytest.mark.extras
TORN = "postgresql+psycopg://me:hidden@rest:s3cret@db/shop"
"""An address whose password holds @ and :, unescaped, so that a part of it stands where a port does."""
DDL = (
    "CREATE TABLE states (state TEXT PRIMARY KEY NOT NULL)",
    "CREATE TABLE airports (airport TEXT PRIMARY KEY NOT NULL,"
    " state TEXT NOT NULL REFERENCES states (state))",
    "CREATE TABLE flights (flight INTEGER PRIMARY KEY, origin TEXT NOT NULL REFERENCES airports (airport),"
    " destination TEXT NOT NULL REFERENCES airports (airport), day DATE NOT NULL, delay INTEGER,"
    " UNIQUE (origin, day), CHECK (delay > -100))",
    "CREATE VIEW late AS SELECT * FROM flights WHERE delay > 15",
)


@pytest.fixture
def database(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/shop.db"
    with sqlalchemy.create_engine(url).begin() as connection:
        for statement in DDL:
            connection.exec_driver_sql(statement)
        for state in ("CA", "NY"):
            connection.exec_driver_sql("INSERT INTO states VALUES (?)", (state,))
        for airport, state in (("LAX", "CA"), ("SFO", "CA"), ("JFK", "NY")):
            connection.exec_driver_sql("INSERT INTO airports VALUES (?, ?)", (airport, state))
        for row in ((1, "LAX", "JFK", "2024-01-02", 5), (2, "SFO", "JFK", "2024-01-03", None)):
            connection.exec_driver_sql("INSERT INTO flights VALUES (?, ?, ?, ?, ?)", row)
    return url


def test_a_database_says_its_keys_and_is_asked_everything_else(database: str):
    found = gv.propose_tables(database)
    assert (found["unit"], found["person"], found["keys"]) == ("ask", "ask", "ask")
    assert list(found["tables"]) == ["states", "airports", "flights"]
    flights = found["tables"]["flights"]
    assert flights["rows"] == "ask"
    assert flights["repeats"] == "ask"
    assert flights["constraints"] == ["unique(origin, day)", "delay > -100"]
    assert flights["columns"]["flight"]["is"] == "key"
    assert flights["columns"]["origin"] == {"type": "string", "is": "ask", "references": "airports"}
    assert flights["columns"]["delay"] == {"type": "int64", "is": "ask", "bounds": "ask", "null": True}
    assert flights["columns"]["day"]["type"] == "date"


def test_no_value_of_a_row_is_in_a_proposal(tmp_path: Path):
    folder = table_shop.write(tmp_path / "shop")
    text = yaml.safe_dump(gv.propose_tables(folder))
    frames = table_shop.frames()
    assert not [each for each in frames["airports"]["airport"] if f" {each}" in text]
    few = {name: frame.head(3) for name, frame in frames.items()}
    assert gv.propose_tables(few) == gv.propose_tables(frames)


def answered(found: dict) -> dict:
    """Answer a proposal of the database's three tables."""
    found |= {"unit": "row", "person": "none", "keys": "public"}
    for name, table in found["tables"].items():
        table["rows"] = "private" if name == "flights" else "public"
        for column in table["columns"].values():
            if column["is"] == "ask":
                column["is"] = "protected" if name == "flights" else "public"
    flights = found["tables"]["flights"]
    flights |= {"repeats": 4, "constraints": []}
    flights["columns"]["day"] |= {"bounds": ["2024-01-01", "2024-12-31"], "width": "1w"}
    flights["columns"]["delay"] |= {"bounds": [-60, 240], "cuts": [0, 15, 60]}
    return found


def test_a_database_goes_into_another(database: str, tmp_path: Path):
    shop = gv.read_tables(database, answered(gv.propose_tables(database)))
    made = shop.synthesize(4, budget=gv.Budget.unlimited(), progress=False)
    made.write(f"sqlite:///{tmp_path}/other.db")
    other = sqlalchemy.create_engine(f"sqlite:///{tmp_path}/other.db")
    with other.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA foreign_key_check").all() == []
        assert connection.exec_driver_sql("SELECT count(*) FROM airports").scalar() == 3
    keys = sqlalchemy.inspect(other).get_foreign_keys("flights")
    assert {each["referred_table"] for each in keys} == {"airports"}
    with pytest.raises(InvalidInput, match="already; name an empty one"):
        made.write(f"sqlite:///{tmp_path}/other.db")


def test_what_a_database_declares_and_is_not_kept_is_refused_by_name(database: str):
    found = answered(gv.propose_tables(database))
    found["tables"]["flights"]["constraints"] = ["delay > -100"]
    with pytest.raises(InvalidInput, match=r"'delay > -100' of flights is not kept.*Leave it out"):
        gv.read_tables(database, found)


def test_a_view_is_refused_by_name(database: str):
    found = answered(gv.propose_tables(database))
    found["tables"]["late"] = found["tables"].pop("flights")
    with pytest.raises(InvalidInput, match=r"late is a view.*map the tables that it is made of"):
        gv.read_tables(database, found)


def test_composite_keys_are_refused_by_name(tmp_path: Path):
    url = f"sqlite:///{tmp_path}/two.db"
    with sqlalchemy.create_engine(url).begin() as connection:
        connection.exec_driver_sql("CREATE TABLE a (x INTEGER, y INTEGER, PRIMARY KEY (x, y))")
        connection.exec_driver_sql(
            "CREATE TABLE b (x INTEGER, y INTEGER, FOREIGN KEY (x, y) REFERENCES a (x, y))"
        )
    with pytest.raises(
        InvalidInput, match=r"b names another table by several columns \(x, y\); give that table"
    ):
        gv.propose_tables(url)


def test_hotels_and_guests_go_round_by_metadata_of_sdv(tmp_path: Path):
    """The shape of SDV's demo of hotels: one key, an amount that may be missing, two dates."""
    start = date(2020, 1, 1)
    guests = pl.DataFrame(
        {
            "guest": [f"g{place}" for place in range(300)],
            "hotel": [f"h{place * place % 10}" for place in range(300)],
            "room": [("basic", "suite")[place % 4 == 0] for place in range(300)],
            "checkin": [str(start + timedelta(days=place % 200)) for place in range(300)],
            "fee": [None if place % 3 else place % 50 / 2 for place in range(300)],
        }
    )
    guests.write_csv(tmp_path / "guests.csv")
    hotels = pl.DataFrame({"hotel": [f"h{place}" for place in range(10)], "city": ["Rome", "Oslo"] * 5})
    hotels.write_csv(tmp_path / "hotels.csv")
    kinds = {
        "guest": {"sdtype": "id"},
        "hotel": {"sdtype": "id"},
        "room": {"sdtype": "categorical"},
        "checkin": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"},
        "fee": {"sdtype": "numerical"},
    }
    city = {"hotel": {"sdtype": "id"}, "city": {"sdtype": "categorical"}}
    relationship = {
        "parent_table_name": "hotels",
        "child_table_name": "guests",
        "parent_primary_key": "hotel",
        "child_foreign_key": "hotel",
    }
    metadata = {
        "METADATA_SPEC_VERSION": "V1",
        "tables": {
            "guests": {"primary_key": "guest", "columns": kinds},
            "hotels": {"primary_key": "hotel", "columns": city},
        },
        "relationships": [relationship],
    }
    (tmp_path / "metadata.json").write_text(json.dumps(metadata), encoding="utf-8")
    found = gv.propose_tables(tmp_path)
    columns = found["tables"]["guests"]["columns"]
    assert columns["guest"] == {"type": "string", "is": "key"}
    assert columns["hotel"] == {"type": "string", "is": "ask", "references": "hotels"}
    assert columns["checkin"]["type"] == "date"

    found |= {"unit": "row", "person": "none", "keys": "public"}
    found["tables"]["guests"] |= {"rows": "private", "repeats": 100, "ends": ["hotel", "room"]}
    columns["hotel"] |= {"is": "protected"}
    columns["room"] |= {"is": "protected", "categories": ["basic", "suite"]}
    columns["checkin"] |= {"is": "protected", "bounds": ["2020-01-01", "2020-12-31"], "width": "4w"}
    columns["fee"] |= {"is": "protected", "bounds": [0, 50], "cuts": [10, 20, 30], "null": True}
    found["tables"]["hotels"]["rows"] = "public"
    found["tables"]["hotels"]["columns"]["city"]["is"] = "public"
    made = gv.read_tables(tmp_path, found).synthesize(50, budget=gv.Budget.unlimited(), progress=False)
    again = pl.from_arrow(made["guests"])
    assert again.columns == guests.columns
    assert again["guest"][0] == "guests-1"
    assert set(again["hotel"]) <= set(hotels["hotel"])
    assert set(again["room"]) == {"basic", "suite"}
    assert again["checkin"].is_between(start, date(2020, 12, 31)).all()
    assert 0 < again["fee"].null_count() < again.height
    assert pl.from_arrow(made["hotels"]).equals(hotels)


def run(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, [str(each) for each in words], env={"COLUMNS": "300"})
    return done.exit_code, done.output


def test_the_command_line_proposes_and_releases(tmp_path: Path):
    folder = table_shop.write(tmp_path / "shop")
    proposed = tmp_path / "proposed.yaml"
    assert run("tables", "propose", folder, "--to", proposed)[0] == 0
    budget = ("--epsilon", "2", "--budget", tmp_path / "budget.json")
    code, _ = run(
        "tables",
        "synthesize",
        folder,
        *budget,
        "--total",
        "2",
        "--to",
        tmp_path / "no",
        "--mapping",
        proposed,
    )
    assert code == 3
    assert not (tmp_path / "budget.json").exists()
    code, said = run("tables", "synthesize", folder, *budget, "--total", "2", "--to", tmp_path / "out")
    assert code == 0, said
    assert "One row of flights, there or not" in said
    assert {each.name for each in (tmp_path / "out").iterdir()} == {
        *(f"{name}.csv" for name in table_shop.frames()),
        "tables.sql",
    }
    assert gv.Budget(tmp_path / "budget.json").remaining == "0"


def test_a_release_goes_back_by_the_command_line(tmp_path: Path):
    made = gv.read_tables(table_shop.frames(), table_shop.mapping()).synthesize(
        2, budget=gv.Budget.unlimited(), progress=False
    )
    made.release.save(tmp_path / "release")
    (tmp_path / "tables.yaml").write_text(made.mapping.dump(), encoding="utf-8")
    words = (
        "tables",
        "back",
        tmp_path / "release",
        "--mapping",
        tmp_path / "tables.yaml",
        "--to",
        tmp_path / "out",
    )
    assert run(*words, "--format", "parquet")[0] == 0
    assert pl.read_parquet(tmp_path / "out" / "flights.parquet").equals(pl.from_arrow(made["flights"]))


def test_a_plan_says_in_words_of_tables_what_it_protects():
    shop = gv.read_tables(table_shop.frames(), table_shop.mapping())
    assert "One row of flights, there or not" in shop.plan(2).protects


@pytest.mark.parametrize(("unit", "apart"), [("row", True), ("pair", False), ("person", False)])
def test_records_are_apart_where_the_unit_is_a_row(unit: str, apart: bool):
    asked = {**table_shop.mapping(), "unit": unit}
    if unit == "person":
        asked["person"] = "airports"
    shop = gv.read_tables(table_shop.frames(), asked)
    (flights,) = [each for each in shop.schema["edge_types"] if each["name"] == "flights"]
    assert flights.get("records_apart", False) is apart


@pytest.mark.parametrize("open_", [engine_of, lambda url: write(Query(url, "SELECT 1"), Path("rows"))])
def test_no_part_of_a_password_stands_in_a_message_or_its_cause(open_):
    with pytest.raises(ClientError) as caught:
        open_(TORN)
    assert "s3cret" not in str(caught.value)
    assert caught.value.__suppress_context__
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("name", ["../flights", "a/b", "a\\b", "a\x00b", ""])
def test_a_table_whose_name_is_a_path_is_refused(name):
    said = table_shop.mapping()
    said["tables"][name] = said["tables"].pop("flights")
    with pytest.raises(InvalidInput, match="tables"):
        mapping_of(said)


def test_public_rows_of_rows_of_persons_are_refused_as_those_of_persons_are():
    key = {"type": "int64", "is": "key"}
    to = {"type": "int64", "is": "protected"}
    tables = {
        "users": {"rows": "public", "columns": {"id": key}},
        "accounts": {
            "rows": "public",
            "columns": {"id": key, "user": to | {"is": "public", "references": "users"}},
        },
        "orders": {"rows": "public", "columns": {"id": key, "account": to | {"references": "accounts"}}},
    }
    said = mapping_of({"unit": "row", "person": "users", "keys": "public", "tables": tables})
    with pytest.raises(InvalidInput, match=r"orders are said to be public.*a row of accounts"):
        layout_of(said)
