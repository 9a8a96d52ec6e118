"""One snapshot of a live stream becomes canonical, or the findings say why not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.errors import IngestRejected, InvalidInput
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.ingest.snapshots import canonical_snapshot
from core.graphs.schema import MAX_TIME, EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.schema.snapshots import tick_schema
from core.graphs.stored.whole import read_graph, read_universe, write_graph
from core.graphs.uploads.files import UploadedFile

IDS = pa.array(["ann", "bob", "cid", "dan"])
SCHEMA = GraphSchema(
    node_types=(NodeType(),),
    edge_types=(
        EdgeType(name="call", temporal=True, once=True, edge_bound=3),
        EdgeType(name="mail", temporal=True, directed=True),
        EdgeType(name="family"),
    ),
    time=TimeGrid(start=1000, width=10, count=5),
)
NODES = {"node": NodeTable(4, IDS)}


def canonical(
    folder: Path, content: bytes | None, relations: tuple[str, ...] = ("call",), **file: Any
) -> Graph:
    """Step 7 of the stream, from its bytes."""
    upload = None
    if content is not None:
        path = folder / "upload"
        path.write_bytes(content)
        upload = UploadedFile(path, file.get("format", "csv"), file.get("options", {}))
    return canonical_snapshot(upload, tick_schema(SCHEMA, relations, 7), NODES, folder / "out")


def findings(folder: Path, content: bytes, **file: Any) -> list[tuple[int | None, str]]:
    with pytest.raises(IngestRejected) as refused:
        canonical(folder, content, **file)
    assert not (folder / "out").exists()
    return [(finding["line"], finding["message"]) for finding in refused.value.members["findings"]]


def test_a_ticks_schema_is_one_step_of_the_grid() -> None:
    schema = tick_schema(SCHEMA, ["call"], 7)
    assert schema.time == TimeGrid(start=1070, width=10, count=1)
    assert [(t.name, t.once, t.edge_bound) for t in schema.edge_types] == [("call", False, 3)]
    assert schema.node_types == SCHEMA.node_types
    with pytest.raises(InvalidInput):
        tick_schema(SCHEMA, ["call"], MAX_TIME // 10)
    with pytest.raises(ValueError, match="time grid"):
        tick_schema(GraphSchema(), ["edge"], 0)


def test_without_a_time_all_rows_belong_to_the_step(tmp_path: Path) -> None:
    graph = canonical(tmp_path, b"source,target\nbob,ann\nann,bob\ncid,cid\ndan,cid\n")
    table = graph.edges["call"]
    assert list(zip(table.source.tolist(), table.target.tolist(), strict=True)) == [(0, 1), (2, 3)]
    assert table.step is not None
    assert table.step.tolist() == [0, 0]
    # with the universe beside it, what is stored is the whole graph
    write_graph(Graph.build(SCHEMA, NODES, {}), tmp_path / "whole")
    (tmp_path / "whole" / "nodes.parquet").rename(tmp_path / "out" / "nodes.parquet")
    assert read_graph(tmp_path / "out").equals(graph)
    assert read_universe(tmp_path / "out")["node"].ids.equals(IDS.cast(pa.string()))


def test_columns_come_by_name_or_in_the_stated_order(tmp_path: Path) -> None:
    both = ("call", "mail")
    named = canonical(tmp_path, b"time,type,target,source\n1075,mail,ann,bob\n1070,call,cid,dan\n", both)
    plain = canonical(tmp_path, b"bob,ann,mail\ndan,cid,call\n", both)
    timed = canonical(tmp_path, b"bob,ann,mail,1079\ndan,cid,call,1070\n", both)
    assert named.equals(plain)
    assert plain.equals(timed)
    assert (named.edges["mail"].source.tolist(), named.edges["mail"].target.tolist()) == ([1], [0])
    table = pa.table({"source": ["bob", "dan"], "target": ["ann", "cid"], "type": ["mail", "call"]})
    pq.write_table(table, tmp_path / "rows")
    parquet = canonical(tmp_path, (tmp_path / "rows").read_bytes(), both, format="parquet")
    assert parquet.equals(named)


def test_nothing_and_a_header_alone_are_an_empty_snapshot(tmp_path: Path) -> None:
    empty = canonical(tmp_path, None)
    assert empty.edges["call"].count == 0
    assert canonical(tmp_path, b"source,target,time\n").equals(empty)


def test_rows_that_break_the_rules_are_found_by_line(tmp_path: Path) -> None:
    found = findings(tmp_path, b"source,target,time\nann,bob,1070\nann,eve,1071\nann,bob,1080\nbob,,1070\n")
    assert [line for line, _ in found] == [3, 4, 5]
    assert "'eve'" in found[0][1]
    assert "outside the grid 1070 to 1079; send it with the snapshot of its own step" in found[1][1]
    assert findings(tmp_path, b"source,target\nann,bob\nann,eve\n")[0][0] == 3
    assert findings(tmp_path, b"source,target,weight\nann,bob,1\n")[0][0] == 1
    assert findings(tmp_path, b"a\x00b\n")[0][0] == 1
    bound = findings(tmp_path, b"source,target\nann,bob\nann,cid\nann,dan\nbob,cid\n")
    assert "at most 3 edges" in bound[0][1]
    assert "lists nodes" in findings(tmp_path, b"graph []", format="gml")[0][1]
    with pytest.raises(InvalidInput):
        canonical(tmp_path, b"ann,bob\n", options={"no_such": 1})


def test_large_snapshots_are_read_in_chunks(tmp_path: Path) -> None:
    count = 300_000
    rng = np.random.default_rng(1)
    source, target = rng.integers(0, 50_000, (2, count))
    schema = GraphSchema(
        node_types=(NodeType(count=50_000),),
        edge_types=(EdgeType(name="call", temporal=True),),
        time=TimeGrid(count=1),
    )
    lines = "\n".join(f"{u},{v}" for u, v in zip(source.tolist(), target.tolist(), strict=True))
    path = tmp_path / "upload"
    path.write_text(f"source,target\n{lines}\n")
    asked = tick_schema(schema, ["call"], 0)
    nodes = {"node": NodeTable(50_000)}
    graph = canonical_snapshot(UploadedFile(path, "csv"), asked, nodes, tmp_path / "out")
    same = Graph.build(asked, nodes, {"call": EdgeTable(source, target, np.zeros(count, dtype=np.int64))})
    assert graph.equals(same)
    path.write_text(f"source,target\n{lines}\n7,50000\n")
    with pytest.raises(IngestRejected) as refused:
        canonical_snapshot(UploadedFile(path, "csv"), asked, nodes, tmp_path / "other")
    assert refused.value.members["findings"][0]["line"] == count + 2
