"""Raw node and edge tables of a NetworkX graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from core.graphs.schema import RESERVED_ATTRIBUTES
from core.graphs.schema.edge_attributes import RESERVED
from core.graphs.schema.names import column_names, renamed
from core.graphs.uploads.files import VECTOR_SEPARATOR

if TYPE_CHECKING:
    import networkx as nx

EDGE_IDS = "Ids and keys of edges are not read: they name rows, and say nothing of the ends."
_EDGE_IDS = frozenset({"id", "key"})


def networkx_tables(
    made: nx.Graph, remark: Callable[[str], None] = lambda text: None
) -> tuple[pa.Table, pa.Table]:
    """Make raw tables of a NetworkX graph. They are of nodes and edges, all ids as strings, in its own order.

    Attributes that are named as structure is never take its place: they have names of their own, which
    ``remark`` is told, as those have that no schema could name.
    """
    # NetworkX reads the GML texts "()" and "[]" as an empty tuple and list; str() undoes that.
    data = [each for _, each in made.nodes(data=True)]
    own = _exported(made)
    names = {key: str(each["node_id"] if own else key) for key, each in made.nodes(data=True)}
    kinds = {
        key: None if each.get("type") is None else str(each["type"]) for key, each in made.nodes(data=True)
    }
    columns: dict[str, Any] = {"id": pa.array(list(names.values()), type=pa.string())}
    if any(each is not None for each in kinds.values()):
        columns["type"] = pa.array(list(kinds.values()), type=pa.string())
    structural = {"type", "node_id"} if own else {"type"}
    columns |= _attributes(data, structural, RESERVED_ATTRIBUTES, remark)
    return pa.table(columns), _edge_table(made, names, kinds, remark)


def _exported(made: nx.Graph) -> bool:
    """Tell whether the nodes are named as our exports of several node types name them."""
    return bool(len(made)) and all(
        data.get("type") is not None and str(key) == f"{data['type']}/{data.get('node_id')}"
        for key, data in made.nodes(data=True)
    )


def _edge_table(
    made: nx.Graph, names: dict[Any, str], kinds: dict[Any, str | None], remark: Callable[[str], None]
) -> pa.Table:
    text = pa.string()
    edges = list(made.edges(data=True))
    columns: dict[str, Any] = {
        "source": pa.array([names[source] for source, _, _ in edges], type=text),
        "target": pa.array([names[target] for _, target, _ in edges], type=text),
    }
    if any(kinds.values()):
        columns["source_type"] = pa.array([kinds[source] for source, _, _ in edges], type=text)
        columns["target_type"] = pa.array([kinds[target] for _, target, _ in edges], type=text)
    data = [each for _, _, each in edges]
    if any(_EDGE_IDS & each.keys() for each in data):
        remark(EDGE_IDS)
    for name in ("time", "type"):
        if any(name in each for each in data):
            columns[name] = _column((each.get(name) for each in data), text_only=True)
    taken = {"time", "type", *_EDGE_IDS}
    return pa.table(columns | _attributes(data, taken, RESERVED, remark, text_only=True))


def _attributes(
    data: Sequence[dict[Any, Any]],
    but: Iterable[str],
    structural: Iterable[str],
    remark: Callable[[str], None],
    *,
    text_only: bool = False,
) -> dict[str, Any]:
    """Make a column of each attribute, by a name that a schema may have."""
    keys = sorted({key for each in data for key in each} - set(but), key=str)
    given = [str(key) for key in keys]
    names = column_names(given, frozenset(structural))
    if renaming := renamed(given, names):
        remark(renaming)
    return {
        name: _column((each.get(key) for each in data), text_only=text_only)
        for key, name in zip(keys, names, strict=True)
    }


def _column(values: Iterable[Any], *, text_only: bool = False) -> pa.Array:
    """Convert to float64 where all values are numbers, to lists where all are lists, else to texts."""
    held = [value.item() if isinstance(value, np.generic) else value for value in values]
    present = [value for value in held if value is not None]
    if not text_only and present:
        # To Python a bool is an int; here it is no number.
        if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in present):
            return pa.array([None if v is None else float(v) for v in held], type=pa.float64())
        if all(isinstance(value, list) and value for value in present):
            joined = [None if v is None else VECTOR_SEPARATOR.join(str(x) for x in v) for v in held]
            return pa.array(joined, type=pa.string())
    return pa.array([_text(value) for value in held], type=pa.string())


def _text(value: Any) -> str | None:
    """Write a value as text; booleans as files of other formats spell them."""
    if value is None or isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)
