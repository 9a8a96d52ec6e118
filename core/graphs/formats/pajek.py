"""Pajek's networks as text. They have a list of vertices, then arcs (directed) and edges (not), by vertex
number from 1."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import NotAccepted
from core.graphs.schema import GraphSchema
from core.graphs.schema.edge_attributes import WEIGHT
from core.graphs.uploads.batches import DocumentOptions, Part
from core.late import late

if TYPE_CHECKING:
    from core.graphs.graph import Graph

name = "pajek"
media_type = "text/x-pajek"
extensions = ("net",)
carries_nodes = True
parts: frozenset[Part] = frozenset({"edges"})
OptionsModel = DocumentOptions
read = late("core.graphs.formats._pajek_lines:read")


def refuses(schema: GraphSchema) -> str | None:
    """Say why the schema cannot be written, or None."""
    if len(schema.node_types) > 1 or len(schema.edge_types) > 1 or schema.temporal:
        return "pajek holds one static relation within one node type; take csv, parquet or graphml"
    relation = schema.edge_types[0]
    others = [each.name for each in relation.attributes if each.name != WEIGHT]
    if schema.node_types[0].attributes or others or not relation.merged:
        return f"pajek holds no attributes, but a {WEIGHT} of edges; take csv, parquet or graphml"
    return None


def write(graph: Graph, path: Path) -> None:
    """Write every node by its id, and every edge."""
    if reason := refuses(graph.schema):
        raise NotAccepted(reason, field="format")
    (relation,) = graph.schema.edge_types
    ids, table = graph.nodes[relation.source].id_array().to_pylist(), graph.edges[relation.name]
    with path.open("w", encoding="utf-8") as file:
        file.write(f"*Vertices {len(ids)}\n")
        # An id that looks like an escaped letter is read back as it is.
        labels = (each.replace("&#", "&#38;#").replace('"', "&#34;") for each in ids)
        file.writelines(f'{number} "{each}"\n' for number, each in enumerate(labels, start=1))
        file.write("*Arcs\n" if relation.directed else "*Edges\n")
        ends = [table.source + 1, table.target + 1]
        if table.values is not None:
            ends += [column for name, column in table.values.columns.items() if name == WEIGHT]
        rows = zip(*(column.tolist() for column in ends), strict=True)
        file.writelines(" ".join(map(repr, row)) + "\n" for row in rows)
