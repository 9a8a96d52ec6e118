"""Every format, conversion and the store give back the graph they were given."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from core.errors import IngestRejected
from core.graphs import formats
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.ingest.uploaded import UploadedFile, canonicalise
from core.graphs.schema import Attribute, AttributeKind, EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.stored.whole import read_graph, write_graph
from core.graphs.views.convert import to_networkx
from core.graphs.views.pseudonyms import pseudonymise, sorted_by_id
from tests.support.groups import examples

FEW = settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.too_slow])
# What an id may look like: quotes, delimiters, comment signs, GML's brackets, other scripts. No id of a list
# begins or ends with a space.
ID = st.text(st.sampled_from("ab019,;\"#% /&<é中[]()'="), min_size=1, max_size=6).filter(
    lambda text: text == text.strip()
)


def _edges(draw: st.DrawFn, sources: int, targets: int, steps: int | None) -> EdgeTable:
    count = draw(st.integers(0, 12))
    column = [
        draw(st.lists(st.integers(0, n - 1), min_size=count, max_size=count)) for n in (sources, targets)
    ]
    step = None
    if steps is not None:
        step = np.array(
            draw(st.lists(st.integers(0, steps - 1), min_size=count, max_size=count)), dtype=np.int64
        )
    return EdgeTable(np.array(column[0], dtype=np.int64), np.array(column[1], dtype=np.int64), step)


@st.composite
def simple_graphs(draw: st.DrawFn) -> Graph:
    """One node type, one static relation, nodes 0..n-1."""
    count = draw(st.integers(1, 9))
    schema = GraphSchema(
        node_types=(NodeType(count=count),), edge_types=(EdgeType(directed=draw(st.booleans())),)
    )
    return Graph.build(schema, {}, {"edge": _edges(draw, count, count, None)})


@st.composite
def rich_graphs(draw: st.DrawFn) -> Graph:
    """Two node types whose ids may collide, three relations, time on some, attributes of every kind."""
    steps = draw(st.integers(1, 4))
    attributes = (
        Attribute(name="score", kind=AttributeKind.NUMBER),
        Attribute(name="colour", kind=AttributeKind.CATEGORY, label=True),
        Attribute(name="embedding", kind=AttributeKind.VECTOR),
    )
    schema = GraphSchema(
        node_types=(NodeType(name="user", attributes=attributes), NodeType(name="item")),
        edge_types=(
            EdgeType(name="knows", source="user", target="user", temporal=True),
            EdgeType(name="buys", source="user", target="item", temporal=draw(st.booleans())),
            EdgeType(name="likes", source="user", target="item", directed=True),
        ),
        time=TimeGrid(count=steps),
    )
    ids = {name: draw(st.lists(ID, min_size=1, max_size=6, unique=True)) for name in ("user", "item")}
    users = len(ids["user"])
    real = st.floats(allow_nan=False, allow_infinity=False, width=32)
    columns = {
        "score": np.array(draw(st.lists(real, min_size=users, max_size=users)), dtype=np.float64),
        "colour": pa.array(draw(st.lists(ID | st.none(), min_size=users, max_size=users)), type=pa.string()),
        "embedding": np.array(
            draw(st.lists(st.tuples(real, real), min_size=users, max_size=users)), dtype=np.float32
        ),
    }
    nodes = {
        "user": NodeTable(users, pa.array(ids["user"]), columns),
        "item": NodeTable(len(ids["item"]), pa.array(ids["item"])),
    }
    edges = {
        t.name: _edges(draw, nodes[t.source].count, nodes[t.target].count, steps if t.temporal else None)
        for t in schema.edge_types
    }
    return Graph.build(schema, nodes, edges)


def ingested(graph: Graph, name: str, folder: Path, nodes: UploadedFile | None = None) -> Graph:
    path = folder / "exported"
    formats.get(name).write(graph, path)
    files = {"edges": UploadedFile(path, name)} | ({"nodes": nodes} if nodes else {})
    canonicalise(files, graph.schema, folder / "out")
    return read_graph(folder / "out")


def node_list(graph: Graph, folder: Path) -> UploadedFile:
    import pyarrow.parquet as pq

    several = len(graph.nodes) > 1
    tables = []
    for name, table in graph.nodes.items():
        columns = {"id": table.id_array()} | ({"type": pa.repeat(name, table.count)} if several else {})
        for key, column in table.attributes.items():
            columns[key] = pa.array(column.tolist()) if isinstance(column, np.ndarray) else column
        tables.append(pa.table(columns))
    path = folder / "nodes.parquet"
    pq.write_table(pa.concat_tables(tables, promote_options="permissive"), path)
    return UploadedFile(path, "parquet")


@pytest.mark.parametrize("name", formats.read_names())
@FEW
@given(graph=simple_graphs())
def test_every_format_gives_back_a_static_graph(name: str, graph: Graph) -> None:
    assume(name != "metis" or not graph.schema.edge_types[0].directed)  # it holds no direction
    with tempfile.TemporaryDirectory() as folder:
        assert ingested(graph, name, Path(folder)).equals(graph)


@pytest.mark.parametrize(
    "name",
    [
        n
        for n in formats.read_names()
        if not formats.get(n).refuses(GraphSchema(edge_types=(EdgeType(name="a"), EdgeType(name="b"))))
    ],
)
@FEW
@given(graph=rich_graphs())
def test_every_format_that_takes_it_gives_back_a_typed_temporal_graph(name: str, graph: Graph) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        carries = formats.reader(name).carries_nodes
        nodes = None if carries else node_list(graph, folder)
        assert ingested(graph, name, folder, nodes).equals(sorted_by_id(graph)[0])


@pytest.mark.parametrize("name", ["csv", "tsv"])
@FEW
@given(graph=st.one_of(rich_graphs(), simple_graphs()))
def test_a_delimited_release_with_its_node_list_is_the_whole_graph(name: str, graph: Graph) -> None:
    chosen = formats.get(name)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        chosen.write(graph, folder / "edges")
        chosen.write_nodes(graph, folder / "nodes")
        files = {part: UploadedFile(folder / part, name) for part in ("edges", "nodes")}
        canonicalise(files, graph.schema, folder / "out")
        assert read_graph(folder / "out").equals(sorted_by_id(graph)[0])


@FEW
@given(graph=st.one_of(rich_graphs(), simple_graphs()))
def test_networkx_reads_node_link_documents_as_it_writes_them(graph: Graph) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.json"
        formats.get("node_link").write(graph, path)
        content = json.loads(path.read_text())
    made = nx.node_link_graph(content)
    expected = to_networkx(graph)
    assert type(made) is type(expected)
    assert nx.utils.graphs_equal(made, expected)
    assert content == json.loads(json.dumps(nx.node_link_data(made)))


@FEW
@given(graph=rich_graphs())
def test_store_is_exact(graph: Graph) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_graph(graph, Path(folder))
        assert read_graph(Path(folder)).equals(graph)


@FEW
@given(graph=rich_graphs(), seed=st.integers(0, 2**32 - 1))
def test_pseudonyms_can_be_undone_by_the_permutation_only(graph: Graph, seed: int) -> None:
    renamed, permutations = pseudonymise(graph, np.random.default_rng(seed))
    nodes = {}
    for name, order in permutations.items():
        back = np.argsort(order)
        table, original = renamed.nodes[name], graph.nodes[name]
        assert table.ids.to_pylist() == [f"{name}-{i:06d}" for i in range(1, table.count + 1)]
        columns = {
            key: column[back] if isinstance(column, np.ndarray) else column.take(pa.array(back))
            for key, column in table.attributes.items()
        }
        nodes[name] = NodeTable(original.count, original.ids, columns)
    edges = {
        t.name: EdgeTable(
            permutations[t.source][renamed.edges[t.name].source],
            permutations[t.target][renamed.edges[t.name].target],
            renamed.edges[t.name].step,
        )
        for t in graph.schema.edge_types
    }
    assert Graph.build(graph.schema, nodes, edges).equals(graph)


# An edge may say anything but who there is: in no format does an end that nobody listed join the universe.

DIRECT = {"csv": ",", "tsv": "\t"}


def _numbered(count: int, targets: list[int]) -> Graph:
    """Nodes n0.. by list, an edge from the first to each target."""
    schema = GraphSchema(node_types=(NodeType(),))
    ids = pa.array([f"n{i}" for i in range(count)])
    ends = EdgeTable(np.zeros(len(targets), dtype=np.int64), np.array(targets, dtype=np.int64))
    return Graph.build(schema, {"node": NodeTable(count, ids)}, {"edge": ends})


def _unlisted(name: str, path: Path, node: str) -> None:
    """The document no longer lists the node; its edges stand."""
    text = path.read_text()
    if name == "node_link":
        content = json.loads(text)
        content["nodes"] = [each for each in content["nodes"] if each["id"] != node]
        path.write_text(json.dumps(content))
        return
    if name == "pajek":  # whose vertices are counted: it is the last
        count = len(re.findall(r'(?m)^\d+ "', text))
        text = re.sub(rf'(?m)^{count} "{node}"\n', "", text)
        path.write_text(text.replace(f"*Vertices {count}", f"*Vertices {count - 1}"))
        return
    if name == "metis":  # whose vertices are counted: it is the last, and its edges stay at their other end
        (count, edges), *rows = (line.split() for line in text.splitlines())
        rows = [[count, edges], *rows[:-1]]
        rows[0][0] = str(int(count) - 1)
        path.write_text("".join(" ".join(row) + "\n" for row in rows))
        return
    entry = {
        "graphml": rf'\s*<node id="{node}"\s*/>',
        "apoc_csv": rf'(?m)^"?{node}"?,.*\n',
        "gexf": rf'<node id="{node}" label="{node}"\s*/>',
        "gml": rf'\s*node \[\s*id (\d+)\s*label "{node}"\s*\]',
    }
    changed, times = re.subn(entry[name], "", text)
    assert times == 1
    path.write_text(changed)


def _universe(files: dict[str, UploadedFile], schema: GraphSchema | None, out: Path) -> list[str] | None:
    """The ids of the nodes that the upload makes; None where it is refused."""
    try:
        canonicalise(files, schema, out)
    except IngestRejected:
        return None
    return read_graph(out).nodes["node"].id_array().to_pylist()


@pytest.mark.parametrize(
    "declared", ["list", *(pytest.param(each, marks=pytest.mark.audits) for each in ("count", "proposed"))]
)
@pytest.mark.parametrize("name", formats.read_names())
@FEW
@given(count=st.integers(2, 6), data=st.data())
def test_an_edge_with_an_unseen_end_never_changes_the_universe(
    name: str, declared: str, count: int, data: st.DataObject
) -> None:
    chosen = formats.get(name)
    listed = chosen.carries_nodes and name != "metis"
    numbers = declared == "count" or not (listed or name in DIRECT or name == "parquet")
    known = [str(i) if numbers else f"n{i}" for i in range(count)]
    schema = {
        "list": GraphSchema(),
        "count": GraphSchema(node_types=(NodeType(count=count),)),
        "proposed": None,
    }[declared]
    targets = data.draw(st.lists(st.integers(1, count - 1)))
    for ends, expected in ((targets, (known,)), ([*targets, count], (None, known))):
        graph = _numbered(count + 1, ends)
        if numbers:
            graph = Graph(graph.schema, {"node": NodeTable(count + 1)}, graph.edges)
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            chosen.write(graph, folder / "edges")
            files = {"edges": UploadedFile(folder / "edges", name)}
            if chosen.carries_nodes:
                _unlisted(name, folder / "edges", str(count) if numbers else f"n{count}")
            elif declared != "count":
                (folder / "nodes").write_text("\n".join(["id", *known]))
                files["nodes"] = UploadedFile(folder / "nodes", "csv")
            assert _universe(files, schema, folder / "out") in expected
