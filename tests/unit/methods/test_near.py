"""Near nodes of a plane are joined: simple graphs of the asked degrees, whole, of long paths."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.methods._shared.matching.near import near_keys
from core.methods.base import no_progress
from core.methods.dcsbm import GENERATOR, DCSBMParams
from core.privacy.entropy import public_generator
from tests.support.generating import fit, graph_of, rows_of


def made(degrees: np.ndarray, triangles: int, seed: int = 1) -> nx.Graph:
    nodes, keys = len(degrees), near_keys(degrees, triangles, public_generator(seed))
    assert (np.diff(keys) > 0).all()
    graph = nx.empty_graph(nodes)
    graph.add_edges_from(zip(*(part.tolist() for part in np.divmod(keys, max(nodes, 1))), strict=True))
    return graph


@given(st.lists(st.integers(0, 6), max_size=30), st.integers(-3, 40), st.integers(0, 9))
def test_any_degrees_give_a_simple_graph_below_them(asked, triangles, seed):
    degrees = np.array(asked, dtype=np.int64)
    graph = made(degrees, triangles, seed)
    assert nx.number_of_selfloops(graph) == 0
    assert all(graph.degree(node) <= most for node, most in enumerate(asked))


def test_roads_are_whole_long_and_as_clustered_as_asked():
    degrees = np.random.default_rng(3).choice([1, 2, 3, 4], 2_000, p=[0.2, 0.3, 0.35, 0.15])
    roads = made(degrees, 150)
    missing = degrees.sum() - 2 * roads.number_of_edges()
    assert missing <= 20
    assert len(max(nx.connected_components(roads), key=len)) > 0.95 * len(degrees)
    closed = sum(nx.triangles(roads).values()) // 3
    assert 0.8 * 150 <= closed <= 1.2 * 150
    assert sum(nx.triangles(made(degrees, 0)).values()) // 3 <= 15  # leftover ends close some by chance
    at_random = nx.configuration_model(
        degrees.tolist() if degrees.sum() % 2 == 0 else [*degrees[:-1], degrees[-1] + 1], seed=1
    )
    steps = [
        np.mean(list(nx.single_source_shortest_path_length(nx.Graph(each), int(degrees.argmax())).values()))
        for each in (roads, at_random)
    ]
    assert steps[0] > 2 * steps[1]


def grid(side: int) -> tuple[np.ndarray, int]:
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(side, side))
    names = np.random.default_rng(2).permutation(side * side)
    return names[np.array(graph.edges)], side * side


@pytest.mark.audits
def test_a_grid_keeps_its_long_paths_where_its_plane_is_declared():
    ends, nodes = grid(22)
    true = nx.average_shortest_path_length(nx.grid_2d_graph(22, 22))
    found = {}
    for preset in ("default", "plane"):
        model, meter = fit(GENERATOR, graph_of(ends, nodes), 4, preset=preset)
        graph = nx.empty_graph(nodes)
        graph.add_edges_from(rows_of(model.sample(public_generator(5), no_progress))[:, :2].tolist())
        whole = graph.subgraph(max(nx.connected_components(graph), key=len))
        found[preset] = nx.average_shortest_path_length(whole)
        read = {entry.purpose for entry in meter.transcript}
        assert ("clustering" in read) == (preset == "default")
    assert abs(found["plane"] - true) < 0.75 * abs(found["default"] - true)


@pytest.mark.parametrize(
    "wrong",
    [
        {"geometry": "plane"},
        {"preset": "plane", "groups": 4},
        {"preset": "plane", "node_attribute_share": 0.1},
    ],
)
def test_geometry_goes_with_what_it_leaves_to_chance(wrong):
    with pytest.raises(ValueError, match="geometry"):
        DCSBMParams(**wrong)
