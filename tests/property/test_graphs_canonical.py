"""Canonical form, ingest and fingerprint: invariances that the privacy argument stands on."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.graphs.columns.canonical import _merge_columns, _merge_packed
from core.graphs.columns.tables import Cell
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.ingest.assemble import Sources, assemble_batches
from core.graphs.ingest.uploaded import UploadedFile, canonicalise
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.stored.fingerprint import as_written, fingerprint, ranked
from core.graphs.stored.whole import read_graph
from core.graphs.uploads.batches import RawGraph
from core.graphs.uploads.files import IngestLimits
from core.graphs.uploads.tables import columnar
from tests.support.groups import examples

NODES, STEPS = 6, 4
KEY = b"k" * 32
SETTINGS = settings(max_examples=examples(60), deadline=None)
ROW = st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1), st.integers(0, STEPS - 1))
ROWS = st.lists(ROW, max_size=25)


def schema(directed: bool = False, width: int = 1, name: str = "edge") -> GraphSchema:
    grid = TimeGrid(width=width, count=-(-STEPS // width))
    relation = EdgeType(name=name, directed=directed, temporal=True)
    return GraphSchema(node_types=(NodeType(count=NODES),), edge_types=(relation,), time=grid)


def raw(rows: list[tuple[int, int, int]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [[], [], []]
    return pa.table(
        {n: pa.array(c, pa.int64()) for n, c in zip(("source", "target", "time"), columns, strict=True)}
    )


def assemble(schema: GraphSchema, nodes: pa.Table | None, edges: pa.Table) -> Graph:
    """The canonical graph of raw tables in memory; IngestRejected where they break the schema."""

    def opened() -> RawGraph:
        return RawGraph(iter([columnar(edges)]), None if nodes is None else iter([columnar(nodes)]))

    return assemble_batches(schema, Sources(opened), IngestLimits(), lambda stage, done: None).graph


def edge_set(graph: Graph) -> set[tuple[int, int, int]]:
    table = graph.edges["edge"]
    return set(zip(table.source.tolist(), table.target.tolist(), table.step.tolist(), strict=True))


@SETTINGS
@given(rows=ROWS, directed=st.booleans())
def test_canonical_edges_are_the_set_of_rows_sorted(rows: list[tuple[int, int, int]], directed: bool) -> None:
    graph = assemble(schema(directed), None, raw(rows))
    expected = {(s, t, i) if directed else (min(s, t), max(s, t), i) for s, t, i in rows if s != t}
    table = graph.edges["edge"]
    order = list(zip(table.step.tolist(), table.source.tolist(), table.target.tolist(), strict=True))
    assert edge_set(graph) == expected
    assert order == sorted(set(order))
    assert {c.dtype for c in (table.source, table.target, table.step)} == {np.dtype(np.int32)}


@SETTINGS
@given(rows=ROWS, directed=st.booleans(), width=st.integers(1, 3), data=st.data())
def test_one_raw_row_changes_at_most_one_canonical_edge(
    rows: list[tuple[int, int, int]], directed: bool, width: int, data: st.DataObject
) -> None:
    row = data.draw(ROW)
    place = data.draw(st.integers(0, len(rows)))
    shape = schema(directed, width)
    less = edge_set(assemble(shape, None, raw(rows)))
    more = edge_set(assemble(shape, None, raw([*rows[:place], row, *rows[place:]])))
    assert less <= more
    assert len(more - less) <= 1


@SETTINGS
@given(rows=ROWS)
def test_packed_and_column_sorts_agree(rows: list[tuple[int, int, int]]) -> None:
    source, target, step = (np.array([r[i] for r in rows], dtype=np.int64) for i in range(3))
    packed, plain = _merge_packed(source, target, step, 3, 3), _merge_columns(source, target, step)
    assert packed[3] == plain[3]
    for one, other in zip(packed[:3], plain[:3], strict=True):
        np.testing.assert_array_equal(one, other)


@SETTINGS
@given(rows=ROWS)
def test_cells_hold_the_edges_of_their_steps(rows: list[tuple[int, int, int]]) -> None:
    graph = assemble(schema(), None, raw(rows))
    for step in range(STEPS):
        cell = graph.cell("edge", step)
        made = nx.Graph((s, t) for s, t, i in rows if i == step and s != t)
        held = {frozenset(pair) for pair in pairs_of(cell)}
        assert held == {frozenset(pair) for pair in made.edges}
        dense = cell.adjacency.toarray()
        assert (dense == dense.T).all()


def pairs_of(edges: EdgeTable | Cell) -> set[tuple[int, int]]:
    return set(zip(edges.source.tolist(), edges.target.tolist(), strict=True))


@SETTINGS
@given(rows=ROWS, seed=st.integers(0, 2**31), width=st.integers(1, 3), directed=st.booleans())
def test_fingerprint_depends_on_joined_ids_only(
    rows: list[tuple[int, int, int]], seed: int, width: int, directed: bool
) -> None:
    reference = fingerprint(assemble(schema(), None, raw(rows)), KEY)
    rng = np.random.default_rng(seed)
    shuffled = [rows[i] for i in rng.permutation(len(rows))]
    turned = [(t, s, i) if rng.integers(2) else (s, t, i) for s, t, i in shuffled]
    listed = pa.table({"id": [str(i) for i in rng.permutation(NODES + 2)]})
    other = GraphSchema(
        node_types=(NodeType(name="person"),),
        edge_types=(
            EdgeType(name="met", source="person", target="person", directed=directed, temporal=True),
        ),
        time=TimeGrid(start=-1, width=width, count=STEPS + 2),
    )
    assert fingerprint(assemble(other, listed, raw(turned)), KEY) == reference
    assert fingerprint(assemble(schema(), None, raw(rows)), b"another key 0000") != reference
    joined = {frozenset(row[:2]) for row in rows if row[0] != row[1]}
    missing = next(({a, b} for a in range(NODES) for b in range(a) if {a, b} not in joined), None)
    if missing is not None:
        added = [*rows, (*missing, 0)]
        assert fingerprint(assemble(schema(), None, raw(added)), KEY) != reference


@pytest.mark.parametrize("key", [b"", b"short", b"x" * 65])
def test_fingerprint_key_must_be_a_key(key: bytes) -> None:
    with pytest.raises(ValueError, match="16 to 64 bytes"):
        fingerprint(Graph.build(schema(), {}, {}), key)


def test_fingerprint_separates_ids_that_join_to_the_same_text() -> None:
    shape = GraphSchema()
    digests = set()
    for ids in (["a", "bc"], ["ab", "c"], ["abc", ""]):
        nodes = {"node": NodeTable(2, pa.array(ids))}
        edges = {"edge": EdgeTable(np.array([0]), np.array([1]))}
        digests.add(fingerprint(Graph.build(shape, nodes, edges), KEY))
    assert len(digests) == 3


@SETTINGS
@given(
    persons=st.lists(st.text("a1é😀", min_size=1, max_size=3), min_size=1, max_size=8, unique=True),
    things=st.integers(1, 12),
    pairs=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 11)), max_size=12),
)
def test_the_fingerprint_of_stored_datasets_stays(
    persons: list[str], things: int, pairs: list[tuple[int, int]]
) -> None:
    """Ids of both types share a vocabulary: sorted by their bytes, those alone that an edge names."""
    shape = GraphSchema(
        node_types=(NodeType(name="person"), NodeType(name="thing", count=things)),
        edge_types=(EdgeType(source="person", target="thing"),),
    )
    ends = [(u % len(persons), v % things) for u, v in pairs]
    nodes = {"person": NodeTable(len(persons), pa.array(persons)), "thing": NodeTable(things)}
    table = EdgeTable(*(np.array(each, dtype=np.int64) for each in zip(*ends, strict=True))) if ends else None
    graph = Graph.build(shape, nodes, {} if table is None else {"edge": table})
    named = [(persons[u].encode(), str(v).encode()) for u, v in ends]
    listed = sorted({each for pair in named for each in pair})
    ranks = sorted({tuple(sorted(map(listed.index, pair))) for pair in named})
    digest = hashlib.blake2b(key=KEY, digest_size=32, person=b"graphveil-edges")
    digest.update(len(listed).to_bytes(8, "little"))
    digest.update(b"".join(len(each).to_bytes(8, "little") for each in listed) + b"".join(listed))
    digest.update(b"".join((low << 32 | high).to_bytes(8, "little") for low, high in ranks))
    assert fingerprint(graph, KEY) == digest.hexdigest()


AROUND = [0, 1, 2, *(10**digits + more for digits in range(1, 6) for more in (-1, 0, 1)), 65_537, 123_456]


@pytest.mark.parametrize("count", AROUND)
def test_numbers_are_ordered_as_their_decimals_sort(count: int) -> None:
    assert as_written(count).tolist() == sorted(range(count), key=str)


@SETTINGS
@given(counts=st.tuples(*[st.integers(1, 1200)] * 2), data=st.data())
def test_numbers_are_ranked_as_the_same_ids_in_a_list(counts: tuple[int, int], data: st.DataObject) -> None:
    """Two types, each with as many nodes as it likes of the same numbers, some of them in an edge."""
    shares = data.draw(st.tuples(*[st.sampled_from([0, 0.1, 1])] * 2))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    kinds = dict(zip("ab", counts, strict=True))
    joined = {kind: rng.random(kinds[kind]) < share for kind, share in zip("ab", shares, strict=True)}
    numbered = {kind: NodeTable(count) for kind, count in kinds.items()}
    listed = {kind: NodeTable(count, pa.array(map(str, range(count)))) for kind, count in kinds.items()}
    (texts, ranks), (wanted, places) = ranked(numbered, joined, {}), ranked(listed, joined, {})
    assert texts.to_pylist() == wanted.to_pylist()
    for kind, found in joined.items():
        assert ranks[kind][found].tolist() == places[kind][found].tolist()


TOKEN = st.text(st.sampled_from('01ax ,"#%-+.é'), max_size=5)


@settings(max_examples=examples(150), deadline=None)
@given(lines=st.lists(st.tuples(TOKEN, TOKEN), min_size=1, max_size=6), chunk=st.integers(4, 40))
def test_quoted_text_reads_as_the_csv_module_reads_it(lines: list[tuple[str, str]], chunk: int) -> None:
    """The fast and the careful reading agree, wherever chunks are cut."""
    import csv
    import io

    from core.graphs.ingest.uploaded import IngestLimits

    ids = sorted({each.strip() for line in lines for each in line if each.strip()})
    assume(ids)
    kept = [line for line in lines if all(each.strip() for each in line)]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(kept)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        listed = io.StringIO()
        csv.writer(listed, lineterminator="\r\n", quoting=csv.QUOTE_ALL).writerows(
            [["id"], *([i] for i in ids)]
        )
        (folder / "e").write_text("source,target\n" + text.getvalue(), newline="")
        (folder / "n").write_text(listed.getvalue(), newline="")
        files = {"edges": UploadedFile(folder / "e", "csv"), "nodes": UploadedFile(folder / "n", "csv")}
        canonicalise(files, GraphSchema(), folder / "out", IngestLimits(chunk_bytes=chunk))
        graph = read_graph(folder / "out")
    assert graph.nodes["node"].ids.to_pylist() == ids
    found = {frozenset((ids[s], ids[t])) for s, t in pairs_of(graph.edges["edge"])}
    ends = [tuple(each.strip() for each in line) for line in kept]  # spaces around ids are none of theirs
    assert found == {frozenset(line) for line in ends if line[0] != line[1]}
