"""Lines of MatrixMarket, one an entry."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import scipy.io

from core.graphs.formats import _matrix_entries
from core.graphs.graph import Graph
from core.graphs.uploads.batches import RawGraph, ReadRequest, read_document
from core.graphs.uploads.findings import reject

_BANNER = re.compile(
    rb"%{1,2}MatrixMarket[ \t]+matrix[ \t]+(?P<layout>coordinate|array)[ \t]+"
    rb"(?P<field>real|double|integer|pattern|complex)[ \t]+"
    rb"(?P<symmetry>general|symmetric|skew-symmetric|hermitian)[ \t]*\r?\n",
    re.IGNORECASE,
)
# Possessive quantifiers (*+, ++): a long line of spaces is not tried in all its splits.
_TEXT = re.compile(rb"(?m)^(?!%)[ \t\r]*+[^ \t\r\n]")
_SIZES = re.compile(
    rb"[ \t]*+(?P<rows>\d{1,18})[ \t]++(?P<columns>\d{1,18})[ \t]++(?P<entries>\d{1,18})[ \t]*+\r?(?:\n|\Z)"
)
_VALUES = {b"pattern": 0, b"real": 1, b"double": 1, b"integer": 1, b"complex": 2}
"""How many numbers follow row and column."""
_NUMBER = rb"[-+]?(?:\d++\.?\d*+|\.\d++|inf|nan)(?:[eE][-+]?\d++)?"
_FILLED = re.compile(rb"(?m)^[ \t]*+[^ \t\r\n]")
_SPACES = re.compile(rb"[ \t]++")
_EDGES = re.compile(rb"(?m)^[ \t]++|[ \t]++(?=\r?$)")


def read(request: ReadRequest) -> RawGraph:
    """Read entries that are not zero as edges. Nodes are numbers from 0; IngestRejected where damaged."""
    return _matrix_entries.raw_graph(_entries(request, read_document(request, "matrix_market")), request)


def _entries(request: ReadRequest, data: bytes) -> _matrix_entries.Entries:
    """Read what the document lists, mirrored where it is symmetric.

    By Arrow's reader of delimited text: scipy's own follows a broken number past the end of its memory.
    """
    banner, sizes = _head(request, data)
    values = _VALUES[banner["field"].lower()]
    body = _SPACES.sub(b" ", _EDGES.sub(b"", data[sizes.end() :]))
    if not body.strip():
        none = np.zeros(0, np.int64)
        ends, weights = (none, none), none
    else:
        names = ["row", "column", *(f"value {number}" for number in range(values))]
        kinds = {name: pa.int64() if name in names[:2] else pa.float64() for name in names}
        try:
            table = pacsv.read_csv(
                pa.BufferReader(body),
                read_options=pacsv.ReadOptions(column_names=names),
                parse_options=pacsv.ParseOptions(delimiter=" ", quote_char=False),
                convert_options=pacsv.ConvertOptions(column_types=kinds, null_values=[]),
            )
        except pa.ArrowInvalid:
            _blame(request, data, sizes, values)
        # The format counts rows and columns from 1.
        ends = tuple(table[name].to_numpy() - 1 for name in names[:2])
        stored = [table[name].to_numpy() for name in names[2:]]
        weights = stored[0] if stored else np.ones(len(ends[0]), bool)
        if len(stored) > 1:
            request.remark("The values of the matrix are complex numbers, and are not read.")
            weights = weights + 1j * stored[1]
    if len(weights) != int(sizes["entries"]):
        message = f"the size line promises {int(sizes['entries'])} entries, the file has {len(weights)}"
        reject(
            request.file, f"{message}; write it again", line=data.count(b"\n", 0, sizes.start("entries")) + 1
        )
    for index, most in zip(ends, (int(sizes["rows"]), int(sizes["columns"])), strict=True):
        outside = np.flatnonzero((index < 0) | (index >= most))
        if len(outside):
            problem = f"the index {index[outside[0]] + 1} is not in 1 to {most} ({len(outside)} such)"
            line = _line_of(data, sizes.end(), int(outside[0]))
            reject(request.file, f"{problem}; mend it, or the line of sizes", line=line)
    # One triangle is stored: the other mirrors it, with the opposite sign where it is skew.
    if banner["symmetry"].lower() != b"general":
        ends = (np.concatenate(ends), np.concatenate(ends[::-1]))
        skew = banner["symmetry"].lower() == b"skew-symmetric" and weights.dtype != bool
        weights = np.concatenate([weights, -weights if skew else weights])
    shape = (int(sizes["rows"]), int(sizes["columns"]))
    return _matrix_entries.Entries(*ends, weights, shape)


def _head(request: ReadRequest, data: bytes) -> tuple[re.Match[bytes], re.Match[bytes]]:
    """Match the first line, and the line of sizes."""
    banner = _BANNER.match(data)
    if banner is None:
        message = "the first line is no MatrixMarket banner; write the matrix with scipy.io.mmwrite"
        reject(request.file, message, line=1)
    if banner["layout"].lower() != b"coordinate":
        reject(request.file, "the matrix is dense (array); write it in coordinate form", line=1)
    text = _TEXT.search(data, banner.end())
    start = len(data) if text is None else text.start()
    sizes = _SIZES.match(data, start)
    if sizes is None:
        line = data.count(b"\n", 0, start) + 1
        reject(request.file, "the line is not 'rows columns entries'; write the matrix again", line=line)
    return banner, sizes


def _line_of(data: bytes, start: int, entry: int) -> int:
    """Count the line of an entry, from 0, among those that are not blank."""
    found = next(islice(_FILLED.finditer(data, start), entry, None))
    return data.count(b"\n", 0, found.start()) + 1


def _blame(request: ReadRequest, data: bytes, sizes: re.Match[bytes], values: int) -> NoReturn:
    """Name the first line that is no entry."""
    entry = rb"\d{1,18}[ \t]++\d{1,18}(?:[ \t]++%b){%d}" % (_NUMBER, values)
    strange = re.compile(rb"(?m)^(?![ \t]*+(?:%b)?[ \t]*+\r?$)" % entry).search(data, sizes.end())
    if strange is not None:
        wanted = f"row, column and {values} values" if values else "row and column"
        line = data.count(b"\n", 0, strange.start()) + 1
        reject(request.file, f"the line is not {wanted}; write the matrix again", line=line)
    line = data.count(b"\n", 0, sizes.end()) + 1
    reject(request.file, "the entries cannot be read as numbers; write the matrix again", line=line)


def write(graph: Graph, path: Path) -> None:
    """Write a pattern matrix, or one of values; symmetric when the relation is. Row i is node i."""
    matrix = _matrix_entries.matrix_of(graph)
    edge_type = graph.schema.edge_types[0]
    undirected = edge_type.homogeneous and not edge_type.directed
    with path.open("wb") as file:
        symmetry = "symmetric" if undirected else "general"
        carried = graph.edges[edge_type.name].values is not None
        field = ("real" if matrix.dtype.kind == "f" else "integer") if carried else "pattern"
        scipy.io.mmwrite(file, matrix, field=field, symmetry=symmetry)
