"""What every format speaks: requests in, raw batches out.

A raw batch holds what a file says, with ids as strings or integers, before any rule of a schema. Columns of
edges: ``source``, ``target``, ``time``, ``type`` and attributes; of nodes: ``id``, ``type`` and attributes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from collections.abc import Mapping as Map
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import (
    IO,
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    NoReturn,
    Protocol,
    Self,
    runtime_checkable,
)

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from core.errors import InvalidInput
from core.graphs.reading.magic import otherwise
from core.graphs.reading.mapping import Columns, Mapping, columns_of, delimiter_of, encoding_of
from core.graphs.reading.model import Reading
from core.graphs.schema import GRAPH_ID, STEP, GraphSchema, TimeGrid
from core.graphs.schema.names import apart
from core.graphs.uploads.findings import reject, shown
from core.graphs.uploads.packed import DAMAGED, NotOne, container_of, open_packed

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from core.graphs.graph import Graph

Part = Literal["edges", "nodes"]
# Documents may also say which node type an end has: undirected documents keep no orientation.
END_TYPES = ("source_type", "target_type")


def _columns(said: Any) -> Columns | None:
    """Read what is said of columns, in any of its forms."""
    try:
        return columns_of(said) or None
    except InvalidInput as error:
        raise ValueError(str(error)) from None


class Options(BaseModel):
    """What an uploader may declare about a file; an unknown option is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    extra_columns: Literal["refuse", "ignore"] = Field(
        default="refuse", description="What to do with columns that the schema does not declare."
    )


def _checked(check: Callable[[str], object], said: str) -> str:
    """Return what is said where it can be read; ValueError says what is wrong with it."""
    try:
        check(said)
    except InvalidInput as error:
        raise ValueError(str(error)) from None
    return said


class TextOptions(Options):
    """How the letters of a text are written."""

    encoding: str = Field(
        default="auto",
        max_length=32,
        description="auto: UTF-8, or as a byte order mark or XML's first line says. Else latin-1, ...",
    )

    @field_validator("encoding")
    @classmethod
    def _known(cls, said: str) -> str:
        return _checked(encoding_of, said)


class DocumentOptions(TextOptions):
    """Nothing to declare beyond extra attributes, and letters."""


class ColumnOptions(Options):
    """What the columns of a table are."""

    columns: Annotated[Columns | None, BeforeValidator(_columns)] = Field(
        default=None,
        description="What columns are, by name or by number from 1: `source=caller,target=callee,time=when`. "
        "Or names in the order of the file: `source,target,-,time`; `-` leaves a column alone. JSON where "
        "names have commas.",
    )


class DelimitedOptions(TextOptions, ColumnOptions):
    """How a delimited file is to be read: what is not said is guessed, with grounds in the reading."""

    usual: ClassVar[str] = ","

    header: Literal["auto", "true", "false"] = Field(
        default="auto", description="auto: whether the first record is a header is told by what is in it."
    )
    delimiter: str = Field(
        default="auto",
        max_length=9,
        description="auto: what splits the records evenly. One character, `::`, or `tab`; a space stands for "
        "any run of spaces and tabs.",
    )
    decimal: Literal["auto", ".", ","] = Field(default="auto", description="The decimal mark of numbers.")
    bipartite: Literal["auto", "true", "false"] = Field(
        default="auto", description="true: the ends are two sorts of nodes, such as users and items."
    )
    dates: Literal["auto", "dmy", "mdy", "ymd"] = Field(
        default="auto",
        description="Whether the day or the month stands first in dates such as 03/04/2024; ymd: eight "
        "digits are a day.",
    )

    @field_validator("delimiter")
    @classmethod
    def _separating(cls, said: str) -> str:
        return _checked(delimiter_of, said)

    @cached_property
    def mapping(self) -> Mapping:
        """What is said of the file."""
        return Mapping.parse(
            self.columns or (),
            delimiter=self.delimiter,
            header=self.header,
            decimal=self.decimal,
            encoding=self.encoding,
            bipartite=self.bipartite,
            dates=self.dates,
        )

    def said(self, mapping: Mapping) -> Self:
        """Return the options that say the mapping."""
        return self.model_validate({**self.model_dump(), **mapping.options()})


@dataclass(frozen=True)
class ReadLimits:
    """Bounds on one file, checked while it is read."""

    max_bytes: int = 64 << 30  # after decompression
    max_document_bytes: int = 512 << 20  # formats that must be held in memory as a whole
    max_line_bytes: int = 1 << 20
    chunk_bytes: int = 64 << 20
    max_unpacking_ratio: int = 100


@dataclass(frozen=True)
class Notes:
    """Remarks on how a file was read. A curator should know them; they are in order, each once."""

    skipped: dict[str, None] = field(default_factory=dict)
    remarks: dict[str, None] = field(default_factory=dict)


@dataclass(frozen=True)
class ReadRequest:
    """One file to read.

    ``wanted`` are the columns the schema asks for, in positional order; ``required`` must be there. A column
    outside ``wanted`` is refused unless ``any_columns``; where there are ``notes`` it is skipped, and they
    name it. ``attributes`` are the node attributes that a document may hold (None: any). ``values`` are the
    columns of what edges carry; ``undirected``: no edge has a direction; ``homogeneous``: each is within one
    node type. ``grid`` is that of the times. ``infer``: nobody declared the columns, so what is in them
    tells what they are. How the file was read is added to ``readings``, by part. ``answered_later``: a person
    answers the reading's questions before anything is computed.
    """

    path: Path
    part: Part
    options: Options
    wanted: tuple[str, ...]
    required: tuple[str, ...]
    integer_ids: bool = False
    any_columns: bool = False
    attributes: frozenset[str] | None = None
    values: tuple[str, ...] = ()
    undirected: bool = False
    homogeneous: bool = False
    grid: TimeGrid | None = None
    notes: Notes | None = None
    limits: ReadLimits = field(default_factory=ReadLimits)
    name: str | None = None
    infer: bool = False
    answered_later: bool = False
    readings: dict[str, Reading] = field(default_factory=dict)

    @property
    def file(self) -> str:
        """Name of the file in findings. It is the part, unless it is one of several with a ``name``."""
        return self.name or self.part

    @property
    def proposes(self) -> bool:
        """Whether the edges are read for a proposal. Then no schema says anything of them."""
        return self.part == "edges" and self.attributes is None

    def refuses_column(self, name: str) -> bool:
        """Tell whether a column of that name must not be in the file."""
        if name in self.wanted or self.options.extra_columns == "ignore":
            return False
        if name in (STEP, apart(STEP)) and "time" in self.wanted:
            return False  # of our own exports: the time says it too
        if self.part == "nodes" and name == "type" and not self.any_columns:
            return False  # of a single node type, which needs no name
        if self.any_columns and (self.part == "nodes" or name not in ("", GRAPH_ID)):
            return False
        if self.notes is not None and name and name != GRAPH_ID:
            self.notes.skipped[name] = None
            return False
        return True

    def remark(self, text: str) -> None:
        """Note a remark for the curator, where notes are taken."""
        if self.notes is not None:
            self.notes.remarks[text] = None

    def unknown_column(self, name: str) -> str:
        """Explain why a column is refused. It is said how to mend it, too."""
        if name == GRAPH_ID:
            return f"the column {GRAPH_ID} is for collections; declare a schema with the collection's graphs"
        mend = "declare it, remove it, or set the option extra_columns to ignore"
        return f"the column {shown(name)} is not in the schema; {mend}"


@dataclass(frozen=True)
class Careful:
    """A part of a batch, read slowly. It has rows that could be split, their lines, and the lines that could
    not."""

    table: pa.Table
    lines: np.ndarray
    fields: Map[str, int]
    problems: list[tuple[int, int | None, str]]


@dataclass(frozen=True)
class Batch:
    """Some rows of a file. ``table`` is None when they could not be read as columns.

    ``carefully()`` reads the same rows again, slowly, in parts of bounded size, with the line and the field
    number of everything; it is called only to find out what is wrong. ``parts()``, where there is one, gives
    the same rows as smaller batches, so that only those around a fault are read slowly.
    """

    table: pa.Table | None
    carefully: Callable[[], Iterator[Careful]]
    bytes_done: int = 0
    parts: Callable[[], Iterator[Batch]] | None = None


@dataclass(frozen=True)
class RawGraph:
    """What a file holds. It has ``edges``, and ``nodes`` where the format carries them (or they were
    requested).

    ``directed`` says whether its edges have a direction, where the format does.
    """

    edges: Iterator[Batch] | None = None
    nodes: Iterator[Batch] | None = None
    directed: bool | None = None


class Export(Protocol):
    """A module of this package: a graph is written as it says. ``parts`` are what is read of it, if any."""

    name: str
    media_type: str
    extensions: tuple[str, ...]
    parts: frozenset[Part]

    def write(self, graph: Graph, path: Path) -> None: ...

    def refuses(self, schema: GraphSchema) -> str | None: ...


class Format(Export, Protocol):
    """A module of this package that reads, too."""

    carries_nodes: bool
    OptionsModel: type[Options]

    def read(self, request: ReadRequest) -> RawGraph: ...


@runtime_checkable
class ListsNodes(Protocol):
    """A format that lists its nodes. Its edges do not say which nodes there are: it writes a list of them,
    too."""

    def write_nodes(self, graph: Graph, path: Path) -> None: ...


def refuses_none(schema: GraphSchema) -> str | None:
    """Return None: any schema can be written."""
    return None


def open_bytes(request: ReadRequest) -> IO[bytes]:
    """Open the file's bytes, unpacked. They are unpacked where they are those of a container of one file."""
    try:
        return open_packed(request.path, unpacked_limit(request, request.limits.max_document_bytes))
    except NotOne as error:
        reject(request.file, str(error))
    except DAMAGED as error:
        damaged(request, error)


def damaged(request: ReadRequest, error: Exception) -> NoReturn:
    """Say that the container's bytes are broken."""
    what = container_of(request.path)
    reject(request.file, f"the {what} is damaged ({error}); pack it again")


def refuses_names(schema: GraphSchema, form: str, nodes: frozenset[str], edges: frozenset[str]) -> str | None:
    """Say which attribute's name the format needs itself. The attribute is declared; None without any."""
    for taken, kinds in ((nodes, schema.node_types), (edges, schema.edge_types)):
        for attribute in (declared for kind in kinds for declared in kind.attributes):
            if attribute.name in taken:
                return f"{form} cannot name the attribute {attribute.name!r}; rename it or take parquet"
    return None


_UTF_8, _UTF_16 = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")
_DECLARED = re.compile(rb"""(\s*<\?xml[^>]*?)\s+encoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
FREE_BYTES = 16 << 20
"""What any compressed file may unpack to, however small it is."""


def unpacked_limit(request: ReadRequest, most: int) -> int:
    """Compute how many bytes a file may unpack to. It is ``most``, or less where it is small.

    Graphs compress tenfold; what compresses a thousandfold was made to cost more than its upload did.
    """
    size = request.path.stat().st_size
    return min(most, FREE_BYTES + request.limits.max_unpacking_ratio * size)


def read_document(request: ReadRequest, own: str) -> bytes:
    """Read a whole document as UTF-8. It has at most ``max_document_bytes``; its byte order mark is left out.

    Refused where it begins as no document of the format ``own`` does.
    """
    limit = unpacked_limit(request, request.limits.max_document_bytes)
    try:
        with open_bytes(request) as file:
            # One byte more tells a file at the limit from one beyond it.
            data = file.read(limit + 1)
    except DAMAGED as error:
        damaged(request, error)
    if len(data) > limit:
        reject(request.file, f"the file exceeds {limit} bytes when unpacked; use csv or parquet")
    data = _in_utf8(request, data)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        if message := otherwise(data, own):
            reject(request.file, message)
        line = data.count(b"\n", 0, error.start) + 1
        mend = "save it as UTF-8, or set the option encoding"
        message = f"the file is not UTF-8 (the byte {data[error.start]:#x}); {mend}"
        reject(request.file, message, line=line)
    if not data.strip():
        reject(request.file, "the file is empty; upload the file that holds the graph")
    if message := otherwise(data, own):
        reject(request.file, message)
    return data


def _in_utf8(request: ReadRequest, data: bytes) -> bytes:
    """Write a document as UTF-8 that a person, a byte order mark or XML's first line says is none."""
    said = encoding_of(request.options.encoding) if isinstance(request.options, TextOptions) else None
    # Such a mark counts for more than what a person says.
    if data.startswith(_UTF_16):
        said = "utf-16"
    elif said is None and (declared := _DECLARED.match(data.removeprefix(_UTF_8))) is not None:
        try:
            said = encoding_of(declared[2].decode("ascii"))
        except InvalidInput as error:
            reject(request.file, str(error), line=1)
    if said in (None, "utf-8"):
        return data.removeprefix(_UTF_8)
    assert said is not None
    try:
        data = data.decode(said).encode()
    except UnicodeDecodeError:
        reject(request.file, f"the text is not {said}; set the option encoding to what it is")
    # It is UTF-8 by now, and its first line must not say otherwise.
    return _DECLARED.sub(rb"\1", data, count=1)
