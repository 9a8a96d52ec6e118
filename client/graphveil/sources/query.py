"""A SQL query's rows as one Parquet file. A bounded number of rows is held at a time."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphveil.errors import ClientError
from graphveil.sources.libraries import library

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 65_536
"""Rows that are asked of the database at a time."""
MOST_HELD = 16
"""Times that many rows are held while a column has shown nothing but NULL, and so no type."""


@dataclass(frozen=True)
class Query:
    """What to ask of which database. The columns of the answer are those of the upload.

    >>> Query("postgresql+psycopg://me:secret@db.example/social", "SELECT a AS source, b AS target FROM ties")
    Query(sql='SELECT a AS source, b AS target FROM ties')
    """

    url: str = field(repr=False)
    """SQLAlchemy's: ``postgresql+psycopg://user:password@host/name``; its driver is installed by you."""
    sql: str
    """One SELECT. It runs in one transaction, which is rolled back."""


def write(query: Query, path: Path) -> Path:
    """Write the query's rows to a Parquet file.

    They are in the order in which they come. Raises ClientError, in which no password stands, where the
    database or the query fails, where it gives no columns, and for values that no column of an upload can
    hold.
    """
    sqlalchemy = library("sqlalchemy", "sql")
    library("pyarrow", "sql")
    try:
        url = sqlalchemy.engine.make_url(query.url)
    except (sqlalchemy.exc.ArgumentError, ValueError):  # their messages would quote the address
        raise ClientError("the database's address is no URL such as postgresql+psycopg://host/name") from None
    options = {"stream_results": True, "no_parameters": True, "max_row_buffer": ROWS}
    try:
        engine = sqlalchemy.create_engine(url, poolclass=sqlalchemy.pool.NullPool, hide_parameters=True)
        with engine.connect().execution_options(**options) as connection:
            answer = connection.exec_driver_sql(query.sql)
            if not answer.returns_rows:
                raise ClientError("the query gives no rows; it has to be a SELECT")
            _write(list(answer.keys()), answer.partitions(ROWS), path)
    except (sqlalchemy.exc.SQLAlchemyError, ModuleNotFoundError) as error:
        raise ClientError(_said(error, url.password)) from None
    return path


def _said(error: Exception, password: str | None) -> str:
    """What the driver says, without SQLAlchemy's frame around it, and without the password."""
    own = getattr(error, "orig", None) or error
    text = " ".join(str(own).split())
    if password:
        text = text.replace(password, "***")
    return f"the database refuses: {text}"


def _write(names: Sequence[str], chunks: Iterable[Sequence[Sequence[Any]]], path: Path) -> None:
    import pyarrow.parquet as pq

    batches = _typed(names, _arrays(names, chunks))
    first = next(batches)
    with pq.ParquetWriter(path, first.schema) as file:
        file.write_table(first)
        for batch in batches:
            file.write_table(batch)


def _arrays(names: Sequence[str], chunks: Iterable[Sequence[Sequence[Any]]]) -> Iterator[pa.Table]:
    import pyarrow as pa

    if len(set(names)) < len(names):
        raise ClientError("two columns of the query have one name; rename one with AS")
    for rows in chunks:
        columns = [list(map(_plain, column)) for column in zip(*rows)]  # noqa: B905 - rows of one query
        try:
            yield pa.table(dict(zip(names, map(pa.array, columns))))  # noqa: B905
        except (pa.ArrowException, OverflowError):
            raise ClientError("a column of the query mixes kinds of values; CAST it to one type") from None


def _plain(value: Any) -> Any:
    """A value as an upload has it: exact numbers of SQL become floating-point ones, UUIDs text."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, uuid.UUID):
        return str(value)
    return value


def _typed(names: Sequence[str], tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The tables under one schema, which is known once every column has shown a value."""
    import pyarrow as pa

    held: list[pa.Table] = []
    schema = pa.schema([(name, pa.null()) for name in names])
    for table in tables:
        held.append(table)
        found = [new if pa.types.is_null(old.type) else old for old, new in zip(schema, table.schema)]  # noqa: B905
        schema = pa.schema(found)
        unknown = [each.name for each in schema if pa.types.is_null(each.type)]
        if unknown and len(held) >= MOST_HELD:
            raise ClientError(f"the column {unknown[0]!r} is NULL in {len(held) * ROWS} rows; leave it out")
        if not unknown:
            yield from (_cast(each, schema) for each in held)
            held.clear()
    yield from (_cast(each, schema) for each in held)
    if all(pa.types.is_null(each.type) for each in schema):
        yield pa.table({name: pa.array([], pa.string()) for name in names})


def _cast(table: pa.Table, schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    try:
        return table.cast(schema)
    except (pa.ArrowException, ValueError):
        raise ClientError("a column of the query mixes kinds of values; CAST it to one type") from None
