"""The file that a person edits: names, types and declared keys of tables. No value is looked at."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import fspath
from pathlib import Path
from typing import Any

from graphveil.problems import InvalidInput
from graphveil.sources.libraries import library
from graphveil.tables.mapping import ASK, Place
from graphveil.tables.reading import Declared, Source, arrow_of, engine_of, from_file, is_url, type_name

SDV = "metadata.json"


def propose(source: Source) -> Place:
    """Propose a mapping whose open questions say ``ask``.

    It holds what a database's catalogue, SDV's ``metadata.json`` or the names of columns say of keys. Bounds,
    categories and numbers of repeats are never read off the rows: they would be published.
    """
    declared = _reflected(str(source)) if is_url(source) else _held(source)
    names = list(declared)
    return {
        "unit": ASK,
        "person": ASK,
        "keys": ASK,
        "tables": {name: _table(name, declared[name], names) for name in names},
    }


def _table(name: str, found: Declared, names: list[str]) -> Place:
    if found.composite:
        raise InvalidInput(
            f"{name} names another table by several columns ({', '.join(found.composite[0])}); give "
            "that table "
            "one column that numbers its rows, and name it by that",
            field=f"tables.{name}",
        )
    references = found.references or _by_name(name, found, names)
    key = found.key[0] if len(found.key) == 1 and found.key[0] not in references else None
    if not found.key and "id" in found.types:
        key = "id"
    columns: Place = {}
    for column, kind in found.types.items():
        said: Place = {"type": kind, "is": "key" if column == key else ASK}
        if column in references:
            said["references"] = references[column]
        elif column != key and kind not in ("bool",):
            if column in found.categories:
                said["categories"] = found.categories[column]
            else:
                said["categories" if kind == "string" else "bounds"] = ASK
        if found.nullable.get(column) and column != key:
            said["null"] = True
        columns[column] = said
    made: Place = {"rows": ASK, "columns": columns}
    if len(references) > 0:
        pair = list(references)[:2]
        alone = len(pair) == 2 and any(set(each) == set(pair) for each in (*found.unique, found.key))
        made["repeats"] = 1 if alone else ASK
    told = [f"unique({', '.join(each)})" for each in found.unique if set(each) != {key}]
    if told or found.checks:
        made["constraints"] = [*told, *found.checks]
    return made


def _by_name(name: str, found: Declared, names: list[str]) -> dict[str, str]:
    """Take ``airport_id`` for a key of ``airports``: a proposal by names, for a person to mend."""
    made = {}
    for column in found.types:
        stem = column.removesuffix("_id")
        for other in names:
            if other != name and column.endswith("_id") and other in (stem, f"{stem}s", f"{stem}es"):
                made[column] = other
    return made


def _held(source: Any) -> dict[str, Declared]:
    if isinstance(source, Mapping):
        return {name: _typed(arrow_of(frame, name).schema) for name, frame in source.items()}
    folder = Path(fspath(source))
    if not folder.is_dir():
        raise InvalidInput(f"there is no folder {folder}; name one of CSV or Parquet files", field="source")
    files = sorted(each for each in folder.iterdir() if each.suffix in (".csv", ".parquet"))
    if not files:
        raise InvalidInput(
            f"{folder.name} has no CSV and no Parquet file; put one in for each table", field="source"
        )
    made = {each.stem: _typed(from_file(each).schema) for each in files}
    if (folder / SDV).is_file():
        _from_sdv(folder / SDV, made)
    return made


def _typed(schema: Any) -> Declared:
    return Declared(types={each.name: type_name(each.type) for each in schema})


def _from_sdv(path: Path, made: dict[str, Declared]) -> None:
    """Take keys, relationships and kinds of SDV's metadata (a JSON file)."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        for name, table in content["tables"].items():
            if name not in made:
                continue
            key = table.get("primary_key")
            made[name].key = [key] if isinstance(key, str) else list(key or [])
            for column, said in table.get("columns", {}).items():
                if said.get("sdtype") == "datetime" and column in made[name].types:
                    made[name].types[column] = (
                        "date" if "%H" not in said.get("datetime_format", "") else "timestamp"
                    )
        for each in content.get("relationships", []):
            child, column = each["child_table_name"], each["child_foreign_key"]
            if isinstance(column, str):
                made[child].references[column] = each["parent_table_name"]
            else:
                made[child].composite.append(list(column))
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise InvalidInput(
            f"{path.name} is no metadata of SDV ({error}); leave it out", field="source"
        ) from error


def _reflected(url: str) -> dict[str, Declared]:
    """Read a database's catalogue."""
    alchemy = library("sqlalchemy", "tables")
    metadata = alchemy.MetaData()
    engine = engine_of(url)
    try:
        metadata.reflect(bind=engine, views=False)
    except alchemy.exc.SQLAlchemyError as error:
        raise InvalidInput(
            f"the database cannot be read ({type(error).__name__}); see its address", field="source"
        ) from None
    return {table.name: _of_catalogue(alchemy, table) for table in metadata.sorted_tables}


def _of_catalogue(alchemy: Any, table: Any) -> Declared:
    made = Declared(key=[each.name for each in table.primary_key.columns])
    for column in table.columns:
        made.types[column.name] = _sql_type(alchemy, column.type)
        made.nullable[column.name] = bool(column.nullable)
        if isinstance(column.type, alchemy.Enum) and column.type.enums:
            made.categories[column.name] = list(column.type.enums)
    for constraint in table.constraints:
        columns = [each.name for each in getattr(constraint, "columns", ())]
        if isinstance(constraint, alchemy.ForeignKeyConstraint):
            if len(columns) > 1:
                made.composite.append(columns)
            else:
                made.references[columns[0]] = constraint.referred_table.name
        elif isinstance(constraint, alchemy.UniqueConstraint):
            made.unique.append(columns)
        elif isinstance(constraint, alchemy.CheckConstraint):
            made.checks.append(str(constraint.sqltext).strip())
    return made


def _sql_type(alchemy: Any, kind: Any) -> str:
    for name, types in (
        ("bool", (alchemy.Boolean,)),
        ("int64", (alchemy.Integer,)),
        ("double", (alchemy.Numeric,)),
        ("timestamp", (alchemy.DateTime,)),
        ("date", (alchemy.Date,)),
    ):
        if isinstance(kind, types):
            return name
    return "string"
