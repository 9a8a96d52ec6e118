"""Formats that hold a whole graph in one document, read and written by NetworkX.

Nodes may carry ``node_id`` (else their key is the id), ``type`` and attributes; edges ``time`` and ``type``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from core.graphs.findings import reject, shown
from core.graphs.formats._base import END_TYPES, Batch, Options, RawGraph, ReadRequest, columnar

if TYPE_CHECKING:
    import networkx as nx
    import pyarrow as pa

    from core.graphs.graph import Graph

VECTOR_SEPARATOR = ";"


class DocumentOptions(Options):
    """Nothing to declare beyond extra attributes."""


def raw_graph(made: nx.Graph, request: ReadRequest) -> RawGraph:
    """Nodes and edges of the document; a finding's line is the ordinal of the node or edge."""
    nodes, edges = networkx_tables(made)
    extra = [name for name in edges.column_names if name not in END_TYPES and request.refuses_column(name)]
    if request.attributes is not None and request.options.extra_columns == "refuse":
        known = request.attributes | {"id", "type"}
        extra += [name for name in nodes.column_names if name not in known]
    if extra:
        message = (
            f"the document carries {shown(extra[0])}, which is not in the schema; declare it, remove it, "
        )
        reject(request.file, message + "or set extra_columns to ignore")
    size = request.path.stat().st_size
    return RawGraph(_once(edges, size), _once(nodes, size))


def _once(table: pa.Table, size: int) -> Iterator[Batch]:
    yield columnar(table, bytes_done=size)


def networkx_tables(made: nx.Graph, *, time_name: str = "time") -> tuple[pa.Table, pa.Table]:
    """Raw node and edge tables of a NetworkX graph, all ids as strings, in its own order."""
    import pyarrow as pa

    ids, types = [], []
    names: dict[Any, str] = {}
    kinds: dict[Any, str | None] = {}
    for key, data in made.nodes(data=True):
        names[key] = _text(data.get("node_id", key))
        kinds[key] = None if data.get("type") is None else _text(data["type"])
        ids.append(names[key])
        types.append(kinds[key])
    columns: dict[str, Any] = {"id": pa.array(ids, type=pa.string())}
    if any(each is not None for each in types):
        columns["type"] = pa.array(types, type=pa.string())
    attributes = sorted({key for _, data in made.nodes(data=True) for key in data} - {"node_id", "type"})
    for attribute in attributes:
        columns[str(attribute)] = _column(data.get(attribute) for _, data in made.nodes(data=True))
    return pa.table(columns), _edge_table(made, names, kinds, time_name)


def _edge_table(
    made: nx.Graph, names: dict[Any, str], kinds: dict[Any, str | None], time_name: str
) -> pa.Table:
    import pyarrow as pa

    text = pa.string()
    ends = [(source, target) for source, target, _ in made.edges(data=True)]
    columns: dict[str, Any] = {
        "source": pa.array([names[source] for source, _ in ends], type=text),
        "target": pa.array([names[target] for _, target in ends], type=text),
    }
    if any(kinds.values()):
        columns["source_type"] = pa.array([kinds[source] for source, _ in ends], type=text)
        columns["target_type"] = pa.array([kinds[target] for _, target in ends], type=text)
    # GraphML's edge ids are no content: NetworkX keeps them as the key or as "id".
    attributes = sorted({key for _, _, data in made.edges(data=True) for key in data} - {"id", "key"})
    for attribute in attributes:
        column = _column((data.get(attribute) for _, _, data in made.edges(data=True)), text_only=True)
        columns["time" if attribute == time_name else str(attribute)] = column
    return pa.table(columns)


def _text(value: Any) -> str:
    # NetworkX reads the GML texts "()" and "[]" as an empty tuple and list; str() undoes that.
    return str(value)


def _column(values: Iterable[Any], *, text_only: bool = False) -> pa.Array:
    """Numbers as float64 and lists as lists where all values are such, else texts."""
    import pyarrow as pa

    held = list(values)
    present = [value for value in held if value is not None]
    if not text_only and present:
        if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in present):
            return pa.array([None if v is None else float(v) for v in held], type=pa.float64())
        if all(isinstance(value, list) and value for value in present):
            joined = [None if v is None else VECTOR_SEPARATOR.join(str(x) for x in v) for v in held]
            return pa.array(joined, type=pa.string())
    return pa.array([None if value is None else _text(value) for value in held], type=pa.string())


def exported(graph: Graph, *, lists: bool) -> nx.Graph:
    """The NetworkX graph that a document holds: time as the step, vectors as text unless ``lists``."""
    from core.graphs.convert import to_networkx

    made = to_networkx(graph, step_name="time")
    if not lists:
        for _, data in made.nodes(data=True):
            for key, value in data.items():
                if isinstance(value, list):
                    data[key] = VECTOR_SEPARATOR.join(repr(each) for each in value)
    return made
