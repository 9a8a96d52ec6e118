"""Documents of nodes and links, read and written by NetworkX."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx

from core.graphs.formats._documents import BROKEN, exported, raw_graph
from core.graphs.graph import Graph
from core.graphs.uploads.batches import RawGraph, ReadRequest, read_document
from core.graphs.uploads.findings import reject, shown


def read(request: ReadRequest) -> RawGraph:
    """Read nodes and edges of the document. Edges stand in ``edges`` or ``links``; IngestRejected where it is
    none."""
    try:
        content = json.loads(read_document(request, "node_link"))
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
    nodes, edges = content["nodes"], content[edges_name]
    for what, each, listed in (("node", "a", nodes), ("edge", "an", edges)):
        if bad := next((number for number, item in enumerate(listed, 1) if not isinstance(item, dict)), None):
            reject(
                request.file,
                f"{each} {what} is no object such as {{...}}; write a node-link document",
                line=bad,
            )
    _by_number(nodes, edges, request)
    declared = set()
    for number, node in enumerate(nodes, start=1):
        if not isinstance(node.get("id"), (str, int)):
            reject(request.file, "a node has no string or integer 'id'; give it one", line=number)
        if node["id"] in declared:
            message = f"the node id {shown(node['id'])} is listed twice; remove one"
            reject(request.file, message, line=number)
        declared.add(node["id"])
    strange = [
        (number, end, edge.get(end))
        for number, edge in enumerate(edges, start=1)
        for end in ("source", "target")
        if not isinstance(edge.get(end), (str, int)) or edge[end] not in declared
    ]
    if strange:
        number, end, key = strange[0]
        message = f"the {end} {shown(key)} of an edge is no listed node ({len(strange)} such ends); list it"
        reject(request.file, message, line=number)
    return edges_name


def _by_number(nodes: list[Any], edges: list[Any], request: ReadRequest) -> None:
    """Name nodes and ends where edges name nodes by their place in the list, as older D3 documents do."""
    ends = [edge.get(end) for edge in edges for end in ("source", "target")]
    ids = {node["id"] for node in nodes if isinstance(node.get("id"), (str, int))}
    if not ids and any("id" in node for node in nodes):
        return
    # Not isinstance: true is an int to Python, and no place in a list.
    places = all(type(end) is int and 0 <= end < len(nodes) for end in ends)
    if not places or any(end in ids for end in ends) or (ids and not ends):
        return
    names = [node.get("name") for node in nodes]
    named = all(isinstance(each, str) and each for each in names) and len(set(names)) == len(names)
    if not ids:
        for place, node in enumerate(nodes):
            node["id"] = node.pop("name") if named else place
    for edge in edges:
        for end in ("source", "target"):
            edge[end] = nodes[edge[end]].get("id")
    what = "their id" if ids else "their name" if named else "their place"
    request.remark(f"Edges name nodes by their place in the list, from 0; nodes are named by {what}.")


def write(graph: Graph, path: Path) -> None:
    """Write nodes and edges with what they carry. Every node has its attributes (vectors as lists), every
    edge its step and type."""
    content = nx.node_link_data(exported(graph, lists=True), edges="edges")
    with path.open("w", encoding="utf-8") as file:
        json.dump(content, file, ensure_ascii=False)
