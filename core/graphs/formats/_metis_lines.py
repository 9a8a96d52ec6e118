"""Lines of METIS's graphs, one a vertex."""

from __future__ import annotations

import re
from array import array
from pathlib import Path
from typing import NoReturn

import numpy as np
import pyarrow as pa

from core.errors import NotAccepted
from core.graphs.formats import _matrix_entries
from core.graphs.formats.metis import refuses
from core.graphs.graph import Graph
from core.graphs.uploads.batches import RawGraph, ReadRequest, read_document
from core.graphs.uploads.findings import reject
from core.graphs.uploads.tables import columnar

_SIZES = re.compile(rb"[ \t]*(\d{1,9})[ \t]+(\d{1,12})(?:[ \t]+([01]{1,3})(?:[ \t]+(\d{1,2}))?)?[ \t\r]*")
_NUMBERS = re.compile(rb"(?:[ \t]*+[0-9]{1,18}+(?![0-9]))*+[ \t\r]*+")


def read(request: ReadRequest) -> RawGraph:
    """Read vertices and edges with their weights. Vertices are named by number from 0; IngestRejected where
    damaged.

    Every edge stands in the lines of both its ends. What vertices weigh is not read.
    """
    lines = read_document(request, "metis").split(b"\n")
    rows = [(number, line) for number, line in enumerate(lines, start=1) if not line.startswith(b"%")]
    sizes = _SIZES.fullmatch(rows[0][1]) if rows else None
    if sizes is None:
        _refuse(request, "the line is not 'vertices edges', perhaps with the format of weights", 1)
    count, promised = int(sizes[1]), int(sizes[2])
    # Three digits, leading zeros left out: sizes of vertices, weights of vertices, weights of edges.
    sized, weighing, weighted = (each == b"1"[0] for each in (sizes[3] or b"").zfill(3))
    before = sized + weighing * int(sizes[4] or 1)
    if before:
        request.remark("Sizes and weights of vertices are not read.")
    if len(rows) - 1 < count:
        problem = f"{count} vertices are promised, and {len(rows) - 1} lines follow"
        _refuse(request, f"{problem}; write an empty line for one without neighbours", rows[0][0])
    source, target, weight = array("q"), array("q"), array("q")
    for vertex, (number, line) in enumerate(rows[1:]):
        if not _NUMBERS.fullmatch(line):
            _refuse(request, "the line holds something else than whole numbers; mend it", number)
        held = [int(each) for each in line.split()][before:]
        others = held[::2] if weighted else held
        if vertex >= count and line.strip():
            _refuse(request, f"{count} vertices are promised, and this is a line more; mend either", number)
        if strange := [each for each in others if not 1 <= each <= count]:
            _refuse(request, f"the neighbour {strange[0]} is no vertex from 1 to {count}", number)
        if weighted and len(held) % 2:
            _refuse(request, "the last neighbour has no weight; give it one", number)
        source.extend([vertex] * len(others))
        target.extend(others)
        weight.extend(held[1::2] if weighted else ())
    rows_, columns = np.frombuffer(source, np.int64), np.frombuffer(target, np.int64) - 1
    _require_both(request, rows_, columns, promised, [number for number, _ in rows[1:]])
    values = np.frombuffer(weight, np.int64) if weighted else np.ones(len(rows_), bool)
    made = _matrix_entries.raw_graph(_matrix_entries.Entries(rows_, columns, values, (count, count)), request)
    ids = pa.array(np.arange(count)).cast(pa.string())
    return RawGraph(made.edges, iter([columnar(pa.table({"id": ids}))]), False)


def _refuse(request: ReadRequest, message: str, line: int) -> NoReturn:
    reject(request.file, message, line=line)


def _require_both(
    request: ReadRequest, source: np.ndarray, target: np.ndarray, promised: int, lines: list[int]
) -> None:
    """Refuse edges that stand at one end alone, and another number of them than is promised."""
    width = np.int64(max(len(lines), 1))
    # A pair and the same turned around, each as one number.
    alone = np.flatnonzero(~np.isin(source * width + target, target * width + source))
    if len(alone):
        one, other = int(source[alone[0]]) + 1, int(target[alone[0]]) + 1
        problem = f"vertex {one} names {other}, which does not name it ({len(alone)} such)"
        _refuse(request, f"{problem}; write every edge at both ends", lines[one - 1])
    # Every edge once: in the line of its smaller end.
    found = int((source <= target).sum())
    if found != promised:
        _refuse(request, f"{promised} edges are promised, and there are {found}; mend either", 1)


def write(graph: Graph, path: Path) -> None:
    """Write a line for each node, in their order. It has its neighbours, by number from 1, and what edges
    hold."""
    if reason := refuses(graph.schema):
        raise NotAccepted(reason, field="format")
    adjacency = _matrix_entries.matrix_of(graph)
    (edges,) = graph.edges.values()
    with path.open("w", encoding="ascii") as file:
        weighted = edges.values is not None
        file.write(f"{adjacency.shape[0]} {edges.count}{' 001' if weighted else ''}\n")
        columns = [adjacency.indices + 1, *([adjacency.data] if weighted else [])]
        fields = np.stack(columns, axis=1)
        for first, last in zip(adjacency.indptr[:-1], adjacency.indptr[1:], strict=True):
            file.write(" ".join(map(str, fields[first:last].ravel().tolist())) + "\n")
