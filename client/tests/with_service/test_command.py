"""The command line against a running service, with sources besides files."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from .conftest import EDGES, SCHEMA, Command

SECRET = "s3cr3t"


def registered(command: Command, name: str, folder: Path) -> str:
    schema = folder / "schema.json"
    schema.write_text(json.dumps(SCHEMA))
    made = command.json("register", name, "--unit", "edge", "--epsilon", "4", "--schema", str(schema))
    return str(made["id"])


def test_from_a_database_to_a_release(command: Command, tmp_path: Path):
    with sqlite3.connect(tmp_path / "social.db") as connection:
        connection.execute("CREATE TABLE ties (a INTEGER, b INTEGER)")
        connection.executemany("INSERT INTO ties VALUES (?, ?)", EDGES)
    dataset_id = registered(command, "from sql", tmp_path)
    asked = ("upload", dataset_id, "--sql", "SELECT a AS source, b AS target FROM ties")
    assert "GRAPHVEIL_DATABASE" in command(*asked, code=2).stderr
    address = f"sqlite:///{tmp_path / 'social.db'}"
    assert command.json(*asked, GRAPHVEIL_DATABASE=address)["state"] == "ready"
    read = command.json("dataset", dataset_id)["version"]
    assert read["parts"][0]["format"] == "parquet"
    assert str(tmp_path) not in json.dumps(read)

    planned = command("plan", dataset_id, "--epsilon", "0.5").stdout
    assert "epsilon 0.5" in planned
    job = command.json("submit", dataset_id, "--epsilon", "0.5", "--suite", "quick", "--wait")
    assert job["state"] == "published"
    assert "guarantee" in command("report", job["id"]).stdout
    saved = command("download", job["id"], "--to", str(tmp_path / "release")).stdout
    assert "edges.parquet" in saved
    released = pq.read_table(tmp_path / "release" / "edges.parquet")
    assert released.column_names[:2] == ["source", "target"]
    (counted,) = command.json("report", job["id"])["public"]["statistics"]["edge_types"]
    assert released.num_rows == counted["edges"]  # by its noise none, once in a hundred times
    assert command("report", job["id"], "--format", "html", "--out", str(tmp_path / "r.html")).exit_code == 0
    assert "epsilon 3.5 of 4 left" in command("budget", dataset_id).stdout

    pack = tmp_path / "pack.zip"
    command("evidence", job["id"], "--out", str(pack))
    key = command.json("public-keys")["items"][0]["public_key"]
    asked = ("verify-evidence", str(pack), "--key", key, "--release", str(tmp_path / "release"))
    assert "The pack holds." in command(*asked).stdout
    changed = bytearray(pack.read_bytes())
    changed[changed.index(b"Who approved")] ^= 1
    pack.write_bytes(bytes(changed))
    assert "index.html" in command(*asked, code=1).stdout


TABLES = """
unit: row
person: none
keys: fresh
tables:
  users: {rows: public, columns: {id: {type: int64, is: key}}}
  calls:
    rows: private
    repeats: 2
    columns:
      caller: {type: int64, is: protected, references: users}
      callee: {type: int64, is: protected, references: users}
      minutes: {type: int64, is: protected, bounds: [0, 60], cuts: [10, 20, 40]}
"""


def test_tables_go_to_the_service_and_come_back(command: Command, tmp_path: Path):
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "tables.yaml").write_text(TABLES)
    (folder / "users.csv").write_text("id\n" + "".join(f"{place}\n" for place in range(60)))
    rows = "".join(f"{a},{b},{a % 50}\n" for a, b in EDGES[9:] if a != b)  # and so another budget
    (folder / "calls.csv").write_text(f"caller,callee,minutes\n{rows}")
    dataset = command.json("tables", "upload", str(folder), "--name", "shop", "--epsilon", "4")
    assert (dataset["state"], dataset["unit"]) == ("ready", "edge")
    job = command.json("submit", dataset["id"], "--epsilon", "4", "--suite", "quick", "--wait")
    assert job["state"] == "published"
    command("download", job["id"], "--to", str(tmp_path / "release"))
    mapping = ("--mapping", str(folder / "tables.yaml"), "--format", "parquet")
    command("tables", "back", str(tmp_path / "release"), *mapping, "--to", str(tmp_path / "out"))
    calls, users = (pq.read_table(tmp_path / "out" / f"{name}.parquet") for name in ("calls", "users"))
    assert users["id"].to_pylist() == list(range(1, 61))
    assert calls.column_names == ["caller", "callee", "minutes"]
    assert set(calls["caller"].to_pylist()) <= set(users["id"].to_pylist())
    assert calls.num_rows > 0


def test_parts_of_a_folder(command: Command, tmp_path: Path):
    folder = tmp_path / "ties"
    folder.mkdir()
    for number in range(3):
        rows = EDGES[number::3]
        table = pa.table({"source": [a for a, _ in rows], "target": [b for _, b in rows]})
        pq.write_table(table, folder / f"part-{number}.parquet")
    (folder / "_SUCCESS").touch()
    dataset_id = registered(command, "from parts", tmp_path)
    assert command.json("upload", dataset_id, str(folder))["state"] == "ready"
    assert command.json("dataset", dataset_id)["version"]["ingest_report"]


def test_what_cannot_be_read_is_said_and_no_password_with_it(command: Command, tmp_path: Path):
    dataset_id = registered(command, "from nowhere", tmp_path)
    address = f"postgresql+nosuch://me:{SECRET}@127.0.0.1:1/social"
    refused = command("upload", dataset_id, "--sql", "SELECT 1", code=2, GRAPHVEIL_DATABASE=address)
    assert SECRET not in refused.output
    assert "no file or folder" in command("upload", dataset_id, str(tmp_path / "none.csv"), code=2).stderr
    assert "name a file" in command("upload", dataset_id, code=2).stderr
    assert command.json("dataset", dataset_id)["state"] == "registered"


def test_a_refusal_has_its_exit_code(command: Command, dataset_id: str):
    assert "budget-exceeded" in command("submit", dataset_id, "--epsilon", "1000", code=3).stderr
    assert "not-found" in command("dataset", "ds_none", code=3).stderr
    command("datasets", code=3, GRAPHVEIL_TOKEN="gv_wrong")
    command("datasets", code=4, GRAPHVEIL_URL="http://127.0.0.1:9")


def test_the_menu_as_a_page(command: Command, dataset_id: str, tmp_path: Path):
    page = tmp_path / "menu.html"
    asked = ("--menu", "--method", "dcsbm,dgg", "--epsilon", "0.5,1", "--page", str(page))
    assert "dcsbm" in command("plan", dataset_id, *asked).stdout
    assert "<svg" in page.read_text(encoding="utf-8")
