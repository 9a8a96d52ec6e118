"""An uploaded list of sensitive links: in the nodes' own names, every row a link or a finding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.errors import IngestRejected, InvalidInput
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.ingest.sensitive_links import checked_list, write_checked
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.stored.whole import write_graph
from core.graphs.uploads.files import IngestLimits, UploadedFile
from core.graphs.views.sensitive import SensitiveLinks, read_sensitive

PEOPLE = ("ada", "ben", "cem", "dov")


def graph(*, several: bool = True) -> Graph:
    relations = [EdgeType(name="knows", source="person", target="person")]
    edges = {"knows": EdgeTable(np.array([0, 1, 2]), np.array([1, 2, 3]))}
    if several:
        relations += [
            EdgeType(name="follows", source="person", target="person", directed=True),
            EdgeType(name="owns", source="person", target="item"),
            EdgeType(name="near", source="person", target="person", public=True),
            EdgeType(name="met", source="person", target="person", temporal=True),
        ]
        edges |= {
            "follows": EdgeTable(np.array([0, 3]), np.array([2, 0])),
            "owns": EdgeTable(np.array([1]), np.array([2])),
            "near": EdgeTable(np.array([0]), np.array([1])),
            "met": EdgeTable(np.array([0]), np.array([1]), np.array([1])),
        }
    nodes = (NodeType(name="person"), *([NodeType(name="item", count=3)] if several else []))
    schema = GraphSchema(
        node_types=nodes, edge_types=tuple(relations), time=TimeGrid(count=2) if several else None
    )
    return Graph.build(schema, {"person": NodeTable(len(PEOPLE), pa.array(PEOPLE))}, edges)


def checked(folder: Path, content: str | bytes, *, several: bool = True, **asked: Any) -> SensitiveLinks:
    path = folder / "list"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    file = UploadedFile(path, asked.pop("format", "csv"), asked.pop("options", {}))
    return checked_list(file, graph(several=several), IngestLimits(**asked), lambda *_: None)


def rows(links: SensitiveLinks, name: str) -> list[tuple[int, int]]:
    source, target = links.of_relation(name)
    return list(zip(source.tolist(), target.tolist(), strict=True))


def test_names_become_indices_whichever_way_an_undirected_link_is_written(tmp_path):
    links = checked(
        tmp_path, "source,target,type\nben,ada,knows\nada,ben,knows\ndov,ada,follows\nben,2,owns\n"
    )
    assert rows(links, "knows") == [(0, 1)]
    assert rows(links, "follows") == [(3, 0)]
    assert rows(links, "owns") == [(1, 2)]


def test_one_relation_needs_no_type(tmp_path):
    semicolons = {"delimiter": ";"}
    links = checked(tmp_path, "source;target\ncem;dov\n", several=False, options=semicolons)
    assert rows(links, "knows") == [(2, 3)]


def test_an_empty_list_says_that_nothing_is_sensitive(tmp_path):
    assert checked(tmp_path, "source,target\n", several=False).pairs == {}


def test_a_table_is_read_too(tmp_path):
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"source": ["ada"], "target": ["ben"]}), path)
    links = checked(tmp_path, path.read_bytes(), several=False, format="parquet")
    assert rows(links, "knows") == [(0, 1)]


@pytest.mark.parametrize(
    ("row", "column", "said"),
    [
        ("ada,cem,knows", 2, "no link to 'cem' in 'knows'"),
        ("ada,dov,follows", 2, "no link to 'dov' in 'follows'"),  # the link points the other way
        ("ada,eva,knows", 2, "'eva'"),
        ("eva,ada,knows", 1, "'eva'"),
        ("ada,ada,knows", 2, "no link to 'ada'"),
        ("ben,1,owns", 2, "no link to '1' in 'owns'"),
        ("ada,ben,near", 3, "'near' is public"),
        ("ada,ben,met", 3, "'met' carries time"),
        ("ada,ben,likes", 3, "'likes' is not declared"),
    ],
)
def test_a_row_that_is_no_link_is_a_finding_with_its_place(tmp_path, row: str, column: int, said: str):
    with pytest.raises(IngestRejected) as refused:
        checked(tmp_path, f"source,target,type\nada,ben,knows\n{row}\n")
    (found,) = refused.value.members["findings"]
    assert (found["file"], found["line"], found["column"]) == ("sensitive links", 3, column)
    assert said in found["message"]


def test_every_wrong_row_is_found_up_to_the_limit(tmp_path):
    with pytest.raises(IngestRejected) as refused:
        checked(tmp_path, "source,target\n" + "ada,cem\n" * 30, several=False, max_findings=4)
    assert [found["line"] for found in refused.value.members["findings"]] == [2, 3, 4, 5]


def test_formats_that_list_nodes_and_lists_that_are_too_long_are_refused(tmp_path):
    with pytest.raises(IngestRejected, match="csv, tsv or parquet"):
        checked(tmp_path, "<graphml/>", several=False, format="graphml")
    with pytest.raises(IngestRejected, match="more than 2 rows"):
        checked(tmp_path, "source,target\n" + "ada,ben\n" * 3, several=False, max_rows=2)
    with pytest.raises(InvalidInput, match="option"):
        checked(tmp_path, "source,target\n", several=False, options={"delimiter": 7})


def test_the_checked_list_is_what_a_fit_reads(tmp_path):
    original = graph()
    write_graph(original, tmp_path / "graph")
    (tmp_path / "list").write_text("source,target,type\nada,ben,knows\nben,cem,knows\nben,2,owns\n")
    file = UploadedFile(tmp_path / "list", "csv")
    counts = write_checked(file, tmp_path / "graph", tmp_path / "out", IngestLimits(), lambda *_: None)
    assert counts == {"knows": 2, "owns": 1}
    found = read_sensitive(tmp_path / "out", original)
    assert found is not None
    assert rows(found, "knows") == [(0, 1), (1, 2)]


def test_in_a_collection_a_link_is_named_with_its_graph(tmp_path):
    collection = {"graphs": [{"id": "a", "nodes": 3}, {"id": "b", "nodes": 3}]}
    schema = GraphSchema.model_validate({"collection": collection})
    ends = EdgeTable(np.array([0]), np.array([1])), EdgeTable(np.array([1]), np.array([2]))
    held = Graph.build(schema, {}, dict(zip(("graph-a", "graph-b"), ends, strict=True)))
    path = tmp_path / "list.csv"
    path.write_text("graph_id,source,target\nb,2,1\n")
    found = checked_list(UploadedFile(path, "csv"), held, IngestLimits(), lambda *_: None)
    assert rows(found, "graph-b") == [(1, 2)]
    assert not len(found.of_relation("graph-a")[0])
    path.write_text("graph_id,source,target\na,2,1\n")
    with pytest.raises(IngestRejected, match="no link to '1'"):
        checked_list(UploadedFile(path, "csv"), held, IngestLimits(), lambda *_: None)
