"""Edges in several files: the same graph and fingerprint as in memory, the same refusals, each file's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.errors import IngestRejected, InvalidInput
from core.graphs.ingest import parted as parted_ingest
from core.graphs.ingest.parted import canonicalise_parts
from core.graphs.ingest.uploaded import canonicalise
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType, Protection, TimeGrid
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.graphs.stored.parted import read_parted
from core.graphs.stored.whole import read_graph
from core.graphs.uploads.files import IngestLimits, UploadedFile, place_of
from tests.support.checked_parts import check_parted

KEY = b"k" * 32
NODES = 50
COUNTED = GraphSchema(node_types=(NodeType(count=NODES),), edge_types=(EdgeType(),))
LISTED = GraphSchema(
    node_types=(NodeType(attributes=(Attribute(name="region", protection=Protection.PUBLIC),)),),
    edge_types=(EdgeType(),),
)


def ends(count: int = 400) -> np.ndarray:
    """Pairs at random: with loops, and with repeats in both directions."""
    return np.random.default_rng(3).integers(0, NODES, (count, 2))


def csv(rows: Any) -> bytes:
    return ("source,target\n" + "".join(f"{u},{v}\n" for u, v in rows)).encode()


def names(rows: np.ndarray) -> list[tuple[str, str]]:
    """Ids of which the order as texts is another than that of the list."""
    return [(f"n{(7 * u) % NODES}", f"n{(7 * v) % NODES}") for u, v in rows.tolist()]


NODE_LIST = ("id,region\n" + "".join(f"n{i},r{i % 3}\n" for i in range(NODES))).encode()


def uploaded(folder: Path, **parts: bytes) -> dict[str, UploadedFile]:
    folder.mkdir(exist_ok=True)
    files = {}
    for name, content in parts.items():
        part = name.replace("_", "-")
        (folder / part).write_bytes(content)
        files[part] = UploadedFile(folder / part, "csv")
    return files


def parts_of(folder: Path, files: dict[str, UploadedFile], schema: GraphSchema, **limits: Any) -> Any:
    return canonicalise_parts(
        files, schema, folder / "parted", IngestLimits(**limits), lambda *_: None, fingerprint_key=KEY
    )


@pytest.mark.parametrize("part_edges", [1 << 24, 60])
@pytest.mark.parametrize("schema", [COUNTED, LISTED], ids=["counted", "listed"])
def test_it_is_the_graph_that_would_be_in_memory(
    tmp_path: Path, schema: GraphSchema, part_edges: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parted_ingest, "PART_EDGES", part_edges)
    monkeypatch.setattr("core.graphs.stored.parted.write_parted.__defaults__", (part_edges,))
    rows: Any = ends() if schema is COUNTED else names(ends())
    listed = {} if schema is COUNTED else {"nodes": NODE_LIST}
    three = {f"edges_{i + 1}_of_3": csv(rows[i::3]) for i in range(3)}
    whole = canonicalise(
        uploaded(tmp_path / "one", edges=csv(rows), **listed), schema, tmp_path / "whole", fingerprint_key=KEY
    )
    report = parts_of(tmp_path, uploaded(tmp_path / "three", **three, **listed), schema)
    assert report.fingerprint == whole.fingerprint
    assert (report.edges, report.nodes) == (whole.edges, whole.nodes)
    assert (report.rows_read, report.loops_dropped) == (whole.rows_read, whole.loops_dropped)
    graph, parted = read_graph(tmp_path / "whole"), read_parted(tmp_path / "parted")
    assert (len(parted.parts) > 1) == (part_edges == 60)
    assert check_parted(parted) == graph.edges["edge"].count
    groups = list(parted.cell("edge", None).groups())
    for end in ("source", "target"):
        found = np.concatenate([getattr(each, end) for each in groups])
        assert found.tolist() == getattr(graph.edges["edge"], end).tolist()
    if schema is LISTED:
        assert parted.nodes["node"].id_array().to_pylist() == graph.nodes["node"].id_array().to_pylist()
        assert parted.nodes["node"].attributes["region"].equals(graph.nodes["node"].attributes["region"])


TYPED = GraphSchema(
    node_types=(NodeType(name="person", count=NODES), NodeType(name="firm", count=7)),
    edge_types=(
        EdgeType(name="knows", source="person", target="person"),
        EdgeType(name="calls", source="person", target="person", temporal=True, edge_bound=400),
        EdgeType(name="owns", source="firm", target="firm"),
        EdgeType(name="writes", source="person", target="person", directed=True),
        EdgeType(name="hires", source="firm", target="person"),
    ),
    time=TimeGrid(start=10, width=5, count=3),
)


def typed(count: int = 900) -> bytes:
    """Rows of five relations, one with times: with loops, and with repeats in both directions."""
    rng = np.random.default_rng(6)
    kinds = rng.integers(0, 5, count)
    ends = [rng.integers(0, np.where(np.isin(kinds, firms), 7, NODES)) for firms in ((2, 4), (2,))]
    rows = zip(kinds, *ends, rng.integers(10, 25, count), strict=True)
    names = ("knows", "calls", "owns", "writes", "hires")
    return (
        b"type,source,target,time\n"
        + "".join(
            f"{names[kind]},{u},{v},{time if kind == 1 else ''}\n" for kind, u, v, time in rows
        ).encode()
    )


@pytest.mark.parametrize("part_edges", [1 << 24, 60])
def test_several_relations_and_snapshots_are_those_that_would_be_in_memory(
    tmp_path: Path, part_edges: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parted_ingest, "PART_EDGES", part_edges)
    monkeypatch.setattr("core.graphs.stored.parted.write_parted.__defaults__", (part_edges,))
    header, *rows = typed().splitlines(keepends=True)
    two = {f"edges_{i + 1}_of_2": header + b"".join(rows[i::2]) for i in range(2)}
    whole = canonicalise(
        uploaded(tmp_path / "one", edges=typed()), TYPED, tmp_path / "whole", fingerprint_key=KEY
    )
    report = parts_of(tmp_path, uploaded(tmp_path / "two", **two), TYPED)
    for name in ("fingerprint", "edges", "edges_per_step", "nodes", "rows_read", "loops_dropped"):
        assert getattr(report, name) == getattr(whole, name), name
    assert report.duplicates_merged == whole.duplicates_merged > 0
    graph, parted = read_graph(tmp_path / "whole"), read_parted(tmp_path / "parted")
    assert check_parted(parted) == sum(table.count for table in graph.edges.values())
    for relation in TYPED.edge_types:
        for step in TYPED.steps_of(relation.name):
            groups = list(parted.cell(relation.name, step).groups())
            for end in ("source", "target"):
                found = np.concatenate([getattr(each, end) for each in groups])
                assert found.tolist() == getattr(graph.cell(relation.name, step), end).tolist()


def test_a_bound_holds_for_each_snapshot(tmp_path: Path) -> None:
    bound = TYPED.model_copy(
        update={"edge_types": tuple(each.model_copy(update={"edge_bound": 70}) for each in TYPED.edge_types)}
    )
    with pytest.raises(IngestRejected) as refusal:
        parts_of(tmp_path, uploaded(tmp_path / "up", edges=typed()), bound)
    (found,) = refusal.value.members["findings"]
    assert "'knows' is declared to have at most 70 edges, but has more;" in found["message"]


def test_parquet_and_text_may_stand_side_by_side(tmp_path: Path) -> None:
    rows = ends()
    files = uploaded(tmp_path / "up", edges_2_of_2=csv(rows[200:]))
    table = pa.table({"source": rows[:200, 0], "target": rows[:200, 1]})
    pq.write_table(table, tmp_path / "up" / "first", row_group_size=30)
    files["edges-1-of-2"] = UploadedFile(tmp_path / "up" / "first", "parquet")
    whole = canonicalise(
        uploaded(tmp_path / "one", edges=csv(rows)), COUNTED, tmp_path / "whole", fingerprint_key=KEY
    )
    assert parts_of(tmp_path, files, COUNTED).fingerprint == whole.fingerprint


def test_an_edge_more_has_another_fingerprint(tmp_path: Path) -> None:
    prints = set()
    for number, more in enumerate(["", "0,49\n", "49,0\n"]):
        files = uploaded(tmp_path / f"up{number}", edges=csv([(0, 1), (1, 2)]) + more.encode())
        prints.add(parts_of(tmp_path / f"up{number}", files, COUNTED).fingerprint)
    assert len(prints) == 2


def test_findings_name_the_file_and_the_line(tmp_path: Path) -> None:
    bad = b"source,target\n0,1\n0,99\nx,2\n"
    files = uploaded(tmp_path / "up", edges_1_of_2=csv([(0, 1)]), edges_2_of_2=bad)
    with pytest.raises(IngestRejected) as refusal:
        parts_of(tmp_path, files, COUNTED)
    found = [(each["file"], each["line"]) for each in refusal.value.members["findings"]]
    assert found == [("edges-2-of-2", 3), ("edges-2-of-2", 4)]


def test_all_files_together_have_a_limit_of_rows(tmp_path: Path) -> None:
    three = uploaded(tmp_path / "up", **{f"edges_{i}_of_3": csv(ends(10)) for i in (1, 2, 3)})
    assert parts_of(tmp_path, three, COUNTED, max_rows=30).rows_read == 30
    with pytest.raises(IngestRejected, match="the upload has more than"):
        parts_of(tmp_path, three, COUNTED, max_rows=29)


def test_a_declared_bound_of_edges_holds(tmp_path: Path) -> None:
    schema = GraphSchema(node_types=(NodeType(count=NODES),), edge_types=(EdgeType(edge_bound=2),))
    files = uploaded(tmp_path / "up", edges=csv([(0, 1), (1, 2), (2, 1)]))
    assert parts_of(tmp_path, files, schema).edges["edge"]["edges"] == 2
    files = uploaded(tmp_path / "up", edges=csv([(0, 1), (1, 2), (2, 3)]))
    with pytest.raises(IngestRejected, match="at most 2 edges"):
        parts_of(tmp_path, files, schema)


@pytest.mark.parametrize(
    "parts", [("edges_1_of_2",), ("edges_1_of_2", "edges_2_of_3"), ("edges", "edges_1_of_2"), ()]
)
def test_a_file_that_is_missing_or_too_many_is_refused(tmp_path: Path, parts: tuple[str, ...]) -> None:
    files = uploaded(tmp_path / "up", **dict.fromkeys(parts, csv([(0, 1)])))
    with pytest.raises(InvalidInput, match="not all files"):
        parts_of(tmp_path, files, COUNTED)


@pytest.mark.parametrize(
    ("part", "place"),
    [
        ("edges", (1, 1)),
        ("edges-1-of-1", (1, 1)),
        ("edges-999-of-999", (999, 999)),
        ("edges-2-of-1", None),
        ("edges-0-of-1", None),
        ("edges-1-of-1000", None),
        ("edges-01-of-2", None),
        ("nodes", None),
        ("edges-1-of-2 ", None),
    ],
)
def test_a_part_says_which_of_how_many_files_it_is(part: str, place: tuple[int, int] | None) -> None:
    assert place_of(part) == place


VALUED = GraphSchema(
    node_types=(NodeType(count=30),),
    edge_types=(
        EdgeType(
            name="pays",
            attributes=(
                EdgeAttribute(name="sum", kind="number", bounds=(0, 5), aggregate="sum", clip=True),
                EdgeAttribute(name="sort", kind="category", categories=("x", "y", "z"), aggregate="max"),
            ),
        ),
        EdgeType(
            name="calls",
            temporal=True,
            directed=True,
            attributes=(
                EdgeAttribute(name="mark", kind="integer", bounds=(0, 9), aggregate="last"),
                EdgeAttribute(name="at", kind="time_of_day", from_time=True, aggregate="first"),
                EdgeAttribute(name="times", kind="integer", bounds=(1, 99), aggregate="count"),
                EdgeAttribute(name="mean", kind="number", bounds=(0, 3), aggregate="mean"),
            ),
        ),
        EdgeType(name="knows"),
    ),
    time=TimeGrid(start=0, width=100_000, count=3),
)
COLUMNS = "type,source,target,time,sum,sort,mark,mean\n"


def carrying(count: int = 3000) -> list[str]:
    """Rows of three relations of which two carry something: with loops, and with repeats."""
    rng = np.random.default_rng(1)
    rows = []
    for kind, (u, v), time in zip(
        rng.integers(0, 3, count),
        rng.integers(0, 30, (count, 2)),
        rng.integers(0, 300_000, count),
        strict=True,
    ):
        pays = f"pays,{u},{v},,{rng.random() * 3},{'xyz'[rng.integers(3)]},,\n"
        calls = f"calls,{u},{v},{time},,,{rng.integers(0, 10)},{rng.random() * 3}\n"
        rows.append((pays, calls, f"knows,{u},{v},,,,,\n")[kind])
    return rows


@pytest.mark.parametrize("part_edges", [1 << 24, 300])
def test_edges_carry_what_they_would_in_memory(
    tmp_path: Path, part_edges: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Merged of the same rows, in whichever files they come; clipped and counted alike."""
    monkeypatch.setattr("core.graphs.stored.parted.write_parted.__defaults__", (part_edges,))
    rows = carrying()
    one = uploaded(tmp_path / "one", edges=(COLUMNS + "".join(rows)).encode())
    whole = canonicalise(one, VALUED, tmp_path / "whole", fingerprint_key=KEY)
    three = {f"edges_{i + 1}_of_3": (COLUMNS + "".join(rows[i::3])).encode() for i in range(3)}
    report = parts_of(tmp_path, uploaded(tmp_path / "three", **three), VALUED)
    for name in ("fingerprint", "edges", "edges_per_step", "nodes", "rows_read", "duplicates_merged"):
        assert getattr(report, name) == getattr(whole, name), name
    assert report.edges["pays"]["values_clipped"] > 0
    graph, parted = read_graph(tmp_path / "whole"), read_parted(tmp_path / "parted")
    assert (len(parted.parts) > 20) == (part_edges == 300)
    for relation in VALUED.edge_types[:2]:
        table, found = graph.edges[relation.name], list(parted.records(relation.name))
        assert table.values is not None
        for column in table.values.columns:
            own = np.concatenate([each.values.columns[column] for each in found])
            assert np.array_equal(own, table.values.columns[column]), column
        assert np.array_equal(np.concatenate([each.target for each in found]), table.target)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (["pays,1,2,,4,x,,\n", "pays,5,5,,9,x,,\n", "pays,2,1,,3,x,,\n"], "add up to a 'sum' outside 0 to 5"),
        (["pays,1,2,,1,q,,\n"], "'sort' has no category 'q'"),
        (["pays,1,2,,,x,,\n"], "'sum' is empty"),
        (["knows,1,2,,3,,,\n"], "carry no 'sum'"),
    ],
    ids=["sum", "category", "empty", "undeclared"],
)
def test_values_are_refused_as_in_memory(tmp_path: Path, rows: list[str], told: str) -> None:
    """With the line of the file, and of a sum the first row of its edge."""
    strict = VALUED.edge_types[0].attributes[0].model_copy(update={"clip": False})
    pays = VALUED.edge_types[0].model_copy(
        update={"attributes": (strict, VALUED.edge_types[0].attributes[1])}
    )
    schema = VALUED.model_copy(update={"edge_types": (pays, *VALUED.edge_types[1:])})
    one = uploaded(tmp_path / "one", edges=(COLUMNS + "".join(rows)).encode())
    with pytest.raises(IngestRejected) as whole:
        canonicalise(one, schema, tmp_path / "whole", fingerprint_key=KEY)
    filler = (COLUMNS + "pays,7,8,,1,x,,\n").encode()
    two = uploaded(tmp_path / "two", edges_1_of_2=filler, edges_2_of_2=one["edges"].path.read_bytes())
    with pytest.raises(IngestRejected) as parted:
        parts_of(tmp_path, two, schema)
    (first,), (second,) = (each.value.members["findings"] for each in (whole, parted))
    assert told in first["message"]
    assert second == first | {"file": "edges-2-of-2"}


@pytest.mark.parametrize("bound", [3, 17, 30])
def test_a_declared_degree_is_refused_where_it_is_in_memory_and_never_repaired(
    tmp_path: Path, bound: int
) -> None:
    """Over relations and snapshots together, at either end; loops and repeats do not count."""
    person = TYPED.node_type("person").model_copy(update={"degree_bound": bound})
    relations = tuple(each.model_copy(update={"edge_bound": None}) for each in TYPED.edge_types)
    schema = TYPED.model_copy(
        update={"node_types": (person, TYPED.node_type("firm")), "edge_types": relations}
    )
    rows = typed(500)
    found = []
    for read in (
        lambda: canonicalise(
            uploaded(tmp_path / "a", edges=rows), schema, tmp_path / "w", fingerprint_key=KEY
        ),
        lambda: parts_of(tmp_path, uploaded(tmp_path / "b", edges=rows), schema),
    ):
        try:
            found.append(read().edges)
        except IngestRejected as refused:
            found.append({each["message"].split("; ")[1] for each in refused.members["findings"]})
    assert found[0] == found[1]
    assert (found[0] == {"upload what was declared, or declare a higher degree_bound"}) == (bound < 30)
