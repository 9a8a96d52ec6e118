"""What Neo4j, APOC and yEd export is read with its labels, its types and its own ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.errors import IngestRejected
from core.graphs.graph import Graph
from core.graphs.ingest.uploaded import canonicalise
from core.graphs.stored.whole import read_graph
from core.graphs.uploads.files import IngestReport, UploadedFile
from core.graphs.views.convert import to_networkx

APOC = (
    '"_id","_labels","name","type","_start","_end","_type","since","type"\n'
    '"0",":Person","Ann, of\nYork","x",,,,,\n"1",":Person","Bob",,,,,,\n"7",":Firm","\'=Ltd",,,,,,\n'
    ',,,,"0","1","KNOWS","2010","y"\n,,,,"0","7","WORKS_AT","2011",\n,,,,"1","7","WORKS_AT","2012",\n'
)


def read(folder: Path, content: str, form: str, schema: Any = None) -> tuple[Graph, IngestReport]:
    (folder / "file").write_text(content)
    report = canonicalise({"edges": UploadedFile(folder / "file", form)}, schema, folder / "out")
    return read_graph(folder / "out"), report


def joined(graph: Graph) -> set[tuple[str, str, str]]:
    return {
        (*sorted((source, target)), data.get("type", "edge"))
        for source, target, data in to_networkx(graph).edges(data=True)
    }


def test_apocs_csv_has_labels_types_and_properties(tmp_path: Path) -> None:
    graph, report = read(tmp_path, APOC, "apoc_csv")
    assert joined(graph) == {
        ("Person/0", "Person/1", "KNOWS"),
        ("Firm/7", "Person/0", "WORKS_AT"),
        ("Firm/7", "Person/1", "WORKS_AT"),
    }
    assert [each.directed for each in report.schema.edge_types] == [True, False]
    assert graph.nodes["Firm"].attributes["name"].to_pylist() == ["=Ltd"]
    assert set(graph.nodes["Person"].attributes["name"].to_pylist()) == {"Ann, of\nYork", "Bob"}
    assert graph.nodes["Person"].attributes["type_attribute"].to_pylist() == ["x", None]
    values = graph.edges["WORKS_AT"].values
    assert values is not None
    assert sorted(values.columns["since"].tolist()) == [2011, 2012]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("a,b\n1,2\n", "does not begin as apoc_csv does"),
        ("_id,_labels,name\n0,:A,x\n", "the header is not _id, _labels"),
        ("_id,_labels,_start,_end,_type\n0,:A,,,\n0,:A,,,\n", "the node '0' is listed twice"),
        ("_id,_labels,_start,_end,_type\n0,:A,,,\n,,0,9,R\n,,8,0,R\n", "the end '9' of a relationship is no"),
        ("_id,_labels,_start,_end,_type\n0,:A,,,\n,,0\n", "cannot be split into 5 fields"),
    ],
)
def test_a_damaged_export_is_named(tmp_path: Path, content: str, says: str) -> None:
    with pytest.raises(IngestRejected, match=says):
        read(tmp_path, content, "apoc_csv")


def test_apocs_csv_that_is_sent_as_a_list_is_named(tmp_path: Path) -> None:
    with pytest.raises(IngestRejected, match="APOC's CSV of Neo4j; send it with the format apoc_csv"):
        read(tmp_path, APOC, "csv")


def test_lists_for_neo4js_import_are_read(tmp_path: Path) -> None:
    (tmp_path / "nodes").write_text("personId:ID,name,:LABEL\n1,Ann,Person\n2,Bob,Person\n3,Cy,Person\n")
    (tmp_path / "edges").write_text(":START_ID,since:int,:END_ID,:TYPE\n1,2010,2,KNOWS\n2,2011,3,KNOWS\n")
    files = {part: UploadedFile(tmp_path / part, "csv") for part in ("edges", "nodes")}
    canonicalise(files, None, tmp_path / "out")
    assert joined(read_graph(tmp_path / "out")) == {("1", "2", "edge"), ("2", "3", "edge")}


@pytest.mark.parametrize("header", ["employee_id,name", "name,employee_id", "name,Employee ID"])
def test_a_name_that_ends_as_an_id_comes_before_a_name(tmp_path: Path, header: str) -> None:
    rows = [("1", "Ann"), ("2", "Bob"), ("3", "Cy")]
    turned = header.startswith("name")
    lines = [",".join(row[::-1] if turned else row) for row in rows]
    (tmp_path / "nodes").write_text("\n".join([header, *lines]) + "\n")
    (tmp_path / "edges").write_text("source,target\n1,2\n2,3\n")
    files = {part: UploadedFile(tmp_path / part, "csv") for part in ("edges", "nodes")}
    canonicalise(files, None, tmp_path / "out")
    assert read_graph(tmp_path / "out").nodes["node"].id_array().to_pylist() == ["1", "2", "3"]


def test_apocs_graphml_has_labels_and_types(tmp_path: Path) -> None:
    content = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
        '<key id="name" for="node" attr.name="name"/><key id="labels" for="node" attr.name="labels"/>'
        '<key id="label" for="edge" attr.name="label"/><graph id="G" edgedefault="directed">'
        '<node id="n0" labels=":Person"><data key="labels">:Person</data><data key="name">Ann</data></node>'
        '<node id="n1" labels=":Firm"><data key="labels">:Firm</data><data key="name">Ltd</data></node>'
        '<edge id="e0" source="n0" target="n1" label="WORKS_AT"><data key="label">WORKS_AT</data></edge>'
        "</graph></graphml>"
    )
    graph, report = read(tmp_path, content, "graphml")
    assert {name: table.count for name, table in graph.nodes.items()} == {"Firm": 1, "Person": 1}
    (relation,) = report.schema.edge_types
    assert (relation.name, relation.source, relation.target) == ("WORKS_AT", "Person", "Firm")


def test_yeds_graphml_has_its_labels(tmp_path: Path) -> None:
    content = (
        '<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n<!--Created by yEd 3.25-->'
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">'
        '<key for="port" id="d0" yfiles.type="portgraphics"/>'
        '<key for="node" id="d6" yfiles.type="nodegraphics"/>'
        '<key attr.name="description" attr.type="string" for="node" id="d5"/>'
        '<key for="edge" id="d10" yfiles.type="edgegraphics"/><graph edgedefault="directed" id="G">'
        + "".join(
            f'<node id="n{place}"><data key="d5"/><data key="d6"><y:ShapeNode><y:Geometry height="30.0" '
            f'width="30.0" x="{place}.0" y="0.0"/><y:NodeLabel>{name}<y:LabelModel/></y:NodeLabel>'
            '<y:Shape type="ellipse"/></y:ShapeNode></data></node>'
            for place, name in enumerate(("Ann", "Bob"))
        )
        + '<edge id="e0" source="n0" target="n1"><data key="d10"><y:PolyLineEdge><y:Arrows source="none" '
        'target="standard"/></y:PolyLineEdge></data></edge></graph></graphml>'
    )
    graph, report = read(tmp_path, content, "graphml")
    assert joined(graph) == {("n0", "n1", "edge")}
    assert report.schema.edge_types[0].directed
    assert graph.nodes["node"].attributes["label"].to_pylist() == ["Ann", "Bob"]
