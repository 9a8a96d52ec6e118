"""A graph whose edges stay elsewhere: the same reads, cost and noise as in parts, and nothing but counts."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

from core.errors import InvalidInput, NotAccepted
from core.graphs.counted.here import InParts, InPartsCell
from core.graphs.counted.reference import places_of, read_reference, sources_of
from core.graphs.counted.stored import CountedEdges, open_parts, read_counted, write_counts
from core.graphs.graph import Graph, NodeTable
from core.graphs.schema import Attribute, AttributeKind, EdgeType, GraphSchema, NodeType, Protection, TimeGrid
from core.graphs.stored.parted import PartedGraph, write_parted
from core.graphs.stored.whole import write_universe
from core.methods.base import PublicFacts, no_progress
from core.methods.registry import get
from core.methods.room import require_room
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.queries import QUERIES, Shape, ask
from core.privacy.reads.public_groups import labellings_of
from core.privacy.session.counted import PrivateParts
from core.privacy.units import Unit

NODES = 60
TOWN = Attribute(name="town", kind=AttributeKind.CATEGORY, protection=Protection.PUBLIC)
SCHEMA = GraphSchema(node_types=(NodeType(count=NODES, attributes=(TOWN,)),), edge_types=(EdgeType(),))
COUNTS = {"triangle_share": 0, "clustering_share": 0, "product_share": 0}


def universe(nodes: int = NODES) -> dict[str, NodeTable]:
    return {"node": NodeTable(nodes, None, {"town": np.arange(nodes) % 3})}


def stored(folder: Path, pairs: np.ndarray, nodes: int = NODES) -> tuple[PartedGraph, Path]:
    """The same edges in parts, and counted."""
    schema = (
        SCHEMA
        if nodes == NODES
        else GraphSchema(node_types=(NodeType(count=nodes, attributes=(TOWN,)),), edge_types=(EdgeType(),))
    )
    tables = universe(nodes)
    parted = write_parted(schema, tables, [(pairs[:, 0], pairs[:, 1])], len(pairs), folder / "parts", 50)
    out = folder / "counted"
    write_universe(Graph.build(schema, tables, {}), out)
    (out / "schema.json").write_text(schema.model_dump_json())
    write_counts(InParts(parted), schema, tables, labellings_of(schema, tables), out)
    return parted, out


def test_more_nodes_than_a_read_returns_are_noised_in_blocks_for_one_charge(tmp_path, monkeypatch):
    """One transcript line, at the sensitivity of all blocks together; and each entry has noise of its own."""
    from core.privacy import limits
    from core.privacy.mechanisms import noise

    monkeypatch.setattr(limits, "MAX_VALUES", NODES // 4)
    monkeypatch.setattr(noise, "OPENDP_VALUES", 0)
    monkeypatch.setattr("core.privacy.mechanisms.threads.MOST_PIECE", 7)
    parted, folder = stored(tmp_path, np.random.default_rng(2).integers(0, NODES, (400, 2)))
    generator = get("dcsbm")
    params = generator.Params(**COUNTS, groups=1)
    facts = PublicFacts(SCHEMA, Unit.EDGE, None, 10**9, 0, ("edge",))
    plan = generator.plan(params, facts)
    require_room(generator, params, plan, SCHEMA, {"node": NODES}, in_parts=True)
    with pytest.raises(NotAccepted, match="of at most 15"):
        require_room(generator, params, plan, SCHEMA, {"node": NODES})
    noises = []
    for graph in (parted, open_parts(folder)) * 40:
        meter = Meter(plan, MemoryRecorder())
        cell = PrivateParts(graph, meter).cell("edge", None)
        noisy = cell.laplace("degrees", nano_epsilon=10**8, purpose="degrees")
        assert [entry.purpose for entry in meter.transcript] == ["degrees"]
        noises.append(noisy - read_counted(folder).cell("edge", None).degrees())
    found = np.array(noises)
    # Of scale 2 / 0.1: a variance of 2 * 20^2, over 4,800 values.
    assert 0.8 < found.var() / 800 < 1.25
    correlated = np.corrcoef(found.T)
    assert np.abs(correlated[~np.eye(NODES, dtype=bool)]).max() < 0.7


@pytest.mark.parametrize("groups", [1, "town"])
def test_a_fit_reads_pays_and_draws_as_of_the_graph_in_parts(tmp_path, monkeypatch, groups):
    pairs = np.random.default_rng(2).integers(0, NODES, (400, 2))
    parted, folder = stored(tmp_path, pairs)
    generator = get("dcsbm")
    params = generator.Params(**COUNTS, groups=groups)
    plan = generator.plan(params, PublicFacts(SCHEMA, Unit.EDGE, None, 10**9, 0, ("edge",)))
    read: list[list[np.ndarray]] = []

    def silent(values, sensitivity, nano_epsilon):
        read[-1].append(np.concatenate([values, [sensitivity, nano_epsilon]]))
        return values

    monkeypatch.setattr(mechanisms, "discrete_laplace", silent)
    meters = []
    for graph in (parted, open_parts(folder)):
        read.append([])
        meters.append(Meter(plan, MemoryRecorder()))
        generator.sharding.fit_parts(PrivateParts(graph, meters[-1]), plan, params, no_progress)
    assert len(read[0]) == len(read[1]) >= 3
    assert all(np.array_equal(*each) for each in zip(*read, strict=True))
    told = [[(e.event, e.purpose) for e in meter.transcript] for meter in meters]
    assert told[0] == told[1]


def test_neighbours_move_stored_counts_by_the_sensitivity(tmp_path):
    """Over all graphs of four nodes and all their neighbours."""
    slots = list(itertools.combinations(range(4), 2))
    shape, labels = Shape(EdgeType(), 4, 4), np.arange(4) % 3
    asked = [ask("edge_count", shape, {}), ask("degrees", shape, {}), ask("sorted_degrees", shape, {})]
    asked += [ask("tail_counts", shape, {"thresholds": np.array([1, 2])})]
    asked += [ask("group_matrix", shape, {"labels": labels, "groups": groups}) for groups in (3,)]
    asked += [ask("group_matrix", shape, {"labels": np.zeros(4, dtype=np.int64), "groups": 1})]
    found = {}
    for bits in range(2**6):
        pairs = np.array([s for i, s in enumerate(slots) if bits >> i & 1], dtype=np.int64).reshape(-1, 2)
        _, folder = stored(tmp_path / str(bits), pairs, 4)
        edges = read_counted(folder).cell("edge", None)
        found[bits] = [question.measure(edges) for question in asked]
    for bits, slot in itertools.product(range(2**6), range(6)):
        if not bits >> slot & 1:
            for question, one, other in zip(asked, found[bits], found[bits | 1 << slot], strict=True):
                assert np.abs(one - other).sum() <= question.l1_sensitivity
                assert ((one - other) ** 2).sum() <= question.l2_squared


def test_neighbours_move_stored_counts_of_sides_by_the_sensitivity(tmp_path):
    """Over all directed graphs of three nodes, and all of two nodes of one type and two of another."""
    inside = GraphSchema(node_types=(NodeType(count=3),), edge_types=(EdgeType(directed=True),))
    kinds = (NodeType(name="firm", count=2), NodeType(name="person", count=2))
    between = GraphSchema(
        node_types=kinds, edge_types=(EdgeType(name="edge", source="firm", target="person"),)
    )
    for number, schema in enumerate((inside, between)):
        tables = {kind.name: NodeTable(kind.count) for kind in schema.node_types}
        (relation,) = schema.edge_types
        sizes = tables[relation.source].count, tables[relation.target].count
        shape = Shape(relation, *sizes)
        slots = [(u, v) for u, v in itertools.product(*map(range, sizes)) if number or u != v]
        asked = [ask("edge_count", shape, {})]
        for side in ("source", "target"):
            asked += [ask(name, shape, {"side": side}) for name in ("degrees", "sorted_degrees")]
            asked.append(ask("degree_histogram", shape, {"side": side, "most": 2}))
        if not number:
            asked += [ask("degrees", shape, {}), ask("tail_counts", shape, {"thresholds": np.array([1, 3])})]
        found, moved = {}, np.zeros(len(asked), dtype=int)
        for bits in range(2 ** len(slots)):
            pairs = np.array([s for i, s in enumerate(slots) if bits >> i & 1], dtype=np.int64).reshape(-1, 2)
            folder = tmp_path / f"{number}-{bits}"
            parted = write_parted(
                schema, tables, [(pairs[:, 0], pairs[:, 1])], len(pairs), folder / "parts", 2
            )
            out = folder / "counted"
            write_universe(Graph.build(schema, tables, {}), out)
            (out / "schema.json").write_text(schema.model_dump_json())
            write_counts(InParts(parted), schema, tables, {}, out)
            edges = read_counted(out).cell("edge", None)
            found[bits] = [question.measure(edges) for question in asked]
            for question, answer in zip(asked, found[bits], strict=True):
                assert np.array_equal(answer, question.measure(parted.cell("edge", None)))
        for bits, slot in itertools.product(range(2 ** len(slots)), range(len(slots))):
            if not bits >> slot & 1:
                pair = zip(asked, found[bits], found[bits | 1 << slot], strict=True)
                for place, (question, one, other) in enumerate(pair):
                    assert ((one - other) ** 2).sum() <= question.l2_squared
                    moved[place] = max(moved[place], np.abs(one - other).sum())
        assert moved.tolist() == [question.l1_sensitivity for question in asked]


def test_nothing_but_counts_is_answered(tmp_path):
    _, folder = stored(tmp_path, np.array([[0, 1], [1, 2]]))
    edges, shape = read_counted(folder).cell("edge", None), Shape(EdgeType(), NODES, NODES)
    labels = {"labels": np.arange(NODES) % 3, "groups": 3}
    arguments = {
        "group_degrees": labels,
        "pair_classes": labels | {"table": np.zeros((3, 3), dtype=np.int64)},
    }
    arguments["pair_classes"].pop("groups")
    assert set(arguments) < set(QUERIES)
    for name, given in arguments.items():
        with pytest.raises(NotAccepted, match="nothing else is read"):
            ask(name, shape, given).measure(edges)
    other = ask("group_matrix", shape, {"labels": np.arange(NODES) % 5, "groups": 5})
    with pytest.raises(NotAccepted, match="not counted"):
        other.measure(edges)


class Miscounting(InPartsCell):
    """An engine that counts an edge twice, or loses one of a label."""

    def degrees(self, side="both"):
        yield from (block + (np.arange(len(block)) == 0) for block in super().degrees(side))


class Losing(InPartsCell):
    def pairs(self, labels, groups):
        return super().pairs(labels, groups) - np.eye(1, groups * (groups + 1) // 2, dtype=np.int64)[0]


@pytest.mark.parametrize(("engine", "what"), [(Miscounting, "degrees"), (Losing, "labels")])
def test_counts_that_do_not_add_up_are_refused(tmp_path, monkeypatch, engine, what):
    parted, _ = stored(tmp_path, np.array([[0, 1], [1, 2], [0, 3]]))
    (tmp_path / "out").mkdir()
    monkeypatch.setattr("core.graphs.counted.here.InPartsCell", engine)
    with pytest.raises(ValueError, match=what):
        write_counts(InParts(parted), SCHEMA, universe(), labellings_of(SCHEMA, universe()), tmp_path / "out")


def test_many_nodes_come_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("core.graphs.counted.here.BLOCK_NODES", 7)
    parted, folder = stored(tmp_path, np.random.default_rng(2).integers(0, NODES, (400, 2)))
    assert [len(block) for block in InParts(parted).cells[0].degrees()] == [7] * 8 + [4]
    whole = np.zeros(NODES, dtype=np.int64)
    for cell in parted.cell("edge", None).groups():
        whole += np.bincount(np.concatenate([cell.source, cell.target]), minlength=NODES)
    assert np.array_equal(read_counted(folder).cell("edge", None).degrees(), whole)


def test_a_step_or_relation_that_there_is_not(tmp_path):
    _, folder = stored(tmp_path, np.array([[0, 1]]))
    graph = read_counted(folder)
    assert isinstance(graph.cell("edge", None), CountedEdges)
    assert isinstance(graph.nodes, MappingProxyType)
    for edge_type, step in (("edge", 1), ("other", None)):
        with pytest.raises(KeyError):
            graph.cell(edge_type, step)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "cannot be read"),
        (b'{"folder": "/lake/e", "table": "e", "snapshot": 1}', "name a folder or a table"),
        (b'{"table": "lake.edges"}', "snapshot"),
        (b'{"table": "lake.edges; drop", "snapshot": 1}', "table"),
        (b'{"folder": "/lake/e", "source": "a`b"}', "source"),
        (b'{"folder": "/lake/e", "source": "{read}"}', "source"),
        (b'{"folder": "/lake/{e,../../etc}"}', "folder"),
        (b'{"folder": "/lake/%2e%2e/etc"}', "folder"),
        (b'{"folder": "/lake/e?endpoint_override=other"}', "folder"),
        (b'{"folder": "/lake/e#f"}', "folder"),
        (b'{"folder": "/lake/[.][.]/etc"}', "folder"),
        (b'{"folder": "/lake/**/e"}', "for each folder below"),
        (b'{"folder": "/*/lake"}', "GRAPHVEIL_ENGINE_PLACES"),
        (b'{"folder": "/lake*"}', "GRAPHVEIL_ENGINE_PLACES"),
        (b'{"folder": "/lake/*/../../etc"}', "GRAPHVEIL_ENGINE_PLACES"),
        (b'{"folder": "table:lake.edges"}', "GRAPHVEIL_ENGINE_PLACES"),
        (b'{"folder": "/lakes/e"}', "GRAPHVEIL_ENGINE_PLACES"),
        (b'{"relations": []}', "relations"),
        (b'{"relations": [{"folder": "/lake/e"}]}', "relation"),
        (
            b'{"relations": [{"relation": "a", "folder": "/lake/e"}, {"relation": "b", "folder": "/etc"}]}',
            "PLACES",
        ),
        (b'{"folder": "/lake/../etc"}', "GRAPHVEIL_ENGINE_PLACES"),
        (b'{"folder": "s3://lake/e"}', "GRAPHVEIL_ENGINE_PLACES"),
        (b'{"table": "other.edges", "snapshot": 1}', "GRAPHVEIL_ENGINE_PLACES"),
        (b" " * 20_000, "at most"),
    ],
)
def test_what_no_reference_may_say(content, message):
    with pytest.raises(InvalidInput, match=message):
        read_reference(content, ("/lake", "table:lake."))


@pytest.mark.parametrize("content", [b'{"folder": "/lake"}', b'{"folder": "/lake/e/"}'])
def test_a_place_and_what_is_below_it_may_be_referred_to(content):
    assert read_reference(content, ("/lake/", "table:lake.")).folder


def test_a_table_of_an_allowed_catalogue():
    assert read_reference(b'{"table": "lake.edges", "snapshot": 0}', ("table:lake.",)).snapshot == 0


@pytest.mark.parametrize("place", ["table:lake.edges", "table:lake", "table:lake.", "table:"])
def test_a_place_of_tables_allows_its_own_name_and_what_is_below_it(place):
    assert read_reference(b'{"table": "lake.edges", "snapshot": 0}', (place,)).table == "lake.edges"


@pytest.mark.parametrize("name", ["lake.edges_private", "lake.edges2", "lakes.edges"])
def test_a_table_whose_name_only_begins_as_an_allowed_one_is_refused(name):
    content = f'{{"table": "{name}", "snapshot": 0}}'.encode()
    with pytest.raises(InvalidInput, match="GRAPHVEIL_ENGINE_PLACES"):
        read_reference(content, ("table:lake.edges", "table:lak"))


def of_cells(*cells: tuple[str, int | None]) -> bytes:
    named = [{"relation": name, "step": step, "folder": f"/lake/{name}-{step}"} for name, step in cells]
    return json.dumps({"relations": named}).encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"folder": "/lake/e"}', "has 3 relations and snapshots"),
        (of_cells(("mail", None)), "'call' in step 0, which lacks"),
        (of_cells(("mail", None), ("mail", None)), "names a relation or snapshot twice"),
        (of_cells(("mail", None), ("call", 1), ("call", 0), ("x", None)), "'x', which the schema has not"),
        (of_cells(("mail", 0), ("call", 1), ("call", 0)), "'mail', which lacks"),
    ],
)
def test_each_relation_and_snapshot_is_referred_to_once(content, message):
    schema = GraphSchema(
        node_types=(NodeType(count=4),),
        edge_types=(EdgeType(name="mail"), EdgeType(name="call", temporal=True)),
        time=TimeGrid(start=0, width=1, count=2),
    )
    with pytest.raises(InvalidInput, match=message):
        sources_of(read_reference(content, ("/lake",)), schema)


def test_places_are_of_the_tenant_before_them_or_of_all():
    said = ("s3://lake/", "agency=s3://own/", "clinic=table:clinic.", "/data/day=3")
    assert places_of("agency", said) == ["s3://lake/", "s3://own/", "/data/day=3"]
    assert places_of("clinic", said) == ["s3://lake/", "table:clinic.", "/data/day=3"]
    assert places_of("other", said[1:3]) == []
