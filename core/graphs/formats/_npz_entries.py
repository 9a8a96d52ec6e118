"""The entries of a matrix that scipy saved as NPZ. They are read without scipy's compiled code.

That code trusts index arrays: a pointer that goes back makes it write outside its memory, and it checks them
only where something is stored. Here every array's header is held against its bytes before they are read, and
every index against the shape, in NumPy, which checks bounds itself.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from tokenize import TokenError
from typing import IO

import numpy as np
import scipy.sparse as sp

from core.graphs.formats._matrix_entries import Entries, matrix_of, raw_graph
from core.graphs.graph import Graph
from core.graphs.reading.magic import MARKED, otherwise
from core.graphs.uploads.batches import RawGraph, ReadRequest, unpacked_limit
from core.graphs.uploads.findings import reject, shown

NEEDED = {
    "csr": ("indices", "indptr", "data"),
    "csc": ("indices", "indptr", "data"),
    "bsr": ("indices", "indptr", "data"),
    "coo": ("row", "col", "data"),
    "dia": ("offsets", "data"),
}
DAMAGED = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error, EOFError, OSError),
    *(ValueError, KeyError, TypeError, OverflowError, MemoryError, SyntaxError, TokenError, RecursionError),
    *(NotImplementedError, RuntimeError),  # a method of compression that is not known; an encrypted member
)
"""What reading an archive that is damaged, or no archive, raises."""
HEADER_BYTES = 10_000


class Unusable(ValueError):
    """An array that is not what its layout asks for; the text says which and why."""


def read(request: ReadRequest) -> RawGraph:
    """Read entries that are not zero as edges. Nodes are numbers from 0; IngestRejected where damaged."""
    return raw_graph(entries_of(request), request)


def write(graph: Graph, path: Path) -> None:
    """Write a CSR matrix of ones or weights; symmetric when the relation is. Row i is node i of the table."""
    matrix = matrix_of(graph)
    with path.open("wb") as file:
        sp.save_npz(file, matrix)


def entries_of(request: ReadRequest) -> Entries:
    """Read rows, columns and values of all stored entries, duplicates too. IngestRejected where damaged.

    Memory: linear in the arrays' bytes, which are bounded by what the file may unpack to; a diagonal layout
    unpacks to no more entries than it stores.
    """
    try:
        with zipfile.ZipFile(request.path) as archive:
            members = {each.filename.removesuffix(".npy"): each for each in archive.infolist()}
            size = sum(each.file_size for each in members.values())
            limit = unpacked_limit(request, request.limits.max_document_bytes)
            if size > limit:
                reject(request.file, f"the file exceeds {limit} bytes when unpacked; use parquet")
            arrays = _Arrays(archive, members)
            layout = bytes(arrays.read("format", "SU").astype("S").tobytes()).rstrip(b"\0").decode("ascii")
            if layout not in NEEDED:
                raise Unusable(f"sparse layout {shown(layout)} is not read; save it as csr")
            shape = _shape(arrays.read("shape", "iu"))
            given = {part: arrays.read(part, "iu" if part != "data" else "biufc") for part in NEEDED[layout]}
        rows, columns, values = LAYOUTS[layout](given, shape)
        _require(len(rows) == len(columns) == len(values), "its arrays differ in length")
        for index, most in ((rows, shape[0]), (columns, shape[1])):
            _require(not len(index) or (index.min() >= 0 and index.max() < most), "an index is out of range")
    except DAMAGED as error:
        with request.path.open("rb") as file:
            message = otherwise(file.read(MARKED), "npz")
        message = message or f"the file is no sparse matrix of scipy ({error}); use scipy.sparse.save_npz"
        reject(request.file, message)
    return Entries(rows, columns, values, shape)


class _Arrays:
    """The arrays of an archive, each read only when its header says just as many bytes as it has."""

    def __init__(self, archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo]) -> None:
        self._archive, self._members = archive, members

    def read(self, name: str, kinds: str) -> np.ndarray:
        """Read the array, of a dtype whose kind is one of ``kinds``; integers as int64."""
        if name not in self._members:
            raise Unusable(f"it holds no array {name!r}")
        member = self._members[name]
        with self._archive.open(member) as file:
            shape, fortran, kind = _header(file)
            if kind.kind not in kinds or kind.hasobject:
                raise Unusable(f"its array {name!r} is {kind}")
            # In Python's integers: a shape may multiply past 64 bits.
            count = int(np.prod(shape, dtype=object))
            if len(shape) > 3 or min(shape, default=0) < 0 or count * kind.itemsize > member.file_size:
                raise Unusable(f"its array {name!r} is cut off, or has too many dimensions")
            content = file.read(count * kind.itemsize)
        if len(content) != count * kind.itemsize:
            raise Unusable(f"its array {name!r} is cut off")
        made = np.frombuffer(content, kind).reshape(shape, order="F" if fortran else "C")
        if kind.kind == "u" and made.size and made.max() > np.iinfo(np.int64).max:
            raise Unusable(f"its array {name!r} holds numbers beyond 64 bits")
        return made.astype(np.int64) if kind.kind in "iu" and name != "data" else made


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(file, max_header_size=HEADER_BYTES)
    if version == (2, 0):
        return np.lib.format.read_array_header_2_0(file, max_header_size=HEADER_BYTES)
    raise Unusable(f"its arrays are of version {version}")


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise Unusable(problem)


def _shape(given: np.ndarray) -> tuple[int, int]:
    _require(given.shape == (2,), "it has not two dimensions")
    rows, columns = (int(each) for each in given)
    # So that an index and an offset add up within int64.
    _require(0 <= rows < 1 << 62 and 0 <= columns < 1 << 62, "its shape is out of range")
    return rows, columns


def _pointed(given: Mapping[str, np.ndarray], lines: int) -> tuple[np.ndarray, np.ndarray]:
    """Return for each stored index its line (a row of CSR), and the index."""
    pointers, indices = given["indptr"], given["indices"]
    _require(pointers.ndim == indices.ndim == 1, "its index arrays have more than one dimension")
    _require(len(pointers) == lines + 1, "its pointers do not suit its shape")
    _require(pointers[0] == 0 and pointers[-1] <= len(indices), "its pointers are out of range")
    lengths = np.diff(pointers)
    _require(not len(lengths) or lengths.min() >= 0, "its pointers go back")
    return np.repeat(np.arange(lines), lengths), indices[: pointers[-1]]


Found = tuple[np.ndarray, np.ndarray, np.ndarray]


def _rowwise(given: Mapping[str, np.ndarray], shape: tuple[int, int]) -> Found:
    _require(given["data"].ndim == 1, "its data have more than one dimension")
    rows, columns = _pointed(given, shape[0])
    return rows, columns, given["data"][: len(rows)]


def _columnwise(given: Mapping[str, np.ndarray], shape: tuple[int, int]) -> Found:
    columns, rows, values = _rowwise(given, (shape[1], shape[0]))
    return rows, columns, values


def _coordinates(given: Mapping[str, np.ndarray], shape: tuple[int, int]) -> Found:
    _require(all(each.ndim == 1 for each in given.values()), "its arrays have more than one dimension")
    return given["row"], given["col"], given["data"]


def _blocks(given: Mapping[str, np.ndarray], shape: tuple[int, int]) -> Found:
    data = given["data"]
    _require(data.ndim == 3 and min(data.shape[1:]) > 0, "its blocks are empty")
    tall, wide = data.shape[1:]
    _require(shape[0] % tall == 0 and shape[1] % wide == 0, "its blocks do not suit its shape")
    rows, columns = _pointed(given, shape[0] // tall)
    data = data[: len(rows)]
    _require(len(data) == len(rows), "its arrays differ in length")
    most = shape[1] // wide
    _require(not len(columns) or (columns.min() >= 0 and columns.max() < most), "an index is out of range")
    block, down, across = np.nonzero(data)
    return rows[block] * tall + down, columns[block] * wide + across, data[block, down, across]


def _diagonals(given: Mapping[str, np.ndarray], shape: tuple[int, int]) -> Found:
    """Place entry (d, j) of the data in column j, row j - ``offsets[d]``; some lie outside the matrix."""
    offsets, data = given["offsets"], given["data"]
    _require(offsets.ndim == 1 and data.ndim == 2 and len(offsets) == len(data), "its diagonals do not fit")
    _require(not len(offsets) or np.abs(offsets).max() < 1 << 62, "an offset is out of range")
    diagonal, columns = np.nonzero(data)
    rows = columns - offsets[diagonal]
    inside = (rows >= 0) & (rows < shape[0]) & (columns < shape[1])
    return rows[inside], columns[inside], data[diagonal[inside], columns[inside]]


LAYOUTS: Mapping[str, Callable[[Mapping[str, np.ndarray], tuple[int, int]], Found]] = {
    "csr": _rowwise,
    "csc": _columnwise,
    "bsr": _blocks,
    "coo": _coordinates,
    "dia": _diagonals,
}
