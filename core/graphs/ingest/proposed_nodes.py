"""Node types proposed from a list of nodes. Proposed is too which of them the ends of a relation are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from core.graphs.columns.arrays import as_text, integers_of, is_text, numbers_of, vectors_of
from core.graphs.ingest.universe import EMPTY_END, not_listed
from core.graphs.reading.variants import told_of_numbers
from core.graphs.schema import MAX_TYPES, Attribute, AttributeKind, NodeType, Protection
from core.graphs.schema.names import is_plain, is_shown, type_names
from core.graphs.schema.node_attributes import MAX_LENGTH
from core.graphs.uploads.batches import Batch
from core.graphs.uploads.files import VECTOR_SEPARATOR, IngestLimits
from core.graphs.uploads.findings import Findings, reject, shown
from core.graphs.uploads.rows import Fault, Resolved, drain

MIXED_ENDS = (
    "edges of one relation join nodes of several types, and a relation joins two: name relations apart in a "
    "column type of the edges where types of nodes shall be read"
)
_TEXTS = frozenset({AttributeKind.CATEGORY})
_VECTOR = AttributeKind.VECTOR
_LOOKED_AT = 1000
Ends = dict[str | None, list[pl.Series]]
"""Ids of a relation's ends by the type that their document says, None where it says none."""


@dataclass(frozen=True)
class ProposedNodes:
    """Ids of each proposed node type. ``members`` are the ids of each type; ``unread`` says why a column of
    the list is left out."""

    types: tuple[NodeType, ...]
    members: Mapping[str, pl.Series]
    listed: pa.Table
    unread: Mapping[str, str] = field(default_factory=dict)

    @property
    def warnings(self) -> list[str]:
        """Warn of attributes that are proposed as texts though they look like numbers."""
        names = {each.name for kind in self.types for each in kind.attributes if each.kind in _TEXTS}
        of_numbers = (
            told_of_numbers(name, as_text(self.listed[name]).unique()[:_LOOKED_AT].to_pylist())
            for name in sorted(names)
        )
        return [each for each in of_numbers if each] + [*self._of_vectors()]

    def _of_vectors(self) -> Iterator[str]:
        """Say how proposed vectors may be released. Bounds are never read off what is there."""
        for kind in self.types:
            of_type = self.listed
            if len(self.types) > 1:
                of_type = of_type.filter(pc.equal(as_text(of_type["type"]), kind.in_files))
            for each in kind.attributes:
                if each.kind is _VECTOR:
                    width = vectors_of(of_type[each.name][:1], VECTOR_SEPARATOR)[0].shape[1]
                    yield _told_of_vector(f"{shown(each.name)} of {kind.name}", width)

    @property
    def of_types(self) -> dict[str, str]:
        """Map how the list names types to their names."""
        return {kind.in_files: kind.name for kind in self.types}


def proposed_nodes(listed: pa.Table, file: str) -> ProposedNodes:
    """Propose the types of the listed nodes. They are what their column type says, where it says several."""
    types = as_text(listed["type"]) if "type" in listed.column_names else None
    if types is None:
        return _of_one_sort(listed, {})
    given = [each for each in types.unique().to_pylist() if each]
    why = _no_types(given, listed.num_rows)
    if why is not None:
        return _of_one_sort(listed, {"type": why})
    untyped = pc.fill_null(pc.equal(types, ""), True)
    if pc.any(untyped).as_py():
        ids = as_text(listed["id"]).filter(untyped)
        reject(
            file,
            f"{len(ids)} nodes have no type, and others have one; the first is {shown(ids[0].as_py())}: give "
            "every node a type, or leave the column out",
        )
    ids, names = pl.Series(as_text(listed["id"]), dtype=pl.String), type_names(given)
    kinds, members, unread = [], {}, dict[str, str]()
    for each in sorted(given):
        rows = pc.equal(types, each)
        attributes, left = _attributes(listed.filter(rows))
        unread |= left
        kinds.append(
            NodeType(
                name=names[each], shown=None if names[each] == each else each, attributes=tuple(attributes)
            )
        )
        members[names[each]] = ids.filter(pl.Series(rows))
    read = {attribute.name for kind in kinds for attribute in kind.attributes}
    return ProposedNodes(
        tuple(kinds), members, listed, {name: why for name, why in unread.items() if name not in read}
    )


def _no_types(given: Collection[str], nodes: int) -> str | None:
    """Say why the values of a column type are not read as node types, or None."""
    if not given:
        return "it is empty"
    if len(given) == 1:
        return f"it has one value, {shown(next(iter(given)))}"
    # So many values for so few nodes are names, and not types.
    if len(given) > MAX_TYPES or (len(given) > 64 and len(given) > nodes // 2):
        return f"it has {len(given)} values"
    if not all(map(is_shown, given)):
        return "its values are no names: printable, and of 128 letters at most"
    return None


def _of_one_sort(listed: pa.Table, unread: Mapping[str, str]) -> ProposedNodes:
    attributes, left = _attributes(listed)
    ids = pl.Series(as_text(listed["id"]), dtype=pl.String)
    kind = NodeType(attributes=tuple(attributes))
    return ProposedNodes((kind,), {kind.name: ids}, listed, {**left, **unread})


def of_one_sort(nodes: ProposedNodes, file: str) -> ProposedNodes:
    """Leave the types as they are. IngestRejected where they tell nodes of one id apart."""
    ids = nodes.listed["id"]
    if pc.count_distinct(ids).as_py() < len(ids):
        reject(
            file,
            "edges of one relation join nodes of several types, and types have ids in common: give every "
            "node an id of its own, such as person-1 and firm-1, or declare the schema",
        )
    return _of_one_sort(nodes.listed, {"type": MIXED_ENDS})


def _attributes(listed: pa.Table) -> tuple[list[Attribute], dict[str, str]]:
    """Propose what the nodes carry, in no order of the data, and say why each other column is left alone."""
    attributes, left = [], {}
    for name in sorted(set(listed.column_names) - {"id", "type"}):
        kind = _kind(listed[name])
        if not _held(listed[name]):
            left[name] = "it is empty"
        elif not is_plain(name):
            left[name] = "another column would have its plain name; rename one"
        elif kind is _VECTOR and vectors_of(listed[name], VECTOR_SEPARATOR)[1].any():
            left[name] = "its vectors are not all of equally many finite numbers"
        else:
            attributes.append(Attribute(name=name, kind=kind, protection=Protection.WITHHELD))
    return attributes, left


def _held(column: pa.ChunkedArray) -> bool:
    return not bool(integers_of(column)[2].all()) if is_text(column.type) else column.null_count < len(column)


def _kind(column: pa.ChunkedArray) -> AttributeKind:
    if pa.types.is_nested(column.type) or _are_vectors(column):
        return _VECTOR
    return AttributeKind.CATEGORY if bool(numbers_of(column)[1].any()) else AttributeKind.NUMBER


def _are_vectors(column: pa.ChunkedArray) -> bool:
    """Tell whether texts are vectors: each of as many numbers as the others, and of more than one."""
    if not is_text(column.type) or not pc.all(pc.match_substring(column, VECTOR_SEPARATOR)).as_py():
        return False
    return not bool(vectors_of(column, VECTOR_SEPARATOR)[1].any())


def _told_of_vector(what: str, width: int) -> str:
    if width > MAX_LENGTH:
        return f"{what} holds vectors of {width} numbers, and is withheld: at most {MAX_LENGTH} are released."
    return (
        f'{what} holds vectors, and is withheld: to release such vectors declare it protected with "length": '
        f'{width} and "bounds", least and most of what any number may be by what they stand for, whoever is '
        'among the nodes; where few of them are not 0, as of words, "nonzero" says how many at most.'
    )


def listed_by_ends(sources: Collection[Ends], targets: Collection[Ends]) -> pa.Table:
    """List the nodes that have an edge, by id. Each comes once; with their type where every end has one."""
    by_type: dict[str | None, list[pl.Series]] = {}
    for ends in (*sources, *targets):
        for kind, ids in ends.items():
            by_type.setdefault(kind, []).extend(ids)
    if len(by_type) > 1 and None not in by_type:
        parts = []
        for kind, gathered in sorted(by_type.items(), key=lambda item: str(item[0])):
            # By id: the order of edges must not show in the list.
            ids = pl.concat(gathered).unique().sort().to_arrow().cast(pa.string())
            parts.append(pa.table({"id": ids, "type": pa.repeat(pa.scalar(kind, pa.string()), len(ids))}))
        return pa.concat_tables(parts)
    every = [each for gathered in by_type.values() for each in gathered]
    found = pl.concat(every).unique().sort() if every else pl.Series([], dtype=pl.String)
    return pa.table({"id": found.to_arrow().cast(pa.string())})


def end_types(
    nodes: ProposedNodes, name: str, pairs: Collection[tuple[str | None, str | None]], ends: tuple[Ends, Ends]
) -> tuple[str, str] | None:
    """Find the node types of a relation's ends. None where no two types hold them all.

    By the ``pairs`` of types that a document says, else by who is listed under a type.
    """
    known = nodes.of_types
    if len(known) > 1 and pairs and all(a in known and b in known for a, b in pairs):
        joined = {tuple(sorted((str(a), str(b)))) for a, b in pairs}
        if len(joined) > 1:
            return None
        source, target = next(iter(sorted(pairs, key=str)))
        return known[str(source)], known[str(target)]
    found = []
    for end, gathered in zip(("source", "target"), ends, strict=True):
        series = [each for parts in gathered.values() for each in parts]
        ids = pl.concat(series).unique() if series else pl.Series([], dtype=pl.String)
        holding = [kind for kind, held in nodes.members.items() if bool(ids.is_in(held.implode()).all())]
        if not holding:
            return None
        if len(holding) > 1 and len(ids):
            reject(
                "edges",
                f"the {end}s of {name!r} may be of several node types ({', '.join(holding)} list them all): "
                "give every node an id of its own, or declare the schema",
            )
        found.append(holding[0])
    return found[0], found[1]


def require_listed(
    open_edges: Callable[[], Iterator[Batch] | None],
    nodes: ProposedNodes,
    gathered: Collection[Ends],
    limits: IngestLimits,
) -> None:
    """Check that every end is listed. IngestRejected names the lines of the first that are not."""
    listed = pl.concat(list(nodes.members.values()))
    known = listed.implode()
    every = [each for ends in gathered for parts in ends.values() for each in parts]
    ids = pl.concat(every).unique() if every else pl.Series([], dtype=pl.String)
    away = ids.filter(~ids.is_in(known).fill_null(False))
    if not len(away):
        return
    away = away.filter(away.fill_null("") != "")
    tell = partial(_unlisted, listed.to_arrow(), len(away), _elsewhere(away, nodes.listed))

    def resolve(table: pa.Table) -> Resolved[None]:
        faults = []
        for end in ("source", "target"):
            lacking = ~pl.Series(as_text(table[end]), dtype=pl.String).is_in(known).fill_null(False)
            if lacking.any():
                faults.append(Fault(np.flatnonzero(lacking.to_numpy()), end, partial(tell, end)))
        return Resolved(None, table.num_rows, faults)

    drain(
        open_edges() or (),
        resolve,
        lambda _: None,
        Findings("edges", limits.max_findings),
        lambda *_: None,
    )


def _elsewhere(ids: pl.Series, listed: pa.Table) -> str:
    """Name another column of the node list that has all those ids, as what to send instead."""
    for name in listed.column_names:
        if len(ids) and name != "id" and is_text(listed[name].type):
            held = pl.Series(as_text(listed[name]), dtype=pl.String)
            if ids.is_in(held.implode()).all():
                return f"its column {shown(name)} has all of them: say so by columns=id={name} of the nodes"
    return ""


def _unlisted(listed: pa.Array, such: int, mend: str, end: str, value: object) -> str:
    if value is None or value == "":
        return EMPTY_END.format(end=end)
    return not_listed(end, value, listed, such, mend=mend)
