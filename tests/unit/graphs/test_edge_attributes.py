"""What edges carry: declared, read with findings that say how to mend them, stored, proposed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from pydantic import ValidationError

from core.errors import IngestRejected, NotAccepted
from core.graphs import formats
from core.graphs.graph import EdgeTable, EdgeValues, Graph
from core.graphs.ingest.uploaded import IngestReport, canonicalise
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.schema.edge_attributes import EdgeAttributeKind
from core.graphs.stored.whole import read_graph
from core.graphs.uploads.files import UploadedFile

AMOUNT = {"name": "amount", "kind": "number", "bounds": [0, 10], "aggregate": "sum"}
SIGN = {"name": "sign", "kind": "category", "categories": ["minus", "plus"], "aggregate": "max"}
STARS = {"name": "stars", "kind": "integer", "bounds": [1, 5], "aggregate": "mean"}
HOUR = {"name": "hour", "kind": "time_of_day", "aggregate": "min"}
KEY = bytes(32)


def edge(*attributes: dict[str, Any], **fields: Any) -> EdgeType:
    return EdgeType.model_validate({"attributes": attributes, **fields})


def schema(*attributes: dict[str, Any], **fields: Any) -> GraphSchema:
    time = TimeGrid(count=4, width=100_000) if fields.get("temporal") else None
    return GraphSchema(node_types=(NodeType(count=6),), edge_types=(edge(*attributes, **fields),), time=time)


def ingest(
    folder: Path, text: str, declared: GraphSchema | None, **options: Any
) -> tuple[Graph, IngestReport]:
    (folder / "edges").write_text(text)
    file = UploadedFile(folder / "edges", "csv", options)
    report = canonicalise({"edges": file}, declared, folder / "out", fingerprint_key=KEY)
    return read_graph(folder / "out"), report


def carried(graph: Graph) -> dict[str, list[Any]]:
    return {name: column.tolist() for name, column in graph.edges["edge"].values.columns.items()}


def findings(folder: Path, text: str, declared: GraphSchema, **options: Any) -> list[dict[str, Any]]:
    with pytest.raises(IngestRejected) as caught:
        ingest(folder, text, declared, **options)
    return caught.value.members["findings"]


# Declaring


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({**SIGN, "categories": None}, "a category declares its categories"),
        ({**SIGN, "categories": ["a", "a"]}, "twice"),
        ({**SIGN, "categories": [" a"]}, "spaces around"),
        ({**SIGN, "categories": ["a\n"]}, "control"),
        ({**SIGN, "categories": []}, "at least 1 item"),
        ({**SIGN, "aggregate": "sum"}, "merged by"),
        ({**SIGN, "clip": True}, "only integers and numbers"),
        ({**SIGN, "cuts": [1]}, "not cut"),
        ({**AMOUNT, "bounds": None}, "declare bounds"),
        ({**AMOUNT, "bounds": [2, 1]}, "above"),
        ({**AMOUNT, "bounds": [0, float("inf")]}, "finite"),
        ({**AMOUNT, "bounds": [0, 1e16]}, "lie between"),
        ({**AMOUNT, "cuts": [5, 5]}, "ascend"),
        ({**AMOUNT, "cuts": [11]}, "inside the range"),
        ({**AMOUNT, "aggregate": "count"}, "merged by"),
        ({**AMOUNT, "aggregate": None}, "needs an aggregate"),
        ({**AMOUNT, "aggregate": "last"}, "the edges carry none; take min or max"),
        ({**AMOUNT, "from_time": True}, "only a time of day"),
        ({**STARS, "bounds": [1, 5.5]}, "are integers"),
        ({**STARS, "bounds": [0, 2**31]}, "lie between"),
        ({**STARS, "name": "weight"}, "must be a number"),
        ({**HOUR, "from_time": True}, "the edges carry none"),
        ({**HOUR, "bounds": [0, 1]}, "nothing else does"),
        ({**AMOUNT, "name": "target"}, "name of a column"),
        ({**AMOUNT, "unit": "euro"}, "Extra inputs"),
    ],
)
def test_what_cannot_be_declared_is_refused_with_a_reason(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        edge(fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"multiplicity": "each"}, "records_per_slot"),
        ({"records_per_slot": 2}, "nothing else does"),
        ({"multiplicity": "each", "records_per_slot": 2}, "leave its aggregate out"),
        ({"overflow": "first"}, "with multiplicity each"),
    ],
)
def test_multiplicities_that_contradict_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        edge(AMOUNT, **fields)
    with pytest.raises(ValidationError, match=r"needs|declared|records_per_slot"):
        edge(**fields)


def test_relations_that_share_a_column_share_its_kind() -> None:
    both = (edge(AMOUNT, name="pays"), edge({**SIGN, "name": "amount"}, name="owes"))
    with pytest.raises(ValidationError, match="share"):
        GraphSchema(edge_types=both)


def test_a_schema_without_attributes_is_written_as_ever() -> None:
    written = json.loads(GraphSchema().model_dump_json())["edge_types"][0]
    assert list(written) == [
        *("name", "source", "target", "directed", "temporal", "public", "functional", "once", "edge_bound"),
        "presence",
    ]
    declared = schema(AMOUNT, SIGN)
    assert GraphSchema.model_validate_json(declared.model_dump_json()) == declared
    assert json.loads(declared.model_dump_json())["edge_types"][0]["attributes"] == [AMOUNT, SIGN]
    assert declared.edge_types[0].without_attributes() == EdgeType()


# Reading


def test_values_are_read_and_merged(tmp_path: Path) -> None:
    text = "source,target,amount,sign,stars,hour\n0,1,2.5,minus,1,08:30\n1,0,1,plus,4,3600\n"
    text += "2,3,0,minus,5,23:59:59\n"
    graph, report = ingest(tmp_path, text, schema(AMOUNT, SIGN, STARS, HOUR))
    assert carried(graph) == {"amount": [3.5, 0.0], "sign": [1, 0], "stars": [2, 5], "hour": [3600, 86399]}
    assert report.edges["edge"] == {
        **{"rows": 3, "loops_dropped": 0, "duplicates_merged": 1, "edges": 2, "values_clipped": 0}
    }


@pytest.mark.parametrize(
    ("row", "column", "message"),
    [
        ("0,1,nan,plus,1,1", 3, "no finite number"),
        ("0,1,inf,plus,1,1", 3, "no finite number"),
        ("0,1,,plus,1,1", 3, "is empty"),
        ("0,1,x,plus,1,1", 3, "no finite number"),
        ("0,1,1e20,plus,1,1", 3, "larger unit"),
        ("0,1,1,Plus,1,1", 4, "use one of minus, plus"),
        ("0,1,1,,1,1", 4, "is empty"),
        ("0,1,1,plus,1.5,1", 5, "no integer"),
        ("0,1,1,plus,6,1", 5, "outside 1 to 5; mend it, declare wider bounds, or clip"),
        ("0,1,1,plus,1,24:00", 6, "no time of day"),
        ("0,1,1,plus,1,86400", 6, "outside 0 to 86399; mend it"),
        ("2,3,6,plus,1,1", 3, "add up to a 'amount' outside 0 to 10"),
    ],
)
def test_a_bad_value_is_found_by_line_and_column(tmp_path: Path, row: str, column: int, message: str) -> None:
    text = f"source,target,amount,sign,stars,hour\n2,3,5,minus,5,1\n{row}\n"
    (finding,) = findings(tmp_path, text, schema(AMOUNT, SIGN, STARS, HOUR))
    # A sum is found at the first of its rows.
    assert (finding["line"], finding["column"]) == (2 if "add up" in message else 3, column)
    assert message in finding["message"]


def test_a_missing_column_is_named_and_an_undeclared_one_may_be_declared(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, "source,target\n0,1\n", schema(AMOUNT))
    assert "'amount' is missing" in finding["message"]
    (finding,) = findings(tmp_path, "source,target,amount\n0,1,2\n", schema())
    assert "declare it" in finding["message"]


def test_what_is_beyond_bounds_may_be_clipped(tmp_path: Path) -> None:
    text = "source,target,amount,stars\n0,1,8,9\n0,1,8,3\n1,2,3,-7\n"
    graph, report = ingest(tmp_path, text, schema({**AMOUNT, "clip": True}, {**STARS, "clip": True}))
    assert carried(graph) == {"amount": [10.0, 3.0], "stars": [4, 1]}
    assert report.edges["edge"]["values_clipped"] == 3


def test_each_record_is_kept_up_to_the_cap(tmp_path: Path) -> None:
    each = {name: value for name, value in AMOUNT.items() if name != "aggregate"}
    declared = schema(each, multiplicity="each", records_per_slot=2)
    graph, report = ingest(tmp_path, "source,target,amount\n0,1,3\n2,1,5\n0,1,2\n", declared)
    table = graph.edges["edge"]
    assert (table.source.tolist(), table.values.edge.tolist()) == ([0, 1], [0, 0, 1])
    assert carried(graph) == {"amount": [2.0, 3.0, 5.0]}
    assert (report.edges["edge"]["records"], report.edges["edge"]["duplicates_merged"]) == (3, 0)
    (finding,) = findings(tmp_path, "source,target,amount\n0,1,3\n0,1,5\n2,2,2\n1,0,2\n", declared)
    assert (finding["line"], "at most 2 rows" in finding["message"]) == (5, True)


def test_a_time_of_day_is_taken_from_the_time(tmp_path: Path) -> None:
    declared = schema({**HOUR, "from_time": True, "aggregate": "last"}, temporal=True)
    text = "source,target,time\n0,1,1970-01-01T06:00:00Z\n0,1,1970-01-01T01:00:00Z\n"
    graph, _ = ingest(tmp_path, text, declared)
    assert carried(graph) == {"hour": [6 * 3600]}


def test_a_count_counts_rows_or_adds_up_counts(tmp_path: Path) -> None:
    declared = schema({**STARS, "name": "mails", "bounds": [1, 9], "aggregate": "count"})
    graph, _ = ingest(tmp_path, "source,target\n0,1\n0,1\n1,2\n", declared)
    assert carried(graph) == {"mails": [2, 1]}
    graph, _ = ingest(tmp_path, "source,target,mails\n0,1,3\n0,1,4\n1,2,1\n", declared)
    assert carried(graph) == {"mails": [7, 1]}


def test_relations_carry_their_own_only(tmp_path: Path) -> None:
    kinds = (edge(AMOUNT, name="pays"), edge(name="knows"))
    declared = GraphSchema(node_types=(NodeType(count=6),), edge_types=kinds)
    graph, _ = ingest(tmp_path, "source,target,type,amount\n0,1,pays,2\n0,1,knows,\n", declared)
    assert graph.edges["pays"].values.columns["amount"].tolist() == [2.0]
    assert graph.edges["knows"].values is None
    (finding,) = findings(tmp_path, "source,target,type,amount\n0,1,knows,2\n", declared)
    assert (finding["column"], "carry no 'amount'" in finding["message"]) == (4, True)


def test_a_declared_name_is_no_other_word_for_time_or_an_end(tmp_path: Path) -> None:
    declared = schema({**STARS, "name": "date", "bounds": [0, 99]}, temporal=True)
    graph, _ = ingest(tmp_path, "from,to,timestamp,date\n0,1,7,9\n", declared)
    assert carried(graph) == {"date": [9]}


def test_parquet_columns_may_be_typed(tmp_path: Path) -> None:
    columns = {
        "source": pa.array([0, 2]),
        "target": pa.array([1, 3]),
        "amount": pa.array([1, 2], pa.float32()),
        "sign": pa.array(["plus", "minus"]).dictionary_encode(),
        "stars": pa.array([3.0, 4.0]),
        "hour": pa.array([3600, 60], pa.time32("s")),
    }
    pq.write_table(pa.table(columns), tmp_path / "edges")
    files = {"edges": UploadedFile(tmp_path / "edges", "parquet")}
    canonicalise(files, schema(AMOUNT, SIGN, STARS, HOUR), tmp_path / "out")
    graph = read_graph(tmp_path / "out")
    assert carried(graph) == {"amount": [1.0, 2.0], "sign": [1, 0], "stars": [3, 4], "hour": [3600, 60]}
    pq.write_table(pa.table(columns | {"amount": pa.array([[1], [2]])}), tmp_path / "edges")
    with pytest.raises(IngestRejected, match="cast it to strings"):
        canonicalise(files, schema(AMOUNT, SIGN, STARS, HOUR), tmp_path / "again")


def test_categories_are_a_dictionary_in_parquet(tmp_path: Path) -> None:
    values = EdgeValues({"sign": np.array([1], dtype=np.int32)})
    ends = np.array([0]), np.array([1])
    graph = Graph.build(schema(SIGN), {}, {"edge": EdgeTable(*ends, None, values)})
    formats.get("parquet").write(graph, tmp_path / "file")
    table = pq.read_table(tmp_path / "file")
    assert pa.types.is_dictionary(table["sign"].type)
    assert table["sign"].to_pylist() == ["plus"]


def matrix(folder: Path, dense: list[list[float]], declared: GraphSchema, **options: Any) -> Graph:
    sp.save_npz(folder / "edges.npz", sp.coo_array(np.array(dense)).tocsr())
    files = {"edges": UploadedFile(folder / "edges.npz", "npz", options)}
    canonicalise(files, declared, folder / "out")
    return read_graph(folder / "out")


def test_a_matrix_holds_one_value(tmp_path: Path) -> None:
    graph = matrix(tmp_path, [[0, 2, 0], [2, 0, 3], [0, 3, 0]], schema(AMOUNT))
    assert carried(graph) == {"amount": [2.0, 3.0]}
    for declared, options, message in (
        (schema(AMOUNT, STARS), {}, "one value for each edge"),
        (schema(AMOUNT), {"value": "stars"}, "one value for each edge"),
        (schema(AMOUNT), {}, "not symmetric"),
    ):
        with pytest.raises(IngestRejected, match=message):
            matrix(tmp_path, [[0, 2, 0], [1, 0, 3], [0, 3, 0]], declared, **options)
    with pytest.raises(NotAccepted, match="one number"):
        formats.get("npz").write(Graph.build(schema(SIGN), {}, {}), tmp_path / "file")


def test_the_fingerprint_is_that_of_the_edges_whatever_they_carry(tmp_path: Path) -> None:
    # Else a column of noise would give the same edges a second budget.
    digests = {
        ingest(tmp_path, "source,target\n0,1\n2,3\n", schema())[1].fingerprint,
        ingest(tmp_path, "source,target,amount\n0,1,1\n2,3,2\n", schema(AMOUNT))[1].fingerprint,
        ingest(tmp_path, "source,target,amount\n0,1,7\n2,3,3\n", schema(AMOUNT))[1].fingerprint,
    }
    assert len(digests) == 1


def test_a_graph_refuses_values_that_its_schema_does_not_have() -> None:
    ends = np.array([0, 1]), np.array([1, 2])

    def build(declared: GraphSchema, columns: dict[str, Any], edge: Any = None) -> Graph:
        return Graph.build(declared, {}, {"edge": EdgeTable(*ends, None, EdgeValues(columns, edge))})

    good = np.array([1.0, 2.0])
    assert build(schema(AMOUNT), {"amount": good}).edges["edge"].values is not None
    for declared, columns, message in (
        (schema(), {"amount": good}, "undeclared"),
        (schema(AMOUNT, SIGN), {"amount": good}, "although declared"),
        (schema(AMOUNT), {"amount": good[:1]}, "another length"),
        (schema(AMOUNT), {"amount": good + 100}, "leaves the range"),
        (schema(AMOUNT), {"amount": good * np.nan}, "leaves the range"),
        (schema(SIGN), {"sign": good}, "holds float64"),
    ):
        with pytest.raises(ValueError, match=message):
            build(declared, columns)
    with pytest.raises(ValueError, match="carries nothing"):
        build(schema(AMOUNT), {"amount": good}, np.array([0, 0]))


# Proposing


def test_what_edges_carry_is_proposed_with_round_bounds(tmp_path: Path) -> None:
    text = "source,target,type,amount,sign,stars,at,weight,note\n"
    text += "a,b,pays,2.5,plus,3,08:00,1,x\nb,c,pays,-13,minus,4,09:30,2,\na,c,knows,,,,,,\n"
    graph, report = ingest(tmp_path, text, None)
    pays = graph.schema.edge_type("pays")
    assert {a.name: (a.kind, a.bounds, a.categories) for a in pays.attributes} == {
        "amount": (EdgeAttributeKind.NUMBER, (-20, 5), None),
        "sign": (EdgeAttributeKind.CATEGORY, None, ("minus", "plus")),
        "stars": (EdgeAttributeKind.INTEGER, (0, 5), None),
        "at": (EdgeAttributeKind.TIME_OF_DAY, None, None),
        "weight": (EdgeAttributeKind.NUMBER, (0, 2), None),
    }
    assert graph.schema.edge_type("knows").attributes == ()
    assert report.columns_ignored == ("note",)
    assert any("'note', as it is empty in some rows" in warning for warning in report.warnings)
    assert any("become public" in warning for warning in report.warnings)
    assert GraphSchema.model_validate_json(graph.schema.model_dump_json()) == graph.schema


def test_nothing_is_proposed_where_extra_columns_are_ignored(tmp_path: Path) -> None:
    graph, _ = ingest(tmp_path, "source,target,amount\na,b,1\nb,c,2\n", None, extra_columns="ignore")
    assert graph.schema.edge_types[0].attributes == ()


def test_many_texts_are_no_categories(tmp_path: Path) -> None:
    rows = "".join(f"a,b{i},text {i}\n" for i in range(80))
    graph, report = ingest(tmp_path, f"source,target,note\n{rows}", None)
    assert graph.schema.edge_types[0].attributes == ()
    assert report.columns_ignored == ("note",)


def test_the_entries_of_a_matrix_are_proposed_under_the_name_that_is_given(tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "edges.npz", sp.coo_array(np.array([[0, 2], [5, 0]])).tocsr())
    files = {"edges": UploadedFile(tmp_path / "edges.npz", "npz", {"value": "stars"})}
    report = canonicalise(files, None, tmp_path / "out")
    (attribute,) = report.schema.edge_types[0].attributes
    assert (attribute.name, attribute.bounds) == ("stars", (0, 5))
