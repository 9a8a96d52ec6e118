"""METIS's files: weights, comments, vertices without neighbours, and what is damaged."""

from __future__ import annotations

from pathlib import Path

import networkit as nk
import pytest

from core.errors import IngestRejected
from core.graphs import formats
from core.graphs.graph import Graph
from core.graphs.ingest.uploaded import canonicalise
from core.graphs.stored.whole import read_graph
from core.graphs.uploads.files import IngestReport, UploadedFile


def read(folder: Path, content: str) -> tuple[Graph, IngestReport]:
    (folder / "file").write_text(content)
    report = canonicalise({"edges": UploadedFile(folder / "file", "metis")}, None, folder / "out")
    return read_graph(folder / "out"), report


def pairs(graph: Graph) -> list[tuple[int, int]]:
    ids, table = graph.nodes["node"].id_array().to_pylist(), graph.edges["edge"]
    ends = zip(table.source.tolist(), table.target.tolist(), strict=True)
    return sorted((int(ids[source]), int(ids[target])) for source, target in ends)


@pytest.mark.parametrize(
    ("content", "weights"),
    [
        ("4 2\n2 3\n1\n1\n\n", None),
        ("% by hand\n4 2\n2 3\n% vertex 2\n1\n1\n\n", None),
        ("4 2\n2 3\n1\n1\n", None),
        ("4 2 0\r\n2 3\r\n1\r\n1\r\n\r\n", None),
        ("4 2 001\n2 5 3 7\n1 5\n1 7\n\n", [5.0, 7.0]),
        ("4 2 1\n2 5 3 7\n1 5\n1 7\n\n", [5.0, 7.0]),
        ("4 2 011\n9 2 5 3 7\n9 1 5\n9 1 7\n9\n", [5.0, 7.0]),
        ("4 2 011 2\n9 8 2 5 3 7\n9 8 1 5\n9 8 1 7\n9 8\n", [5.0, 7.0]),
        ("4 2 110 2\n6 9 8 2 3\n6 9 8 1\n6 9 8 1\n6 9 8\n", None),
    ],
)
def test_every_format_of_weights(tmp_path: Path, content: str, weights: list[float] | None) -> None:
    graph, report = read(tmp_path, content)
    assert pairs(graph) == [(0, 1), (0, 2)]
    assert graph.nodes["node"].count == 4
    assert not report.schema.edge_types[0].directed
    values = graph.edges["edge"].values
    assert (None if values is None else sorted(values.columns["weight"].tolist())) == weights
    assert any("weights of vertices" in each for each in report.warnings) == ("9" in content)


def test_networkit_reads_what_is_written(tmp_path: Path) -> None:
    graph, _ = read(tmp_path, "5 3\n2 3\n1 3\n1 2\n\n\n")
    formats.get("metis").write(graph, tmp_path / "written.metis")
    made = nk.graphio.METISGraphReader().read(str(tmp_path / "written.metis"))
    assert (made.numberOfNodes(), made.numberOfEdges()) == (5, 3)
    assert sorted(tuple(sorted(each)) for each in made.iterEdges()) == pairs(graph)


@pytest.mark.parametrize(
    ("content", "says", "line"),
    [
        ("a,b\n", "is not 'vertices edges'", 1),
        ("% only\n", "is not 'vertices edges'", 1),
        ("5 2\n2 3\n1\n1\n", "5 vertices are promised, and 4 lines follow; write an empty line", 1),
        ("2 1\n2\n1\n1\n", "2 vertices are promised, and this is a line more", 4),
        ("% x\n2 1\n2\n3\n", "the neighbour 3 is no vertex from 1 to 2", 4),
        ("2 1\n2\n0\n", "the neighbour 0 is no vertex from 1 to 2", 3),
        ("2 1\n2\n1.5\n", "something else than whole numbers", 3),
        ("2 1\n2\n1_0\n", "something else than whole numbers", 3),
        ("2 1\n2\n" + "1" * 5000 + "\n", "something else than whole numbers", 3),
        ("2 1 1\n2 4\n1\n", "the last neighbour has no weight", 3),
        ("3 2\n2 3\n1\n\n", "vertex 1 names 3, which does not name it (1 such)", 2),
        ("3 7\n2 3\n1\n1\n", "7 edges are promised, and there are 2", 1),
    ],
)
def test_what_is_damaged_is_named_by_its_line(tmp_path: Path, content: str, says: str, line: int) -> None:
    with pytest.raises(IngestRejected) as caught:
        read(tmp_path, content)
    (found,) = caught.value.members["findings"]
    assert says in found["message"]
    assert found["line"] == line
