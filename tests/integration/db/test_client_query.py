"""The client reads a query from a real PostgreSQL piece by piece, and changes nothing there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import psycopg
import pyarrow.parquet as pq
import pytest

from graphveil.errors import ClientError
from graphveil.sources import Query, opened, query

ROWS = 10_000
TIES = f"""
CREATE TABLE ties AS SELECT i::bigint AS a, (i * 7 % {ROWS})::int AS b, (i / 4.0)::numeric(12, 2) AS cost,
  md5(i::text)::uuid AS mark, timestamp '2026-01-01' + i * interval '1 second' AS at
FROM generate_series(0, {ROWS - 1}) AS i
"""
ASKED = (
    "SELECT a AS source, b AS target, cost AS weight, mark, at AS time FROM ties "
    "WHERE mark::text LIKE '%' ORDER BY a"
)


@pytest.fixture
def ties(database_url: str) -> str:
    with psycopg.connect(database_url.replace("postgresql+psycopg", "postgresql")) as connection:
        connection.execute(TIES)
    return database_url


def test_rows_keep_their_types(ties: str):
    with opened(Query(ties, ASKED)) as path:
        found = pq.read_table(path)
    assert [str(kind) for kind in found.schema.types] == [
        "int64",
        "int64",
        "double",
        "string",
        "timestamp[us]",
    ]
    assert found.column("source").to_pylist() == list(range(ROWS))
    assert found.column("weight")[6].as_py() == 1.5


def test_rows_arrive_while_the_query_still_runs(ties: str, monkeypatch: pytest.MonkeyPatch):
    """They would be held whole otherwise: a query that fails late has given its first pieces before."""
    pieces: list[int] = []
    arrays = query._arrays

    def counted(names: Sequence[str], chunks: Iterable[Any]) -> Iterator[Any]:
        def each() -> Iterator[Any]:
            for chunk in chunks:
                pieces.append(len(chunk))
                yield chunk

        return arrays(names, each())

    monkeypatch.setattr(query, "ROWS", 500)
    monkeypatch.setattr(query, "_arrays", counted)
    late = f"SELECT a AS source, b AS target, 1 / ({ROWS - 100} - a) AS weight FROM ties"
    with pytest.raises(ClientError, match="division by zero"):
        opened(Query(ties, late)).__enter__()
    assert pieces == [500] * 19


def test_nothing_is_written_there(ties: str):
    with pytest.raises(ClientError, match="the database refuses"):
        opened(Query(ties, "DELETE FROM ties RETURNING a AS source, b AS target")).__enter__()
    with opened(Query(ties, ASKED)) as path:
        assert pq.read_metadata(path).num_rows == ROWS
