"""What is no file is made one for an upload: rows of a database, parts of a folder, objects of a bucket."""

from __future__ import annotations

import datetime
import sqlite3
import uuid
from decimal import Decimal
from pathlib import Path

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphveil import Graphveil
from graphveil.errors import ClientError
from graphveil.sources import Query, of_files, opened, query, several
from tests.support import s3_server

EDGES = [(k, (7 * k) % 5_000, k / 4, f"2026-01-{1 + k % 28:02d}") for k in range(5_000)]
ASKED = "SELECT a AS source, b AS target, cost AS weight, at FROM ties ORDER BY a"


@pytest.fixture
def database(tmp_path: Path) -> str:
    with sqlite3.connect(tmp_path / "social.db") as connection:
        connection.execute("CREATE TABLE ties (a INTEGER, b INTEGER, cost REAL, at TEXT, note TEXT)")
        connection.executemany("INSERT INTO ties (a, b, cost, at) VALUES (?, ?, ?, ?)", EDGES)
    return f"sqlite:///{tmp_path / 'social.db'}"


def columns(path: Path) -> dict[str, list[object]]:
    return pq.read_table(path).to_pydict()


def test_the_rows_of_a_query_become_one_file_that_is_removed(database: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(query, "ROWS", 700)
    with opened(Query(database, ASKED)) as path:
        found = columns(path)
        assert list(found) == ["source", "target", "weight", "at"]
        assert list(zip(*found.values(), strict=True)) == EDGES
        assert pq.ParquetFile(path).num_row_groups > 1
        assert path.parent.stat().st_mode & 0o077 == 0
    assert not path.parent.exists()


def test_a_query_changes_nothing(database: str):
    with pytest.raises(ClientError, match="has to be a SELECT"), opened(Query(database, "DELETE FROM ties")):
        pass
    with opened(Query(database, ASKED)) as path:
        assert pq.read_metadata(path).num_rows == len(EDGES)


def test_a_column_may_begin_with_nothing(database: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(query, "ROWS", 1_000)
    late = "SELECT a AS source, b AS target, CASE WHEN a >= 2500 THEN cost END AS weight FROM ties ORDER BY a"
    with opened(Query(database, late)) as path:
        assert columns(path)["weight"] == [None] * 2_500 + [cost for _, _, cost, _ in EDGES[2_500:]]


def test_a_column_of_nothing_is_refused_before_memory_ends(database: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(query, "ROWS", 100)
    asked = "SELECT a AS source, b AS target, note AS weight FROM ties"
    with pytest.raises(ClientError, match="'weight' is NULL in 1600 rows"), opened(Query(database, asked)):
        pass


def test_an_answer_without_rows_is_a_file_without_rows(database: str):
    with opened(Query(database, ASKED.replace("ORDER", "WHERE a < 0 ORDER"))) as path:
        assert columns(path) == {"source": [], "target": [], "weight": [], "at": []}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("SELECT missing FROM ties", "no such column"),
        ("SELECT a AS source, b AS source FROM ties", "one name"),
        ("SELECT a AS source, CASE WHEN a % 2 THEN 'x' ELSE 1 END AS target FROM ties", "mixes kinds"),
    ],
)
def test_a_query_that_cannot_be_used_says_why(database: str, asked: str, said: str):
    with pytest.raises(ClientError, match=said), opened(Query(database, asked)):
        pass


def test_values_of_a_database_become_values_of_an_upload():
    number = uuid.uuid4()
    rows = [[(number, Decimal("1.50"), datetime.datetime(2026, 1, 2, 3), datetime.date(2026, 1, 2))]]
    (table,) = query._typed(list("abcd"), query._arrays(list("abcd"), rows))
    assert table.column("a").to_pylist() == [str(number)]
    assert [str(kind) for kind in table.schema.types] == ["string", "double", "timestamp[us]", "date32[day]"]


@pytest.mark.parametrize(
    "url",
    ["postgresql+psycopg://me:s3cr3t@127.0.0.1:1/social", "nosuch://me:s3cr3t@host/x", "me:s3cr3t@host"],
)
def test_no_password_is_told(url: str):
    with pytest.raises(ClientError) as caught, opened(Query(url, "SELECT 1")):
        pass
    shown = [str(caught.value), repr(caught.value), repr(Query(url, "SELECT 1"))]
    assert caught.value.__cause__ is None
    assert not [text for text in shown if "s3cr3t" in text]


def part(rows: int, first: int, **more: list[object]) -> pa.Table:
    return pa.table({"source": list(range(first, first + rows)), "target": [0] * rows, **more})


def test_parts_of_a_folder_are_joined_in_the_order_of_their_names(tmp_path: Path):
    for number in (2, 0, 1):
        pq.write_table(part(10, 10 * number), tmp_path / f"part-{number:05d}.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "_temporary").mkdir()
    (tmp_path / ".part-0.crc").write_bytes(b"x")
    with opened(tmp_path) as path:
        assert columns(path)["source"] == list(range(30))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda folder: [each.unlink() for each in folder.glob("*.parquet")], "has no part"),
        (lambda folder: (folder / "year=2026").mkdir(), "without partitions"),
        (lambda folder: pq.write_table(part(1, 0, weight=[1.0]), folder / "z.parquet"), "other columns"),
        (lambda folder: (folder / "z.parquet").write_bytes(b"PAR1"), "cannot be read"),
    ],
)
def test_a_folder_that_is_no_table_says_why(tmp_path: Path, spoil, said: str):
    for number in (0, 1):
        pq.write_table(part(10, 10 * number), tmp_path / f"part-{number}.parquet")
    spoil(tmp_path)
    with pytest.raises(ClientError, match=said), opened(tmp_path):
        pass


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("", ["a.parquet", "year=1/b.parquet", "year=1/day=2/c.parquet", "year=22/d.parquet"]),
        ("year=1", ["year=1/b.parquet", "year=1/day=2/c.parquet"]),
        ("year=2*", ["year=22/d.parquet"]),
        ("*/*.parquet", ["year=1/b.parquet", "year=22/d.parquet"]),
        ("*.parquet", ["a.parquet"]),
        ("nothing*", None),
    ],
)
def test_files_of_folders_and_globs_are_sent_as_they_are(
    tmp_path: Path, source: str, found: list[str] | None
):
    hidden = ["_temporary/e.parquet", ".f.parquet", "year=1/_metadata", "year=1/read.me"]
    for name in ["a.parquet", "year=1/b.parquet", "year=1/day=2/c.parquet", "year=22/d.parquet", *hidden]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    place = f"{tmp_path}/{source}"
    assert of_files(place)
    if found is None:
        with pytest.raises(ClientError, match="0 parts"), several(place):
            pass
        return
    with several(place) as paths:
        assert [path.relative_to(tmp_path).as_posix() for path in paths] == found


def test_what_is_not_there_is_said(tmp_path: Path):
    with pytest.raises(ClientError, match="no file or folder"), opened(tmp_path / "none.csv"):
        pass


def test_objects_of_a_bucket_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for number in (0, 1):
        pq.write_table(part(10, 10 * number), tmp_path / f"part-{number}.parquet")
    with s3_server.bucket_of_settings(monkeypatch) as bucket:
        bucket.objects["in/edges.csv"] = b"source,target\n0,1\n"
        for file in tmp_path.iterdir():
            bucket.objects[f"in/parts/{file.name}"] = file.read_bytes()
        bucket.objects["in/parts/deeper/part-9.parquet"] = b"not looked at"
        with opened("s3://graphs/in/edges.csv") as path:
            assert (path.name, path.read_text()) == ("edges.csv", "source,target\n0,1\n")
        assert not path.exists()
        with opened("s3://graphs/in/parts/") as path:
            assert columns(path)["source"] == list(range(20))
        with pytest.raises(ClientError, match=r"none\.csv cannot be read \(FileNotFoundError\)"):
            opened("s3://graphs/in/none.csv").__enter__()
        bucket.failing = True
        with pytest.raises(ClientError, match="cannot be read") as caught:
            opened("s3://graphs/in/edges.csv").__enter__()
        assert s3_server.SECRET not in str(caught.value).replace("s3://graphs/in/edges.csv", "")


@pytest.mark.parametrize(
    "address", ["s3://key:secret@graphs/x", "s3://", "s3://graphs/x?versionId=1", "s3://graphs"]
)
def test_an_address_with_keys_or_without_an_object_is_refused(address: str):
    with pytest.raises(ClientError, match=r"s3://bucket/key"), opened(address):
        pass


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "obstore", None)
    with pytest.raises(ClientError, match=r"pip install 'graphveil\[s3\]'"), opened("s3://graphs/x.csv"):
        pass


def test_the_service_is_sent_the_rows_and_nothing_of_where_they_were(tmp_path: Path):
    folder = tmp_path / "s3cr3t-place"
    folder.mkdir()
    with sqlite3.connect(folder / "hidden.db") as connection:
        connection.execute("CREATE TABLE undercover (a INTEGER, b INTEGER)")
        connection.execute("INSERT INTO undercover VALUES (1, 2)")
    sent: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(f"{request.url} {request.headers}".encode() + request.read())
        received = {"id": "dv_1", "dataset_id": "ds_1", "number": 1, "state": "queued"}
        return httpx.Response(202, json=received)

    asked = Query(f"sqlite:///{folder / 'hidden.db'}", "SELECT a AS source, b AS target FROM undercover")
    with Graphveil("http://test", "gv_key", transport=httpx.MockTransport(answer)) as service:
        assert service.upload("ds_1", asked).number == 1
    (request,) = sent
    assert b"PAR1" in request
    assert b"format=parquet" in request
    assert not [word for word in (b"s3cr3t", b"hidden", b"undercover", b"sqlite") if word in request]
