"""Both engines answer alike: the same findings, counts, fingerprints, and the same bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.errors import IngestRejected, InvalidInput, StorageError
from core.graphs.columns.tables import NodeTable
from core.graphs.counted.here import Here
from core.graphs.counted.port import Canonical, Found
from core.graphs.counted.reference import Reference, References
from core.graphs.counted.spark import Spark, connect
from core.graphs.counted.stored import read_counted
from core.graphs.graph import EdgeTable, Graph
from core.graphs.ingest.referenced import count_reference
from core.graphs.schema import (
    Attribute,
    AttributeKind,
    EdgeType,
    GraphSchema,
    NodeType,
    Protection,
    TimeGrid,
)
from core.graphs.schema.partable import cells_of
from core.graphs.stored.fingerprint import fingerprint
from core.graphs.stored.whole import write_universe
from core.graphs.uploads.files import IngestLimits
from core.methods._shared.blocks.whole import Blocks
from core.methods._shared.shards.draw import write_shard
from core.methods._shared.shards.law import load_law, strip_law
from core.privacy.queries import Shape, ask
from core.publishing.drawn import Drawing
from core.storage.folders import pack
from tests.support.sail import Sail

pytestmark = pytest.mark.extras

NODES, KEY = 40, b"k" * 32


@pytest.fixture(scope="module")
def sail(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sail]:
    with Sail(tmp_path_factory.mktemp("sail")) as server:
        yield server


@pytest.fixture
def spark(sail: Sail, tmp_path: Path) -> Iterator[Spark]:
    engine = Spark(connect(sail.address), (tmp_path / "kept").as_uri(), 60)
    yield engine
    engine.stop()


@pytest.fixture
def here(tmp_path: Path) -> Here:
    return Here(tmp_path / "here", 60)


def ends(count: int = 250) -> np.ndarray:
    """Pairs at random: with loops, and with repeats in both directions."""
    return np.random.default_rng(3).integers(0, NODES, (count, 2))


def stored(folder: Path, columns: list[pa.Array], files: int = 3) -> Reference:
    folder.mkdir()
    for number in range(files):
        table = pa.table({"from": columns[0][number::files], "to": columns[1][number::files]})
        pq.write_table(table, folder / f"rows-{number}.parquet")
    return Reference(folder=str(folder), source="from", target="to")


def integers(rows: np.ndarray) -> tuple[NodeTable, list[pa.Array]]:
    return NodeTable(NODES), [pa.array(rows[:, 0]), pa.array(rows[:, 1].astype(np.int32))]


def texts(rows: np.ndarray) -> tuple[NodeTable, list[pa.Array]]:
    nodes, columns = integers(rows)
    return nodes, [each.cast(pa.string()) for each in columns]


def names(rows: np.ndarray) -> tuple[NodeTable, list[pa.Array]]:
    """Ids that sort as texts otherwise than they are listed."""
    ids = pa.array([f"n{(7 * i) % NODES}" for i in range(NODES)])
    return NodeTable(NODES, ids), [ids.take(pa.array(rows[:, side])) for side in (0, 1)]


WAYS = [integers, texts, names]


SCHEMA = GraphSchema(node_types=(NodeType(count=NODES),), edge_types=(EdgeType(),))


def sought(engine: Here | Spark, source: Reference, nodes: NodeTable) -> Found:
    return engine.found(source, (nodes, nodes))


def made(engine: Here | Spark, source: Reference, nodes: NodeTable, rows: int) -> Canonical:
    return engine.canonical(SCHEMA, {"node": nodes}, [source], [rows])


def compared(one: Here, other: Spark, source: Reference, nodes: NodeTable) -> list[str]:
    """Everything that both engines say, once it is the same."""
    assert one.pinned(source) == other.pinned(source)
    found = sought(one, source, nodes)
    assert sought(other, source, nodes) == found
    canonical = [made(engine, source, nodes, found.rows) for engine in (one, other)]
    pair = [each.cells[0] for each in canonical]
    parts = [list(each.parts) for each in pair]
    assert parts[0] == parts[1]  # names, rows, ranges and digests of the bytes
    degrees = [np.concatenate(list(each.degrees())) for each in pair]
    assert np.array_equal(*degrees)
    for groups in (1, 3):
        labels = (np.arange(nodes.count) * 5) % 7 % groups
        assert np.array_equal(*(each.pairs(labels, groups) for each in pair))
    digests = [each.fingerprint(KEY) for each in canonical]
    assert digests[0] == digests[1]
    return digests


@pytest.mark.parametrize("way", WAYS)
def test_counts_and_bytes_are_the_same(tmp_path, here, spark, way):
    rows = ends()
    nodes, columns = way(rows)
    source = stored(tmp_path / "rows", columns)
    told = compared(here, spark, source, nodes)
    kept = np.unique(np.sort(rows[rows[:, 0] != rows[:, 1]], axis=1), axis=0)
    whole = Graph.build(
        GraphSchema(node_types=(NodeType(count=NODES),), edge_types=(EdgeType(),)),
        {"node": nodes},
        {"edge": EdgeTable(kept[:, 0], kept[:, 1])},
    )
    assert told[0] == fingerprint(whole, KEY)


@pytest.mark.parametrize("way", WAYS)
def test_rows_that_end_outside_the_universe_are_counted_alike(tmp_path, here, spark, way):
    nodes, columns = way(ends())
    strange = [
        pa.concat_arrays([each, pa.array(more, each.type)])
        for each, more in zip(
            columns,
            (["77", None], ["1", "2"]) if pa.types.is_string(columns[0].type) else ([77, None], [1, 2]),
            strict=True,
        )
    ]
    source = stored(tmp_path / "rows", strange, 1)
    found = sought(here, source, nodes)
    assert (found.strangers, found.stranger) == (252 - 250 if way is not names else 2, "77")
    assert sought(spark, source, nodes) == found


@pytest.mark.parametrize(
    "rows", [np.array([[3, 3], [5, 5]]), np.empty((0, 2), dtype=np.int64)], ids=["loops", "none"]
)
def test_a_graph_without_edges(tmp_path, here, spark, rows):
    nodes, columns = integers(rows)
    compared(here, spark, stored(tmp_path / "rows", columns, 1), nodes)


def test_folders_in_partitions(tmp_path, here, spark):
    nodes, columns = integers(ends())
    for number in range(2):
        folder = tmp_path / "rows" / f"year={2020 + number}"
        folder.mkdir(parents=True)
        table = pa.table({"source": columns[0][number::2], "target": columns[1][number::2]})
        pq.write_table(table, folder / "rows.parquet")
    compared(here, spark, Reference(folder=str(tmp_path / "rows")), nodes)


def snapshots(table: Path, format: str) -> list[int]:
    """The numbers of a table's snapshots, the first one first."""
    if format == "delta":
        return sorted(int(path.stem) for path in (table / "_delta_log").glob("*.json"))
    told = [json.loads(path.read_bytes()) for path in (table / "metadata").glob("*.metadata.json")]
    return [each["snapshot-id"] for each in max((each.get("snapshots", []) for each in told), key=len)]


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_a_snapshot_of_a_table_is_what_it_was(tmp_path, here, spark, format):
    nodes, columns = integers(ends())
    source, at = stored(tmp_path / "rows", columns), tmp_path / "table"
    table = f"{format}_{tmp_path.name.replace('-', '_')}"
    rows = spark.session.read.parquet(source.folder)
    rows.write.format(format).option("path", str(at)).saveAsTable(table)
    more = rows.limit(50).selectExpr("to as `from`", "cast(39 as int) as to")
    more.write.format(format).mode("append").save(str(at))
    first, last = snapshots(at, format)
    pinned = Reference(table=table, snapshot=first, source="from", target="to")
    found = sought(here, source, nodes)
    assert sought(spark, pinned, nodes) == found
    assert spark.pinned(pinned) == f"{table}@{first}"
    assert sought(spark, pinned.model_copy(update={"snapshot": last}), nodes).rows == found.rows + 50
    fingerprints = {
        made(engine, asked, nodes, found.rows).fingerprint(KEY)
        for engine, asked in ((here, source), (spark, pinned))
    }
    assert len(fingerprints) == 1


@pytest.mark.parametrize("rows", [3, 0])
def test_files_of_several_relations_are_one_table_of_the_catalogue(tmp_path, spark, rows):
    """Each has columns of its own; a table is made once."""
    folder, name = tmp_path / "edges", f"edges_{rows}"
    folder.mkdir()
    ends = {"source": pa.array(range(rows), pa.int64()), "target": pa.array(range(rows), pa.int64())}
    pq.write_table(pa.table({**ends, "stars": pa.array([5] * rows, pa.int32())}), folder / "edges-0.parquet")
    pq.write_table(pa.table({**ends, "sort": pa.array(["a"] * rows)}), folder / "edges-1.parquet")
    first = spark.table(name, str(folder), str(tmp_path / "iceberg"))
    assert spark.table(name, str(folder), str(tmp_path / "iceberg")) == first
    told = spark.session.sql(f"select * from {name} version as of {first}").toArrow()
    assert {*told.column_names} == {"source", "target", "stars", "sort"}
    assert sorted(told["stars"].to_pylist(), key=str) == [5] * rows + [None] * rows
    with pytest.raises(InvalidInput, match="another table has that name"):
        spark.table(name, str(folder), str(tmp_path / "of another"))


SIDED = GraphSchema(
    node_types=(
        NodeType(
            name="person",
            count=NODES,
            attributes=(Attribute(name="town", kind=AttributeKind.CATEGORY, protection=Protection.PUBLIC),),
        ),
        NodeType(name="firm", count=12),
    ),
    edge_types=(
        EdgeType(name="knows", source="person", target="person"),
        EdgeType(name="writes", source="person", target="person", directed=True, temporal=True),
        EdgeType(name="cites", source="person", target="person", directed=True),
        EdgeType(name="hires", source="firm", target="person"),
        EdgeType(name="buys", source="person", target="firm", temporal=True),
    ),
    time=TimeGrid(start=0, width=1, count=2),
)


def listed() -> dict[str, NodeTable]:
    """Persons by name, firms by number. A person has a firm's id."""
    ids = pa.array(["3", *(f"n{(7 * i) % NODES}" for i in range(1, NODES))])
    return {"person": NodeTable(NODES, ids, {"town": np.arange(NODES) % 3}), "firm": NodeTable(12)}


def lake(folder: Path, strange: str | None = None) -> tuple[References, Graph]:
    """A folder for each relation and snapshot, with loops and repeats; and the same graph in memory."""
    nodes, rng, told = listed(), np.random.default_rng(11), []
    tables: dict[str, list[np.ndarray]] = {each.name: [] for each in SIDED.edge_types}
    for number, (relation, step) in enumerate(cells_of(SIDED)):
        kinds = relation.source, relation.target
        ends = [rng.integers(0, nodes[kind].count, 150) for kind in kinds]
        ids = [nodes[kind].id_array().take(pa.array(each)) for kind, each in zip(kinds, ends, strict=True)]
        if relation.name == strange:
            ids[0] = pa.concat_arrays([ids[0][:-1], pa.array(["77"], ids[0].type)])
        (folder / str(number)).mkdir(parents=True)
        pq.write_table(pa.table({"a": ids[0], "b": ids[1]}), folder / str(number) / "rows.parquet")
        of = {"relation": relation.name, "step": step, "folder": str(folder / str(number))}
        told.append({**of, "source": "a", "target": "b"})
        tables[relation.name].append(np.stack([*ends, np.full(150, step or 0)]))
    edges = {
        each.name: EdgeTable(*columns[:2], columns[2] if each.temporal else None)
        for each in SIDED.edge_types
        for columns in [np.concatenate(tables[each.name], axis=1)]
    }
    return References.model_validate({"relations": told[::-1]}), Graph.build(SIDED, nodes, edges)


def test_relations_of_all_shapes_are_counted_alike_and_as_in_memory(tmp_path, here, spark):
    """Directed, between two types, with snapshots: report, degrees of both sides, labels, fingerprint."""
    source, whole = lake(tmp_path / "lake")
    labels = {"person": [(np.arange(NODES) % 3, 3)]}
    found = []
    for engine in (here, spark):
        out = tmp_path / f"out-{len(found)}"
        write_universe(Graph.build(SIDED, listed(), {}), out)
        (out / "schema.json").write_text(SIDED.model_dump_json())
        report = count_reference(
            engine, source, SIDED, listed(), labels, out, IngestLimits(), fingerprint_key=KEY
        )
        found.append((report, read_counted(out)))
    (one, counted), (other, by_spark) = found
    assert one.to_json() | {"bytes_stored": 0} == other.to_json() | {"bytes_stored": 0}
    assert one.fingerprint == fingerprint(whole, KEY)
    assert (one.edges["hires"]["loops_dropped"], one.rows_read) == (0, 150 * 7)
    assert one.loops_dropped > 5 < one.duplicates_merged
    assert len(one.edges_per_step["writes"]) == 2
    sizes = {"person": NODES, "firm": 12}
    for relation, step in cells_of(SIDED):
        shape = Shape(relation, sizes[relation.source], sizes[relation.target])
        asked = [ask("edge_count", shape, {})]
        if relation.homogeneous:
            asked += [ask("degrees", shape, {}), ask("tail_counts", shape, {"thresholds": np.array([1, 5])})]
            asked.append(ask("group_matrix", shape, {"labels": np.arange(NODES) % 3, "groups": 3}))
        if not shape.undirected:
            asked += [ask("degrees", shape, {"side": side}) for side in ("source", "target")]
        for question in asked:
            answer = question.measure(whole.cell(relation.name, step))
            for graph in (counted, by_spark):
                assert np.array_equal(question.measure(graph.cell(relation.name, step)), answer), (
                    question.name
                )


@pytest.mark.parametrize("strange", ["knows", "hires", "buys"])
def test_findings_name_the_relation_and_the_end(tmp_path, here, spark, strange):
    source, _ = lake(tmp_path / "lake", strange)
    for engine in (here, spark):
        out = tmp_path / f"out-{type(engine).__name__}"
        out.mkdir()
        with pytest.raises(IngestRejected) as refused:
            count_reference(engine, source, SIDED, listed(), {}, out, IngestLimits(), fingerprint_key=KEY)
        (finding,) = refused.value.members["findings"]
        step = " in snapshot 0" if strange == "buys" else ""
        assert finding["message"].startswith(
            f"1 rows of {strange!r}{step} end outside the universe, among them: the source '77' "
        )


def test_a_column_that_lacks_is_named(tmp_path, here, spark):
    nodes, columns = integers(ends())
    source = stored(tmp_path / "rows", columns).model_copy(update={"target": "towards"})
    for engine in (here, spark):
        with pytest.raises(InvalidInput, match="no column 'towards'"):
            sought(engine, source, nodes)


def test_a_task_that_runs_again_writes_the_same(tmp_path, spark):
    nodes, columns = integers(ends())
    source = stored(tmp_path / "rows", columns)
    first = made(spark, source, nodes, 250).cells[0]
    again = made(replace(spark), source, nodes, 250).cells[0]
    assert list(first.parts) == list(again.parts)
    assert {path.name for path in (tmp_path / "kept").glob("edges-*")} == {part.name for part in first.parts}


def test_tasks_tell_what_they_did_in_the_order_of_their_numbers(here, spark):
    for engine in (here, spark):
        assert [each["square"] for each in engine.each(squared, 5)] == [0, 1, 4, 9, 16]
        assert engine.each(squared, 0) == []


def squared(number: int) -> dict[str, int]:
    return {"square": number**2}


def test_shards_are_drawn_and_verified_by_tasks_as_in_this_process(tmp_path, here, spark):
    """A shard is a function of the law and its number: what tasks draw, and draw again, is the same."""
    rng = np.random.default_rng(4)
    blocks = Blocks(np.array([0]), np.array([0]), np.array([400]))
    law = strip_law(rng.integers(1, 9, 80), np.zeros(80, dtype=np.int64), blocks, bytes(32), rng, 100)
    law.save(tmp_path / "law")
    shards = law.strips
    assert shards > 2
    law, folder = load_law(tmp_path / "law"), tmp_path / "alone"
    folder.mkdir()
    alone = [asdict(write_shard(law, number, shards, folder)) for number in range(shards)]
    content: dict[str, set[bytes]] = {}
    for name, engine in (("here", here), ("spark", spark), ("again", spark), ("again", spark)):
        drawing = Drawing(str(tmp_path / name), "dcsbm", tuple(range(shards)), shards, bytes(range(32)))
        drawing.put("law", pack(tmp_path / "law"))
        assert engine.each(drawing, shards) == alone
        for part in alone:
            for kind in ("parts", "degrees"):
                found = b"".join(drawing.get(f"{kind}/{part['name']}"))
                content.setdefault(f"{kind}/{part['name']}", set()).add(found)
                assert found not in (tmp_path / name / kind / part["name"]).read_bytes()  # it is sealed
    assert {len(found) for found in content.values()} == {1}
    for part in alone:
        assert content[f"parts/{part['name']}"] == {(folder / part["name"]).read_bytes()}
    other = replace(drawing, key=bytes(32))
    with pytest.raises(StorageError):
        b"".join(other.get(f"parts/{alone[0]['name']}"))
