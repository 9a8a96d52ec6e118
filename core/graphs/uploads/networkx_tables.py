"""Raw node and edge tables of a NetworkX graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from core.graphs.uploads.files import VECTOR_SEPARATOR

if TYPE_CHECKING:
    import networkx as nx


def networkx_tables(made: nx.Graph) -> tuple[pa.Table, pa.Table]:
    """Make raw node and edge tables of a NetworkX graph, all ids as strings, in its own order."""
    # NetworkX reads the GML texts "()" and "[]" as an empty tuple and list; str() undoes that.
    ids, types = [], []
    names: dict[Any, str] = {}
    kinds: dict[Any, str | None] = {}
    for key, data in made.nodes(data=True):
        names[key] = str(data.get("node_id", key))
        kinds[key] = None if data.get("type") is None else str(data["type"])
        ids.append(names[key])
        types.append(kinds[key])
    columns: dict[str, Any] = {"id": pa.array(ids, type=pa.string())}
    if any(each is not None for each in types):
        columns["type"] = pa.array(types, type=pa.string())
    attributes = sorted({key for _, data in made.nodes(data=True) for key in data} - {"node_id", "type"})
    for attribute in attributes:
        columns[str(attribute)] = _column(data.get(attribute) for _, data in made.nodes(data=True))
    return pa.table(columns), _edge_table(made, names, kinds)


def _edge_table(made: nx.Graph, names: dict[Any, str], kinds: dict[Any, str | None]) -> pa.Table:
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
        columns[str(attribute)] = column
    return pa.table(columns)


def _column(values: Iterable[Any], *, text_only: bool = False) -> pa.Array:
    """Convert to float64 where all values are numbers, to lists where all are lists, else to texts."""
    held = list(values)
    present = [value for value in held if value is not None]
    if not text_only and present:
        if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in present):
            return pa.array([None if v is None else float(v) for v in held], type=pa.float64())
        if all(isinstance(value, list) and value for value in present):
            joined = [None if v is None else VECTOR_SEPARATOR.join(str(x) for x in v) for v in held]
            return pa.array(joined, type=pa.string())
    return pa.array([None if value is None else str(value) for value in held], type=pa.string())
