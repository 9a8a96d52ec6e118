"""Tables of frames, of a folder, or of a database, as Arrow tables. Views are no tables, and are refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphveil.errors import ClientError
from graphveil.problems import InvalidInput
from graphveil.sources.libraries import library
from graphveil.tables.mapping import TableMapping

if TYPE_CHECKING:
    import pyarrow as pa

Source = Mapping[str, Any] | str | PathLike[str]
"""Frames by name, a folder of ``*.csv`` and ``*.parquet``, or a database's URL as SQLAlchemy writes it."""


@dataclass
class Declared:
    """What is declared of one table elsewhere: in a database's catalogue, or in SDV's metadata."""

    key: list[str] = field(default_factory=list)
    references: dict[str, str] = field(default_factory=dict)
    composite: list[list[str]] = field(default_factory=list)
    nullable: dict[str, bool] = field(default_factory=dict)
    unique: list[list[str]] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    categories: dict[str, list[str]] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)


def is_url(source: object) -> bool:
    """Whether the source is a database's address."""
    return isinstance(source, str) and "://" in source


def read_tables(source: Source, mapping: TableMapping) -> dict[str, pa.Table]:
    """Read the tables that the mapping names, with its columns and types."""
    found = {}
    for name, said in mapping.tables.items():
        kept = {column: each.type for column, each in said.columns.items() if each.role != "withheld"}
        found[name] = _typed(_one(source, name, kept), name, kept)
    return found


def _one(source: Source, name: str, types: Mapping[str, str]) -> Any:
    if isinstance(source, Mapping):
        if name not in source:
            raise InvalidInput(f"there is no frame {name!r}; the mapping names it", field=f"tables.{name}")
        return arrow_of(source[name], name)
    if is_url(source):
        return _from_database(str(source), name, list(types))
    return from_file(file_of(Path(fspath(source)), name), types)


def file_of(folder: Path, name: str) -> Path:
    """Find the file of a table."""
    for ending in (".parquet", ".csv"):
        if (folder / f"{name}{ending}").is_file():
            return folder / f"{name}{ending}"
    raise InvalidInput(
        f"{folder.name} has no {name}.csv and no {name}.parquet; the mapping names that table",
        field=f"tables.{name}",
    )


def from_file(path: Path, types: Mapping[str, str] | None = None) -> pa.Table:
    """Read a file. Columns of ``types`` are read as such, others as they look."""
    pa = library("pyarrow", "tables")
    csv, parquet = library("pyarrow.csv", "tables"), library("pyarrow.parquet", "tables")
    try:
        if path.suffix == ".parquet":
            return parquet.read_table(path)
        options = csv.ConvertOptions(
            column_types={name: arrow_type(each) for name, each in (types or {}).items()},
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        return csv.read_csv(path, convert_options=options)
    except (pa.ArrowException, OSError) as error:
        raise InvalidInput(f"{path.name} cannot be read: {error}; mend the file", field="tables") from error


def arrow_of(frame: Any, name: str) -> pa.Table:
    """Take a pandas or Polars frame, or an Arrow table."""
    pa = library("pyarrow", "tables")
    if isinstance(frame, pa.Table):
        return frame
    if hasattr(frame, "to_arrow"):
        return frame.to_arrow()
    if hasattr(frame, "iloc"):
        return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    raise InvalidInput(
        f"{name!r} is a {type(frame).__name__}; give a pandas or Polars frame, or an Arrow table",
        field=f"tables.{name}",
    )


def arrow_type(name: str) -> Any:
    """Return the Arrow type of that name."""
    pa = library("pyarrow", "tables")
    dated = {"date": pa.date32(), "timestamp": pa.timestamp("us")}
    try:
        return dated[name] if name in dated else pa.type_for_alias(name)
    except ValueError:
        raise InvalidInput(
            f"there is no type {name!r}; say int64, double, string, bool, date or timestamp", field="type"
        ) from None


def type_name(kind: Any) -> str:
    """Name a column's type as a mapping does."""
    pa = library("pyarrow", "tables")
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    for name, held in (
        ("date", pa.types.is_date),
        ("timestamp", pa.types.is_timestamp),
        ("string", lambda each: pa.types.is_string(each) or pa.types.is_large_string(each)),
        ("string", pa.types.is_string_view),
        ("double", lambda each: pa.types.is_decimal(each) or pa.types.is_null(each)),
    ):
        if held(kind):
            return name
    return str(kind)


def _typed(table: Any, name: str, types: Mapping[str, str]) -> pa.Table:
    pa = library("pyarrow", "tables")
    for column in types:
        if column not in table.column_names:
            listed = ", ".join(table.column_names[:20])
            raise InvalidInput(
                f"{name} has no column {column!r}, it has {listed}; mend the mapping",
                field=f"tables.{name}.columns.{column}",
            )
    arrays = []
    for column, kind in types.items():
        held = table[column]
        try:
            arrays.append(held.cast(arrow_type(kind)))
        except (pa.ArrowException, ValueError) as error:
            raise InvalidInput(
                f"{name}.{column} does not hold {kind}; say its type in the mapping",
                field=f"tables.{name}.columns.{column}.type",
            ) from error
    return pa.table(dict(zip(types, arrays)))  # noqa: B905 - one array a type


def _from_database(url: str, name: str, columns: list[str]) -> pa.Table:
    import tempfile

    from graphveil.sources.query import Query, write

    alchemy = library("sqlalchemy", "tables")
    parquet = library("pyarrow.parquet", "tables")
    engine = engine_of(url)
    inspector = alchemy.inspect(engine)
    if name in inspector.get_view_names():
        raise InvalidInput(
            f"{name} is a view, whose rows are made of others'; map the tables that it is made of",
            field=f"tables.{name}",
        )
    if name not in inspector.get_table_names():
        raise InvalidInput(f"the database has no table {name}; mend the mapping", field=f"tables.{name}")
    chosen = alchemy.select(*(alchemy.column(each) for each in columns)).select_from(alchemy.table(name))
    with tempfile.TemporaryDirectory(prefix="graphveil-") as folder:
        path = write(Query(url, str(chosen.compile(engine))), Path(folder) / "rows.parquet")
        return parquet.read_table(path)


def engine_of(url: str) -> Any:
    """Open a database. ClientError without its address, in which a password may stand."""
    alchemy = library("sqlalchemy", "tables")
    try:
        return alchemy.create_engine(url, poolclass=alchemy.pool.NullPool, hide_parameters=True)
    except (alchemy.exc.SQLAlchemyError, ModuleNotFoundError, ValueError) as error:  # it quotes a torn port
        raise ClientError(f"the database's address is not taken ({type(error).__name__})") from None
