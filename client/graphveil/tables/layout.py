"""Tables as a typed graph, from the mapping alone: which table is a node type, which a relation.

Private rows are edges with records, never nodes: a table of nodes is known to all, and one that was made of
private rows would publish how many there are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from graphveil.problems import InvalidInput
from graphveil.tables.constraints import Constraints, constraints_of
from graphveil.tables.groups import check_group
from graphveil.tables.mapping import Column, Place, Table, TableMapping
from graphveil.tables.values import Carried, Values

ROWS = "rows"


@dataclass(frozen=True)
class Fact:
    """A table of private rows as a relation; of an end that may be null, its rows without that end.

    ``repeats``: the most rows of one pair of ends. ``lacks``: the end that is null in all of its rows.
    ``ends``: the columns of its two ends, None where a row has one key and the other end is the table itself.
    ``kinds``: the node types there. ``time``: the column of the snapshots, where pairs are once.
    """

    table: str
    relation: str
    ends: tuple[str, str | None]
    kinds: tuple[str, str]
    carried: tuple[Carried, ...]
    time: str | None
    constraints: Constraints
    repeats: int
    lacks: str | None = None


@dataclass(frozen=True)
class Layout:
    """The graph that tables are."""

    mapping: TableMapping
    entities: dict[str, str]
    keys: dict[tuple[str, str], str]
    facts: dict[str, Fact]
    listed: dict[str, tuple[str, ...]]
    """Node types beside the entities: ends that are a declared category, or a table itself."""
    grid: Place | None
    without: dict[str, tuple[Fact, ...]]
    """Of tables with ends that may be null: relations of their rows without one."""

    def relations(self, table: str) -> tuple[Fact, ...]:
        """List the relations of a table of private rows, each row in one of them."""
        return self.facts[table], *self.without[table]

    @property
    def unit(self) -> str:
        """The unit of the release: see :func:`promise`."""
        if self.mapping.unit == "person":
            return "node"
        if self.mapping.unit == "pair":
            return "pair" if self.grid else "edge"
        return "event" if self.grid else "edge"


def plain(text: str) -> str:
    """Make a plain name, as schemas take them."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", text).strip("_-")[:60] or "x"
    return name if name[:1].isalpha() else f"x{name}"[:60]


class Names:
    """Plain names, each given once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def new(self, text: str) -> str:
        """Return a plain name that nothing else has."""
        name, number = plain(text), 2
        while name in self._taken:
            name, number = f"{plain(text)[:56]}-{number}", number + 1
        self._taken.add(name)
        return name


def layout_of(mapping: TableMapping) -> Layout:
    """Lay tables out as a graph. InvalidInput names what cannot be one, and the way out."""
    _check(mapping)
    names, types = Names(), Names()
    entities = {name: types.new(name) for name, each in mapping.tables.items() if each.rows == "public"}
    keys = {
        (name, column): names.new(f"{name}_{column}")
        for name in entities
        for column, each in mapping.tables[name].columns.items()
        if each.references and each.role in ("public", "protected")
    }
    facts: dict[str, Fact] = {}
    listed: dict[str, tuple[str, ...]] = {}
    without: dict[str, tuple[Fact, ...]] = {}
    grid: Place | None = None
    for name, table in mapping.tables.items():
        if table.rows == "private":
            facts[name], grid = _fact(mapping, name, table, (names, types), entities, listed, grid)
            without[name] = _without(facts[name], table, (names, types), listed)
    if not facts and not any(
        mapping.tables[name].columns[column].role == "protected" for name, column in keys
    ):
        raise InvalidInput(
            "no table has private rows and no key is protected, so nothing is to be hidden; publish "
            "the tables",
            field="tables",
        )
    made = Layout(mapping, entities, keys, facts, listed, grid, without)
    _check_named(made)
    return made


def _check_named(layout: Layout) -> None:
    """Refuse keys of private rows that no graph could tell apart, and persons that are missing."""
    mapping = layout.mapping
    for fact in layout.facts.values():
        table = mapping.tables[fact.table]
        third = {each.columns[0] for each in fact.carried if not each.values}
        for column in (*filter(None, fact.ends), *third):
            if table.columns[column].references:
                check_group(mapping, fact.table, column, column in third)
        for column in filter(None, fact.ends):
            nobody = table.columns[column].null and table.references.get(column) == mapping.person
            if mapping.unit == "person" and nobody:
                raise InvalidInput(
                    f"{fact.table}.{column} names a person or nobody; say keys that may not be null",
                    field=_where(fact.table, column),
                )


def _fact(
    mapping: TableMapping,
    name: str,
    table: Table,
    given: tuple[Names, Names],
    entities: dict[str, str],
    listed: dict[str, tuple[str, ...]],
    grid: Place | None,
) -> tuple[Fact, Place | None]:
    names, types = given
    ends = _ends(mapping, name, table)
    kinds = []
    for column in ends:
        if column is None:
            kinds.append(types.new(f"{name}_{ROWS}"))
            listed[kinds[-1]] = (ROWS,)
        elif table.columns[column].references:
            kinds.append(entities[str(table.columns[column].references)])
        else:
            values = Values(_where(name, column), table.columns[column])
            kinds.append(types.new(f"{name}_{column}"))
            listed[kinds[-1]] = values.categories or ()
    kept = constraints_of(name, table)
    columns = {
        column: kept.rewritten(column, each)
        for column, each in table.columns.items()
        if each.role == "protected" and column not in ends
    }
    time = _time(name, table, columns)
    if time is not None:
        own = _grid(Values(_where(name, time), columns[time]))
        if grid in (None, own):
            grid = own
        elif table.steps is None:
            time = None
        else:
            raise InvalidInput(
                f"steps of {name} are others than those of another table; give both dates the same bounds "
                "and width",
                field=f"tables.{name}.steps",
            )
    drawn = {key: each for key, each in columns.items() if key != time}
    carried = _carried(name, table, drawn, names)
    repeats = int(table.repeats or 1)
    return Fact(name, names.new(name), ends, (kinds[0], kinds[1]), carried, time, kept, repeats), grid


def _without(
    fact: Fact, table: Table, given: tuple[Names, Names], listed: dict[str, tuple[str, ...]]
) -> tuple[Fact, ...]:
    """Lay out the rows without an end, for each end that may be null: from the other end to the table itself.

    A row lies in one relation, so that each is paid with all of epsilon where one row is hidden, and how many
    rows are null is told as how many rows there are.
    """
    (names, types), made = given, []
    for place, column in enumerate(fact.ends):
        said = None if column is None else table.columns[column]
        if said is None or column is None or not (said.null and said.references):
            continue
        other = fact.ends[1 - place]
        if other is None:
            raise InvalidInput(
                f"{fact.table}.{column} may be null, and nothing else says of whom a row is; name a second "
                "end, or leave such rows out",
                field=_where(fact.table, column),
            )
        kind = types.new(f"{fact.table}_without_{column}")
        listed[kind] = (ROWS,)
        time = fact.time if table.steps is not None else None
        columns = {
            key: fact.constraints.rewritten(key, each)
            for key, each in table.columns.items()
            if each.role == "protected" and key not in (*fact.ends, time)
        }
        ends = (other, None)
        kinds = (fact.kinds[1 - place], kind)
        carried = _carried(fact.table, table, columns, names)
        relation, repeats = names.new(f"{fact.table}_without_{column}"), table.lacking or fact.repeats
        made.append(Fact(fact.table, relation, ends, kinds, carried, time, fact.constraints, repeats, column))
    return tuple(made)


def _ends(mapping: TableMapping, name: str, table: Table) -> tuple[str, str | None]:
    keys = [each for each in table.references if table.columns[each].role == "protected"]
    if table.ends is not None:
        for each in table.ends:
            column = table.columns.get(each)
            if column is None or column.role != "protected" or not (column.references or column.categories):
                raise InvalidInput(
                    f"{name} ends at {each!r}, which is neither a protected key nor has categories; "
                    "name another",
                    field=f"tables.{name}.ends",
                )
        if len(set(table.ends)) != 2:
            raise InvalidInput(f"{name} has two ends; name two columns", field=f"tables.{name}.ends")
        return table.ends[0], table.ends[1]
    if not keys:
        raise InvalidInput(
            f"the private rows of {name} name no other table; name one, or leave the table out",
            field=f"tables.{name}",
        )
    keys.sort(key=lambda each: table.references[each] != mapping.person)
    return keys[0], keys[1] if len(keys) > 1 else None


def _time(name: str, table: Table, columns: dict[str, Column]) -> str | None:
    """Choose the column of snapshots: that of ``steps``, or the one date of pairs that are there once.

    Recurring pairs are else kept as one edge whose records have the date: snapshots draw pairs anew.
    """
    joined = {each for group in table.together for each in group}
    dated = [
        column
        for column, each in columns.items()
        if each.type in ("date", "timestamp") and each.bounds and each.width and not each.null
    ]
    if table.steps is not None:
        if table.steps not in dated or table.steps in joined:
            raise InvalidInput(
                f"steps of {name} names {table.steps!r}, which is no protected date of its own with bounds "
                "and a width, without nulls; name one",
                field=f"tables.{name}.steps",
            )
        return table.steps
    return dated[0] if table.repeats == 1 and len(dated) == 1 and dated[0] not in joined else None


def _grid(values: Values) -> Place:
    _, high = values.range
    width = values.step or 1
    return {"start": 0, "width": width, "count": high // width + 1}


def _carried(name: str, table: Table, columns: dict[str, Column], names: Names) -> tuple[Carried, ...]:
    groups = [tuple(each) for each in table.together]
    joined = {each for group in groups for each in group}
    for group in groups:
        for column in group:
            if column not in columns or columns[column].references:
                raise InvalidInput(
                    f"{name}: {column!r} is no protected value; take it out of together",
                    field=f"tables.{name}.together",
                )
    if sum(map(len, groups)) != len(joined):
        raise InvalidInput(
            f"{name}: a column is together twice; say it once", field=f"tables.{name}.together"
        )
    groups += [(column,) for column in columns if column not in joined]
    return tuple(
        Carried(
            names.new("_".join((name, *group))),
            tuple(Values(_where(name, column), columns[column]) for column in group),
            group,
        )
        for group in groups
        if not any(columns[column].references for column in group)
    ) + tuple(
        Carried(names.new(f"{name}_{column}"), (), (column,))
        for column, each in columns.items()
        if each.references
    )


def _where(table: str, column: str) -> str:
    return f"tables.{table}.columns.{column}"


def _check(mapping: TableMapping) -> None:
    tables = mapping.tables
    for name, table in tables.items():
        if sum(each.role == "key" for each in table.columns.values()) > 1:
            raise InvalidInput(
                f"{name} has a key of several columns; give it one column that numbers its rows",
                field=f"tables.{name}",
            )
        if table.rows == "public" and table.key is None:
            raise InvalidInput(
                f"{name} has public rows and no key; say which column is its key", field=f"tables.{name}"
            )
        for column, other in table.references.items():
            _check_key(mapping, name, column, other)
        if table.rows == "private":
            _check_private(name, table)
    _check_cycles(tables)
    _check_persons(mapping)


def _check_key(mapping: TableMapping, name: str, column: str, other: str) -> None:
    where, tables = _where(name, column), mapping.tables
    if other not in tables:
        raise InvalidInput(
            f"{name}.{column} names the table {other!r}, which the mapping has not; add it", field=where
        )
    if tables[name].columns[column].role == "key":
        raise InvalidInput(
            f"{name}.{column} is the key of its table and names another's; give it a key of its own",
            field=where,
        )
    if tables[other].rows == "private" and tables[name].columns[column].role != "withheld":
        raise InvalidInput(
            f"{name}.{column} names rows of {other}, which are private: a row that somebody may lack "
            "is no node. "
            f"Move the columns of {other} that matter into {name} with its keys, or withhold {name}.{column}",
            field=where,
        )


def _check_private(name: str, table: Table) -> None:
    for column, each in table.columns.items():
        if each.role == "public":
            raise InvalidInput(
                f"{name}.{column} is public, but the rows of {name} are private; say protected or withheld",
                field=_where(name, column),
            )
    if table.repeats is None:
        raise InvalidInput(
            f"{name} does not say how many rows one pair of ends may have; say repeats",
            field=f"tables.{name}.repeats",
        )


def _check_persons(mapping: TableMapping) -> None:
    person, tables = mapping.person, mapping.tables
    if person != "none" and person not in tables:
        raise InvalidInput(
            f"person names {person!r}, which is no table. Name one table, or none; persons of two tables are "
            "merged into one, or one of the two is named",
            field="person",
        )
    if mapping.unit == "person" and person == "none":
        raise InvalidInput("the unit is person, and person names no table; name it", field="person")
    if person == "none":
        _check_nobody(tables)
        return
    if tables[person].rows == "private":
        raise InvalidInput(
            f"the rows of {person} are private: that somebody is in a listed table is never hidden. "
            "List all who "
            "might be in it and say rows: public",
            field=f"tables.{person}.rows",
        )
    reaching = _reaching(person, tables)
    for name, table in tables.items():
        for column, other in table.references.items():
            derived = table.rows == "public" and name != other and table.columns[column].role != "public"
            if other in reaching and name != person and derived:
                raise InvalidInput(
                    f"the rows of {name} are said to be public, and each is of a row of {other} that "
                    "is not: "
                    f"how many there are would tell. Say rows: private of {name}, or is: public of {column}",
                    field=f"tables.{name}.rows",
                )


def _check_nobody(tables: dict[str, Table]) -> None:
    """Refuse listed rows with a key that is not public where no table is said to be of persons.

    Such a table may be made of what persons did (orders, visits), and how many rows it has would tell.
    """
    for name, table in tables.items():
        for column, other in table.references.items():
            if table.rows == "public" and other != name and table.columns[column].role != "public":
                raise InvalidInput(
                    f"the rows of {name} are said to be public, and each is of a row of {other} by a key "
                    f"that is not: where {name} lists persons, say person: {name}; where a row is what "
                    f"somebody did, say rows: private; else is: public of {column}",
                    field="person",
                )


def _reaching(person: str, tables: dict[str, Table]) -> set[str]:
    """Find the tables whose rows are of persons, over one key or several."""
    found, before = {person}, set[str]()
    while found != before:
        before = set(found)
        found |= {name for name, table in tables.items() if found & set(table.references.values())}
    return found


def _check_cycles(tables: dict[str, Table]) -> None:
    """Refuse circles of keys that must not be null: no row of them could be written first."""
    needed = {
        name: {
            other
            for column, other in table.references.items()
            if not table.columns[column].null and table.columns[column].role != "withheld"
        }
        for name, table in tables.items()
    }
    while needed:
        free = [name for name, others in needed.items() if not others & set(needed)]
        if not free:
            listed = ", ".join(needed)
            raise InvalidInput(
                f"the keys of {listed} form a circle, and none may be null; say null: true of one of them",
                field="tables",
            )
        for name in free:
            del needed[name]


def promise(layout: Layout) -> str:
    """Say in words of tables what one release hides."""
    mapping = layout.mapping
    facts = " or ".join(layout.facts) or "a protected key"
    reaching = [name for name, each in layout.facts.items() if _reaches(mapping, each.table)]
    told: Any = {
        "row": f"One row of {facts}, there or not, changes what is released by a factor of e^epsilon at "
        "most; a row that is changed counts as two, and what somebody has k rows of costs k epsilon.",
        "pair": f"All rows of {facts} with one pair of ends, there or not, change what is released by a "
        "factor of e^epsilon at most.",
        "person": f"One row of {mapping.person} with all that reaches it over keys (rows of "
        f"{', '.join(reaching)}), replaced by any others, changes what is released as the guarantee says.",
    }
    return f"{told[mapping.unit]} Which rows the public tables have is known to all, and never hidden."


def _reaches(mapping: TableMapping, table: str) -> bool:
    return mapping.person in mapping.tables[table].references.values()
