"""GraphML, with the node list inside."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from core.graphs.findings import reject
from core.graphs.formats._base import Part, RawGraph, ReadRequest, read_document
from core.graphs.formats._documents import DocumentOptions, exported, raw_graph
from core.graphs.schema import GraphSchema

if TYPE_CHECKING:
    from core.graphs.graph import Graph

name = "graphml"
media_type = "application/graphml+xml"
extensions = ("graphml", "graphml.gz")
carries_nodes = True
parts: frozenset[Part] = frozenset({"edges"})
OptionsModel = DocumentOptions


def read(request: ReadRequest) -> RawGraph:
    """Nodes and edges of the first graph in the document; IngestRejected where it is not GraphML."""
    from xml.etree.ElementTree import ParseError

    import networkx as nx

    data = read_document(request)
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        reject(request.file, "the document declares a DTD or entities; remove them")
    try:
        made = nx.read_graphml(io.BytesIO(data), node_type=str, force_multigraph=True)
    except ParseError as error:
        line, column = error.position
        reject(request.file, f"the XML is malformed ({error}); write it again", line=line, column=column + 1)
    except (nx.NetworkXException, ValueError, KeyError, TypeError) as error:
        reject(request.file, f"the document is no GraphML graph ({error}); check its keys and graph element")
    return raw_graph(made, request)


def write(graph: Graph, path: Path) -> None:
    """Every node with its attributes, every edge with its step and type."""
    import networkx as nx

    nx.write_graphml_xml(exported(graph, lists=False), path)


def refuses(schema: GraphSchema) -> str | None:
    """None: any schema can be written."""
    return None
