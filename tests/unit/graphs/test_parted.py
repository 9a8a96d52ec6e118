"""A graph whose edges stay on disk is the same graph."""

from dataclasses import replace

import numpy as np
import pytest

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeAttribute, EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.schema.partable import cells_of, divided
from core.graphs.stored.parted import read_parted, write_parted
from tests.support.checked_parts import check_parted

SCHEMA = GraphSchema(node_types=(NodeType(count=40),), edge_types=(EdgeType(),))
NODES = {"node": NodeTable(40)}


def rows(count=500, seed=2):
    """Ends at random: loops, repeats in both directions."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 40, count), rng.integers(0, 40, count)


def chunks(source, target, size=64):
    return [(source[i : i + size], target[i : i + size]) for i in range(0, len(source), size)]


def edges_of(parted):
    found = [(cell.source, cell.target) for cell in parted.cell("edge", None).groups()]
    return [np.concatenate(ends).tolist() for ends in zip(*found, strict=True)]


@pytest.mark.parametrize("part_edges", [1000, 100, 7])
def test_the_same_edges_as_in_memory(tmp_path, part_edges):
    source, target = rows()
    whole = Graph.build(SCHEMA, NODES, {"edge": EdgeTable(source, target)}).edges["edge"]
    parted = write_parted(SCHEMA, NODES, chunks(source, target), 500, tmp_path / "g", part_edges)
    assert len(parted.parts) == min(-(-500 // part_edges), 40)
    assert edges_of(parted) == [whole.source.tolist(), whole.target.tolist()]
    assert check_parted(parted) == whole.count
    again = read_parted(tmp_path / "g")
    assert again.parts == parted.parts
    assert edges_of(again) == edges_of(parted)
    assert again.nodes["node"].count == 40
    assert again.schema == SCHEMA
    assert not [path for path in (tmp_path / "g").iterdir() if path.is_dir()]  # of the sorting


def test_a_row_more_is_an_edge_more_or_none(tmp_path):
    source, target = rows(60)
    before = write_parted(SCHEMA, NODES, [(source, target)], 60, tmp_path / "a", 20)
    own = set(zip(*edges_of(before), strict=True))
    for number, (u, v) in enumerate([(3, 3), (int(target[0]), int(source[0])), (39, 1)]):
        more = [(source, target), (np.array([u]), np.array([v]))]
        after = write_parted(SCHEMA, NODES, more, 60, tmp_path / str(number), 20)
        added = set(zip(*edges_of(after), strict=True)) ^ own
        assert added <= {(min(u, v), max(u, v))}
        assert u != v or not added


def test_a_graph_may_have_no_edges(tmp_path):
    parted = write_parted(SCHEMA, NODES, [], 0, tmp_path / "g")
    assert check_parted(parted) == 0
    assert not list(parted.cell("edge", None).groups())


@pytest.mark.parametrize("ends", [(0, 40), (-1, 3)])
def test_an_end_that_is_no_node_is_refused(tmp_path, ends):
    with pytest.raises(ValueError, match="no node"):
        write_parted(SCHEMA, NODES, [(np.array(ends[:1]), np.array(ends[1:]))], 1, tmp_path / "g")


@pytest.mark.parametrize(
    "schema",
    [
        SCHEMA.model_copy(
            update={
                "edge_types": (
                    EdgeType(
                        attributes=(EdgeAttribute(name="w", kind="number", bounds=(0, 1)),),
                        multiplicity="each",
                        records_per_slot=2,
                    ),
                )
            }
        ),
        SCHEMA.model_copy(update={"edge_types": (EdgeType(directed=True, functional=True),)}),
        SCHEMA.model_copy(
            update={
                "node_types": (NodeType(count=40, protected=True),),
                "edge_types": (EdgeType(directed=True),),
            }
        ),
        SCHEMA.model_copy(
            update={
                "node_types": (NodeType(count=40, protected=True), NodeType(name="thing", count=9)),
                "edge_types": (EdgeType(target="thing"),),
            }
        ),
        SCHEMA.model_copy(update={"edge_types": (EdgeType(), EdgeType(name="other", public=True))}),
        GraphSchema(
            node_types=(NodeType(count=40),),
            edge_types=(EdgeType(temporal=True),),
            time=TimeGrid(start=0, width=1, count=65),
        ),
    ],
)
def test_graphs_of_another_sort_are_refused(tmp_path, schema):
    with pytest.raises(ValueError, match=r"graph in parts"):
        write_parted(schema, NODES, [], 0, tmp_path / "g")


def test_a_part_that_was_altered_is_found(tmp_path):
    source, target = rows()
    parted = write_parted(SCHEMA, NODES, [(source, target)], 500, tmp_path / "g", 100)
    wrong = replace(parted, parts=(replace(parted.parts[0], sha256="0" * 64), *parted.parts[1:]))
    with pytest.raises(ValueError, match="bytes"):
        check_parted(wrong)


TYPED = GraphSchema(
    node_types=(NodeType(name="person", count=40), NodeType(name="firm", count=9)),
    edge_types=(
        EdgeType(name="knows", source="person", target="person"),
        EdgeType(name="calls", source="person", target="person", temporal=True),
        EdgeType(name="owns", source="firm", target="firm"),
        EdgeType(name="writes", source="person", target="person", directed=True),
        EdgeType(name="hires", source="firm", target="person"),
        EdgeType(name="buys", source="person", target="firm"),
    ),
    time=TimeGrid(start=0, width=1, count=3),
)


def typed_rows(count=1500, seed=4):
    """Rows of every cell at random, mixed: cells, then ends."""
    rng = np.random.default_rng(seed)
    cell = rng.integers(0, 8, count)
    firms = [np.isin(cell, owners) for owners in ((4, 6), (4, 7))]
    return cell, *(rng.integers(0, np.where(firm, 9, 40)) for firm in firms)


@pytest.mark.parametrize("part_edges", [1000, 100, 7])
def test_several_relations_and_snapshots_have_parts_of_their_own(tmp_path, part_edges):
    cell, source, target = typed_rows()
    nodes = {"person": NodeTable(40), "firm": NodeTable(9)}
    cells = [(relation.name, step) for relation, step in cells_of(TYPED)]
    calls = [("calls", step) for step in range(3)]
    others = ["owns", "writes", "hires", "buys"]
    assert cells == [("knows", None), *calls, *((name, None) for name in others)]
    of = {"knows": cell == 0, "calls": (cell > 0) & (cell < 4)}
    of |= {name: cell == place for place, name in enumerate(others, 4)}
    tables = {
        name: EdgeTable(source[rows], target[rows], cell[rows] - 1 if name == "calls" else None)
        for name, rows in of.items()
    }
    whole = Graph.build(TYPED, nodes, tables)
    some = [(source[i : i + 64], target[i : i + 64], cell[i : i + 64]) for i in range(0, len(cell), 64)]
    parted = write_parted(TYPED, nodes, some, len(cell), tmp_path / "g", part_edges)
    assert {part.cell for part in parted.parts} == set(range(8))
    for name, step in cells:
        expected = whole.cell(name, step)
        groups = list(parted.cell(name, step).groups())
        found = [np.concatenate([getattr(each, end) for each in groups]) for end in ("source", "target")]
        assert [each.tolist() for each in found] == [expected.source.tolist(), expected.target.tolist()]
        assert all(each.step == step for each in groups)
    assert check_parted(parted) == sum(table.count for table in whole.edges.values())
    assert read_parted(tmp_path / "g").parts == parted.parts
    empty = write_parted(TYPED, nodes, [], len(cell), tmp_path / "other", part_edges)
    assert [(part.name, part.cell) for part in empty.parts] == [
        (part.name, part.cell) for part in parted.parts
    ]


def test_shards_are_divided_by_edges_and_every_cell_has_one():
    assert divided([10], [7], 5) == [5]
    assert divided([600, 0, 300], [9, 9, 9], 6) == [3, 1, 2]
    assert divided([600, 0, 300], [2, 1, 9], 7) == [2, 1, 4]
    for wrong in (2, 13):
        with pytest.raises(ValueError, match="cells make 3 to 12 shards"):
            divided([600, 0, 300], [2, 1, 9], wrong)


def test_there_is_one_cell(tmp_path):
    with pytest.raises(KeyError, match="no step"):
        write_parted(SCHEMA, NODES, [], 0, tmp_path / "g").cell("edge", 0)
