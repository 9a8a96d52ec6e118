"""Documents of GEXF, read and written by NetworkX."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import pyarrow as pa
from networkx.exception import NetworkXException
from networkx.readwrite.gexf import GEXFReader, GEXFWriter

from core.errors import NotAccepted
from core.graphs.columns.arrays import times_of
from core.graphs.formats._documents import BROKEN, exported, raw_graph
from core.graphs.formats._xml import listed
from core.graphs.formats.gexf import refuses
from core.graphs.graph import Graph
from core.graphs.schema import STEP, TimeGrid
from core.graphs.uploads.batches import RawGraph, ReadRequest, read_document
from core.graphs.uploads.findings import reject

_UNREAD = frozenset({"start", "end", "spells", "slices", "viz", "pid", "parents"})
MOST_TIMES = 1 << 21
"""How many edges the spells of a document may make."""


def read(request: ReadRequest) -> RawGraph:
    """Read nodes, edges and their spells; IngestRejected where the document is damaged.

    An edge is there at every time of the grid within a spell of it; without a grid, where the spell begins
    and where it ends.
    """
    data = read_document(request, "gexf")
    there = listed(request, data)
    try:
        made = _Reader(node_type=str)(io.BytesIO(data))
    except (NetworkXException, RuntimeError, *BROKEN) as error:
        mend = "check its attributes; where some edges have a direction, write the others as mutual"
        reject(request.file, f"the document is no GEXF graph ({error}); {mend}")
    # NetworkX reads one graph of several, and one edge of those that share an id,
    # without a word: what the document lists is compared with what it has made.
    if there.nodes != made.number_of_nodes():
        reject(request.file, "the document holds several graphs; write one")
    if there.edges + (there.mutual if made.is_directed() else 0) != made.number_of_edges():
        reject(request.file, "edges between the same nodes share an id; give each its own, or none")
    return raw_graph(_plain(made, request), request)


def _plain(made: nx.Graph, request: ReadRequest) -> nx.Graph:
    """Say in words of any document what GEXF says in its own: relations, times, and labels that are ids."""
    kind = nx.MultiDiGraph if made.is_directed() else nx.MultiGraph
    plain, changing = kind(), set[str]()
    labelled = any(data.get("label") not in (None, key) for key, data in made.nodes(data=True))
    for key, data in made.nodes(data=True):
        plain.add_node(key, **_kept(data, changing, _UNREAD if labelled else _UNREAD | {"label"}))
    has_relations = any("relation" in data for _, _, data in made.edges(data=True))
    edges, spells = [], []
    for source, target, data in made.edges(data=True):
        kept = _kept(data, changing, _UNREAD)
        if has_relations and "type" not in kept:
            kept["type"] = kept.pop("relation", None)
        own = [*data.get("spells", ()), *data.get("slices", ())]
        own += [(data.get("start"), data.get("end"))] if {"start", "end"} & data.keys() else []
        edges.append((source, target, kept))
        spells.append([(first or last, last or first) for first, last in own])
    for (source, target, kept), times in zip(edges, _times(spells, request), strict=True):
        for time in times:
            plain.add_edge(source, target, **kept, **({} if time is None else {"time": time}))
    if changing:
        request.remark(f"Values that change over time are not read: {', '.join(sorted(changing))}.")
    return plain


def _kept(data: dict[str, Any], changing: set[str], but: frozenset[str]) -> dict[str, Any]:
    """Keep what stays the same over time; NetworkX makes a list of values and their times of the rest."""
    changing.update(name for name, value in data.items() if name not in but and isinstance(value, list))
    return {name: value for name, value in data.items() if name not in but and name not in changing}


def _times(
    spells: list[list[tuple[str | None, str | None]]], request: ReadRequest
) -> Iterator[list[str | int | None]]:
    """Yield the times of each edge: those of the grid within its spells; None alone where it has none."""
    ends = [end for each in spells for spell in each for end in spell]
    values, valid, _ = times_of(pa.chunked_array([pa.array(ends, pa.string())]))
    place = made = 0
    for each in spells:
        times: list[str | int | None] = []
        for first, last in each:
            times.append(first)
            low, high = values[place : place + 2].tolist()
            if request.grid and bool(valid[place : place + 2].all()) and _holds(request.grid, high):
                times += _within(request.grid, low, high)
            else:
                times.append(last)
            place += 2
        made += len(times)
        if made > MOST_TIMES:
            reject(
                request.file, f"the spells make more than {MOST_TIMES} edges; send a list of edges by time"
            )
        yield list(dict.fromkeys(times)) or [None]


def _holds(grid: TimeGrid, time: int) -> bool:
    return 0 <= time - grid.start < grid.width * grid.count


def _within(grid: TimeGrid, low: int, high: int) -> range:
    """List the beginnings of the steps after that of ``low``, up to that of ``high``."""
    first = grid.start + ((low - grid.start) // grid.width + 1) * grid.width
    return range(max(first, grid.start), high + 1, grid.width)


class _Reader(GEXFReader):  # type: ignore[misc]  # networkx has no types
    """Has times as they stand: numbers and dates are told apart later."""

    timeformat = property(lambda self: "string", lambda self, _: None)


def write(graph: Graph, path: Path) -> None:
    """Write nodes and edges with what they carry. Every node has its attributes (vectors as text).

    Where there are several node types nodes carry ``type`` and ``node_id``, and where there are several
    relations edges carry ``relation``. O(n + m) Python objects.
    """
    if reason := refuses(graph.schema):
        raise NotAccepted(reason, field="format")
    writer = GEXFWriter(prettyprint=False)
    writer.add_graph(_timed(exported(graph, lists=False), dynamic=graph.schema.temporal))
    for meta in writer.xml.iter("meta"):
        meta.attrib.pop("lastmodifieddate", None)  # the same bytes for the same graph, on any day
    with path.open("wb") as file:
        writer.write(file)


def _timed(made: nx.Graph, *, dynamic: bool) -> nx.Graph:
    """Say relations and steps in GEXF's words."""
    timed = made.__class__(mode="dynamic" if dynamic else "static")
    timed.add_nodes_from(made.nodes(data=True))
    times: dict[tuple[str, str, str | None], dict[int, int]] = {}
    for source, target, data in made.edges(data=True):
        time, step, relation = data.pop("time", None), data.pop(STEP, None), data.pop("type", None)
        attributes: dict[str, Any] = {} if relation is None else {"relation": relation}
        if step is None:
            timed.add_edge(source, target, **attributes, **data)
        elif data:
            timed.add_edge(source, target, **attributes, **data, start=time, end=time)
        else:
            times.setdefault((source, target, relation), {})[step] = time
    for (source, target, relation), found in times.items():
        attributes = {} if relation is None else {"relation": relation}
        timed.add_edge(
            source,
            target,
            **attributes,
            spells=[(found[first], found[last]) for first, last in _runs(sorted(found))],
        )
    return timed


def _runs(steps: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and last of every run of steps that follow one another."""
    first = last = steps[0]
    for step in steps[1:]:
        if step > last + 1:
            yield first, last
            first = step
        last = step
    yield first, last
