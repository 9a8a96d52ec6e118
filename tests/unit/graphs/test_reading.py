"""Lists as people have them are read as they mean them, or it is asked; nothing is guessed without a word."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from core.errors import IngestRejected, InvalidInput
from core.graphs.graph import Graph
from core.graphs.ingest.assembled_objects import store
from core.graphs.ingest.uploaded import UploadedFile, canonicalise
from core.graphs.reading.model import About
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.graphs.stored.whole import read_graph
from core.graphs.uploads.files import IngestReport


class Folder:
    """Files of one upload, and what becomes of them without a schema."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(
        self, edges: str | bytes, nodes: str | None = None, **options: Any
    ) -> tuple[Graph, IngestReport]:
        (self.path / "edges").write_bytes(edges if isinstance(edges, bytes) else edges.encode())
        files = {"edges": UploadedFile(self.path / "edges", "csv", options)}
        if nodes is not None:
            (self.path / "nodes").write_text(nodes)
            files["nodes"] = UploadedFile(self.path / "nodes", "csv")
        report = canonicalise(files, None, self.path / "out")
        return read_graph(self.path / "out"), report

    def refused(self, edges: str | bytes, nodes: str | None = None, **options: Any) -> str:
        with pytest.raises(IngestRejected) as caught:
            self.read(edges, nodes, **options)
        return str(caught.value)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def roles(report: IngestReport, part: str = "edges") -> list[str]:
    return [str(column.role) for column in report.readings[part].columns]


def size(graph: Graph) -> tuple[int, int]:
    return sum(table.count for table in graph.nodes.values()), sum(
        table.count for table in graph.edges.values()
    )


def carried(graph: Graph, name: str = "weight") -> list[float]:
    (table,) = graph.edges.values()
    assert table.values is not None
    return sorted(table.values.columns[name].tolist())


def test_a_column_that_is_empty_throughout_is_left_alone(folder: Folder) -> None:
    graph, report = folder.read("Source,Target\na,b\nb,c\n", "Id,Label,timeset\na,Ann,\nb,Bob,\nc,Cy,\n")
    assert size(graph) == (3, 2)
    assert [each.name for each in graph.schema.node_types[0].attributes] == ["Label"]
    assert "Columns of the nodes that are not read: 'timeset', as it is empty." in report.warnings


def test_a_type_of_one_value_is_a_relation(folder: Folder) -> None:
    graph, report = folder.read("source,target,type\na,b,friend\nb,c,friend\n")
    assert list(graph.edges) == ["friend"]
    (again,) = (report.readings["edges"].mapping.columns[2:],)
    assert again == (("type", 3),)


def test_directions_are_no_types(folder: Folder) -> None:
    graph, report = folder.read("Source,Target,Type,Weight\na,b,Directed,1.5\nb,c,Undirected,2\n")
    assert (list(graph.edges), carried(graph, "Weight")) == (["edge"], [1.5, 2.0])
    assert "direction" in report.readings["edges"].columns[2].why[0]


@pytest.mark.parametrize(
    "text", ["1, 2\n2, 1\n3, 1\n1, 3\n", "1,2\n2,1\n\u00a03,1 \n1,3\n", "1 ;2\n2;1\n3 ; 1\n1;3\n"]
)
def test_spaces_around_ids_are_no_part_of_them(folder: Folder, text: str) -> None:
    graph, _ = folder.read(text, bipartite="false")
    assert size(graph) == (3, 2)


def test_ids_may_begin_with_the_marks_of_comments(folder: Folder) -> None:
    graph, report = folder.read("source,target\n#covid,#vaccine\n#covid,%news\nnews,#covid\n")
    assert (size(graph), report.readings["edges"].counts.comments) == ((4, 3), 0)
    graph, report = Folder(folder.path / "out").read("# of a tool\n#\n## more\nsource,target\n#a,#b\n#b,#c\n")
    assert (size(graph), report.readings["edges"].counts.comments) == ((3, 2), 3)


def test_decimal_commas_between_semicolons_are_weights(folder: Folder) -> None:
    graph, report = folder.read("1;2;0,5\n2;3;1,5\n3;4;2,0\n")
    assert (size(graph), carried(graph)) == ((4, 3), [0.5, 1.5, 2.0])
    assert report.readings["edges"].dialect.decimal == ","


def test_amounts_with_decimal_commas_are_numbers(folder: Folder) -> None:
    graph, _ = folder.read("Source;Target;Amount\na;b;0,5\nb;c;1.250,25\nc;d;2,0\n")
    assert carried(graph, "Amount") == [0.5, 2.0, 1250.25]


def test_amounts_of_money_are_pointed_out(folder: Folder) -> None:
    _, report = folder.read("source,target,amount\na,b,$5.00\nb,c,$6.50\nc,a,$7\n")
    assert any("look like numbers" in warning for warning in report.warnings)


@pytest.mark.parametrize("delimiter", ["|", ";", "::", "\t", ",", " "])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_delimiter_with_every_line_end(folder: Folder, delimiter: str, end: str) -> None:
    rows = ["source|target|creationDate", "933|4139|2010-03-13", "933|109|2011-01-02"]
    graph, report = folder.read(end.join(row.replace("|", delimiter) for row in [*rows, ""]))
    assert (size(graph), roles(report)) == ((3, 2), ["source", "target", "time"])
    read = report.readings["edges"].dialect
    assert (read.delimiter, read.line_end) == (delimiter, {"\n": "LF", "\r\n": "CRLF", "\r": "CR"}[end])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_that_say_themselves(folder: Folder, encoding: str) -> None:
    graph, report = folder.read("sep=;\r\nvon;nach\r\nMüller;Groß\r\nGroß;Ann\r\n".encode(encoding))
    assert graph.nodes["node"].ids.to_pylist() == ["Ann", "Groß", "Müller"]
    assert report.readings["edges"].dialect.delimiter == ";"


@pytest.mark.parametrize("content", ["Müller,Ann\nAnn,Ben\n", "source,target\nAnn,Ben\nMüller,Ann\n"])
def test_latin_1_is_said_by_name(folder: Folder, content: str) -> None:
    raw = content.encode("latin-1")
    refused = folder.refused(raw)
    assert "Müller" in refused
    assert "encoding" in refused
    graph, _ = folder.read(raw, encoding="ISO-8859-1")
    assert "Müller" in graph.nodes["node"].ids.to_pylist()


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"PK\x03\x04\x14\x00", "zip archive"),
        (b"PAR1\x15\x04", "format parquet"),
        (b"BZh91AY", "bzip2"),
        (b'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\na,b\r\n', "a multipart form"),
        (b"<?xml version='1.0'?>\n<graphml xmlns='x'>", "format graphml"),
        (b'{"nodes": []}', "node_link"),
        (b"%%MatrixMarket matrix coordinate pattern general\n2 3 3\n1 1\n", "matrix_market"),
        (b"graph [\n node [ id 1 ]\n]\n", "format gml"),
        (b"*Vertices 3\n1 a\n", "Pajek"),
        ("a,b\nb,c\n".encode("utf-16-le"), "encoding to utf-16"),
    ],
)
def test_what_is_no_list_is_named(folder: Folder, raw: bytes, words: str) -> None:
    assert words in folder.refused(raw)
    assert words in folder.refused(gzip.compress(raw))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a b 0.5\nb c 1.5\nc d 7.25\n", ["source", "target", "value"]),
        ("0,1,1\n1,2,-1\n2,0,1\n0,2,1\n", ["source", "target", "value"]),
        ("196\t242\t3\t881250949\n186\t302\t3\t891717742\n", ["source", "target", "value", "time"]),
        ("1700000000 1 2\n1700000005 2 3\n1700000105 2 1\n1700000305 3 1\n", ["time", "source", "target"]),
        ("a,b,2024-05-17\nb,c,2024-05-18\n", ["source", "target", "time"]),
        ("".join(f"p{i},{('knows', 'likes')[i % 2]},p{(i * 7 + 1) % 30}\n" for i in range(60)),
         ["source", "type", "target"]),
    ],
)  # fmt: skip
def test_columns_are_what_is_in_them(folder: Folder, content: str, expected: list[str]) -> None:
    _, report = folder.read(content)
    assert (roles(report), report.rows_read) == (expected, len(content.splitlines()))
    assert all(column.why for column in report.readings["edges"].columns)


@pytest.mark.parametrize(
    "header",
    ["caller,callee,when,seconds", "von,nach,Zeit,Betrag", "payer,payee,timestamp,amount",
     "head,tail,date,weight",
     "address1,address2,ts,value", ":START_ID,:END_ID,time,weight", "_start,_end,time,weight",
     "txId1,txId2,time,value"],
)  # fmt: skip
def test_headers_in_other_words(folder: Folder, header: str) -> None:
    graph, report = folder.read(f"{header}\na,b,2024-05-17,5\nb,c,2024-05-18,60\nc,a,2024-05-19,61\n")
    assert roles(report) == ["source", "target", "time", "value"]
    assert size(graph) == (3, 3)


def test_two_sorts_stay_two(folder: Folder) -> None:
    graph, report = folder.read(
        "userId,movieId,rating,timestamp\n1,1,3.5,881250949\n1,2,4,881250950\n2,1,5,881250951\n"
    )
    assert (report.nodes, report.loops_dropped) == ({"user": 2, "movie": 2}, 0)
    assert [(t.source, t.target) for t in graph.schema.edge_types] == [("user", "movie")]
    again = canonicalise(
        {
            "edges": UploadedFile(folder.path / "edges", "csv", {"extra_columns": "ignore"}),
            "nodes": UploadedFile(_list(folder.path, "id,type\n1,user\n2,user\n1,movie\n2,movie\n"), "csv"),
        },
        graph.schema,
        folder.path / "again",
    )
    assert again.edges["edge"]["edges"] == 3


def _list(folder: Path, content: str) -> Path:
    (folder / "list").write_text(content)
    return folder / "list"


def test_konect_says_two_sorts(folder: Folder) -> None:
    _, report = folder.read("% bip weighted\n1 1 3\n1 2 4\n2 1 5\n")
    assert (report.nodes, report.readings["edges"].counts.comments) == ({"left": 2, "right": 2}, 1)
    _, report = Folder(folder.path / "out").read("% sym\n1 1\n1 2\n2 1\n")
    assert report.nodes == {"node": 2}


def test_two_sorts_that_share_integers_are_asked_about(folder: Folder) -> None:
    rows = "".join(f"{i % 90 + 1}\t{i * 37 % 160 + 1}\t{i % 5 + 1}\t{881250949 + i}\n" for i in range(3000))
    message = folder.refused(rows)
    assert "bipartite=false" in message
    assert "bipartite=true" in message
    _, report = folder.read(rows, bipartite="true")
    assert report.nodes == {"left": 90, "right": 160}


def test_loops_far_into_a_file_are_seen(folder: Folder) -> None:
    """The first lines alone say nothing: as in files that are sorted by their first column."""
    rows = "".join(f"{i // 20}\t{i * 7919 % 1009}\n" for i in range(20000))
    assert "same id at both ends" in folder.refused(rows)
    assert folder.read(rows, bipartite="false")[1].loops_dropped >= 11


def test_many_rows_without_loops_are_of_one_sort(folder: Folder) -> None:
    rows = [(i * 31 % 97, i * i % 97) for i in range(400)]
    graph, report = folder.read("".join(f"{a},{b}\n" for a, b in rows if a != b))
    assert (len(graph.nodes), report.readings["edges"].bipartite) == (1, False)


@pytest.mark.parametrize(
    "rows", ["1::3\n1::2\n3::2\n2::2\n1::3\n", "28|7|a\n1|59|b\n76|67|a\n6|37|c\n28|67|c\n3|6|d\n"]
)
def test_too_few_rows_to_tell_two_sorts_are_asked_about(folder: Folder, rows: str) -> None:
    assert "two sorts of nodes" in folder.refused(rows)


def test_numbered_names_are_no_ends(folder: Folder) -> None:
    """The counter of the rows has the first name, and the ends the two after it."""
    rows = "".join(f"{i},{i * 7 % 20 + 30},{i * 3 % 17 + 33},{i * 0.37:.2f}\n" for i in range(40))
    assert "columns=source=col2,target=col3" in folder.refused("col1,col2,col3,col4\n" + rows)


def test_a_list_of_nodes_is_not_taken_for_edges(folder: Folder) -> None:
    assert "the part nodes" in folder.refused("id,label\n1,Ann\n2,Ben\n3,Cy\n")


def test_names_of_attributes_are_made_usable(folder: Folder) -> None:
    graph, report = folder.read("source,target\na,b\nb,c\n", "id,full name,Größe\na,x,1\nb,y,2\nc,z,3\n")
    (kind,) = graph.schema.node_types
    assert [attribute.name for attribute in kind.attributes] == ["Grosse", "full_name"]
    assert report.readings["nodes"].columns[1].name == "full name"


def test_one_node_type_that_is_named_is_left_alone(folder: Folder) -> None:
    graph, _ = folder.read("source,target\na,b\n", "id,type\na,person\nb,person\n")
    assert [kind.name for kind in graph.schema.node_types] == ["node"]


def test_networkx_dictionaries_are_values(folder: Folder) -> None:
    graph, _ = folder.read("1 2 {}\n2 3 {}\n")
    assert size(graph) == (3, 2)
    graph, report = Folder(folder.path / "out").read(
        "a b {'weight': 3.5, 'color': 'x y'}\nb c {'weight': 2, 'color': 'z'}\n"
    )
    assert (carried(graph), roles(report)[:3]) == ([2.0, 3.5], ["source", "target", "value"])


def test_a_title_is_skipped_with_a_word(folder: Folder) -> None:
    graph, report = folder.read("Calls of May\nsource,target\na,b\nb,c\nc,a\n")
    assert size(graph) == (3, 3)
    assert any("title" in warning for warning in report.warnings)
    assert report.readings["edges"].counts.left_out == {"taken for a title": 1}


def test_records_over_the_most_are_left_out_and_not_merged(folder: Folder) -> None:
    price = {"name": "price", "kind": "integer", "bounds": [0, 9]}
    relation = {"temporal": True, "attributes": [price], "multiplicity": "each"}
    relation |= {"records_per_slot": 2, "overflow": "first"}
    (folder.path / "edges").write_text(
        "source,target,time,price\na,b,0,1\na,b,0,2\na,b,0,3\nb,c,1,4\nb,b,1,5\n"
    )
    (folder.path / "nodes").write_text("id\na\nb\nc\n")
    files = {part: UploadedFile(folder.path / part, "csv") for part in ("edges", "nodes")}
    schema = GraphSchema.model_validate({"edge_types": [relation], "time": {"count": 2}})
    counts = canonicalise(files, schema, folder.path / "out").readings["edges"].counts
    assert (counts.records, counts.loops, counts.repeats) == (5, 1, 0)
    assert counts.left_out == {"beyond the records that an edge may have": 1}


@pytest.mark.parametrize(
    "content", ["ann,ben,\nben,cy,\n", "source,target\na,b,\nb,c,\n", "source,target,\na,b\nb,c\n"]
)
def test_separators_at_the_end_of_lines(folder: Folder, content: str) -> None:
    assert size(folder.read(content)[0]) == (3, 2)


def test_ids_that_differ_in_writing_alone_are_counted(folder: Folder) -> None:
    _, report = folder.read("source,target\nAnn,ann\n1,1.0\nann,1\ne\u0301,\u00e9\nnan,1\n")
    told = " ".join(report.warnings)
    assert all(words in told for words in ("6 ids differ only by case, by Unicode form", ".0", "nan"))


@pytest.mark.parametrize(
    ("times", "starts"),
    [
        (["13.05.2024", "17.05.2024", "20.05.2024"], 1715558400),
        (["05/13/2024 5:30 PM", "05/17/2024 6:30 AM", "05/20/2024 1:00 AM"], 1715621400),
        (["20240513", "20240517", "20240520"], 1715558400),
        (["2024-05-13T00:00+02", "2024-05-14T00:00+02", "2024-05-15T00:00+02"], 1715551200),
        (["13 May 2024", "17 May 2024", "20 May 2024"], 1715558400),
    ],
)
def test_dates_in_other_forms(folder: Folder, times: list[str], starts: int) -> None:
    content = "source;target;time\n" + "".join(f"a;b{i};{each}\n" for i, each in enumerate(times))
    graph, _ = folder.read(content)
    grid = graph.schema.time
    assert grid is not None
    assert grid.start <= starts < grid.start + grid.width
    assert graph.edges["edge"].count == 3


def test_the_order_of_day_and_month_is_asked(folder: Folder) -> None:
    content = "caller,callee,when\na,b,03/04/2024\nb,c,05/06/2024\nc,a,07/08/2024\n"
    _, report = folder.read(content)
    (question,) = report.readings["edges"].questions
    assert question.about is About.DATES
    starts = report.schema.time.start
    _, other = Folder(folder.path / "out").read(content, dates="mdy")
    assert other.schema.time.start < starts
    assert not other.readings["edges"].questions


def test_times_in_two_units_are_a_warning(folder: Folder) -> None:
    _, report = folder.read("source,target,time\na,b,1700000000\nb,c,1700900000000\nc,a,20240517\n")
    assert any("two units" in warning for warning in report.warnings)


@pytest.mark.parametrize(
    "said", ["source=caller,target=callee,time=when,value=x", '{"source": 1, "target": 2, "time": 3}']
)
def test_one_mapping_says_what_columns_are(folder: Folder, said: str) -> None:
    _, report = folder.read(
        "x,when,callee,caller\n5,1,a,b\n6,2,b,c\n" if "=" in said else "a,b,1,5\nb,c,2,6\n", columns=said
    )
    found = {column.called: column.role for column in report.readings["edges"].columns}
    assert {"source", "target", "time"} <= set(found)
    assert not report.readings["edges"].questions


def test_a_column_that_is_not_there_is_named(folder: Folder) -> None:
    assert "'calle'; the line has 'a', 'b'" in folder.refused("a,b\n1,2\n", columns="source=a,target=calle")


def test_what_a_proposal_decided_is_read_again_without_a_guess(folder: Folder) -> None:
    graph, report = folder.read("% x\n1;2;0,5;31.12.2023\n2;3;1,5;01.01.2024\n3;4;2,0;02.01.2024\n")
    options = report.readings["edges"].mapping.options() | {"extra_columns": "ignore"}
    schema = GraphSchema(
        node_types=(NodeType(count=5),), edge_types=graph.schema.edge_types, time=graph.schema.time
    )
    again = canonicalise(
        {"edges": UploadedFile(folder.path / "edges", "csv", options)}, schema, folder.path / "again"
    )
    second = read_graph(folder.path / "again")
    assert carried(second) == carried(graph) == [0.5, 1.5, 2.0]
    assert second.edges["edge"].step.tolist() == graph.edges["edge"].step.tolist()
    assert not again.readings["edges"].questions


def test_a_path_in_the_library_is_read_by_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "e.tsv").write_text("1700000000 1 2\n1700000005 2 3\n1700000105 2 1\n1700000305 3 1\n")
    stored = store(tmp_path / "e.tsv", tmp_path / "out", nodes=4)
    assert stored.schema.edge_types == (EdgeType(),)
    table = read_graph(tmp_path / "out").edges["edge"]
    assert list(zip(table.source.tolist(), table.target.tolist(), strict=True)) == [(1, 2), (1, 3), (2, 3)]
    (tmp_path / "two.csv").write_text("user,item\n1,1\n1,2\n2,1\n")
    with pytest.raises(InvalidInput, match="bipartite=false"):
        store(tmp_path / "two.csv", tmp_path / "other", nodes=4)


def test_a_number_beyond_every_float_is_no_fault_of_the_reading(folder: Folder) -> None:
    graph, _ = folder.read("source,target,weight\na,b,1e999\nb,c,2\nc,a,3\n")
    assert size(graph) == (3, 3)


def test_booleans_of_edges_have_one_spelling(folder: Folder) -> None:
    rows = "source,target,answered\na,b,True\nb,c,FALSE\nc,d,true\n"
    graph, report = folder.read(rows)
    (answered,) = report.schema.edge_types[0].attributes
    assert answered.categories == ("false", "true")
    (table,) = graph.edges.values()
    assert table.values is not None
    assert sorted(table.values.columns["answered"].tolist()) == [0, 1, 1]


def test_a_value_that_differs_in_one_relation_alone_is_carried_by_all(folder: Folder) -> None:
    graph, _ = folder.read("source,target,type,amount,unit\na,b,x,0,m\nb,c,x,0,m\na,c,y,1.5,m\nb,d,y,5,m\n")
    held = {name: sorted(table.values.columns["amount"].tolist()) for name, table in graph.edges.items()}
    assert held == {"x": [0.0, 0.0], "y": [1.5, 5.0]}
