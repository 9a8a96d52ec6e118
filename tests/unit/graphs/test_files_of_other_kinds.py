"""Further files of the kinds that people report, none of them from a report: each is read as it is meant."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from core.errors import IngestRejected
from tests.support.person_files import Given, Read, agrees, graphml, read

THREE = "a-b b-c c-d"
NODES = '<node id="a"/><node id="b"/><node id="c"/>'


def three(*cells: str, apart: str = ",", column: str = "amount") -> Given:
    """Three edges with a further column."""
    rows = (("a", "b"), ("b", "c"), ("c", "d"))
    lines = [("source", "target", column), *((*ends, cell) for ends, cell in zip(rows, cells, strict=True))]
    return Given("".join(apart.join(line) + "\n" for line in lines))


def declared(letters: str) -> bytes:
    """GraphML that says in which letters it is written."""
    body = '<graph edgedefault="undirected"><node id="é"/><node id="b"/><edge source="é" target="b"/></graph>'
    return f'<?xml version="1.0" encoding="{letters}"?><graphml>{body}</graphml>'.encode(letters)


READ = {
    # dialects
    "R's table with the names of its rows": (
        Given('"from" "to" "w"\n"1" "Ann Lee" "b" 1.5\n"2" "b" "Cy" 2\n"3" "Cy" "Ann Lee" 3\n'),
        Read(("Ann Lee-b", "Cy-b", "Ann Lee-Cy"), {"w": [1.5, 2.0, 3.0]}),
    ),
    "R's table without, and two spaces in a name": (
        Given('"from" "to" "w"\n"Ann  Lee" "b" 1.5\n"b" "Ann Lee" 2\n"b" "Cy" 3\n'),
        Read(("Ann  Lee-b", "Ann Lee-b", "Cy-b"), {"w": [1.5, 2.0, 3.0]}),
    ),
    "R's csv2": (
        Given('"";"from";"to";"w"\n"1";"a";"b";0,5\n"2";"b";"c";1,5\n"3";"c";"d";2\n'),
        Read(THREE, {"w": [0.5, 1.5, 2.0]}),
    ),
    "pandas' index": (
        Given(",source,target,w\n0,a,b,1\n1,b,c,3\n2,c,d,2\n"),
        Read(THREE, {"w": [1.0, 2.0, 3.0]}),
    ),
    "decimal commas between spaces": (
        Given("a b 0,5\nb c 1,25\nc d 2,0\n"),
        Read(THREE, {"weight": [0.5, 1.25, 2.0]}),
    ),
    "decimal commas between spaces below a header": (
        Given("from to weight\na b 0,5\nb c 1,25\nc d 2\n"),
        Read(THREE, {"weight": [0.5, 1.25, 2.0]}),
    ),
    "decimal commas beside points of another column": (
        Given("a b 0,5 12.25\nb c 1,25 13.5\nc d 2,0 11.75\n"),
        Read(THREE, {"weight": [0.5, 1.25, 2.0], "column_4": [11.75, 12.25, 13.5]}),
    ),
    "a title that a spreadsheet fills with commas": (
        Given("My network,,\n,,\nsource,target,w\na,b,1\nb,c,2\nc,d,3\n"),
        Read(THREE, {"w": [1.0, 2.0, 3.0]}, warns="'My network,,' was taken for a title"),
    ),
    "rows of commas at the end": (
        Given("source,target,w\na,b,1\nb,c,2\nc,d,3\n,,\n,,\n"),
        Read(THREE, {"w": [1.0, 2.0, 3.0]}),
    ),
    "lines of spaces": (Given("source,target\na,b\n   \nb,c\nc,d\n  \n"), Read(THREE)),
    "lines of tabs": (Given("source\ttarget\na\tb\nb\tc\n\t\nc\td\n"), Read(THREE)),
    "a delimiter behind the rows alone": (Given("source;target\na;b;\nb;c;\nc;d;\n"), Read(THREE)),
    "a tab behind every line": (Given("1\t2\t\n2\t3\t\n3\t1\t\n"), Read("1-2 2-3 1-3")),
    "CR, and a comment": (Given("# by hand\r1 2\r2 3\r3 1\r"), Read("1-2 2-3 1-3")),
    "sep=| and CRLF": (
        Given("sep=|\r\nsource|target\r\na|b\r\nb|c\r\nc|d\r\n"),
        Read(THREE),
    ),
    "sep= behind a byte order mark": (
        Given("\ufeffsep=;\nsource;target\na;b\nb;c\nc;d\n"),
        Read(THREE),
    ),
    "UTF-16 of the other order": (
        Given(b"\xfe\xff" + "source\ttarget\nä\tb\nb\tc\n".encode("utf-16-be")),
        Read("b-ä b-c"),
    ),
    "Latin-1 that is said": (
        Given("source,target\nJosé,Ana\nAna,Zoë\n".encode("latin-1"), options={"encoding": "iso-8859-1"}),
        Read("Ana-José Ana-Zoë"),
    ),
    "dictionaries behind commas": (
        Given("1,2,{'weight': 3}\n2,3,{'weight': 0.5}\n3,1,{'weight': 7}\n"),
        Read("1-2 2-3 1-3", {"weight": [0.5, 3.0, 7.0]}),
    ),
    "dictionaries behind tabs, some of them empty": (
        Given("1\t2\t{'weight': 3}\n2\t3\t{}\n3\t1\t{'weight': 7}\n"),
        Read("1-2 2-3 1-3", warns="'weight', as it is empty in some rows"),
    ),
    # headers
    "JODIE's list, whose header names one feature of four": (
        Given(
            "user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n"
            "0,0,0.0,0,-0.1,0.3,1,1.5\n1,1,36.0,0,0.1,0.2,2,2.5\n2,1,77.0,0,0.1,0.2,3,4.5\n"
        ),
        Read(
            "item/0-user/0 item/1-user/1 item/1-user/2",
            {"comma_separated_list_of_features": [-0.1, 0.1, 0.1]},
            {"user": 3, "item": 2},
            warns="Column 6 to 8 is not read",
            starts=0,
        ),
    ),
    "TGB's list": (
        Given(",u,i,ts,label,idx\n0,1,5,0.0,0,1\n1,2,6,36.0,1,2\n2,2,5,77.0,0,3\n"),
        Read("1-5 2-6 2-5", {"label": [0, 0, 1]}, starts=0),
    ),
    "Neo4j's ends of two id spaces": (
        Given("person:START_ID(P),firm:END_ID(F),:TYPE\n1,1,WORKS\n2,1,WORKS\n3,2,WORKS\n"),
        Read("f/1-p/1 f/1-p/2 f/2-p/3", nodes={"p": 3, "f": 2}, relations=("WORKS",)),
    ),
    "Neo4j's ends of one id space": (
        Given(":START_ID(P),:END_ID(P)\n1,2\n2,3\n3,1\n"),
        Read("1-2 2-3 1-3"),
    ),
    "KONECT's signed list": (
        Given("% sym signed\n% 3 3 3\n1 2 1\n2 3 -1\n3 1 1\n"),
        Read(
            "1-2 2-3 1-3", {"weight": [-1.0, 1.0, 1.0]}, warns="A comment says that the edges are undirected"
        ),
    ),
    "KONECT's users and items with stars": (
        Given("% bip weighted\n1 1 5\n2 1 3\n3 2 4\n"),
        Read(
            "left/1-right/1 left/2-right/1 left/3-right/2",
            {"weight": [3.0, 4.0, 5.0]},
            {"left": 3, "right": 2},
        ),
    ),
    # ids
    "spaces that do not break": (Given("source,target\na\u00a0,b\nb,\u00a0c\nc,d\n"), Read(THREE)),
    "a letter that nobody sees": (
        Given("source,target\na,b\nb,c\u200b\nc,d\n"),
        Read("a-b b-c\u200b c-d", warns="2 ids differ only by case, by Unicode form"),
    ),
    "signs of percent as ids": (
        Given("source,target\n%a,%b\n%b,c\n#c,%a\n"),
        Read("%a-%b %b-c #c-%a"),
    ),
    "texts that stand for nothing": (
        Given("source,target\nNone,b\nb,NULL\n"),
        Read("None-b NULL-b", warns="Ids such as NULL, None may stand for nothing"),
    ),
    # values
    "amounts with commas between thousands": (
        three('"1,234.5"', '"5,678.25"', "12"),
        Read(THREE, {"amount": [12.0, 1234.5, 5678.25]}),
    ),
    "commas that part thousands, as is said": (
        Given(three('"1,234"', '"5,678"', "12").edges, options={"decimal": "."}),
        Read(THREE, {"amount": [12, 1234, 5678]}),
    ),
    "points that may part thousands": (
        three("1.234", "5.678", "12", apart=";"),
        Read(THREE, {"amount": [1.234, 5.678, 12.0]}, warns="A point in numbers may be the decimal mark"),
    ),
    "points that part thousands, as is said": (
        Given(three("1.234", "5.678", "12", apart=";").edges, options={"decimal": ","}),
        Read(THREE, {"amount": [12, 1234, 5678]}),
    ),
    **{
        f"texts like numbers: {' '.join(cells)}": (
            three(*cells),
            Read(THREE, {"amount": [0, 1, 2]}, warns="The texts of 'amount' look like numbers"),
        )
        for cells in (
            ("$10", "-$20.5", "($30)"),
            ("10%", "20.5%", "30%"),
            ("USD 10", "USD 20.5", "USD 30"),
            ("5 EUR", "6 EUR", "7 EUR"),
            ("1'234.50", "5'678", "12"),
            ("1 234", "5 678", "12"),
            ("1", "NA", "3"),
            ("1", "-", "3"),
            ("1", "inf", "3"),
            ("0x10", "0x1f", "0x2"),
            ("1/2", "3/4", "1/3"),
            ("(5.0)", "6.0", "7.0"),
            ("5-", "6", "7"),
            ("\u22125", "6", "7"),
            ("12345678901234567890", "2", "3"),
            ("1e400", "2", "3"),
        )
    },
    "an attribute of nodes that looks like numbers": (
        Given("source,target\na,b\nb,c\n", "id,income\na,$10\nb,$20\nc,$30\n"),
        Read("a-b b-c", warns="The texts of 'income' look like numbers"),
    ),
    "truths in three spellings": (three("TRUE", "False", "true"), Read(THREE, {"amount": [0, 1, 1]})),
    # times
    **{
        f"times: {first}": (
            three(first, second, third, column="time"),
            Read(THREE, starts=starts, width=width),
        )
        for first, second, third, starts, width in (
            (
                "2024-03-01T10:00:00+02",
                "2024-03-02T10:00:00+02",
                "2024-03-03T11:00:00+02",
                1_709_280_000,
                3600,
            ),
            ("2024-03-01 10:00 AM", "2024-03-02 11:00 PM", "2024-03-03 12:00 AM", 1_709_287_200, 3600),
            ("202403011000", "202403021100", "202403031200", 1_709_287_200, 3600),
            ("20240301T100000Z", "20240302T110000Z", "20240303T120000Z", 1_709_287_200, 3600),
            ("01.03.24", "02.03.24", "13.03.24", 1_709_251_200, 86_400),
            ("1 Mar 2024", "2 Mar 2024", "13 Apr 2024", 1_709_251_200, 86_400),
            ("2024.03.01", "2024.03.15", "2024.03.20", 1_709_251_200, 86_400),
        )
    },
    **{
        f"no times: {cells[0]}": (
            three(*cells, column="time"),
            Read(THREE, {"time_attribute": [0, 1, 2]}, warns="is named as times are, but"),
        )
        for cells in (
            ("10/Oct/2018:20:19:24", "11/Oct/2018:20:19:24", "12/Oct/2018:20:19:24"),
            ("2018Q1", "2018Q2", "2018Q4"),
            ("2018-01-01 10:00:00 CET", "2018-01-02 10:00:00 CET", "2018-01-03 10:00:00 CET"),
        )
    },
    "times beyond 2100": (
        three("2018-01-01", "2019-01-01", "9999-12-31", column="time"),
        Read(THREE, warns="lie outside 1900 to 2100"),
    ),
    # documents
    "GraphML in Latin-1": (Given(declared("iso-8859-1"), form="graphml"), Read("b-é")),
    "GraphML in UTF-16": (Given(declared("utf-16"), form="graphml"), Read("b-é")),
    "GraphML, packed": (
        Given(gzip.compress(declared("utf-8")), form="graphml"),
        Read("b-é"),
    ),
    "an attribute target, and one id": (
        graphml(
            '<key id="k" for="edge" attr.name="target" attr.type="string"/>'
            '<key id="i" for="edge" attr.name="id" attr.type="int"/><graph edgedefault="undirected">'
            f'{NODES}<edge source="a" target="b"><data key="k">c</data><data key="i">7</data></edge>'
            '<edge source="b" target="c"><data key="k">a</data><data key="i">8</data></edge></graph>'
        ),
        Read("a-b b-c", {"target_attribute": [0, 1]}, warns="'target' is target_attribute"),
    ),
    "JSON in UTF-16": (
        Given(
            '{"nodes": [{"id": "A"}, {"id": "B"}], "links": [{"source": "A", "target": "B"}]}'.encode(
                "utf-16"
            ),
            form="node_link",
        ),
        Read("A-B"),
    ),
    "GML in letters that are said": (
        Given(
            'graph [ node [ id 1 label "é" ] node [ id 2 label "b" ] edge [ source 1 target 2 ] ]'.encode(
                "latin-1"
            ),
            form="gml",
            options={"encoding": "latin-1"},
        ),
        Read("b-é"),
    ),
    "Pajek in letters that are said": (
        Given(
            '*Vertices 3\n1 "José"\n2 "Zoë"\n3 "c"\n*Edges\n1 2\n2 3\n'.encode("cp1252"),
            form="pajek",
            options={"encoding": "cp1252"},
        ),
        Read("José-Zoë Zoë-c"),
    ),
    "Pajek's relations": (
        Given(
            '*Vertices 3\n1 "a"\n2 "b"\n3 "c"\n*Edges :1 "likes"\n1 2 1\n*Edges :2\n2 3 1\n1 3 1\n',
            form="pajek",
        ),
        Read("a-b b-c a-c", relations=("2", "likes")),
    ),
    "Pajek's times": (
        Given('*Vertices 3\n1 "a" [1-3]\n2 "b"\n3 "c"\n*Edges\n1 2 1 [1-2]\n2 3 2 [5]\n', form="pajek"),
        Read("a-b b-c", {"weight": [1.0, 2.0]}, warns="Times in brackets"),
    ),
    "a matrix of complex numbers": (
        Given(
            "%%MatrixMarket matrix coordinate complex symmetric\n3 3 2\n2 1 4 5\n3 1 2 2\n",
            form="matrix_market",
        ),
        Read("0-1 0-2", warns="complex numbers, and are not read"),
    ),
}


@pytest.mark.parametrize(("given", "meant"), READ.values(), ids=READ)
def test_a_file_is_read_as_it_is_meant(tmp_path: Path, given: Given, meant: Read) -> None:
    agrees(tmp_path, given, meant)


REFUSED = {
    "Latin-1 of which nobody said it": (
        Given("source,target\nJosé,Ana\nAna,Zoë\n".encode("latin-1")),
        "as latin-1 it reads 'José,Ana'",
    ),
    "GraphML in Latin-1 that says UTF-8": (
        Given(declared("iso-8859-1").replace(b"iso-8859-1", b"UTF-8"), form="graphml"),
        "or set the option encoding",
    ),
    "GraphML in letters that are not read": (
        Given(b'<?xml version="1.0" encoding="KOI8-R"?><graphml/>', form="graphml"),
        "the encoding 'KOI8-R' is not read; use one of",
    ),
    "Pajek's matrix": (
        Given("*Vertices 2\n*Matrix\n0 1\n1 0\n", form="pajek"),
        "write its lines as *Arcs or *Edges",
    ),
    "a picture": (Given(b"\x89PNG\r\n\x1a\n\x00\x00"), "the file is a picture; send the table itself"),
    "a row without its end": (Given("source,target\na,b\n,c\n"), "the source is empty"),
}


@pytest.mark.parametrize(("given", "says"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_read_is_named(tmp_path: Path, given: Given, says: str) -> None:
    with pytest.raises(IngestRejected) as caught:
        read(tmp_path, given)
    assert says in caught.value.members["findings"][0]["message"]
