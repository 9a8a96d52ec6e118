"""GEXF 1.2 for Gephi: the whole graph, dynamic where it has snapshots. Written only.

An edge of a temporal relation that carries nothing stands once, with a spell for each run of snapshots that
has it; one that carries something stands once a record, from its snapshot to its snapshot. Ends of a spell
belong to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import NotAccepted
from core.graphs.formats._documents import exported
from core.graphs.schema import STEP, GraphSchema
from core.graphs.uploads.batches import Part, refuses_names

if TYPE_CHECKING:
    import networkx as nx

    from core.graphs.graph import Graph

name = "gexf"
media_type = "application/gexf+xml"
extensions = ("gexf",)
parts: frozenset[Part] = frozenset()

_OF_ALL = frozenset({"label", "start", "end", "spells", "viz"})
_OF_NODES = _OF_ALL | {"pid", "parents"}
_OF_EDGES = _OF_ALL | {"relation", "networkx_key"}


def refuses(schema: GraphSchema) -> str | None:
    """Say which attribute's name GEXF uses itself, or None."""
    return refuses_names(schema, name, _OF_NODES, _OF_EDGES)


def write(graph: Graph, path: Path) -> None:
    """Write every node with its attributes (vectors as text), and every edge with what it carries.

    Where there are several node types nodes carry ``type`` and ``node_id``, and where there are several
    relations edges carry ``relation``. O(n + m) Python objects.
    """
    from networkx.readwrite.gexf import GEXFWriter

    if reason := refuses(graph.schema):
        raise NotAccepted(reason, field="format")
    writer = GEXFWriter(prettyprint=False)
    writer.add_graph(_timed(exported(graph, lists=False), dynamic=graph.schema.temporal))
    for meta in writer.xml.iter("meta"):
        meta.attrib.pop("lastmodifieddate", None)  # the same bytes for the same graph, on any day
    with path.open("wb") as file:
        writer.write(file)


def _timed(made: nx.Graph, *, dynamic: bool) -> nx.Graph:
    """Say relations and steps in GEXF's words."""
    timed = made.__class__(mode="dynamic" if dynamic else "static")
    timed.add_nodes_from(made.nodes(data=True))
    times: dict[tuple[str, str, str | None], dict[int, int]] = {}
    for source, target, data in made.edges(data=True):
        time, step, relation = data.pop("time", None), data.pop(STEP, None), data.pop("type", None)
        told: dict[str, Any] = {} if relation is None else {"relation": relation}
        if step is None:
            timed.add_edge(source, target, **told, **data)
        elif data:
            timed.add_edge(source, target, **told, **data, start=time, end=time)
        else:
            times.setdefault((source, target, relation), {})[step] = time
    for (source, target, relation), found in times.items():
        told = {} if relation is None else {"relation": relation}
        timed.add_edge(
            source,
            target,
            **told,
            spells=[(found[first], found[last]) for first, last in _runs(sorted(found))],
        )
    return timed


def _runs(steps: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and last of every run of steps that follow one another."""
    first = last = steps[0]
    for step in steps[1:]:
        if step > last + 1:
            yield first, last
            first = step
        last = step
    yield first, last
