"""A spreadsheet is read by its first sheet, with ids, numbers and dates as they stand in its cells."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import IngestRejected
from core.graphs.graph import Graph
from core.graphs.ingest.assembled_objects import store
from core.graphs.ingest.uploaded import canonicalise
from core.graphs.stored.whole import read_graph
from core.graphs.uploads.files import IngestLimits, IngestReport, UploadedFile
from core.graphs.views.convert import to_networkx
from tests.support.spreadsheets import xlsx

EDGES = [
    ["from", "to", "when", "amount"],
    ["007", 0, (45352,), 1.5],
    [12, 'x, "y"', (45353.5,), 2],
    [None] * 4,
    [12, "007", (45354,), 0.25],
]


def read(folder: Path, edges: bytes, nodes: bytes | None = None) -> tuple[Graph, IngestReport]:
    files = {}
    for part, content in (("edges", edges), ("nodes", nodes)):
        if content is not None:
            (folder / part).write_bytes(content)
            files[part] = UploadedFile(folder / part, "csv")
    report = canonicalise(files, None, folder / "out")
    return read_graph(folder / "out"), report


def test_the_first_sheet_is_the_list(tmp_path: Path) -> None:
    graph, report = read(tmp_path, xlsx(EDGES, [["other"], ["sheet"]]))
    found = sorted((*sorted(ends), data["amount"]) for *ends, data in to_networkx(graph).edges(data=True))
    assert found == [("0", "007", 1.5), ("007", "12", 0.25), ("12", 'x, "y"', 2.0)]
    assert report.schema.time is not None
    assert report.schema.time.start == 1_709_251_200


def test_nodes_come_from_a_sheet_too(tmp_path: Path) -> None:
    nodes = [["Id", "Label"], ["007", "Ann\nof York"], [0, "Bob"], [12, "Cy"], ['x, "y"', "Di"]]
    graph, _ = read(tmp_path, xlsx(EDGES), xlsx(nodes))
    assert graph.nodes["node"].attributes["Label"].to_pylist() == ["Bob", "Ann of York", "Cy", "Di"]


def test_a_library_reads_a_spreadsheet_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "calls.xlsx").write_bytes(xlsx([["source", "target"], [0, 1], [1, 2]]))
    assert dict(store(str(tmp_path / "calls.xlsx"), tmp_path / "out", nodes=3).nodes) == {"node": 3}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (xlsx([]), "the first sheet of the spreadsheet is empty"),
        (xlsx([[None, ""]]), "the first sheet of the spreadsheet is empty"),
        (xlsx("<row><c"), "a spreadsheet (.xlsx) that cannot be read"),
        (
            xlsx(
                '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
            ),
            "spans 1048576 rows and 16384 columns; remove what stands apart",
        ),
        (xlsx(EDGES)[:-40], "the zip archive is damaged"),
    ],
)
def test_a_spreadsheet_that_is_no_list_is_named(tmp_path: Path, content: bytes, says: str) -> None:
    with pytest.raises(IngestRejected) as caught:
        read(tmp_path, content)
    assert says in str(caught.value)


def test_a_spreadsheet_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    (tmp_path / "edges").write_bytes(xlsx([["source", "target"], ["a" * 40_000, "b"]]))
    with pytest.raises(IngestRejected, match="exceeds 20000 bytes when unpacked"):
        canonicalise(
            {"edges": UploadedFile(tmp_path / "edges", "csv")},
            None,
            tmp_path / "out",
            IngestLimits(max_document_bytes=20_000),
        )


def test_a_spreadsheet_that_is_sent_as_a_document_is_named(tmp_path: Path) -> None:
    (tmp_path / "edges").write_bytes(xlsx(EDGES))
    with pytest.raises(IngestRejected, match="does not begin as gml does; a list of edges is sent"):
        canonicalise({"edges": UploadedFile(tmp_path / "edges", "gml")}, None, tmp_path / "out")
