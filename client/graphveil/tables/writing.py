"""Synthetic tables as files with DDL, or in a database, with keys that the database itself checks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphveil.problems import InvalidInput
from graphveil.sources.libraries import library
from graphveil.tables.mapping import Column, TableMapping
from graphveil.tables.reading import engine_of

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = ("csv", "parquet")
_ROWS = 10_000


def write_files(mapping: TableMapping, tables: dict[str, pa.Table], folder: Path, format: str) -> None:
    """Write a file for each table, and ``tables.sql`` which creates them."""
    csv, parquet = library("pyarrow.csv", "tables"), library("pyarrow.parquet", "tables")
    if format not in FORMATS:
        raise InvalidInput(f"tables are written as csv or parquet, not {format!r}; name one", field="format")
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        path = folder / f"{name}.{format}"
        if format == "csv":
            csv.write_csv(table, path)
        else:
            parquet.write_table(table, path)
    (folder / "tables.sql").write_text(ddl(mapping), encoding="utf-8")


def ddl(mapping: TableMapping) -> str:
    """Write the statements that create the tables, in an order in which keys hold."""
    schema = library("sqlalchemy.schema", "tables")
    return "".join(
        f"{str(schema.CreateTable(each)).strip()};\n\n" for each in _metadata(mapping).sorted_tables
    )


def write_database(mapping: TableMapping, tables: dict[str, pa.Table], url: str) -> None:
    """Create the tables in a database and fill them, in one transaction. Tables that are there are "
    "refused."""
    alchemy = library("sqlalchemy", "tables")
    engine, metadata = engine_of(url), _metadata(mapping)
    there = set(alchemy.inspect(engine).get_table_names())
    if taken := [name for name in tables if name in there]:
        raise InvalidInput(f"the database has {', '.join(taken)} already; name an empty one", field="to")
    with engine.begin() as connection:
        metadata.create_all(connection)
        for each in metadata.sorted_tables:
            for batch in _ordered(mapping, each.name, tables[each.name]).to_batches(max_chunksize=_ROWS):
                if batch.num_rows:
                    connection.execute(alchemy.insert(each), batch.to_pylist())


def _ordered(mapping: TableMapping, name: str, table: Any) -> Any:
    """Put rows behind those that they name in their own table."""
    own = [column for column, other in mapping.tables[name].references.items() if other == name]
    key = mapping.tables[name].key
    if not own or key is None or mapping.tables[name].columns[own[0]].role == "withheld":
        return table
    parents = dict(zip(table[key].to_pylist(), table[own[0]].to_pylist()))  # noqa: B905 - of one table
    depth: dict[Any, int] = {None: -1}
    for row in parents:
        walked, at = [], row
        while at not in depth and at not in walked:
            walked.append(at)
            at = parents.get(at)
        base = depth.get(at, -1)
        for place, each in enumerate(reversed(walked), 1):
            depth[each] = base + place
    order = sorted(range(table.num_rows), key=lambda place: depth[table[key][place].as_py()])
    return table.take(order)


def _metadata(mapping: TableMapping) -> Any:
    alchemy = library("sqlalchemy", "tables")
    metadata = alchemy.MetaData()
    for name, table in mapping.tables.items():
        columns = [_column(alchemy, mapping, name, column, said) for column, said in table.columns.items()]
        unique = []
        if table.rows == "private" and table.repeats == 1 and table.steps is None:
            ends = list(
                table.ends
                or [each for each in table.references if table.columns[each].role == "protected"][:2]
            )
            unique = [alchemy.UniqueConstraint(*ends)] if len(ends) == 2 else []
        alchemy.Table(name, metadata, *columns, *unique)
    return metadata


def _column(alchemy: Any, mapping: TableMapping, name: str, column: str, said: Column) -> Any:
    kinds = {
        "string": alchemy.Text,
        "bool": alchemy.Boolean,
        "date": alchemy.Date,
        "timestamp": alchemy.DateTime,
    }
    kind = kinds.get(said.type) or (alchemy.BigInteger if "int" in said.type else alchemy.Float)
    key = mapping.tables[name].key == column
    other = said.references
    there = other is not None and said.role != "withheld" and mapping.tables[other].key is not None
    keys = [alchemy.ForeignKey(f"{other}.{mapping.tables[str(other)].key}")] if there else []
    nullable = not key and (said.null or said.role == "withheld")
    return alchemy.Column(column, kind, *keys, primary_key=key, nullable=nullable, autoincrement=False)
