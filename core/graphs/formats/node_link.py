"""Node-link JSON (as d3 and NetworkX use it), with the node list inside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.graphs.formats._documents import BROKEN, DocumentOptions, exported, raw_graph
from core.graphs.uploads.batches import Part, RawGraph, ReadRequest, read_document, refuses_none
from core.graphs.uploads.findings import reject

if TYPE_CHECKING:
    from core.graphs.graph import Graph

name = "node_link"
media_type = "application/json"
extensions = ("json", "json.gz")
carries_nodes = True
parts: frozenset[Part] = frozenset({"edges"})
OptionsModel = DocumentOptions
refuses = refuses_none


def read(request: ReadRequest) -> RawGraph:
    """Read nodes and edges (``edges`` or ``links``) of the document; IngestRejected where it is none."""
    import networkx as nx

    try:
        content = json.loads(read_document(request))
    except json.JSONDecodeError as error:
        reject(request.file, f"the JSON is malformed ({error.msg})", line=error.lineno, column=error.colno)
    except ValueError:  # what Python does not make a number of
        reject(request.file, "the JSON holds an integer of thousands of digits; write ids as strings")
    except RecursionError:
        reject(request.file, "the JSON is nested too deeply; a node-link document has three levels")
    edges_name = _check(request, content)
    try:
        made = nx.node_link_graph(content, multigraph=True, edges=edges_name)
    except (nx.NetworkXException, *BROKEN) as error:
        reject(request.file, f"the document is no node-link graph ({error!r}); write it again")
    return raw_graph(made, request)


def _check(request: ReadRequest, content: Any) -> str:
    """Find the member that holds the edges; ends must be listed nodes, which NetworkX would otherwise add."""
    if not isinstance(content, dict) or not isinstance(content.get("nodes"), list):
        reject(request.file, "the document has no list 'nodes'; write a node-link document")
    edges_name = next((key for key in ("edges", "links") if isinstance(content.get(key), list)), None)
    if edges_name is None:
        reject(request.file, "the document has no list 'edges' or 'links'; write a node-link document")
    declared = set()
    for number, node in enumerate(content["nodes"], start=1):
        if not isinstance(node, dict) or not isinstance(node.get("id"), (str, int)):
            reject(request.file, "a node has no string or integer 'id'; give it one", line=number)
        if node["id"] in declared:
            reject(request.file, "a node id is listed twice; remove one", line=number)
        declared.add(node["id"])
    for number, edge in enumerate(content[edges_name], start=1):
        for end in ("source", "target"):
            key = edge.get(end) if isinstance(edge, dict) else None
            if not isinstance(key, (str, int)) or key not in declared:
                reject(request.file, f"the {end} of an edge is no listed node; list it", line=number)
    return edges_name


def write(graph: Graph, path: Path) -> None:
    """Write every node with its attributes (vectors as lists), every edge with its step and type."""
    import networkx as nx

    content = nx.node_link_data(exported(graph, lists=True), edges="edges")
    with path.open("w", encoding="utf-8") as file:
        json.dump(content, file, ensure_ascii=False)
