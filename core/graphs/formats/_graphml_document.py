"""Documents of GraphML, read and written by NetworkX."""

from __future__ import annotations

import io
import re
from pathlib import Path

import networkx as nx

from core.graphs.formats._documents import BROKEN, exported, raw_graph
from core.graphs.formats._xml import listed
from core.graphs.graph import Graph
from core.graphs.uploads.batches import RawGraph, ReadRequest, read_document
from core.graphs.uploads.findings import reject

_BOOLEANS = re.compile(rb"(?i)>\s*(true|false)\s*</(?=data\b|default\b)")
"""NetworkX reads no boolean with spaces around it, as indented documents have."""


def read(request: ReadRequest) -> RawGraph:
    """Read nodes and edges of the document's only graph. IngestRejected where it is not GraphML."""
    data = read_document(request, "graphml")
    nodes = listed(request, data).nodes
    try:
        made = nx.read_graphml(
            io.BytesIO(_BOOLEANS.sub(rb">\1</", data)), node_type=str, force_multigraph=True
        )
    except (nx.NetworkXException, *BROKEN) as error:
        reject(request.file, f"the document is no GraphML graph ({error}); check its keys and graph element")
    if nodes != made.number_of_nodes():
        message = "the document holds several graphs, or graphs inside nodes; write one flat graph"
        reject(request.file, message)
    if len(made) and all(str(held.get("labels")).startswith(":") for _, held in made.nodes(data=True)):
        _from_neo4j(made, request)
    return raw_graph(made, request)


def _from_neo4j(made: nx.Graph, request: ReadRequest) -> None:
    """Take labels and relationship types of APOC's export for the types that they are."""
    for _, held in made.nodes(data=True):
        held["type"] = held.pop("labels").strip(":")
    if all("label" in held for _, _, held in made.edges(data=True)):
        for _, _, held in made.edges(data=True):
            held["type"] = held.pop("label")
    request.remark("Types are the labels of nodes and of relationships, as APOC's export has them.")


def write(graph: Graph, path: Path) -> None:
    """Write every node with its attributes, every edge with its step and type."""
    nx.write_graphml_xml(exported(graph, lists=False), path)
