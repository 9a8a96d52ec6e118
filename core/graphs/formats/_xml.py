"""Count what an XML document lists. NetworkX is not used: it adds ends that nobody listed."""

from __future__ import annotations

from dataclasses import dataclass
from xml.parsers import expat

from core.graphs.uploads.batches import ReadRequest
from core.graphs.uploads.findings import reject, shown


@dataclass
class Listed:
    """How many nodes and edges a document lists. Counted too is how many of these are said to go both
    ways."""

    nodes: int
    edges: int
    mutual: int


def listed(request: ReadRequest, data: bytes) -> Listed:
    """Count what the document lists, nodes once each. The ends of every edge are among them.

    An end that is added would let an edge decide who there is. Refused where malformed or with a DTD.
    """
    nodes: set[str | None] = set()
    ends: list[tuple[int, str, str | None]] = []
    mutual = 0
    parser = expat.ParserCreate(namespace_separator=" ")

    def open_element(tag: str, attributes: dict[str, str]) -> None:
        nonlocal mutual
        # A tag comes as its namespace, a space and its name.
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
            mutual += attributes.get("type") == "mutual"
            ends.extend((line, end, attributes.get(end)) for end in ("source", "target"))

    # What a DTD's entities unpack to has no bound.
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
    return Listed(len(nodes), len(ends) // 2, mutual)
