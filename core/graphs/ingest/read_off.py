"""Public facts that were read off the data. They are kept on record until a curator declares another schema.

What is read off the data and then published lies outside the guarantee: one edge more may change it. So every
release made under it says so. A curator who declares what may occur, instead of what did, clears a mark.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import chain

from core.graphs.schema import Derived, GraphSchema, Protection
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.graphs.schema.time_grid import shown_time

Facts = frozenset[tuple[Hashable, ...]]


def marks_of(schema: GraphSchema, *, nodes: bool) -> tuple[Derived, ...]:
    """List what a proposed schema read off the data. ``nodes``: its node list was too."""
    found = {mark for mark, (facts, _) in _READ.items() if facts(schema)}
    return tuple(mark for mark in Derived if mark in found or (mark is Derived.NODE_LIST and nodes))


def still_read_off(
    marks: Sequence[Derived], seen: GraphSchema, confirmed: GraphSchema
) -> tuple[Derived, ...]:
    """Keep the marks that still hold. The schema that was ``seen`` is replaced by ``confirmed``.

    A declared count takes the place of the node list. Any other part is the curator's own only where it
    shares nothing with what was read off: a grid where both its ends are new, bounds where both are (0
    apart, which every amount has), categories where they are others or more.
    """
    return tuple(mark for mark in marks if _shared(mark, seen, confirmed))


def words_for(mark: Derived, schema: GraphSchema) -> str:
    """Describe what was read off the data. What the schema has of it is said for whoever is to confirm it as
    public."""
    listed = () if mark is Derived.NODE_LIST else _READ[mark][1](schema)
    return f"{_NAMES[mark]}: {'; '.join(listed)}" if listed else _NAMES[mark]


def sentence(marks: Sequence[Derived]) -> str:
    """Say what lies outside the guarantee. It is said in the guarantee's own words; empty where nothing was
    read off."""
    if not marks:
        return ""
    named = ", ".join(_NAMES[mark] for mark in Derived if mark in marks)
    return f" Outside it lies what was read off the data and made public, {len(marks)} in number: {named}."


def _shared(mark: Derived, seen: GraphSchema, confirmed: GraphSchema) -> bool:
    if mark is Derived.NODE_LIST:
        return not confirmed.counted
    facts, _ = _READ[mark]
    kept = _released(confirmed) if mark is Derived.NODE_ATTRIBUTES else facts(confirmed)
    return bool(facts(seen) & kept)


def _grid(schema: GraphSchema) -> Facts:
    grid = schema.time
    if grid is None:
        return frozenset()
    return frozenset({("start", grid.start), ("end", grid.start + grid.width * grid.count)})


def _grid_words(schema: GraphSchema) -> list[str]:
    grid = schema.time
    if grid is None:
        return []
    return [f"start {shown_time(grid.start)}", f"end {shown_time(grid.start + grid.width * grid.count)}"]


def _node_types(schema: GraphSchema) -> Facts:
    return frozenset({(kind.in_files,) for kind in schema.node_types} - {("node",)})


def _relations(schema: GraphSchema) -> Facts:
    return frozenset({(kind.in_files,) for kind in schema.edge_types} - {("edge",)})


def _named(facts: Callable[[GraphSchema], Facts]) -> Callable[[GraphSchema], list[str]]:
    return lambda schema: [" ".join(map(str, fact)) for fact in sorted(facts(schema), key=str)]


def _node_attributes(schema: GraphSchema) -> Facts:
    return frozenset(
        (kind.name, each.name, str(each.kind)) for kind in schema.node_types for each in kind.attributes
    )


def _released(schema: GraphSchema) -> Facts:
    """Keep the attributes of nodes that a release may hold."""
    withheld = {
        (kind.name, each.name)
        for kind in schema.node_types
        for each in kind.attributes
        if each.protection is Protection.WITHHELD
    }
    return frozenset(fact for fact in _node_attributes(schema) if fact[:2] not in withheld)


def _edge_values(schema: GraphSchema) -> Facts:
    return frozenset(
        (kind.name, each.name, *fact)
        for kind in schema.edge_types
        for each in kind.attributes
        for fact in _of_values(each)
    )


def _of_values(declared: EdgeAttribute) -> list[tuple[Hashable, ...]]:
    if declared.categories is not None:
        return [("categories", frozenset(declared.categories))]
    if declared.bounds is not None:
        ends = zip(("from", "to"), declared.bounds, strict=True)
        return [
            *((end, value) for end, value in ends if value != 0),
            *(("cut", cut) for cut in declared.cuts),
        ]
    return [(str(declared.kind),)]


def _value_words(schema: GraphSchema) -> list[str]:
    return [
        f"{each.name} of {kind.name}, {_range(each)}"
        for kind in schema.edge_types
        for each in kind.attributes
    ]


def _range(declared: EdgeAttribute) -> str:
    if declared.categories is not None:
        return "one of " + ", ".join(declared.categories)
    if declared.bounds is not None:
        return f"{declared.bounds[0]:g} to {declared.bounds[1]:g}"
    return str(declared.kind)


def _caps(schema: GraphSchema) -> Facts:
    relations = (
        (kind.name, name, getattr(kind, name))
        for kind in schema.edge_types
        for name in ("edge_bound", "records_per_slot")
    )
    degrees = ((kind.name, "degree_bound", kind.degree_bound) for kind in schema.node_types)
    return frozenset(fact for fact in chain(relations, degrees) if fact[2] is not None)


_READ: dict[Derived, tuple[Callable[[GraphSchema], Facts], Callable[[GraphSchema], list[str]]]] = {
    Derived.TIME_GRID: (_grid, _grid_words),
    Derived.NODE_TYPES: (_node_types, _named(_node_types)),
    Derived.EDGE_TYPES: (_relations, _named(_relations)),
    Derived.NODE_ATTRIBUTES: (_node_attributes, _named(_node_attributes)),
    Derived.EDGE_VALUES: (_edge_values, _value_words),
    Derived.CAPS: (_caps, _named(_caps)),
}
_NAMES = {
    Derived.NODE_LIST: "the list of nodes",
    Derived.TIME_GRID: "the time grid",
    Derived.NODE_TYPES: "the names of the node types",
    Derived.EDGE_TYPES: "the names of the relations",
    Derived.NODE_ATTRIBUTES: "which attributes nodes have",
    Derived.EDGE_VALUES: "what edges carry",
    Derived.CAPS: "how many edges or records there are at most",
}
