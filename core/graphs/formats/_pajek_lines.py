"""Lines of Pajek's networks, read into a graph of NetworkX."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NoReturn

import networkx as nx

from core.graphs.formats._documents import raw_graph
from core.graphs.uploads.batches import RawGraph, ReadRequest, read_document
from core.graphs.uploads.findings import reject, shown

_FIELDS = re.compile(r'"([^"]*)"|(\S+)')
_Line = tuple[str, str, float | None, bool, str]
"""Two ends, a weight, whether it is an arc, and its relation."""
_RELATION = re.compile(r'(?i)^\s*\*(?:arcs|edges)(?:list)?\s*:\s*([0-9]+)(?:\s+"([^"]*)")?')
_NUMBERED = re.compile(r"&#([0-9]{1,6});")
FREE_VERTICES = 1 << 20
"""How many vertices any document may declare, however small it is."""
_SECTIONS = frozenset({"vertices", "arcs", "edges", "arcslist", "edgeslist"})


def read(request: ReadRequest) -> RawGraph:
    """Read vertices, arcs and edges with their weights. IngestRejected where the document is damaged.

    Vertices are named by their label where each has one of its own, else by their number. Where there is an
    arc, edges count in both directions.
    """
    labels: dict[str, str | None] = {}
    pairs: list[_Line] = []
    section, sorts, relation = "", "", ""
    for line, text in enumerate(read_document(request, "pajek").decode("utf-8").splitlines(), start=1):
        fields = [_unescaped(quoted) or plain for quoted, plain in _FIELDS.findall(text)]
        if not fields or text.lstrip().startswith("%"):
            continue
        if text.lstrip().startswith("*"):
            section = fields[0].lstrip("*").rstrip(":").lower()
            if section == "vertices":
                labels, sorts = _numbered(request, fields, line, bool(labels))
            elif section not in {"network", *_SECTIONS}:
                mend = "write its lines as *Arcs or *Edges" if section == "matrix" else "leave it out"
                _refuse(request, f"the section {shown(fields[0])} is not read; {mend}", line)
            found = _RELATION.search(text)
            relation = "" if found is None else found[2] or found[1]
        elif section == "vertices":
            if fields[0] not in labels:
                _refuse(request, f"{shown(fields[0])} is no number from 1 to {len(labels)}", line)
            labels[fields[0]] = fields[1] if len(fields) > 1 else None
        elif section in _SECTIONS:
            for pair in _pairs(request, section, fields, line):
                if strange := next((end for end in pair[:2] if end not in labels), None):
                    _refuse(request, f"the end {shown(strange)} is no vertex from 1 to {len(labels)}", line)
                pairs.append((*pair, section.startswith("arcs"), relation))
            if any(field.startswith("[") for field in fields):
                request.remark("Times in brackets, when vertices or lines are there, are not read.")
        else:
            _refuse(request, "the line stands before the section *Vertices; begin with that", line)
    if not labels:
        _refuse(request, "the document has no section *Vertices; write one with their number", 1)
    return raw_graph(_made(_names(labels, request), int(sorts or 0), pairs), request)


def _made(names: dict[str, str], first: int, pairs: list[_Line]) -> nx.Graph:
    """Make the graph of the lines; ``first`` vertices are of the first of two sorts, where there are two."""
    directed = any(each[3] for each in pairs)
    made = nx.MultiDiGraph() if directed else nx.MultiGraph()
    for number, called in names.items():
        made.add_node(called, **({"type": "first" if int(number) <= first else "second"} if first else {}))
    for source, target, weight, arc, relation in pairs:
        held: dict[str, object] = {} if weight is None else {"weight": weight}
        held |= {"type": relation} if relation else {}
        made.add_edge(names[source], names[target], **held)
        if directed and not arc:
            made.add_edge(names[target], names[source], **held)
    return made


def _unescaped(label: str) -> str:
    """Read letters that labels write by their number."""
    return _NUMBERED.sub(lambda found: chr(int(found[1])), label)


def _refuse(request: ReadRequest, message: str, line: int) -> NoReturn:
    reject(request.file, message, line=line)


def _numbered(
    request: ReadRequest, fields: list[str], line: int, again: bool
) -> tuple[dict[str, str | None], str]:
    """Number the vertices; and say how many are of the first of two sorts, where there are two."""
    counts = fields[1:3]
    if again or not counts or not all(re.fullmatch("[0-9]{1,9}", each) for each in counts):
        _refuse(request, "the line is not '*Vertices 10', once; a second number counts the first sort", line)
    # A number alone must not make a small document large in memory.
    if int(counts[0]) > FREE_VERTICES + request.path.stat().st_size:
        _refuse(request, f"a document of this size does not list {counts[0]} vertices", line)
    labels: dict[str, str | None] = dict.fromkeys(map(str, range(1, int(counts[0]) + 1)))
    return labels, counts[1] if len(counts) > 1 else ""


def _pairs(
    request: ReadRequest, section: str, fields: list[str], line: int
) -> Iterator[tuple[str, str, float | None]]:
    if section.endswith("list"):
        yield from ((fields[0], other, None) for other in fields[1:])
        return
    if len(fields) < 2:
        _refuse(request, "the line is not two vertices and perhaps a weight", line)
    try:
        yield fields[0], fields[1], float(fields[2]) if len(fields) > 2 else None
    except ValueError:
        _refuse(request, f"the weight {shown(fields[2])} is no number", line)


def _names(labels: dict[str, str | None], request: ReadRequest) -> dict[str, str]:
    named = [each for each in labels.values() if each]
    if len(set(named)) == len(labels):
        return {number: str(label) for number, label in labels.items()}
    if named:
        request.remark("Vertices are named by their number, as labels are missing or repeated.")
    return {number: number for number in labels}
