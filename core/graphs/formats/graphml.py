"""GraphML, with the node list inside."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

from core.graphs.formats._documents import BROKEN, DocumentOptions, exported, raw_graph
from core.graphs.uploads.batches import Part, RawGraph, ReadRequest, read_document, refuses_none
from core.graphs.uploads.findings import reject, shown

if TYPE_CHECKING:
    from core.graphs.graph import Graph

name = "graphml"
media_type = "application/graphml+xml"
extensions = ("graphml", "graphml.gz")
carries_nodes = True
parts: frozenset[Part] = frozenset({"edges"})
OptionsModel = DocumentOptions
refuses = refuses_none

_BOOLEANS = re.compile(rb"(?i)>\s*(true|false)\s*</(?=data\b|default\b)")
"""NetworkX reads no boolean with spaces around it, as indented documents have."""


def read(request: ReadRequest) -> RawGraph:
    """Read nodes and edges of the only graph in the document; IngestRejected where it is not GraphML."""
    import networkx as nx

    data = read_document(request, name)
    listed = _listed(request, data)
    try:
        made = nx.read_graphml(
            io.BytesIO(_BOOLEANS.sub(rb">\1</", data)), node_type=str, force_multigraph=True
        )
    except (nx.NetworkXException, *BROKEN) as error:
        reject(request.file, f"the document is no GraphML graph ({error}); check its keys and graph element")
    if listed != made.number_of_nodes():
        message = "the document holds several graphs, or graphs inside nodes; write one flat graph"
        reject(request.file, message)
    return raw_graph(made, request)


def _listed(request: ReadRequest, data: bytes) -> int:
    """Count the nodes that the document lists, each once; the ends of every edge are among them.

    NetworkX adds an end that nobody listed: an edge would then decide who there is.
    """
    from xml.parsers import expat

    nodes: set[str | None] = set()
    ends: list[tuple[int, str, str | None]] = []
    parser = expat.ParserCreate(namespace_separator=" ")

    def open_element(tag: str, attributes: dict[str, str]) -> None:
        kind, line = tag.rpartition(" ")[2], parser.CurrentLineNumber
        if kind == "node":
            if (key := attributes.get("id")) in nodes or key is None:
                what = (
                    "a node has no id; give it one"
                    if key is None
                    else "a node id is listed twice; remove one"
                )
                reject(request.file, what, line=line)
            nodes.add(key)
        elif kind == "edge":
            ends.extend((line, end, attributes.get(end)) for end in ("source", "target"))

    def refuse_dtd(*_: object) -> None:
        reject(
            request.file,
            "the document declares a DTD or entities; remove them",
            line=parser.CurrentLineNumber,
        )

    parser.StartElementHandler, parser.StartDoctypeDeclHandler = open_element, refuse_dtd
    try:
        parser.Parse(data, True)
    except LookupError:
        reject(request.file, "the document names an encoding that does not exist; write it in UTF-8", line=1)
    except expat.ExpatError as error:
        message = f"the XML is malformed ({error}); write it again"
        reject(request.file, message, line=error.lineno, column=error.offset + 1)
    for line, end, key in ends:
        if key not in nodes:
            such = sum(other not in nodes for _, _, other in ends)
            message = f"the {end} {shown(key)} of an edge is no listed node ({such} such ends); list it"
            reject(request.file, message, line=line)
    return len(nodes)


def write(graph: Graph, path: Path) -> None:
    """Write every node with its attributes, every edge with its step and type."""
    import networkx as nx

    nx.write_graphml_xml(exported(graph, lists=False), path)
