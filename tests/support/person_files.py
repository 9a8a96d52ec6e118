"""One upload that a person might send, and what is to come out of it."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from core.graphs.graph import Graph
from core.graphs.ingest.uploaded import canonicalise
from core.graphs.stored.whole import read_graph
from core.graphs.uploads.files import IngestReport, UploadedFile
from core.graphs.views.convert import to_networkx

GRAPHML = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">%s</graphml>'


@dataclass(frozen=True)
class Read:
    """What is to come out: edges and what they carry, nodes of each type, words of a warning."""

    edges: str | tuple[str, ...]
    values: Mapping[str, list[object]] = field(default_factory=dict)
    nodes: Mapping[str, int] | None = None
    warns: str = ""
    directed: bool = False
    relations: tuple[str, ...] = ("edge",)
    starts: int | None = None
    width: int | None = None


@dataclass(frozen=True)
class Given:
    """One upload without a schema."""

    edges: str | bytes
    nodes: str | None = None
    form: str = "csv"
    options: Mapping[str, str] = field(default_factory=dict)


def packed(**files: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/"), content)
    return made.getvalue()


def graphml(content: str) -> Given:
    return Given(GRAPHML % content, form="graphml")


def timed(*times: int) -> Given:
    rows = zip(("a,b", "b,c", "c,d"), times, strict=True)
    return Given("source,target,time\n" + "".join(f"{ends},{time}\n" for ends, time in rows))


def read(folder: Path, given: Given) -> tuple[Graph, IngestReport]:
    content = given.edges if isinstance(given.edges, bytes) else given.edges.encode()
    (folder / "edges").write_bytes(content)
    files = {"edges": UploadedFile(folder / "edges", given.form, given.options)}
    if given.nodes is not None:
        (folder / "nodes").write_text(given.nodes)
        files["nodes"] = UploadedFile(folder / "nodes", "csv")
    report = canonicalise(files, None, folder / "out")
    return read_graph(folder / "out"), report


def agrees(folder: Path, given: Given, meant: Read) -> None:
    """Check that the upload is read as it is meant."""
    graph, report = read(folder, given)
    edges = ["-".join(sorted(map(str, ends))) for ends in to_networkx(graph).edges()]
    assert sorted(edges) == sorted(meant.edges.split() if isinstance(meant.edges, str) else meant.edges)
    counts = {name: table.count for name, table in graph.nodes.items()}
    assert counts == (
        meant.nodes or {"node": len({end for each in to_networkx(graph).edges() for end in each})}
    )
    assert tuple(sorted(each.in_files for each in graph.schema.edge_types)) == meant.relations
    assert any(each.directed for each in graph.schema.edge_types) == meant.directed
    carried = {
        name: sorted(column.tolist())
        for table in graph.edges.values()
        if table.values is not None
        for name, column in table.values.columns.items()
    }
    assert carried == meant.values
    assert meant.warns in "\n".join(report.warnings)
    grid = graph.schema.time
    assert (grid is not None) == any(each.temporal for each in graph.schema.edge_types)
    if grid is not None:
        assert grid.start == (meant.starts or grid.start)
        assert grid.width == (meant.width or grid.width)
