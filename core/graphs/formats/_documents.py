"""Formats that hold a whole graph in one document. They are read and written by NetworkX.

Nodes may carry ``node_id`` (else their key is the id), ``type`` and attributes; edges ``time`` and ``type``.
"""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx
import pyarrow as pa

from core.graphs.graph import Graph
from core.graphs.uploads.batches import END_TYPES, Batch, RawGraph, ReadRequest
from core.graphs.uploads.files import VECTOR_SEPARATOR
from core.graphs.uploads.findings import reject, shown
from core.graphs.uploads.networkx_tables import networkx_tables
from core.graphs.uploads.tables import columnar
from core.graphs.views.convert import to_networkx

BROKEN = (
    *(ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError),
    SyntaxError,  # what its XML parser raises
)
"""What NetworkX raises, besides errors of its own, on documents that are damaged."""


def raw_graph(made: nx.Graph, request: ReadRequest) -> RawGraph:
    """Read nodes and edges of the document. A finding's line is the ordinal of the node or edge."""
    nodes, edges = networkx_tables(made, request.remark)
    extra = [name for name in edges.column_names if name not in END_TYPES and request.refuses_column(name)]
    if request.attributes is not None and request.options.extra_columns == "refuse":
        known = request.attributes | {"id", "type"}
        extra += [name for name in nodes.column_names if name not in known]
    if extra:
        message = (
            f"the document carries {shown(extra[0])}, which is not in the schema; declare it, remove it, "
        )
        reject(request.file, message + "or set extra_columns to ignore")
    if not request.any_columns and request.part == "edges":
        edges = _only(edges, {*request.wanted, *END_TYPES})
    size = request.path.stat().st_size
    return RawGraph(_once(edges, size), _once(nodes, size), made.is_directed())


def _only(table: pa.Table, wanted: set[str]) -> pa.Table:
    return table.select([name for name in table.column_names if name in wanted])


def _once(table: pa.Table, size: int) -> Iterator[Batch]:
    yield columnar(table, bytes_done=size)


def exported(graph: Graph, *, lists: bool) -> nx.Graph:
    """Make the NetworkX graph that a document holds, vectors as text unless ``lists``."""
    made = to_networkx(graph)
    if not lists:
        for _, data in made.nodes(data=True):
            for key, value in data.items():
                if isinstance(value, list):
                    data[key] = VECTOR_SEPARATOR.join(repr(each) for each in value)
    return made
