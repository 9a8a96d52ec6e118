"""A released graph as tables again, with keys that hold: every key is that of a row that is there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphveil.problems import InvalidInput
from graphveil.sources.libraries import library
from graphveil.tables.constraints import constraints_of, fill, without_circles
from graphveil.tables.graph import VALUE, attribute_of, by_type
from graphveil.tables.groups import groups_of, rows_of
from graphveil.tables.layout import Fact, Layout
from graphveil.tables.mapping import Column
from graphveil.tables.reading import arrow_type
from graphveil.tables.values import Values

if TYPE_CHECKING:
    import pyarrow as pa


def tables_of(layout: Layout, release: Path) -> dict[str, pa.Table]:
    """Read a release as tables, in the mapping's order, with its names and types of columns.

    It reads the released files and the mapping, nothing else. Withheld columns are null.
    """
    parquet = library("pyarrow.parquet", "tables")
    try:
        nodes, edges = (parquet.read_table(release / f"{each}.parquet") for each in ("nodes", "edges"))
    except OSError as error:
        raise InvalidInput(
            f"{release.name} holds no nodes.parquet and edges.parquet; name the folder of a release",
            field="release",
        ) from error
    back = _Back(layout, by_type(nodes), by_type(edges))
    return {
        name: back.entity(name) if name in layout.entities else back.rows(name)
        for name in layout.mapping.tables
    }


class _Back:
    def __init__(self, layout: Layout, nodes: dict[str, Any], edges: dict[str, Any]) -> None:
        self.layout, self.edges = layout, edges
        self.nodes = {kind: nodes[kind].combine_chunks() for kind in layout.entities.values()}
        self.listed = {kind: nodes[kind] for kind in layout.listed}
        self.keys = {kind: self._keys(name, kind) for name, kind in layout.entities.items()}

    def _keys(self, name: str, kind: str) -> Any:
        """Return the keys of an entity's rows: its own where keys are public, else fresh ones."""
        pa, pc = library("pyarrow", "tables"), library("pyarrow.compute", "tables")
        table = self.layout.mapping.tables[name]
        wanted = arrow_type(table.columns[str(table.key)].type)
        nodes = self.nodes[kind]
        if self.layout.mapping.keys == "public":
            return _whole(nodes["id"]).cast(wanted)
        return fresh(nodes.num_rows, wanted, name, pa, pc)

    def entity(self, name: str) -> pa.Table:
        """Make a table of public rows."""
        pa = library("pyarrow", "tables")
        kind, table = self.layout.entities[name], self.layout.mapping.tables[name]
        nodes, made = self.nodes[kind], {}
        for column, said in table.columns.items():
            if said.role == "key":
                made[column] = self.keys[kind]
            elif said.role == "withheld":
                made[column] = pa.nulls(nodes.num_rows, arrow_type(said.type))
            elif said.references:
                made[column] = self._key_column(name, column, said)
            else:
                made[column] = self._attribute(name, kind, column, said)
        return pa.table(made)

    def _attribute(self, name: str, kind: str, column: str, said: Column) -> Any:
        pa, pc = library("pyarrow", "tables"), library("pyarrow.compute", "tables")
        nodes, short = self.nodes[kind], attribute_of(kind, column)
        held = _held(nodes, kind, short)
        wanted = arrow_type(said.type)
        if held is None:
            raise InvalidInput(
                f"the release lacks {name}.{column}: its method draws no protected columns of nodes; take "
                "method auto",
                field="release",
            )
        array = _whole(nodes[held])
        if said.role == "public" or said.type in ("string", "bool") or said.categories is not None:
            return array.cast(wanted)
        values = Values(column, said.model_copy(update={"null": False}))
        if values.whole:
            array = pc.round(array).cast(pa.int64())
        return values.decode(array)

    def _key_column(self, name: str, column: str, said: Column) -> Any:
        """Make a key of public rows: null, or filled, where no edge was drawn."""
        pa, pc = library("pyarrow", "tables"), library("pyarrow.compute", "tables")
        other = self.layout.entities[str(said.references)]
        own, targets = self.nodes[self.layout.entities[name]]["id"], self.nodes[other]["id"]
        edges = self.edges[self.layout.keys[name, column]]
        row = pc.index_in(own, value_set=_whole(edges["source"]))
        places = pc.index_in(_whole(edges["target"]), value_set=_whole(targets)).take(_whole(row))
        acyclic = column in constraints_of(name, self.layout.mapping.tables[name]).acyclic
        if acyclic or (not said.null and said.role != "public"):
            listed = places.to_pylist()
            if not said.null:
                listed = fill(listed if any(each is not None for each in listed) else [0] * len(listed))
            places = pa.array(without_circles(listed) if acyclic else listed, pa.int64())
        return self.keys[other].take(places)

    def rows(self, name: str) -> pa.Table:
        """Make a table of private rows, of all of its relations."""
        pa, pc = library("pyarrow", "tables"), library("pyarrow.compute", "tables")
        table = self.layout.mapping.tables[name]
        parts = [self._columns(fact) for fact in self.layout.relations(name)]
        made = {}
        for column, said in table.columns.items():
            wanted, rows = arrow_type(said.type), sum(count for _, count in parts)
            if said.role == "key":
                made[column] = fresh(rows, wanted, name, pa, pc)
            elif said.role == "withheld":
                made[column] = pa.nulls(rows, wanted)
            else:
                held = [
                    each[column].cast(wanted) if column in each else pa.nulls(count, wanted)
                    for each, count in parts
                ]
                made[column] = pa.chunked_array([_whole(each) for each in held], wanted).combine_chunks()
        return pa.table(made)

    def _columns(self, fact: Fact) -> tuple[dict[str, Any], int]:
        """Make the protected columns of a relation's rows, but for an end that they lack; and count them."""
        pc = library("pyarrow.compute", "tables")
        table, rows = self.layout.mapping.tables[fact.table], self.edges[fact.relation]
        held = self._values(fact, rows)
        for column, kind, end in zip(fact.ends, fact.kinds, ("source", "target")):  # noqa: B905 - two of each
            if column is None:
                continue
            said = table.columns[column]
            if said.references:
                ids = _whole(self.nodes[kind]["id"])
                held[column] = self.keys[kind].take(pc.index_in(_whole(rows[end]), value_set=ids))
            else:
                listed = self.listed[kind]
                place = pc.index_in(_whole(rows[end]), value_set=_whole(listed["id"]))
                name = _held(listed, kind, attribute_of(kind, VALUE))
                held[column] = Values(column, said).decode(_whole(listed[name]).take(place))
        return held, rows.num_rows

    def _third_key(self, said: Column, drawn: Any) -> Any:
        """Name a row of each drawn group."""
        other = str(said.references)
        rows, key = self.entity(other), str(self.layout.mapping.tables[other].key)
        return _whole(rows[key]).take(rows_of(groups_of(said, rows, key), drawn))

    def _values(self, fact: Fact, rows: Any) -> dict[str, Any]:
        pa, pc = library("pyarrow", "tables"), library("pyarrow.compute", "tables")
        columns = self.layout.mapping.tables[fact.table].columns
        held: dict[str, Any] = {}
        if fact.time is not None:
            values = Values(fact.time, columns[fact.time])
            width, high = values.step or 1, values.range[1]
            inside = pc.floor(pc.multiply(pc.random(rows.num_rows), float(width))).cast(pa.int64())
            counted = pc.add(pc.multiply(_whole(rows["step"]).cast(pa.int64()), width), inside)
            held[fact.time] = values.decode(pc.min_element_wise(counted, high))
        for each in fact.carried:
            if each.name not in rows.column_names:
                raise InvalidInput(
                    f"the release lacks what {fact.table} carries: its method draws none; take method "
                    "auto, or set "
                    "attribute_share",
                    field="release",
                )
            array = _whole(rows[each.name])
            if not each.values:
                (column,) = each.columns
                held[column] = self._third_key(columns[column], array.cast(pa.string()))
                continue
            coded = each.decode(array)
            for column, values in zip(each.columns, each.values):  # noqa: B905 - one of each
                held[column] = values.decode(coded[column])
        for high, low, _ in fact.constraints.above:
            bound = columns[high].bounds
            assert bound is not None
            held[high] = pc.min_element_wise(pc.add(held[high], held[low]), bound[1])
        return held


def _held(nodes: Any, kind: str, attribute: str) -> str | None:
    """Find how a release calls an attribute: with its type's name, where it has several; None: it has not."""
    return next((each for each in (attribute, f"{kind}.{attribute}") if each in nodes.column_names), None)


def _whole(column: Any) -> Any:
    """Join the chunks of a column."""
    pa = library("pyarrow", "tables")
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def fresh(rows: int, kind: Any, name: str, pa: Any, pc: Any) -> Any:
    """Number rows from 1; of texts by the table's name."""
    numbers = pa.array(range(1, rows + 1), pa.int64())
    if pa.types.is_string(kind):
        return pc.binary_join_element_wise(name, numbers.cast(pa.string()), "-")
    return numbers.cast(kind)
