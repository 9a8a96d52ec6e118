"""The suite on graphs whose figures are known in closed form."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest

from core.evaluation import catalogue, steps, suite
from core.evaluation.metric import Suite, of_suite
from core.evaluation.utility import eigenvector
from core.evaluation.view import UndirectedView
from core.evaluation.whole.definitions import LASTING
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid

STATIC = GraphSchema()


def static(graph: nx.Graph) -> Graph:
    pairs = np.array(sorted(graph.edges), dtype=np.int64).reshape(-1, 2)
    nodes = {"node": NodeTable(graph.number_of_nodes())}
    return Graph.build(STATIC, nodes, {"edge": EdgeTable(pairs[:, 0], pairs[:, 1])})


def temporal(rng: np.random.Generator, n: int = 30, steps: int = 3, edges: int = 90) -> Graph:
    schema = GraphSchema(
        node_types=(NodeType(name="user", count=n), NodeType(name="group", count=4)),
        edge_types=(
            EdgeType(name="talks", source="user", target="user", temporal=True),
            EdgeType(name="joins", source="user", target="group"),
            EdgeType(name="near", source="user", target="user", public=True),
        ),
        time=TimeGrid(count=steps),
    )
    talks = EdgeTable(*(rng.integers(0, n, edges) for _ in range(2)), rng.integers(0, steps, edges))
    joins = EdgeTable(rng.integers(0, n, n), rng.integers(0, 4, n))
    near = EdgeTable(*(rng.integers(0, n, n) for _ in range(2)))
    nodes = {"user": NodeTable(n), "group": NodeTable(4)}
    return Graph.build(schema, nodes, {"talks": talks, "joins": joins, "near": near})


def row(graph: nx.Graph) -> dict:
    return suite.public_statistics(static(graph))["edge_types"][0]["rows"][0]["scalars"]


def test_a_complete_graph_has_its_known_figures():
    found = row(nx.complete_graph(9))
    assert (found["edges"], found["triangles"], found["density"]) == (36, 84, 1.0)
    assert (found["transitivity"], found["mean_local_clustering"]) == (1.0, 1.0)
    assert found["assortativity"] is None  # every degree is 8
    assert found["modularity"] == pytest.approx(0.0, abs=1e-12)


def test_a_star_is_as_disassortative_as_can_be():
    found = row(nx.star_graph(10))
    assert found["assortativity"] == pytest.approx(-1.0)
    assert (found["triangles"], found["transitivity"]) == (0, 0.0)


def test_two_cliques_joined_by_one_edge_have_their_known_modularity():
    graph = nx.disjoint_union(nx.complete_graph(6), nx.complete_graph(6))
    graph.add_edge(0, 6)
    found = row(graph)
    assert found["communities"] == 2
    assert found["modularity"] == pytest.approx(30 / 31 - 0.5)
    assert found["components"] == 1


def test_an_empty_graph_has_defined_and_undefined_figures_and_no_error():
    found = row(nx.empty_graph(5))
    assert (found["edges"], found["density"], found["components"], found["largest_component"]) == (
        0,
        0.0,
        5,
        1,
    )
    assert found["modularity"] is None
    assert found["assortativity"] is None
    assert found["communities"] is None


def test_the_hub_of_a_star_is_its_top_node_and_twins_tie_to_the_lower_index():
    view = UndirectedView.of(static(nx.star_graph(199)).cell("edge", None))
    scores = eigenvector.centrality(view)
    assert scores is not None
    assert len(set(scores[1:].tolist())) == 1
    assert eigenvector.top(scores).tolist() == [0, 1]  # floor(0.01 * 200) = 2


def test_statistics_are_json_and_name_every_scalar_and_type():
    graph = temporal(np.random.default_rng(1))
    found = suite.public_statistics(graph)
    names = [metric.name for metric in of_suite(catalogue.SCALARS, Suite.QUICK)]
    assert list(found["metrics"]) == [*names, *(metric.name for metric in LASTING)]
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert [t["name"] for t in found["edge_types"]] == ["talks", "joins", "near"]
    assert [len(t["rows"]) for t in found["edge_types"]] == [3, 1, 1]
    assert found["edge_types"][2]["copied"]
    for kind in found["edge_types"]:
        assert list(kind["means"]) == names
        assert [list(row_["scalars"]) for row_ in kind["rows"]] == [names] * len(kind["rows"])
    assert [side["side"] for side in found["edge_types"][1]["degrees"]] == ["source", "target"]


def test_means_over_steps_are_means_of_rows():
    found = suite.public_statistics(temporal(np.random.default_rng(2)))["edge_types"][0]
    for name in ("edges", "density", "transitivity", "largest_component"):
        values = [row_["scalars"][name] for row_ in found["rows"]]
        assert found["means"][name] == pytest.approx(np.mean(values))


def test_a_graph_compared_with_itself_differs_in_nothing():
    graph = temporal(np.random.default_rng(3))
    found = suite.compare(graph, graph, Suite.STANDARD, lambda *_: None)
    assert [t["name"] for t in found["edge_types"]] == ["talks", "joins"]  # the public relation is left out
    for kind in found["edge_types"]:
        for row_ in [*kind["rows"], kind["means"], found["overall"]]:
            errors = [e[k] for e in row_["scalars"].values() for k in ("absolute_error", "relative_error")]
            assert {error for error in errors if error is not None} == {0.0}
            defined = {name: each for name, each in row_["distances"].items() if each is not None}
            assert len(row_["distances"]) - len(defined) <= 1  # no triangle between two node types
            for name, distance in defined.items():
                better = found["metrics"][name]["better"]
                assert distance == pytest.approx(1.0 if better == "higher" else 0.0), name


def test_a_comparison_gives_both_values_and_both_errors():
    ours, theirs = static(nx.complete_graph(10)), static(nx.cycle_graph(10))
    scalars = suite.compare(ours, theirs, Suite.QUICK, lambda *_: None)["overall"]["scalars"]
    assert scalars["edges"]["original"] == 45
    assert scalars["edges"]["synthetic"] == 10
    assert scalars["edges"]["absolute_error"] == 35
    assert scalars["edges"]["relative_error"] == pytest.approx(35 / 45)
    assert scalars["transitivity"]["absolute_error"] == 1
    assert scalars["assortativity"]["relative_error"] is None


def test_the_mean_of_relative_errors_is_not_the_error_of_the_means():
    first, second = temporal(np.random.default_rng(4)), temporal(np.random.default_rng(5))
    kind = suite.compare(first, second, Suite.QUICK, lambda *_: None)["edge_types"][0]
    errors = [row_["scalars"]["edges"]["relative_error"] for row_ in kind["rows"]]
    assert kind["means"]["scalars"]["edges"]["relative_error"] == pytest.approx(np.mean(errors))


def test_progress_counts_cells_which_are_public():
    first, second = temporal(np.random.default_rng(6)), temporal(np.random.default_rng(7))
    calls: list[tuple[str, int, int]] = []
    suite.compare(first, second, Suite.QUICK, lambda *call: calls.append(call))
    stages = (("compare", 4), ("whole", 3), ("anchors", 4))
    assert calls == [(stage, done, total) for stage, total in stages for done in range(total + 1)]


def test_long_grids_are_read_at_evenly_spaced_steps_with_both_ends():
    def grid(count: int) -> GraphSchema:
        return GraphSchema(edge_types=(EdgeType(temporal=True),), time=TimeGrid(count=count))

    assert steps.evaluated_steps(grid(5)) == (0, 1, 2, 3, 4)
    for level in Suite:
        found = steps.evaluated_steps(grid(100_000), level)
        assert len(found) == steps.MAX_STEPS_EVALUATED[level]
        assert (found[0], found[-1]) == (0, 99_999)
        assert np.ptp(np.diff(found)) <= 1


def test_statistics_do_not_depend_on_what_ran_before():
    graph = static(nx.barabasi_albert_graph(200, 3, seed=1))
    first = suite.public_statistics(graph)
    suite.public_statistics(temporal(np.random.default_rng(8)))
    assert suite.public_statistics(graph) == first
