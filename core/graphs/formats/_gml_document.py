"""Documents of GML, read and written by NetworkX."""

from __future__ import annotations

import re
from pathlib import Path

import networkx as nx

from core.errors import NotAccepted
from core.graphs.formats._documents import BROKEN, exported, raw_graph
from core.graphs.formats.gml import refuses
from core.graphs.graph import Graph
from core.graphs.uploads.batches import RawGraph, ReadRequest, read_document
from core.graphs.uploads.findings import reject

_LINE = re.compile(r"\((?:line )?(\d+), *(?:column )?(\d+)\)|line (\d+)")
_GRAPH = re.compile(r"(?m)^([ \t]*graph\s*\[)")
_NO_NUMBER = re.compile(r"\"[^\"]*\"|(?<=\s)[-+]?(?:nan|inf)(?=\s)", re.IGNORECASE)
"""A text, which stays as it is, or a number as other tools write those that are none."""


def read(request: ReadRequest) -> RawGraph:
    """Read nodes and edges of the document; IngestRejected where it is not GML.

    Nodes are named by their label where each has one of its own, else by their id; labels are an attribute
    then.
    """
    text = read_document(request, "gml").decode("utf-8")
    text = _NO_NUMBER.sub(lambda found: found[0] if found[0][0] == '"' else found[0].upper(), text)
    text = _GRAPH.sub(r"\1 multigraph 1", text, count=1)  # parallel edges are edges, said or not
    try:
        made = nx.parse_gml(text.splitlines(), label="id")
    except (nx.NetworkXException, *BROKEN) as error:
        position = _LINE.search(str(error))
        line = int(next(group for group in (position[1], position[3]) if group)) if position else None
        mend = "every node needs an id of its own, and every edge source and target"
        reject(request.file, f"the document is no GML graph ({error}); {mend}", line=line)
    return raw_graph(_labelled(made, request), request)


def _labelled(made: nx.Graph, request: ReadRequest) -> nx.Graph:
    """Name the nodes by their labels where these tell them apart."""
    labels = {key: data.get("label") for key, data in made.nodes(data=True)}
    named = [str(each) for each in labels.values() if each is not None]
    if not named:
        return made
    if len(set(named)) < len(labels):
        what = "have no label" if len(named) < len(labels) else "have a label in common with others"
        request.remark(f"Nodes are named by their id, as some {what}; the label is an attribute.")
        return made
    for data in dict(made.nodes(data=True)).values():
        del data["label"]
    return nx.relabel_nodes(made, labels)


def write(graph: Graph, path: Path) -> None:
    """Write nodes and edges with what they carry. Every node (its id is the label) has its attributes, every
    edge its step and type."""
    reason = refuses(graph.schema)
    if reason:
        raise NotAccepted(reason, field="format")
    nx.write_gml(exported(graph, lists=False), path)
