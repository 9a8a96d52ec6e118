"""GEXF as Gephi and others write it: versions, spells, directions, and what is damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.errors import IngestRejected
from core.graphs.graph import Graph
from core.graphs.ingest.uploaded import canonicalise
from core.graphs.schema import GraphSchema
from core.graphs.stored.whole import read_graph
from core.graphs.uploads.files import IngestReport, UploadedFile
from core.graphs.views.convert import to_networkx

SPACES = {
    "1.1": "http://www.gexf.net/1.1draft",
    "1.2": "http://www.gexf.net/1.2draft",
    "1.3": "http://gexf.net/1.3",
}
DAY = 86_400


def gexf(
    edges: str, graph: str = 'defaultedgetype="undirected"', attributes: str = "", version: str = "1.2"
) -> str:
    nodes = "".join(f'<node id="{each}" label="{each.upper()}"/>' for each in "abc")
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<gexf xmlns="{SPACES[version]}" version="{version}">'
        f"<graph {graph}>{attributes}<nodes>{nodes}</nodes><edges>{edges}</edges></graph></gexf>"
    )


def read(folder: Path, content: str, schema: Any = None) -> tuple[Graph, IngestReport]:
    (folder / "file").write_text(content)
    declared = None if schema is None else GraphSchema.model_validate(schema)
    options = {} if schema is None else {"extra_columns": "ignore"}
    out = folder / ("out" if schema is None else "declared")
    report = canonicalise({"edges": UploadedFile(folder / "file", "gexf", options)}, declared, out)
    return read_graph(out), report


def steps(graph: Graph) -> list[tuple[str, str, int]]:
    return sorted((*sorted(ends), data["step"]) for *ends, data in to_networkx(graph).edges(data=True))


@pytest.mark.parametrize("version", SPACES)
def test_every_version_is_read(tmp_path: Path, version: str) -> None:
    attributes = (
        '<attributes class="edge"><attribute id="0" title="kind of call" type="string"/></attributes>'
        '<attributes class="node"><attribute id="0" title="age" type="integer"/></attributes>'
    )
    edges = (
        '<edge id="0" source="a" target="b" weight="2.5"><attvalues><attvalue for="0" value="x"/></attvalues>'
        '</edge><edge id="1" source="b" target="c" weight="1"><attvalues><attvalue for="0" value="y"/>'
        "</attvalues></edge>"
    )
    graph, report = read(tmp_path, gexf(edges, attributes=attributes, version=version))
    (table,) = graph.edges.values()
    assert (graph.nodes["node"].count, table.count) == (3, 2)
    assert table.values is not None
    assert sorted(table.values.columns["weight"].tolist()) == [1.0, 2.5]
    assert {each.name for each in report.schema.edge_types[0].attributes} == {"weight", "kind_of_call"}
    assert [each.name for each in report.schema.node_types[0].attributes] == ["label"]


def test_mutual_edges_of_a_directed_graph_go_both_ways(tmp_path: Path) -> None:
    edges = '<edge id="0" source="a" target="b" type="mutual"/><edge id="1" source="b" target="c"/>'
    graph, report = read(tmp_path, gexf(edges, 'defaultedgetype="directed"'))
    assert report.schema.edge_types[0].directed
    assert sorted(to_networkx(graph).edges()) == [("a", "b"), ("b", "a"), ("b", "c")]


@pytest.mark.parametrize(
    ("times", "first", "last"),
    [
        ('timeformat="date"', "2024-03-01", "2024-03-04"),
        ('timeformat="dateTime"', "2024-03-01T00:00:00Z", "2024-03-04T00:00:00Z"),
        ('timeformat="double"', "1709251200.0", "1709510400.0"),
        ("", "1709251200", "1709510400"),
    ],
)
@pytest.mark.parametrize("as_spell", [False, True])
def test_an_edge_is_there_throughout_its_spell(
    tmp_path: Path, times: str, first: str, last: str, as_spell: bool
) -> None:
    ends = f'start="{first}" end="{last}"'
    whole = f"><spells><spell {ends}/></spells></edge>" if as_spell else f" {ends}/>"
    edges = f'<edge id="0" source="a" target="b"{whole}<edge id="1" source="b" target="c" start="{last}"/>'
    content = gexf(edges, f'mode="dynamic" {times} defaultedgetype="undirected"')
    _, report = read(tmp_path, content)
    assert report.schema.time is not None
    assert (report.schema.time.start, report.schema.time.width) == (1_709_251_200, DAY)
    graph, _ = read(tmp_path, content, report.schema.model_dump(mode="json"))
    assert steps(graph) == [*(("a", "b", step) for step in range(4)), ("b", "c", 3)]


def test_values_over_time_are_left_alone_with_a_word(tmp_path: Path) -> None:
    attributes = (
        '<attributes class="edge" mode="dynamic"><attribute id="0" title="load" type="float"/></attributes>'
    )
    edges = (
        '<edge id="0" source="a" target="b"><attvalues><attvalue for="0" value="1" start="1" end="2"/>'
        "</attvalues></edge>"
    )
    graph, report = read(tmp_path, gexf(edges, 'mode="dynamic"', attributes))
    assert graph.edges["edge"].count == 1
    assert "Values that change over time are not read: load." in report.warnings


@pytest.mark.parametrize(
    ("content", "says", "line"),
    [
        (gexf('<edge id="0" source="a" target="z"/>'), "the target 'z' of an edge is no listed node", 2),
        (gexf('<edge id="0" source="a" target="b"/>' * 2), "edges between the same nodes share an id", None),
        (
            gexf('<edge source="a" target="b" type="undirected"/>', 'defaultedgetype="directed"'),
            "write the others as mutual",
            None,
        ),
        (gexf("<edge"), "the XML is malformed", 2),
        ("<?xml version='1.0'?>\n<!DOCTYPE gexf [<!ENTITY a 'b'>]>\n<gexf/>", "declares a DTD", 2),
        (gexf("").replace("<graph", "<net").replace("</graph", "</net"), "No <graph> element", None),
        (
            gexf('<edge source="a" target="b"><attvalues><attvalue for="9" value="1"/></attvalues></edge>'),
            "No attribute defined for=9",
            None,
        ),
    ],
)
def test_what_is_damaged_is_named(tmp_path: Path, content: str, says: str, line: int | None) -> None:
    with pytest.raises(IngestRejected) as caught:
        read(tmp_path, content)
    (found,) = caught.value.members["findings"]
    assert says in found["message"]
    assert found["line"] == line


@pytest.mark.audits
def test_spells_that_make_too_many_edges_are_refused(tmp_path: Path) -> None:
    edges = "".join(f'<edge id="{i}" source="a" target="b" start="0" end="99999"/>' for i in range(21))
    schema = {"node_types": [{}], "edge_types": [{"temporal": True}], "time": {"count": 100_000}}
    with pytest.raises(IngestRejected, match="make more than 2097152 edges"):
        read(tmp_path, gexf(edges, 'mode="dynamic"'), schema)
