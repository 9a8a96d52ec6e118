"""A schema read off an upload, for the curator to confirm.

A proposal looks at private data: ranges of time, names of types, perhaps the node list itself. Nothing
follows from it until a person confirms it, and its warnings say so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from core.graphs.columns.arrays import as_text, times_of
from core.graphs.ingest.proposed_nodes import (
    Ends,
    ProposedNodes,
    end_types,
    listed_by_ends,
    of_one_sort,
    proposed_nodes,
    require_listed,
)
from core.graphs.ingest.relations import no_time
from core.graphs.ingest.value_proposal import Seen, numbers_as_texts, proposed_values
from core.graphs.reading.model import Reading, Role
from core.graphs.reading.sorts import names_of
from core.graphs.reading.variants import told_of_ids, told_of_times
from core.graphs.schema import (
    MAX_TIME,
    MAX_TYPES,
    EdgeType,
    GraphSchema,
    TimeGrid,
)
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.graphs.schema.grids import proposed_grid, width_in_words
from core.graphs.schema.names import MAX_SHOWN, is_shown, type_names
from core.graphs.uploads.batches import END_TYPES, Batch, Notes, RawGraph
from core.graphs.uploads.files import IngestLimits
from core.graphs.uploads.findings import Findings, reject, shown
from core.graphs.uploads.rows import Fault, Resolved, at_most, drain, note

_STRUCTURE = frozenset({"source", "target", "time", "type", *END_TYPES})
_DIRECTIONS = {"directed": True, "undirected": False}
"""What Gephi writes into the column type of edges: no relation, but whether they have a direction."""

READS_DATA = (
    "This proposal was read off the data. Once confirmed, it is public: node types, edge types and the time "
    "grid. Confirm only what may be known to everyone."
)
DERIVED_NODES = (
    "No node list was uploaded. The proposed list holds exactly the nodes that have an edge, so confirming "
    "it publishes who has one. Upload the list of the whole population instead where that is private."
)
UNDIRECTED = "Direction cannot be read off the rows; every edge type is proposed as undirected."
DIRECTED = "The document says that its edges are directed, and so is every edge type within one node type."
BOTH_DIRECTIONS = (
    "The column type says of some edges that they are directed, and of others that they are not: all are "
    "proposed as directed, once. Write an undirected edge in both directions where that matters."
)


@dataclass(frozen=True)
class SchemaProposal:
    """A proposed schema with its node list. ``nodes`` is the derived node list (column ``id``) when none was
    uploaded; show the ``warnings``.

    ``ignored`` are columns of the edges that no schema can hold: they go with the proposal's confirmation.
    """

    schema: GraphSchema
    nodes: pa.Table | None
    warnings: tuple[str, ...]
    ignored: tuple[str, ...]


@dataclass
class _Relation:
    sources: Ends = field(default_factory=dict)
    targets: Ends = field(default_factory=dict)
    pairs: set[tuple[str | None, str | None]] = field(default_factory=set)
    low: int | None = None
    high: int | None = None
    grain: int = 0
    values: dict[str, Seen] = field(default_factory=dict)


def propose(
    open_parts: Callable[[Notes], RawGraph],
    limits: IngestLimits,
    nodes_file: str = "nodes",
    reading_of_edges: Callable[[], Reading | None] = lambda: None,
) -> SchemaProposal:
    """Propose a schema that the parts satisfy. IngestRejected where none can be read off them. O(m).

    ``nodes_file`` names the file of the node list in findings; ``reading_of_edges`` says, once they were
    read, how that was.
    """
    notes = Notes()
    raw = open_parts(notes)
    listed = None if raw.nodes is None else _table(raw.nodes, nodes_file, limits)
    if raw.edges is None:
        reject("edges", "the file holds no edges; upload an edge list as the part edges")
    found, directions = _relations(raw.edges, limits)
    reading = reading_of_edges()
    directed = any(directions) or bool(raw.directed)
    names = type_names(list(found))
    relations = {names[shown_as]: each for shown_as, each in found.items()}
    warnings = [READS_DATA, DIRECTED if directed else UNDIRECTED, *notes.remarks]
    warnings += [BOTH_DIRECTIONS] if len(directions) > 1 else []
    carried, unread, rewritten = proposed_values(
        {name: dict(sorted(each.values.items())) for name, each in sorted(relations.items())},
        {name: each.low is not None for name, each in relations.items()},
    )
    warnings += rewritten
    warnings += numbers_as_texts({name: each.values for name, each in sorted(relations.items())})
    ignored = tuple(notes.skipped | dict.fromkeys(unread))
    if unread:
        unread_columns = "; ".join(f"{shown(name)}, as {why}" for name, why in unread.items())
        warnings.append(f"Columns of the edges that are not read: {unread_columns}.")
    if any(carried.values()):
        warnings.append(_proposed_values(carried))
    derived = None
    if reading is not None and reading.bipartite and (listed is None or _lists_both(listed, reading)):
        _two_sorts(relations.values(), reading)
    sources, targets = ([getattr(each, end) for each in relations.values()] for end in ("sources", "targets"))
    if listed is None:
        listed = derived = listed_by_ends(sources, targets)
        if not len(derived):
            reject("edges", "the file holds no edge, and so names no node; upload rows, or a node list too")
        warnings.append(DERIVED_NODES)
    # An empty end names nobody: it is refused below, with its line.
    named = listed if derived is None else derived.filter(pc.field("id") != "")
    nodes = proposed_nodes(named, nodes_file)
    if derived is not None and len(named) < len(derived):
        require_listed(lambda: open_parts(Notes()).edges, nodes, [*sources, *targets], limits)
    ends = {name: _ends(nodes, name, each) for name, each in relations.items()}
    if not all(ends.values()):
        require_listed(lambda: open_parts(Notes()).edges, nodes, [*sources, *targets], limits)
        nodes = of_one_sort(nodes, nodes_file)
        ends = {name: _ends(nodes, name, each) for name, each in relations.items()}
    one_sort = any(each is not None and each[0] == each[1] for each in ends.values())
    if reading is not None and reading.bipartite and one_sort:
        warnings.append(
            "The ends may be two sorts of nodes, but the node list names one: give it a column type with "
            "both, where one id stands for two."
        )
    if nodes.unread:
        unread_columns = "; ".join(f"{shown(name)}, as {why}" for name, why in nodes.unread.items())
        warnings.append(f"Columns of the nodes that are not read: {unread_columns}.")
    warnings += nodes.warnings + told_of_ids(listed["id"])
    in_files = {name: each for each, name in names.items() if name != each}
    edge_types = tuple(
        _edge_type(name, in_files.get(name), each, ends[name], directed, carried[name])
        for name, each in sorted(relations.items())
    )
    grid = _grid(list(relations.values()))
    warnings += told_of_times([end for each in relations.values() for end in (each.low, each.high)])
    if grid is not None and grid.width > 1:
        warnings.append(
            "Times are taken as seconds since 1970 in UTC, or as milli-, micro- or nanoseconds where they "
            f"are that large: the proposed grid has {grid.count} steps of {width_in_words(grid)}. Declare "
            "another grid where you mean other steps."
        )
    schema = GraphSchema(node_types=nodes.types, edge_types=edge_types, time=grid)
    return SchemaProposal(schema, derived, tuple(warnings), ignored)


def names_of_sorts(reading: Reading | None) -> tuple[str, str]:
    """Name the two sorts of nodes after the columns of the ends."""
    ends = [None if reading is None else reading.column(role) for role in (Role.SOURCE, Role.TARGET)]
    return names_of(*(None if each is None else each.name for each in ends))


def _lists_both(listed: pa.Table, reading: Reading) -> bool:
    """Tell whether the list of nodes names both sorts as its types."""
    types = listed["type"].unique().to_pylist() if "type" in listed.column_names else []
    return set(names_of_sorts(reading)) <= set(types)


def _two_sorts(relations: Iterable[_Relation], reading: Reading) -> None:
    """Say of every end which sort it is: an id that stands at both ends is two nodes."""
    source, target = names_of_sorts(reading)
    for each in relations:
        if each.pairs:
            each.sources = {source: [ids for parts in each.sources.values() for ids in parts]}
            each.targets = {target: [ids for parts in each.targets.values() for ids in parts]}
            each.pairs = {(source, target)}


def _proposed_values(carried: Mapping[str, tuple[EdgeAttribute, ...]]) -> str:
    """Say what edges are proposed to carry, and how to have it otherwise."""
    named = "; ".join(
        f"{', '.join(f'{attribute.name} ({attribute.kind})' for attribute in attributes)} of {name}"
        for name, attributes in carried.items()
        if attributes
    )
    return (
        f"What edges carry was read off the data: {named}. Categories and bounds become public; bounds were "
        "widened to round numbers. Of several rows of one edge the latest value is taken, without time the "
        "largest: declare another aggregate where you mean a sum or a mean. Upload with extra_columns=ignore "
        "where edges shall carry nothing."
    )


def _table(batches: Iterator[Batch], file: str, limits: IngestLimits) -> pa.Table:
    tables = [_checked(batch, file, limits) for batch in batches]
    return pa.concat_tables(tables, promote_options="permissive")


def _checked(batch: Batch, file: str, limits: IngestLimits) -> pa.Table:
    if batch.table is not None:
        return batch.table
    findings = Findings(file, limits.max_findings)
    parts = []
    for part in batch.carefully():
        note(part, [], findings)
        parts.append(part.table)
    findings.raise_if_any()
    return pa.concat_tables(parts)


Gathered = list[tuple[str | None, pa.Table, np.ndarray | None]]


def _relations(batches: Iterator[Batch], limits: IngestLimits) -> tuple[dict[str, _Relation], set[bool]]:
    """Gather what the rows say of each relation, by how files name it, and which directions they name.

    Findings name the lines of unusable types and times.
    """
    relations: dict[str | None, _Relation] = {}
    directions: set[bool] = set()

    def resolve(table: pa.Table) -> Resolved[Gathered]:
        faults: list[Fault] = []
        names = as_text(table["type"]) if "type" in table.column_names else None
        gathered: Gathered = []
        # Sorted: nothing may follow from where in the file a type comes first.
        for name in [None] if names is None else sorted(set(names.unique().to_pylist()), key=str):
            chosen = np.arange(table.num_rows) if names is None else np.flatnonzero(_are(names, name))
            if name and not is_shown(name):
                faults.append(Fault(chosen, "type", _unusable))
                continue
            part = table if names is None else table.take(pa.array(chosen))
            gathered.append((name or None, part, _times(part, chosen, faults)))
        return Resolved(gathered, table.num_rows, faults)

    def keep(found: Gathered) -> None:
        for name, part, times in found:
            if name is not None and (says := _DIRECTIONS.get(name.lower())) is not None:
                directions.add(says)
                name = None
            _gather(relations.setdefault(name, _Relation()), part, times, limits)

    bounded = at_most(limits.max_rows, "edges", "the file", "rows", mend=limits.mend_rows)
    drain(batches, resolve, keep, Findings("edges", limits.max_findings), bounded)
    named = {name: each for name, each in relations.items() if name is not None}
    if len(named) > MAX_TYPES:
        reject(
            "edges",
            f"the column type has {len(named)} different values, and a graph has {MAX_TYPES} relations at "
            "most; if it holds something else, give the column another name",
        )
    if not named:
        return {"edge": relations.get(None, _Relation())}, directions
    if None in relations and relations[None].sources:
        what = "say a direction in the column type" if directions else "have no type"
        reject(
            "edges",
            f"some rows {what}, and others name relations there, such as {shown(min(named))}: give every row "
            "a type, or leave the column out",
        )
    return named, directions


def _are(names: pa.ChunkedArray, name: str | None) -> np.ndarray:
    same: np.ndarray = (
        names.is_null() if name is None else pc.fill_null(pc.equal(names, name), False)
    ).to_numpy()
    return same


def _unusable(name: object) -> str:
    return (
        f"the edge type {shown(name)} is no name: printable letters, {MAX_SHOWN} at most, without spaces "
        "around them. If the column holds something else, give it another name, or say what the fields are "
        "by the option columns"
    )


def _times(part: pa.Table, rows: np.ndarray, faults: list[Fault]) -> np.ndarray | None:
    """Read the times of one relation's rows; None where it has none. All of them carry one, or none does."""
    if "time" not in part.column_names or not part.num_rows:
        return None
    values, valid, empty = times_of(part["time"])
    if bool(empty.all()):
        return None
    far = valid & ((values < -MAX_TIME) | (values > MAX_TIME))
    for mask, explain in (
        (empty, lambda _: "the time is empty, but others of this type have one; mend the column"),
        (~valid & ~empty, no_time),
        (far, lambda v: f"the time {shown(v)} is beyond 2**62; use a wider unit"),
    ):
        if mask.any():
            faults.append(Fault(rows[mask], "time", explain))
    return values


def _gather(relation: _Relation, part: pa.Table, times: np.ndarray | None, limits: IngestLimits) -> None:
    if not part.num_rows:
        return
    for source_type, target_type, own in _by_end_types(part):
        relation.pairs.add((source_type, target_type))
        for end, kind, gathered in (
            ("source", source_type, relation.sources),
            ("target", target_type, relation.targets),
        ):
            gathered.setdefault(kind, []).append(pl.Series(as_text(own[end]).unique(), dtype=pl.String))
    both = (relation.sources, relation.targets)
    # Repeats among batches are taken out once many have gathered: it costs a pass over all.
    if sum(len(ids) for ends in both for parts in ends.values() for ids in parts) > limits.max_nodes:
        for ends in both:
            ends.update({kind: [pl.concat(parts).unique()] for kind, parts in ends.items()})
    for name in part.column_names:
        if name not in _STRUCTURE:
            relation.values.setdefault(name, Seen()).add(part[name])
    if times is not None:
        low, high = int(times.min()), int(times.max())
        relation.low = low if relation.low is None else min(relation.low, low)
        relation.high = high if relation.high is None else max(relation.high, high)
        # What all times are multiples of: steps may be as wide without moving any.
        relation.grain = math.gcd(relation.grain, int(np.gcd.reduce(times)))


def _by_end_types(part: pa.Table) -> Iterator[tuple[str | None, str | None, pa.Table]]:
    """Split the rows by the types of their ends, where a document says them."""
    if not set(END_TYPES) <= set(part.column_names):
        yield None, None, part
        return
    types = [as_text(part[end]) for end in END_TYPES]
    pairs = pa.table(types, names=END_TYPES).group_by(list(END_TYPES)).aggregate([]).to_pylist()
    for pair in pairs:
        rows = np.logical_and.reduce(
            [_are(column, pair[end]) for column, end in zip(types, END_TYPES, strict=True)]
        )
        yield pair[END_TYPES[0]], pair[END_TYPES[1]], part.filter(pa.array(rows))


def _ends(nodes: ProposedNodes, name: str, relation: _Relation) -> tuple[str, str] | None:
    return end_types(nodes, name, relation.pairs, (relation.sources, relation.targets))


def _edge_type(
    name: str,
    in_files: str | None,
    relation: _Relation,
    ends: tuple[str, str] | None,
    directed: bool,
    attributes: tuple[EdgeAttribute, ...],
) -> EdgeType:
    assert ends is not None  # nodes of one sort hold every end
    return EdgeType(
        name=name,
        shown=in_files,
        source=ends[0],
        target=ends[1],
        directed=directed and ends[0] == ends[1],  # elsewhere the types of the ends tell them apart
        temporal=relation.low is not None,
        attributes=attributes,
    )


def _grid(relations: list[_Relation]) -> TimeGrid | None:
    lows = [relation.low for relation in relations if relation.low is not None]
    highs = [relation.high for relation in relations if relation.high is not None]
    if not lows:
        return None
    grain = math.gcd(*(relation.grain for relation in relations))
    return proposed_grid(min(lows), max(highs), grain)
