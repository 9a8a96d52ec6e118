"""Tables as the files of a graph: a list of nodes, a list of edges, and the schema that declares both."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphveil.problems import InvalidInput
from graphveil.sources.libraries import library
from graphveil.tables.groups import groups_of
from graphveil.tables.layout import Fact, Layout
from graphveil.tables.mapping import Column, Place
from graphveil.tables.values import MOST, NONE, Carried, Values

if TYPE_CHECKING:
    import pyarrow as pa

VALUE = "value"


def attribute_of(kind: str, column: str) -> str:
    """Name a node attribute, apart from those of other types."""
    from graphveil.tables.layout import plain

    return plain(f"{kind}_{column}")


def write_graph(layout: Layout, tables: dict[str, pa.Table], folder: Path) -> Place:
    """Write ``nodes.parquet``, ``edges.parquet`` and ``schema.json``; return the schema.

    Every key is looked up, and every value held against what is declared, before. O(rows).
    """
    parquet = library("pyarrow.parquet", "tables")
    ids = {name: _ids(name, layout, table) for name, table in tables.items() if name in layout.entities}
    schema: Place = {"node_types": _node_types(layout), "edge_types": []}
    edges = [_key_rows(layout, name, column, tables, ids, schema) for name, column in layout.keys]
    for name in layout.facts:
        for fact in layout.relations(name):
            own = _rows_of(layout, fact, tables[name])
            edges.append(_fact_rows(layout, fact, {**tables, name: own}, ids, schema))
    if layout.grid is not None:
        schema["time"] = layout.grid
    schema["node_ids"] = "public" if layout.mapping.keys == "public" else "pseudonymous"
    parquet.write_table(_nodes(layout, tables, ids), folder / "nodes.parquet")
    parquet.write_table(_joined([each for each in edges if each is not None]), folder / "edges.parquet")
    (folder / "schema.json").write_text(json.dumps(schema, indent=2), encoding="utf-8")
    return schema


def _ids(name: str, layout: Layout, table: Any) -> pa.Array:
    pa, pc = library("pyarrow", "tables"), library("pyarrow.compute", "tables")
    key = str(layout.mapping.tables[name].key)
    held = table[key].combine_chunks()
    where = f"tables.{name}.columns.{key}"
    if held.null_count or pc.count_distinct(held).as_py() < len(held):
        raise InvalidInput(
            f"{name}.{key} is no key: a value is missing or there twice; name another", field=where
        )
    if not len(held):
        raise InvalidInput(f"{name} has no rows; list them, or leave the table out", field=where)
    texts = held.cast(pa.string())
    if pc.any(pc.equal(texts, NONE)).as_py():
        raise InvalidInput(
            f"{name}.{key} has the value {NONE!r}, which stands for null; rename it", field=where
        )
    return texts


def _node_types(layout: Layout) -> list[Place]:
    made: list[Place] = []
    for name, kind in layout.entities.items():
        said: Place = {"name": kind, "attributes": []}
        for column, each in layout.mapping.tables[name].columns.items():
            if each.role in ("public", "protected") and not each.references:
                where = f"tables.{name}.columns.{column}"
                said["attributes"].append(
                    {"name": attribute_of(kind, column), "protection": each.role, **_attribute(where, each)}
                )
        if layout.mapping.unit == "person" and name == layout.mapping.person:
            said["protected"] = True
        made.append(said)
    for kind in layout.listed:
        value = {"name": attribute_of(kind, VALUE), "kind": "category", "protection": "public"}
        made.append({"name": kind, "attributes": [value]})
    return made


def _attribute(where: str, column: Column) -> Place:
    """Declare a node attribute: of what is public, its kind alone."""
    if column.role == "public":
        number = column.type not in ("string", "bool", "date", "timestamp") and column.categories is None
        return {"kind": "number" if number else "category"}
    values = Values(where, column.model_copy(update={"null": False}))
    if values.texts:
        return {"kind": "category", "categories": list(values.categories or ())}
    made = {"kind": "number", "bounds": list(values.range), "cuts": list(values.cuts)}
    return {**made, "clip": True} if column.clip else made


def _nodes(layout: Layout, tables: dict[str, pa.Table], ids: dict[str, Any]) -> pa.Table:
    pa = library("pyarrow", "tables")
    parts = []
    for name, kind in layout.entities.items():
        columns: dict[str, Any] = {"id": ids[name], "type": pa.array([kind] * len(ids[name]))}
        for column, said in layout.mapping.tables[name].columns.items():
            if said.role in ("public", "protected") and not said.references:
                where = f"tables.{name}.columns.{column}"
                columns[attribute_of(kind, column)] = _carried_by_node(where, said, tables[name][column])
        parts.append(pa.table(columns))
    for kind, values in layout.listed.items():
        listed = pa.array(list(values), pa.string())
        parts.append(
            pa.table({"id": listed, "type": [kind] * len(values), attribute_of(kind, VALUE): listed})
        )
    return pa.concat_tables(parts, promote_options="default")


def _carried_by_node(where: str, column: Column, array: Any) -> Any:
    pa = library("pyarrow", "tables")
    number = _attribute(where, column)["kind"] == "number"
    if array.null_count and not column.null:
        raise InvalidInput(f"{where} has rows without a value; say null: true in the mapping", field=where)
    if column.role == "protected" and number:
        low = Values(where, column).range[0]
        pc = library("pyarrow.compute", "tables")
        coded = Values(where, column.model_copy(update={"null": True})).encode(array).cast(pa.float64())
        return pc.if_else(pc.less(coded, low), None, coded)
    return array.cast(pa.float64() if number else pa.string())


def _key_rows(
    layout: Layout, name: str, column: str, tables: dict[str, pa.Table], ids: dict[str, Any], schema: Place
) -> pa.Table | None:
    """Write a key of public rows: an edge a row, none where it is null."""
    pa, pc = library("pyarrow", "tables"), library("pyarrow.compute", "tables")
    said = layout.mapping.tables[name].columns[column]
    other = str(said.references)
    held = tables[name][column].combine_chunks().cast(pa.string())
    _hold_key(name, column, said, held, ids[other])
    schema["edge_types"].append(
        {
            "name": layout.keys[name, column],
            "source": layout.entities[name],
            "target": layout.entities[other],
            "directed": True,
            "functional": True,
            "public": said.role == "public",
        }
    )
    there = pc.is_valid(held)
    return pa.table(
        {
            "source": ids[name].filter(there),
            "target": held.filter(there),
            "type": pa.array([layout.keys[name, column]] * pc.sum(there, min_count=0).as_py(), pa.string()),
        }
    )


def _hold_key(name: str, column: str, said: Column, held: Any, ids: Any) -> None:
    pc = library("pyarrow.compute", "tables")
    where = f"tables.{name}.columns.{column}"
    if held.null_count and not said.null:
        raise InvalidInput(f"{where} has rows without a value; say null: true in the mapping", field=where)
    loose = pc.and_(pc.is_valid(held), pc.invert(pc.is_in(held, value_set=ids)))
    if pc.any(loose, min_count=0).as_py():
        raise InvalidInput(
            f"{name}.{column} names rows that {said.references} has not; list them there, or leave "
            "such rows out",
            field=where,
        )


def _rows_of(layout: Layout, fact: Fact, table: Any) -> Any:
    """Keep the rows that a relation has: those with both ends, or those without the one that it lacks."""
    pc = library("pyarrow.compute", "tables")
    said = layout.mapping.tables[fact.table]
    keys = [each for each in layout.facts[fact.table].ends if each and said.columns[each].references]
    lacking = {each: pc.is_null(table[each]) for each in keys if said.columns[each].null}
    if len(lacking) == 2 and pc.any(pc.and_(*lacking.values()), min_count=0).as_py():
        raise InvalidInput(
            f"rows of {fact.table} name nobody at either end; leave such rows out",
            field=f"tables.{fact.table}",
        )
    if fact.lacks is not None:
        return table.filter(lacking[fact.lacks])
    for each in lacking:
        table = table.filter(pc.is_valid(table[each]))
    return table


def _fact_rows(
    layout: Layout, fact: Fact, tables: dict[str, pa.Table], ids: dict[str, Any], schema: Place
) -> pa.Table:
    pa = library("pyarrow", "tables")
    said, table = layout.mapping.tables[fact.table], tables[fact.table]
    ends = []
    for column in fact.ends:
        if column is None:
            ends.append(pa.array(["rows"] * table.num_rows, pa.string()))
            continue
        each = said.columns[column]
        if each.references:
            held = table[column].combine_chunks().cast(pa.string())
            _hold_key(fact.table, column, each, held, ids[each.references])
            ends.append(held)
        else:
            ends.append(
                Values(f"tables.{fact.table}.columns.{column}", each).encode(table[column].combine_chunks())
            )
    made = {
        "source": ends[0],
        "target": ends[1],
        "type": pa.array([fact.relation] * table.num_rows, pa.string()),
    }
    if fact.time is not None:
        made["time"] = Values(fact.time, said.columns[fact.time]).encode(table[fact.time].combine_chunks())
    width = layout.grid["width"] if layout.grid is not None and said.steps else None
    _hold_repeats(fact, made, width)
    declared = []
    for one in fact.carried:
        if one.values:
            declared.append(one.declaration())
            made[one.name] = _encoded(fact, one, table, said.columns)
        else:
            of_key = _third_key(layout, fact.table, one, tables, ids)
            declared.append(of_key[0])
            made[one.name] = of_key[1]
    if not declared and fact.repeats != 1:
        counted = f"{fact.relation}_row"
        declared = [{"name": counted, "kind": "category", "categories": ["row"]}]
        made[counted] = pa.array(["row"] * table.num_rows, pa.string())
    relation: Place = {
        "name": fact.relation,
        "source": fact.kinds[0],
        "target": fact.kinds[1],
        "directed": True,
        "temporal": fact.time is not None,
        "once": fact.time is not None and said.steps is None,
    }
    if declared and fact.repeats == 1:
        relation["attributes"] = [{**each, "aggregate": "max"} for each in declared]
    elif declared:
        relation |= {"attributes": declared, "multiplicity": "each", "records_per_slot": fact.repeats}
        if layout.mapping.unit == "row":
            relation["records_apart"] = True
    schema["edge_types"].append(relation)
    return pa.table(made)


def _hold_repeats(fact: Fact, made: dict[str, Any], width: int | None) -> None:
    pa, pc = library("pyarrow", "tables"), library("pyarrow.compute", "tables")
    slots = {"source": made["source"], "target": made["target"]}
    if width is not None:
        slots["step"] = pc.divide(made["time"], width)
    counts = pa.table(slots).group_by(list(slots)).aggregate([([], "count_all")])["count_all"]
    if len(counts) and pc.max(counts).as_py() > fact.repeats:
        said, of = "repeats", f"a pair of {fact.table}"
        if fact.lacks is not None:
            said, of = "lacking", f"an end of {fact.table} without {fact.lacks}"
        raise InvalidInput(
            f"{of} has more than {said}: {fact.repeats} rows; declare more",
            field=f"tables.{fact.table}.{said}",
        )


def _third_key(
    layout: Layout, name: str, each: Carried, tables: dict[str, pa.Table], ids: dict[str, Any]
) -> tuple[Place, Any]:
    """Declare a third key and say what each record has: the group of the row that it names."""
    pc = library("pyarrow.compute", "tables")
    (column,) = each.columns
    said = layout.mapping.tables[name].columns[column]
    other = str(said.references)
    groups = groups_of(said, tables[other], str(layout.mapping.tables[other].key))
    known = pc.unique(groups).to_pylist()
    if len(known) + said.null > MOST or NONE in known:
        raise InvalidInput(
            f"{name}.{column} is a third key into more than {MOST} rows or groups, or into {NONE!r}; say "
            f"group: a public column of {other} or a number of groups, make it one of the two ends, or "
            "withhold it",
            field=f"tables.{name}.columns.{column}",
        )
    held = tables[name][column].combine_chunks().cast(ids[other].type)
    _hold_key(name, column, said, held, ids[other])
    values = pc.fill_null(groups.take(pc.index_in(held, value_set=ids[other])), NONE)
    listed = sorted([*known, NONE] if said.null else known)
    return {"name": each.name, "kind": "category", "categories": listed}, values


def _encoded(fact: Fact, each: Carried, table: Any, columns: dict[str, Column]) -> Any:
    pc = library("pyarrow.compute", "tables")
    lows = {high: low for high, low, _ in fact.constraints.above}
    coded = []
    for column, values in zip(each.columns, each.values):  # noqa: B905 - one of each
        array = table[column].combine_chunks()
        if column in lows:
            array = pc.subtract(array, table[lows[column]].combine_chunks())
        coded.append(values.encode(array))
    return each.encode(coded)


def _joined(parts: list[pa.Table]) -> pa.Table:
    pa = library("pyarrow", "tables")
    return pa.concat_tables(parts, promote_options="default")


def by_type(table: Any) -> dict[str, Any]:
    """Split the rows of a list by their type."""
    pc = library("pyarrow.compute", "tables")
    found: dict[str, Any] = defaultdict(lambda: table.slice(0, 0))
    for each in pc.unique(table["type"]).to_pylist():
        found[each] = table.filter(pc.equal(table["type"], each))
    return found
