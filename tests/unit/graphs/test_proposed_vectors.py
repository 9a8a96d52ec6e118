"""Vectors of nodes at the door: what is proposed, what is to be declared, and what is never read off."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.graphs.ingest.uploaded import IngestReport, UploadedFile, canonicalise
from core.graphs.schema import Attribute, AttributeKind, GraphSchema, Protection
from core.graphs.stored.whole import read_graph

EDGES = "source,target\na,b\nb,c\n"
TEXTS = "id,words,place\na,1;0;0,x\nb,0;987.5;0,y\nc,0;0;-3,z\n"


def uploaded(folder: Path, nodes: str | pa.Table) -> dict[str, UploadedFile]:
    (folder / "edges.csv").write_text(EDGES)
    if isinstance(nodes, str):
        (folder / "nodes.csv").write_text(nodes)
        listed = UploadedFile(folder / "nodes.csv", "csv")
    else:
        pq.write_table(nodes, folder / "nodes.parquet")
        listed = UploadedFile(folder / "nodes.parquet", "parquet")
    return {"edges": UploadedFile(folder / "edges.csv", "csv"), "nodes": listed}


def told(report: IngestReport) -> str:
    return " ".join(report.warnings)


def lists(kind: pa.DataType) -> pa.Table:
    rows = pa.array([[1, 0, 0], [0, 987.5, 0], [0, 0, -3]], type=kind)
    return pa.table({"id": ["a", "b", "c"], "words": rows, "place": ["x", "y", "z"]})


@pytest.mark.parametrize(
    "nodes",
    [
        TEXTS,
        lists(pa.list_(pa.float32())),
        lists(pa.list_(pa.float64(), 3)),
        lists(pa.large_list(pa.float32())),
    ],
    ids=["texts", "lists", "fixed", "large"],
)
def test_a_vector_is_proposed_withheld_with_its_length_and_without_the_datas_extremes(
    nodes: str | pa.Table, tmp_path: Path
) -> None:
    files = uploaded(tmp_path, nodes)
    report = canonicalise(files, None, tmp_path / "proposed")
    (kind,) = report.schema.node_types
    assert [(each.name, each.kind) for each in kind.attributes] == [
        ("place", AttributeKind.CATEGORY),
        ("words", AttributeKind.VECTOR),
    ]
    words = kind.attributes[1]
    assert (words.protection, words.bounds, words.length) == (Protection.WITHHELD, None, None)
    assert '"words" of node holds vectors, and is withheld' in told(report).replace("'", '"')
    assert '"length": 3 and "bounds"' in told(report)
    assert "987" not in told(report)  # what nobody confirmed
    declared = Attribute(
        name="words", kind="vector", protection="protected", length=3, bounds=(-1000, 1000), nonzero=1
    )
    schema = report.schema.model_copy(
        update={"node_types": (kind.model_copy(update={"attributes": (kind.attributes[0], declared)}),)}
    )
    canonicalise(files, GraphSchema.model_validate(schema.model_dump()), tmp_path / "out")
    rows = read_graph(tmp_path / "out").nodes["node"].attributes["words"]
    assert np.asarray(rows).tolist() == [[1, 0, 0], [0, 987.5, 0], [0, 0, -3]]


@pytest.mark.parametrize(
    ("nodes", "kind"),
    [
        ("id,words\na,1;2\nb,1;2;3\nc,0;1\n", AttributeKind.CATEGORY),
        ("id,words\na,1;2\nb,red;blue\nc,0;1\n", AttributeKind.CATEGORY),
        ("id,words\na,1\nb,2\nc,3\n", AttributeKind.NUMBER),
    ],
    ids=["of several lengths", "texts", "numbers"],
)
def test_texts_that_are_no_vectors_stay_what_they_were(
    nodes: str, kind: AttributeKind, tmp_path: Path
) -> None:
    report = canonicalise(uploaded(tmp_path, nodes), None, tmp_path / "out")
    assert [each.kind for each in report.schema.node_types[0].attributes] == [kind]
    assert "vectors" not in told(report)


def test_lists_that_are_no_vectors_are_left_out_with_the_reason(tmp_path: Path) -> None:
    nodes = pa.table({"id": ["a", "b", "c"], "words": [[1.0], [1.0, 2.0], []]})
    report = canonicalise(uploaded(tmp_path, nodes), None, tmp_path / "out")
    assert report.schema.node_types[0].attributes == ()
    assert "its vectors are not all of equally many finite numbers" in told(report)


def test_vectors_of_each_type_have_their_own_length(tmp_path: Path) -> None:
    nodes = "id,type,far,near\na,user,1;2,\nb,user,3;4,\nc,item,,1;2;3\n"
    files = uploaded(tmp_path, nodes)
    (tmp_path / "edges.csv").write_text("source,target\na,c\nb,c\n")
    report = canonicalise(files, None, tmp_path / "out")
    user, item = (report.schema.node_type(name) for name in ("user", "item"))
    assert [(each.name, each.kind) for each in user.attributes] == [("far", AttributeKind.VECTOR)]
    assert [(each.name, each.kind) for each in item.attributes] == [("near", AttributeKind.VECTOR)]
    assert "'far' of user holds" in told(report).replace('"', "'")
    assert (
        "of item holds vectors, and is withheld: to release such vectors declare it protected with"
        in told(report)
    )
