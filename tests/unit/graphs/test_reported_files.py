"""Files that users of other tools report in public, by kind: each is read as its owner means it, or named."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import IngestRejected
from tests.support.person_files import Given, Read, agrees, graphml, packed, read, timed

EPOCH = 978_300_760

READ = {
    # A: a proposal takes its own file
    "an empty column of a node list": (
        Given("Source,Target\na,b\nb,c\n", "Id,Label,timeset\na,Ann,\nb,Bob,\nc,Cy,\n"),
        Read("a-b b-c", warns="'timeset', as it is empty"),
    ),
    "one type": (
        Given("source,target,type\na,b,friend\nb,c,friend\n"),
        Read("a-b b-c", relations=("friend",)),
    ),
    "no time at all": (Given("source,target,time\na,b,\nb,c,\n"), Read("a-b b-c", warns="it is empty")),
    "one type in GraphML": (
        graphml(
            '<key id="t" for="edge" attr.name="type" attr.type="string"/><graph edgedefault="undirected">'
            '<node id="a"/><node id="b"/><edge source="a" target="b"><data key="t">friend</data></edge>'
            "</graph>"
        ),
        Read("a-b", relations=("friend",)),
    ),
    "Gephi's direction": (
        Given("Source,Target,type\na,b,Directed\nb,c,Directed\n"),
        Read("a-b b-c", directed=True),
    ),
    # B: spaces
    "a space after the comma": (Given("1, 2\n2, 1\n3, 1\n1, 3\n"), Read("1-2 1-3", nodes={"node": 3})),
    # C: names that are structure's
    "an attribute id": (
        graphml(
            '<key id="v_id" for="node" attr.name="id" attr.type="string"/><graph edgedefault="undirected">'
            '<node id="n0"><data key="v_id">n2</data></node><node id="n1"><data key="v_id">n0</data></node>'
            '<node id="n2"><data key="v_id">n1</data></node><edge source="n0" target="n1"/></graph>'
        ),
        Read("n0-n1", nodes={"node": 3}),
    ),
    "an attribute source": (
        graphml(
            '<key id="s" for="edge" attr.name="source" attr.type="string"/><graph edgedefault="undirected">'
            '<node id="a"/><node id="b"/><node id="c"/>'
            '<edge source="a" target="b"><data key="s">c</data></edge></graph>'
        ),
        Read("a-b", nodes={"node": 3}),
    ),
    # D: two sorts
    "a matrix that is not square": (
        Given(
            "%%MatrixMarket matrix coordinate pattern general\n2 3 3\n1 1\n1 3\n2 2\n", form="matrix_market"
        ),
        Read("column/0-row/0 column/2-row/0 column/1-row/1", nodes={"row": 2, "column": 3}),
    ),
    # E: comments
    "ids that begin as comments do": (
        Given("source,target\n#covid,#vaccine\n#covid,#news\nnews,#covid\n"),
        Read("#covid-#vaccine #covid-#news #covid-news", nodes={"node": 4}),
    ),
    # F: delimiters and what a file is
    "decimal commas between semicolons": (
        Given("1;2;0,5\n2;3;1,5\n3;4;2,0\n"),
        Read("1-2 2-3 3-4", {"weight": [0.5, 1.5, 2.0]}),
    ),
    "bars": (
        Given("source|target|creationDate\n933|4139|2010-03-13\n933|109|2011-01-02\n"),
        Read("4139-933 109-933", starts=1_268_006_400),
    ),
    "two colons": (
        Given(f"1::1193::5::{EPOCH}\n1::661::3::{EPOCH + 1349}\n2::1193::4::{EPOCH + 1208}\n"),
        Read("1-1193 1-661 1193-2", {"weight": [3.0, 4.0, 5.0]}, starts=EPOCH - EPOCH % 60),
    ),
    "a delimiter that the first line says": (
        Given("sep=;\nsource;target\na;b\nb;c\n"),
        Read("a-b b-c", nodes={"node": 3}),
    ),
    "a title": (
        Given("My network\nsource,target,weight\na,b,1\nb,c,2\nc,d,3\n"),
        Read("a-b b-c c-d", {"weight": [1.0, 2.0, 3.0]}, warns="'My network' was taken for a title"),
    ),
    "UTF-16 with its mark": (Given("source,target\na,b\nb,c\n".encode("utf-16")), Read("a-b b-c")),
    "a zip archive of one file": (Given(packed(edges="source,target\na,b\nb,c\n")), Read("a-b b-c")),
    "lines that end with CR": (
        Given("Source,Target,weight\rann,bob,3\rbob,cy,1\r"),
        Read("ann-bob bob-cy", {"weight": [1.0, 3.0]}),
    ),
    # G: the third column, and the fourth
    "weights of a list without a header": (
        Given("a b 0.5\nb c 1.5\nc d 7.25\n"),
        Read("a-b b-c c-d", {"weight": [0.5, 1.5, 7.25]}, warns="read as source, target, weight"),
    ),
    "signs": (
        Given("0,1,1\n0,2,-1\n2,3,1\n1,3,1\n"),
        Read("0-1 0-2 2-3 1-3", {"weight": [-1.0, 1.0, 1.0, 1.0]}),
    ),
    "weights and times without a header": (
        Given("196\t242\t3\t881250949\n186\t302\t3\t891717742\n"),
        Read("196-242 186-302", starts=880_934_400, warns="read as source, target, weight, time"),
    ),
    "ratings": (
        Given(
            "userId,movieId,rating,timestamp\n1,31,2.5,1260759144\n1,1029,3.0,1260759179\n2,31,4.0,1260759182\n"
        ),
        Read(
            "movie/31-user/1 movie/1029-user/1 movie/31-user/2",
            {"rating": [2.5, 3.0, 4.0]},
            {"user": 2, "movie": 2},
            starts=1_260_759_144,
        ),
    ),
    # I: names
    "names that are not plain": (
        Given("source,target\na,b\nb,c\n", "id,full name,Größe\na,x,1\nb,y,2\nc,z,3\n"),
        Read("a-b b-c", warns="'full name' is full_name, 'Größe' is Grosse"),
    ),
    "relations that are not plain": (
        Given("source,target,type\na,b,works at\nb,c,http://x.org/knows\nc,a,1\n"),
        Read("a-b b-c a-c", relations=("1", "http://x.org/knows", "works at")),
    ),
    "types of nodes within one relation": (
        Given("source,target\na,b\nb,c\n", "id,type\na,p\nb,f\nc,p\n"),
        Read(
            "a-b b-c", nodes={"node": 3}, warns="'type', as edges of one relation join nodes of several types"
        ),
    ),
    # K: GML, JSON, matrices
    "GML without labels": (
        Given("graph [\n node [ id 1 ]\n node [ id 2 ]\n edge [ source 1 target 2 ]\n]\n", form="gml"),
        Read("1-2"),
    ),
    "GML with a label twice, parallel edges and nan": (
        Given(
            'graph [ node [ id 1 label "A" ] node [ id 2 label "A" ] edge [ source 1 target 2 ]'
            " edge [ source 1 target 2 value nan ] ]",
            form="gml",
        ),
        Read("1-2", nodes={"node": 2}, warns="named by their id"),
    ),
    "links by number": (
        Given(
            '{"nodes": [{"name": "R2-D2"}, {"name": "LUKE"}], "links": '
            '[{"source": 0, "target": 1, "value": 3}]}',
            form="node_link",
        ),
        Read("LUKE-R2-D2", warns="by their place in the list"),
    ),
    "a banner of one percent sign": (
        Given("%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 1\n", form="matrix_market"),
        Read("0-1 0-2"),
    ),
    "booleans with spaces": (
        graphml(
            '<key id="x" for="node" attr.name="x" attr.type="boolean"/><graph edgedefault="undirected">'
            '<node id="a"><data key="x"> true </data></node><node id="b"/>'
            '<edge source="a" target="b"/></graph>'
        ),
        Read("a-b"),
    ),
    # L: times
    "times in two units": (
        Given("source,target,time\na,b,1700000000\nb,c,1700900000000\nc,a,20240517\n"),
        Read("a-b b-c a-c", warns="are in two units"),
    ),
    "days of eight digits": (
        Given("source,target,time\na,b,20240517\nb,c,20240518\nc,d,20240601\n"),
        Read("a-b b-c c-d", starts=1_715_904_000, width=86_400),
    ),
    "microseconds": (
        timed(17 * 10**14, 17 * 10**14 + 10**8, 17 * 10**14 + 9 * 10**9),
        Read("a-b b-c c-d", width=600 * 10**6, warns="steps of ten minutes"),
    ),
    "nanoseconds": (
        timed(17 * 10**17, 17 * 10**17 + 10**11, 17 * 10**17 + 9 * 10**12),
        Read("a-b b-c c-d", width=600 * 10**9, warns="steps of ten minutes"),
    ),
    # O: values
    "amounts with decimal commas": (
        Given("Source;Target;Amount\na;b;0,5\nb;c;1,25\nc;d;2,0\n"),
        Read("a-b b-c c-d", {"Amount": [0.5, 1.25, 2.0]}),
    ),
    "quoted amounts with decimal commas": (
        Given('source,target,amount\na,b,"0,5"\nb,c,"1,25"\nc,d,"2,0"\n'),
        Read("a-b b-c c-d", {"amount": [0.5, 1.25, 2.0]}),
    ),
    "a matrix of values, zero among them": (
        Given(
            "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 0\n3 1 2.5\n", form="matrix_market"
        ),
        Read("0-1 0-2", {"weight": [0.0, 2.5]}),
    ),
}


@pytest.mark.parametrize(("given", "meant"), READ.values(), ids=READ)
def test_a_file_is_read_as_it_is_meant(tmp_path: Path, given: Given, meant: Read) -> None:
    agrees(tmp_path, given, meant)


REFUSED = {
    "a list of some nodes": (
        Given("source,target\na,b\nb,c\n", "id\na\nb\n"),
        "the target 'c' is not in the node list (1 such id)",
        3,
    ),
    "a spreadsheet in parts": (Given(packed(xl__workbook="<x/>", a="")), "zip archive of 2 files", None),
    "a form": (
        Given('--b\r\nContent-Disposition: form-data; name="f"\r\n\r\na,b\r\n--b--\r\n'),
        "a multipart form; send the file's bytes alone",
        None,
    ),
    "UTF-16 without its mark": (
        Given("a,b\nb,c\n".encode("utf-16-le")),
        "set the option encoding to utf-16",
        None,
    ),
}


@pytest.mark.parametrize(("given", "says", "line"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_read_is_named(tmp_path: Path, given: Given, says: str, line: int | None) -> None:
    with pytest.raises(IngestRejected) as caught:
        read(tmp_path, given)
    (found,) = caught.value.members["findings"]
    assert says in found["message"]
    assert found["line"] == line
