"""GML, with the node list inside."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import NotAccepted
from core.graphs.formats._documents import BROKEN, DocumentOptions, exported, raw_graph
from core.graphs.schema import GraphSchema
from core.graphs.uploads.batches import Part, RawGraph, ReadRequest, read_document
from core.graphs.uploads.findings import reject

if TYPE_CHECKING:
    from core.graphs.graph import Graph

name = "gml"
media_type = "text/x-gml"
extensions = ("gml", "gml.gz")
carries_nodes = True
parts: frozenset[Part] = frozenset({"edges"})
OptionsModel = DocumentOptions

_KEY = re.compile(r"[A-Za-z][0-9A-Za-z_]*")
_RESERVED = frozenset({"label"})
_LINE = re.compile(r"\((?:line )?(\d+), *(?:column )?(\d+)\)|line (\d+)")


def read(request: ReadRequest) -> RawGraph:
    """Read nodes (named by their label) and edges of the document; IngestRejected where it is not GML."""
    import networkx as nx

    data = read_document(request)
    try:
        made = nx.parse_gml(data.decode("utf-8").splitlines(), label="label")
    except (nx.NetworkXException, *BROKEN) as error:
        position = _LINE.search(str(error))
        line = int(next(group for group in (position[1], position[3]) if group)) if position else None
        reject(
            request.file, f"the document is no GML graph ({error}); every node needs id and label", line=line
        )
    return raw_graph(made, request)


def write(graph: Graph, path: Path) -> None:
    """Write every node (its id is the label) with its attributes, every edge with its step and type."""
    import networkx as nx

    reason = refuses(graph.schema)
    if reason:
        raise NotAccepted(reason, field="format")
    nx.write_gml(exported(graph, lists=False), path)


def refuses(schema: GraphSchema) -> str | None:
    """Say why the schema cannot be written: GML allows letters, digits and underscores in attribute names."""
    names = [attribute.name for each in schema.node_types for attribute in each.attributes]
    names += [attribute.name for each in schema.edge_types for attribute in each.attributes]
    for name in names:
        if not _KEY.fullmatch(name) or name in _RESERVED:
            return f"gml cannot name the attribute {name!r}; rename it or take graphml"
    return None
