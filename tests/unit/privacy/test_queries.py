import numpy as np
import pytest

from core.errors import InvalidInput, NotAccepted
from core.graphs.graph import Cell
from core.graphs.schema import EdgeType
from core.privacy import queries
from core.privacy.queries import Shape, ask

HOMOGENEOUS = Shape(EdgeType(), 5, 5)
DIRECTED = Shape(EdgeType(directed=True), 4, 4)
BIPARTITE = Shape(EdgeType(source="a", target="b"), 3, 2)


def cell(shape, pairs):
    source, target = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
    return Cell(shape.edge_type, None, shape.source_count, shape.target_count, source, target)


EDGES = cell(HOMOGENEOUS, [(0, 1), (0, 2), (2, 3)])


def test_values():
    assert ask("edge_count", HOMOGENEOUS, {}).measure(EDGES).tolist() == [3]
    assert ask("degrees", HOMOGENEOUS, {}).measure(EDGES).tolist() == [2, 1, 2, 1, 0]
    arcs = cell(DIRECTED, [(0, 1), (1, 0), (3, 0)])
    assert ask("degrees", DIRECTED, {"side": "source"}).measure(arcs).tolist() == [1, 1, 0, 1]
    assert ask("degrees", DIRECTED, {"side": "target"}).measure(arcs).tolist() == [2, 1, 0, 0]
    assert ask("degrees", DIRECTED, {"side": "both"}).measure(arcs).tolist() == [3, 2, 0, 1]
    pairs = cell(BIPARTITE, [(0, 0), (2, 0), (2, 1)])
    assert ask("degrees", BIPARTITE, {"side": "source"}).measure(pairs).tolist() == [1, 0, 2]
    assert ask("degrees", BIPARTITE, {"side": "target"}).measure(pairs).tolist() == [2, 1]


def test_a_histogram_counts_the_nodes_of_one_side_by_degree():
    pairs = cell(BIPARTITE, [(0, 0), (2, 0), (2, 1)])
    asked = {"side": "source", "most": 3}
    assert ask("degree_histogram", BIPARTITE, asked).measure(pairs).tolist() == [1, 1, 1, 0]
    asked = {"side": "target", "most": 1}  # what lies above the last entry is counted in it
    assert ask("degree_histogram", BIPARTITE, asked).measure(pairs).tolist() == [0, 2]
    arcs = cell(DIRECTED, [(0, 1), (1, 0), (3, 0)])
    asked = {"side": "target", "most": 2}
    assert ask("degree_histogram", DIRECTED, asked).measure(arcs).tolist() == [2, 1, 1]


def test_group_matrix_is_the_upper_triangle_row_by_row():
    rng = np.random.default_rng(0)
    n, k = 40, 6
    shape = Shape(EdgeType(), n, n)
    source, target = np.triu_indices(n, 1)
    keep = rng.random(len(source)) < 0.3
    labels = rng.integers(0, k, n)
    full = np.zeros((k, k), dtype=int)
    for a, b in zip(labels[source[keep]], labels[target[keep]], strict=True):
        full[min(a, b), max(a, b)] += 1
    values = ask("group_matrix", shape, {"labels": labels, "groups": k}).measure(
        Cell(EdgeType(), None, n, n, source[keep], target[keep])
    )
    assert values.tolist() == full[np.triu_indices(k)].tolist()


def test_group_matrix_between_two_node_types():
    question = ask("group_matrix", BIPARTITE, {"labels": [0, 1, 1], "target_labels": [1, 0], "groups": 3})
    assert question.measure(cell(BIPARTITE, [(0, 0), (2, 0), (2, 1)])).tolist() == [0, 1, 1, 1, 0, 0]


def test_group_degrees_are_rows_of_nodes():
    question = ask("group_degrees", HOMOGENEOUS, {"labels": [0, 1, 1, 0, 1], "groups": 3})
    rows = question.measure(EDGES).reshape(5, 3)
    expected = np.zeros((5, 3), dtype=int)
    for u, v in zip(EDGES.source, EDGES.target, strict=True):
        expected[u, [0, 1, 1, 0, 1][v]] += 1
        expected[v, [0, 1, 1, 0, 1][u]] += 1
    assert rows.tolist() == expected.tolist()
    assert rows.sum(axis=1).tolist() == ask("degrees", HOMOGENEOUS, {}).measure(EDGES).tolist()


@pytest.mark.parametrize("shape", [HOMOGENEOUS, DIRECTED, BIPARTITE])
def test_an_empty_cell_has_full_shape(shape):
    side = "both" if shape.edge_type.homogeneous else "target"
    question = ask("degrees", shape, {"side": side})
    assert question.measure(cell(shape, [])).tolist() == [0] * question.size


@pytest.mark.parametrize(
    ("name", "shape", "arguments", "error"),
    [
        ("triangles", HOMOGENEOUS, {}, InvalidInput),
        ("edge_count", HOMOGENEOUS, {"side": "both"}, InvalidInput),
        ("degrees", HOMOGENEOUS, {"side": "left"}, InvalidInput),
        ("degrees", HOMOGENEOUS, {"side": "source"}, NotAccepted),
        ("degrees", BIPARTITE, {}, NotAccepted),
        ("degree_histogram", HOMOGENEOUS, {"side": "source", "most": 3}, NotAccepted),
        ("degree_histogram", DIRECTED, {"side": "both", "most": 3}, NotAccepted),
        ("degree_histogram", DIRECTED, {"side": "source", "most": 0}, InvalidInput),
        ("degree_histogram", DIRECTED, {"side": "source", "most": 2.0}, InvalidInput),
        ("degree_histogram", DIRECTED, {"side": "source", "most": 2**26}, InvalidInput),
        ("group_matrix", HOMOGENEOUS, {}, InvalidInput),
        ("group_matrix", HOMOGENEOUS, {"labels": [0, 1]}, InvalidInput),
        ("group_matrix", HOMOGENEOUS, {"labels": [0, 0, 0, 0, -1]}, InvalidInput),
        ("group_matrix", HOMOGENEOUS, {"labels": [0.0] * 5}, InvalidInput),
        ("group_matrix", HOMOGENEOUS, {"labels": [0, 0, 0, 0, 3], "groups": 3}, InvalidInput),
        ("group_matrix", HOMOGENEOUS, {"labels": [0, 0, 0, 0, 10**6]}, InvalidInput),
        ("group_matrix", HOMOGENEOUS, {"labels": [0] * 5, "target_labels": [0] * 5}, NotAccepted),
        ("group_matrix", BIPARTITE, {"labels": [0] * 3}, InvalidInput),
        ("group_degrees", DIRECTED, {"labels": [0] * 4}, NotAccepted),
        ("group_degrees", BIPARTITE, {"labels": [0] * 3}, NotAccepted),
        ("group_degrees", HOMOGENEOUS, {"labels": [0, 1]}, InvalidInput),
        ("group_degrees", HOMOGENEOUS, {"labels": [0] * 5, "groups": 2**24}, InvalidInput),
    ],
)
def test_refusals_need_no_data(name, shape, arguments, error):
    with pytest.raises(error):
        ask(name, shape, arguments)


def test_checked_labels_are_a_copy():
    labels = np.zeros(5, dtype=np.int64)
    checked, groups = queries.check_labels(labels, 5, None, "labels")
    labels[0] = 99
    assert (checked[0], groups) == (0, 1)
