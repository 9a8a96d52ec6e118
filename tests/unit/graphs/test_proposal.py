"""A proposal is a schema that the upload satisfies, with warnings that it reads the data."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import IngestRejected
from core.graphs.ingest import UploadedFile, canonicalise, propose_schema
from core.graphs.proposal import DERIVED_NODES, READS_DATA
from core.graphs.schema import AttributeKind, GraphSchema, Protection
from core.graphs.store import read_graph

EXAMPLE = Path(__file__).parents[3] / "examples" / "us-flights"


def upload(folder: Path, **contents: str) -> dict[str, UploadedFile]:
    files = {}
    for part, content in contents.items():
        (folder / part).write_text(content)
        files[part] = UploadedFile(folder / part, "csv")
    return files


def test_a_node_list_is_derived_with_a_warning(tmp_path: Path) -> None:
    files = upload(tmp_path, edges="b,a,5\na,c,7\n")
    report = canonicalise(files, None, tmp_path / "out")
    assert report.warnings[0] == READS_DATA
    assert DERIVED_NODES in report.warnings
    graph = read_graph(tmp_path / "out")
    assert graph.nodes["node"].ids.to_pylist() == ["a", "b", "c"]
    assert (graph.schema.time.start, graph.schema.time.width, graph.schema.time.count) == (5, 1, 3)


def test_types_and_attributes_are_proposed_withheld(tmp_path: Path) -> None:
    nodes = "id,type,age,job\nu1,user,3,x\nu2,user,,y\ni1,item,,\n"
    edges = "source,target,type\nu1,u2,knows\nu2,i1,has\n"
    files = upload(tmp_path, edges=edges, nodes=nodes)
    schema = propose_schema(files)
    assert [(t.source, t.target) for t in schema.edge_types] == [("user", "item"), ("user", "user")]
    user = schema.node_type("user")
    assert [(a.name, a.kind) for a in user.attributes] == [
        ("age", AttributeKind.NUMBER),
        ("job", AttributeKind.CATEGORY),
    ]
    assert {a.protection for a in user.attributes} == {Protection.WITHHELD}
    assert schema.node_type("item").attributes == ()
    report = canonicalise(files, schema, tmp_path / "out")
    assert report.nodes == {"item": 1, "user": 2}


def test_wide_spans_get_wide_steps(tmp_path: Path) -> None:
    schema = propose_schema(upload(tmp_path, edges="0,1,-1000\n0,1,100000000\n"))
    assert schema.time.step_of(-1000) == 0
    assert schema.time.step_of(100_000_000) == schema.time.count - 1
    assert schema.time.count <= 52


@pytest.mark.parametrize(
    "contents",
    [
        {"edges": "source,target,time\na,b,1\na,b,x\n"},
        {"edges": "source,target,type\na,b,1st\n"},
        {"edges": "a,u\n", "nodes": "id,type\na,user\nu,item\na,item\n"},
        {"edges": "a,b\nb,zz\n", "nodes": "id\na\nb\n"},
        {"edges": ""},
    ],
)
def test_what_cannot_be_proposed_is_refused(tmp_path: Path, contents: dict[str, str]) -> None:
    with pytest.raises(IngestRejected):
        propose_schema(upload(tmp_path, **contents))


def test_the_shipped_example_ingests(tmp_path: Path) -> None:
    schema = GraphSchema.model_validate_json((EXAMPLE / "schema.json").read_text())
    files = {part: UploadedFile(EXAMPLE / f"{part}.csv", "csv") for part in ("edges", "nodes")}
    report = canonicalise(files, schema, tmp_path / "out")
    assert report.nodes == {"airport": 224, "state": 51}
    assert report.rows_read == 20_224
    assert sum(report.edges_per_step["flight"]) == report.edges["flight"]["edges"] == 10_606
    assert report.edges["located_in"]["duplicates_merged"] == 0
