"""What an upload is refused with says what is wrong, where, how many such, and what to send instead."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

from core.errors import IngestRejected
from core.graphs.ingest.uploaded import canonicalise
from core.graphs.schema import GraphSchema
from core.graphs.uploads.files import UploadedFile

ONE: dict[str, Any] = {}
TWO = {"edge_types": [{"name": "calls", "temporal": True}, {"name": "knows"}], "time": {"count": 4}}
TYPED = {
    "node_types": [{"name": "person"}, {"name": "firm"}],
    "edge_types": [{"name": "owns", "source": "person", "target": "firm"}],
}
LIST = "id\na\nb\nc\n"
MISSING = "is not in the node list"


def zipped(*names: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return made.getvalue()


def findings(
    folder: Path, edges: str | bytes, nodes: str | None, schema: Any, form: str = "csv"
) -> list[tuple[str, int | None, str]]:
    (folder / "edges").write_bytes(edges if isinstance(edges, bytes) else edges.encode())
    files = {"edges": UploadedFile(folder / "edges", form)}
    if nodes is not None:
        (folder / "nodes").write_text(nodes)
        files["nodes"] = UploadedFile(folder / "nodes", "csv")
    declared = None if schema is None else GraphSchema.model_validate(schema)
    with pytest.raises(IngestRejected) as caught:
        canonicalise(files, declared, folder / "out")
    return [(each["file"], each["line"], each["message"]) for each in caught.value.members["findings"]]


@pytest.mark.parametrize("schema", [None, ONE], ids=["proposed", "declared"])
@pytest.mark.parametrize(
    ("edges", "nodes", "expected"),
    [
        (
            "source,target\na,b\nb,d\nd,a\n",
            LIST,
            [
                (3, f"the target 'd' {MISSING} (1 such id); add it to the list, or mend it"),
                (4, f"the source 'd' {MISSING} (1 such id); add it to the list, or mend it"),
            ],
        ),
        (
            "source,target\na,b\nA,x\n",
            LIST,
            [
                (3, f"the source 'A' {MISSING} (2 such ids), which has 'a'; write them alike"),
                (3, f"the target 'x' {MISSING} (2 such ids); add it to the list, or mend it"),
            ],
        ),
        (
            "source,target\n1.0,2\n",
            "id\n1\n2\n",
            [(2, f"the source '1.0' {MISSING} (1 such id), which has '1'; write them alike")],
        ),
        (
            "source,target\na,b\n,c\n",
            LIST,
            [(3, "the source is empty; name a node or remove the line")],
        ),
    ],
)
def test_an_end_that_no_node_has(
    tmp_path: Path, edges: str, nodes: str, expected: list[tuple[int, str]], schema: Any
) -> None:
    assert findings(tmp_path, edges, nodes, schema) == [("edges", *each) for each in expected]


@pytest.mark.parametrize("schema", [None, ONE], ids=["proposed", "declared"])
def test_ids_that_are_missing_are_counted_over_the_whole_file(tmp_path: Path, schema: Any) -> None:
    rows = "".join(f"a,x{number % 70}\n" for number in range(300_000))
    found = findings(tmp_path, f"source,target\n{rows}", LIST, schema)
    assert len(found) == 20
    assert found[0][1:] == (2, f"the target 'x0' {MISSING} (70 such ids); add it to the list, or mend it")


def test_ids_that_are_missing_are_counted_by_node_type(tmp_path: Path) -> None:
    nodes = "id,type\na,person\nf,firm\n"
    told = "is not in the node list as a node of type"
    assert findings(tmp_path, "source,target\na,f\nx,a\ny,f\n", nodes, TYPED) == [
        ("edges", 3, f"the source 'x' {told} 'person' (2 such ids); add it to the list, or mend it"),
        ("edges", 3, f"the target 'a' {told} 'firm' (1 such id); add it to the list, or mend it"),
        ("edges", 4, f"the source 'y' {told} 'person' (2 such ids); add it to the list, or mend it"),
    ]


def test_another_column_of_the_node_list_that_has_the_ids_is_named(tmp_path: Path) -> None:
    nodes, edges = "id,days,new_id\n100,1,5\n101,2,6\n102,3,7\n", "from,to\n5,6\n6,7\n"
    mend = "its column 'new_id' has all of them: say so by columns=id=new_id of the nodes"
    found = findings(tmp_path, edges, nodes, None)
    assert found[0] == ("edges", 2, f"the source '5' {MISSING} (3 such ids); {mend}")
    files = {
        "edges": UploadedFile(tmp_path / "edges", "csv"),
        "nodes": UploadedFile(tmp_path / "nodes", "csv", {"columns": "id=new_id"}),
    }
    assert canonicalise(files, None, tmp_path / "out").nodes == {"node": 3}


@pytest.mark.parametrize("edges", ["source,target\na,b\n,c\n", "sep=;\nfrom;to\n;b\nb;c\n"])
def test_an_empty_end_is_one_of_the_edges_where_no_nodes_are_sent(tmp_path: Path, edges: str) -> None:
    expected = ("edges", 3, "the source is empty; name a node or remove the line")
    assert findings(tmp_path, edges, None, None) == [expected]


def test_a_number_that_is_taken_for_a_type_says_how_to_name_the_fields(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, "a b 3 881250949\n", LIST, TWO)
    assert found[1:] == (
        1,
        "the edge type '881250949' is not declared; use calls, knows, or say by the option columns which "
        "field is the type, as this looks like a number",
    )


@pytest.mark.parametrize(
    ("edges", "says"),
    [
        (zipped("edges.csv", "nodes.csv"), "a zip archive of 2 files (edges.csv, nodes.csv); send one by"),
        (
            zipped("row.npy", "col.npy"),
            "a matrix of NumPy or SciPy (.npz); send a sparse one with the format",
        ),
        ("name\nann\nbob\n", "the lines have one field each, and an edge has two ends"),
        ("c291cmNlLHRhcmdldAphLGIK\n", "the lines have one field each, and an edge has two ends"),
        ("source,target\n", "the file holds no edge, and so names no node; upload rows, or a node list too"),
        ("# nothing\n", "the file holds no records; upload rows, or at least a header line"),
    ],
)
def test_a_file_that_is_no_list_of_edges(tmp_path: Path, edges: str | bytes, says: str) -> None:
    (found,) = findings(tmp_path, edges, None, None)
    assert found[0] == "edges"
    assert says in found[2]


@pytest.mark.parametrize("form", ["gml", "graphml", "node_link", "pajek", "matrix_market", "parquet", "npz"])
def test_a_list_that_is_sent_as_something_else(tmp_path: Path, form: str) -> None:
    (found,) = findings(tmp_path, "source,target\na,b\n", None, None, form)
    assert found[2] == f"the file does not begin as {form} does; a list of edges is sent with the format csv"


@pytest.mark.parametrize(
    ("content", "form"),
    [
        ("graph [ node [ id 1 ] ]", "gml"),
        ("<graphml></graphml>", "graphml"),
        ('{"nodes": []}', "node_link"),
        ("*Vertices 1\n", "pajek"),
        ("%%MatrixMarket matrix", "matrix_market"),
    ],
)
def test_a_document_that_is_sent_as_another(tmp_path: Path, content: str, form: str) -> None:
    for other in {"gml", "graphml", "node_link", "pajek", "matrix_market", "parquet", "npz"} - {form}:
        (found,) = findings(tmp_path, content, None, None, other)
        assert f"send it with the format {form}" in found[2]


def test_an_index_outside_a_matrix_is_named_by_its_line(tmp_path: Path) -> None:
    content = "%%MatrixMarket matrix coordinate pattern general\n% by hand\n2 2 3\n1 1\n\n3 1\n4 1\n"
    (found,) = findings(tmp_path, content, None, None, "matrix_market")
    assert found[1:] == (6, "the index 3 is not in 1 to 2 (2 such); mend it, or the line of sizes")


def test_an_empty_id_of_the_node_list(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, "source,target\na,b\n", 'id\na\n""\nb\n', None)
    assert found == ("nodes", 3, "the id is empty; give every node an id, or remove the line")
