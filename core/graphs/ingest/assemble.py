"""Raw batches to a canonical graph, or to findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from core.graphs.columns.canonical import merge_edges
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.ingest.relations import (
    EdgeCollector,
    broken_degrees,
    broken_functional,
    broken_once,
    pair_keys,
)
from core.graphs.ingest.slots import reject_slots, rows_again
from core.graphs.ingest.universe import NodeCollector, indices
from core.graphs.schema import GRAPH_ID, EdgeType, GraphSchema
from core.graphs.uploads.batches import Batch, RawGraph
from core.graphs.uploads.files import IngestLimits
from core.graphs.uploads.findings import Findings, reject, shown
from core.graphs.uploads.rows import at_most, drain


@dataclass(frozen=True)
class Sources:
    """How to open the parts; again, when a second look is needed. ``nodes_file`` names the list's file.

    ``mend_time`` says what to do about a time outside the grid.
    """

    open: Callable[[], RawGraph]
    nodes_file: str = "nodes"
    edges_file: str = "edges"
    mend_time: str = "declare a wider one"


@dataclass(frozen=True)
class Assembled:
    """The graph and its counts by edge type. They are the counts ``rows, loops_dropped, duplicates_merged,
    edges``; where edges carry attributes ``values_clipped`` too, and where each row's are kept ``records``
    and, in the place of merged rows, ``duplicates_merged`` as the rows over the cap that were left out.
    """

    graph: Graph
    counts: dict[str, dict[str, int]]


Advance = Callable[[str, int], None]


def assemble_batches(
    schema: GraphSchema, sources: Sources, limits: IngestLimits, advance: Advance
) -> Assembled:
    """Build the canonical graph of the batches. IngestRejected with findings of the first bad part."""
    raw = sources.open()
    nodes = read_nodes(schema, raw.nodes, sources, limits, advance)
    return assemble_edges(schema, nodes, raw, sources, limits, advance)


def assemble_edges(
    schema: GraphSchema,
    nodes: Mapping[str, NodeTable],
    raw: RawGraph,
    sources: Sources,
    limits: IngestLimits,
    advance: Advance,
) -> Assembled:
    """Assemble as :func:`assemble_batches` does, over nodes that are known already."""
    collector = EdgeCollector(schema, indices(schema, nodes), sources.mend_time, lambda: sources.open().edges)
    if raw.edges is None:
        reject(sources.edges_file, "the file holds no edges; upload an edge list as the part edges")
    file = sources.edges_file
    bounded = at_most(
        limits.max_rows,
        file,
        "the file",
        "rows",
        lambda bytes_done: advance("edges", bytes_done),
        limits.mend_rows,
    )
    drain(raw.edges, collector.resolve, collector.keep, Findings(file, limits.max_findings), bounded)
    tables: dict[str, EdgeTable] = {}
    counts: dict[str, dict[str, int]] = {}
    for edge_type in schema.edge_types:
        rows, times = collector.columns(edge_type)
        # Before rows are merged, which leaves one time of several.
        if edge_type.once and times is not None:
            broken = broken_once(edge_type, rows, times)
            if len(broken):
                _reject_conflicts(edge_type, "time", broken, collector, sources, limits)
        merged = merge_edges(schema, edge_type, nodes, rows, times if edge_type.ordered else None)
        if merged.faults:
            again = rows_again(edge_type, collector, sources.open().edges)
            reject_slots(schema, edge_type, merged, again, Findings(file, limits.max_findings))
        # After rows are merged: an edge that is repeated gives no second target.
        if edge_type.functional:
            broken = broken_functional(merged.edges)
            if len(broken):
                _reject_conflicts(edge_type, "target", broken, collector, sources, limits)
        _require_bound(edge_type, merged.edges, sources)
        tables[edge_type.name] = merged.edges
        counts[edge_type.name] = {
            "rows": rows.count,
            "loops_dropped": merged.loops_dropped,
            "duplicates_merged": merged.duplicates_merged,
            "edges": merged.edges.count,
        }
        if edge_type.attributes:
            counts[edge_type.name]["values_clipped"] = collector.clipped[edge_type.name] + merged.clipped
        if not edge_type.merged and merged.edges.values is not None:
            counts[edge_type.name]["records"] = merged.edges.values.count
    broken_nodes = broken_degrees(schema, tables)
    if broken_nodes:
        _reject_degrees(schema, broken_nodes, collector, sources, limits)
    return Assembled(Graph.of_canonical(schema, nodes, tables), counts)


def read_nodes(
    schema: GraphSchema,
    batches: Iterator[Batch] | None,
    sources: Sources,
    limits: IngestLimits,
    advance: Advance,
) -> dict[str, NodeTable]:
    """Read the universe of every node type. It comes from the list and the declared counts."""
    file = sources.nodes_file
    if batches is None:
        for node_type in schema.node_types:
            if node_type.count is None or node_type.attributes:
                name = node_type.name
                reject(
                    file, f"node type {name!r} needs a node list; upload the part nodes or declare a count"
                )
        return {t.name: NodeTable(t.count) for t in schema.node_types if t.count is not None}
    collector = NodeCollector(schema, limits)
    bounded = at_most(
        limits.max_nodes, file, "the list", "nodes", lambda bytes_done: advance("nodes", bytes_done)
    )
    drain(batches, collector.resolve, collector.keep, Findings(file, limits.max_findings), bounded)
    duplicates = collector.duplicates()
    if duplicates:
        _reject_duplicates(duplicates, collector, sources, limits)
    tables, problems = collector.tables()
    findings = Findings(file, limits.max_findings)
    for problem in problems:
        findings.add(None, None, problem)
    findings.raise_if_any()
    return tables


def _reject_duplicates(
    duplicates: dict[str, set[str]], collector: NodeCollector, sources: Sources, limits: IngestLimits
) -> None:
    """Read the list again, to say where an id stands a second time."""
    findings = Findings(sources.nodes_file, limits.max_findings)
    first: dict[tuple[str, str], int] = {}
    column = collector.kinds.column
    several = len(collector.listed) > 1 or column == GRAPH_ID
    names = dict(zip(collector.kinds.values.to_pylist(), collector.listed, strict=True))
    for batch in sources.open().nodes or ():
        for part in batch.carefully():
            ids = part.table["id"].cast(pa.string()).to_pylist()
            types = part.table[column].cast(pa.string()).to_pylist() if several else None
            only = next(iter(collector.listed))
            for row, each in enumerate(ids):
                name = names.get(types[row], "") if types else only
                if each not in duplicates.get(name, ()):
                    continue
                line = int(part.lines[row])
                known = first.setdefault((name, each), line)
                if known != line:
                    message = f"the node {shown(each)} is listed already in line {known}; list each node once"
                    findings.add(line, part.fields["id"], message)
            if findings.full:
                break
    findings.raise_if_any()


def _require_bound(edge_type: EdgeType, table: EdgeTable, sources: Sources) -> None:
    """Refuse a snapshot of more edges than are declared, loops and duplicates not counted."""
    bound, name = edge_type.edge_bound, edge_type.name
    if bound is None or not table.count:
        return
    sizes = np.array([table.count]) if table.step is None else np.bincount(table.step)
    step = int(sizes.argmax())
    if sizes[step] > bound:
        where = "" if table.step is None else f" in snapshot {step}"
        message = f"{name!r} is declared to have at most {bound} edges, but has more{where}; "
        reject(sources.edges_file, message + "upload what was declared, or declare a higher edge_bound")


def _reject_degrees(
    schema: GraphSchema,
    broken: Mapping[str, np.ndarray],
    collector: EdgeCollector,
    sources: Sources,
    limits: IngestLimits,
) -> None:
    """Refuse the nodes of more edges than are declared, each by the first row that it stands in."""
    findings = Findings(sources.edges_file, limits.max_findings)
    named: set[tuple[str, int]] = set()
    for edge_type in schema.edge_types:
        sides = [side for side in ("source", "target") if getattr(edge_type, side) in broken]
        if edge_type.public or not sides:
            continue
        for rows, lines, fields in rows_again(edge_type, collector, sources.open().edges):
            for side in sides:
                kind, ends = getattr(edge_type, side), getattr(rows, side)
                for row in np.flatnonzero(np.isin(ends, broken[kind])):
                    node = (kind, int(ends[row]))
                    if node not in named:
                        named.add(node)
                        bound = schema.node_type(kind).degree_bound
                        message = f"this node of type {kind!r} has more than the {bound} edges declared; "
                        findings.add(
                            int(lines[row]),
                            fields.get(side),
                            message + "upload what was declared, or declare a higher degree_bound",
                        )
    findings.raise_if_any()


_CONFLICTS = {
    "target": ("functional", "gives this source another target"),
    "time": ("once over time", "has the pair at another time"),
}


def _reject_conflicts(
    edge_type: EdgeType,
    column: str,
    broken: np.ndarray,
    collector: EdgeCollector,
    sources: Sources,
    limits: IngestLimits,
) -> None:
    """Refuse each row that gives a ``broken`` source (or pair) another target (or time) than before."""
    findings = Findings(sources.edges_file, limits.max_findings)
    first: dict[int, tuple[int, int]] = {}
    declared, conflict = _CONFLICTS[column]
    for rows, lines, fields in rows_again(edge_type, collector, sources.open().edges):
        keys, values = rows.source, rows.target
        if column == "time":
            assert rows.time is not None
            keys, values = pair_keys(edge_type, rows.source, rows.target), rows.time
        chosen = np.isin(keys, broken)
        # Loops are dropped and break nothing.
        if edge_type.homogeneous:
            chosen &= rows.source != rows.target
        for row in np.flatnonzero(chosen):
            value, line = int(values[row]), int(lines[row])
            known = first.setdefault(int(keys[row]), (value, line))
            if known[0] != value:
                message = f"{edge_type.name!r} is declared {declared}, but line {known[1]} {conflict}; "
                findings.add(line, fields.get(column), message + "keep one, or do not declare it")
        if findings.full:
            break
    findings.raise_if_any()
