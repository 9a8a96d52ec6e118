"""Tasks on graphs whose links and labels follow planted blocks: what they say of copies and of noise."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest

from core.evaluation.learning import limits
from core.evaluation.metric import Suite
from core.evaluation.tasks import link_prediction, node_classification, subjects
from core.evaluation.tasks.run import run_tasks
from core.evaluation.view import UndirectedView
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, AttributeKind, EdgeType, GraphSchema, NodeType, Protection
from core.reports.evidence import Task

BLOCKS, SIZE = 5, 20
N = BLOCKS * SIZE
LABEL = Attribute(name="club", label=True)
SCHEMA = GraphSchema(node_types=(NodeType(count=N, attributes=(LABEL,)),))
PLAIN = GraphSchema(node_types=(NodeType(count=N),))


@cache
def graphs() -> tuple[Graph, Graph]:
    """Planted blocks with their labels, and the same degrees rewired, without labels: a release."""
    graph = nx.planted_partition_graph(BLOCKS, SIZE, 0.4, 0.01, seed=2)
    clubs = pa.array([f"club {i // SIZE}" for i in range(N)])
    original = Graph.build(SCHEMA, {"node": NodeTable(N, None, {"club": clubs})}, {"edge": table(graph)})
    nx.double_edge_swap(graph, 8 * graph.number_of_edges(), 10**6, seed=3)
    return original, Graph.build(PLAIN, {"node": NodeTable(N)}, {"edge": table(graph)})


def table(graph: nx.Graph) -> EdgeTable:
    pairs = np.array(list(graph.edges), dtype=np.int64)
    return EdgeTable(pairs[:, 0], pairs[:, 1])


def quiet(stage: str, done: int, total: int) -> None:
    raise AssertionError("nothing is done, so nothing is told")


def entries(original: Graph, synthetic: Graph) -> dict[tuple[str, str], Task]:
    """The entries, each a valid Task; progress counts the relation and the label."""
    seen: list[tuple[str, int, int]] = []
    tasks = run_tasks(original, synthetic, Suite.FULL, lambda *at: seen.append(at))
    assert seen == [("task", 0, 2), ("task", 1, 2), ("task", 2, 2)]
    found = [Task.model_validate(entry) for entry in tasks]
    assert len({(task.name, task.measure, task.subject) for task in found}) == len(found)
    return {(task.name, task.measure): task for task in found}


@pytest.mark.parametrize("suite", [Suite.QUICK, Suite.STANDARD])
def test_only_the_full_suite_has_tasks(suite: Suite):
    assert run_tasks(*graphs(), suite, quiet) == []


@pytest.mark.papers
def test_a_copy_is_worth_as_much_as_the_original():
    original, _ = graphs()
    found = entries(original, original)
    assert len(found) == 5
    for task in found.values():
        assert task.trained_on_synthetic == task.trained_on_original
        assert task.trained_on_original is not None
        assert task.baseline is not None
        assert task.trained_on_original > task.baseline + 0.2


@pytest.mark.papers
def test_a_rewiring_is_worth_no_more_than_guessing():
    found = entries(*graphs())
    link = found["link_prediction", "auc"]
    assert link.trained_on_original is not None
    assert link.trained_on_original > 0.75
    # Three repetitions of about 40 test links: a standard error of 0.04.
    assert link.trained_on_synthetic == pytest.approx(0.5, abs=0.15)
    for name in ("node_classification", "node_classification_transfer"):
        task = found[name, "micro_f1"]
        assert task.trained_on_original is not None
        assert task.trained_on_original > 0.85
        assert task.trained_on_synthetic is not None
        assert task.trained_on_synthetic < task.trained_on_original
    # Applied where it was trained, a structure without blocks shows nothing of the labels.
    assert found["node_classification", "micro_f1"].trained_on_synthetic == pytest.approx(0.2, abs=0.15)


def test_test_pairs_are_taken_out_of_both_graphs():
    """A release that links exactly the test pairs would else be told from one that does not."""
    rng = np.random.default_rng(0)
    view = UndirectedView.of_pairs(N, rng.integers(0, N, 300), rng.integers(0, N, 300))
    u, v, label = view.u[:20], view.v[:20], np.arange(20) < 10
    less = UndirectedView.of_pairs(N, view.u[20:], view.v[20:])
    one, two = (link_prediction.predicted(graph, None, u, v, label, 1) for graph in (view, less))
    assert one == two


def test_large_and_empty_graphs_get_entries_that_say_so():
    none = np.empty(0, dtype=np.int64)
    small = UndirectedView.of_pairs(N, none, none)
    large = UndirectedView.of_pairs(limits.MAX_NODES + 1, none, none)
    labels = subjects.labels_of(graphs()[0])[0]
    for view in (small, large):
        found = [link_prediction.link_prediction(view, view, None, "edge")]
        found += node_classification.node_classification(view, view, None, labels)
        assert len(found) == 5
        for task in map(Task.model_validate, found):
            assert task.not_run is not None
            assert task.trained_on_original is None
            assert task.trained_on_synthetic is None


def test_f1_is_accuracy_and_the_mean_over_classes():
    micro, macro = node_classification.f1(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]))
    assert micro == pytest.approx(3 / 4)
    assert macro == pytest.approx((4 / 5 + 2 / 3) / 2)


def test_labels_are_dense_and_unfit_ones_say_why():
    schema = GraphSchema(
        node_types=(
            NodeType(name="a", count=3),
            NodeType(name="b", count=40, attributes=(LABEL, Attribute(name="same", label=True))),
        ),
        edge_types=(EdgeType(source="a", target="b"),),
    )
    clubs = pa.array(["x", None, "y", "x"] * 10)
    nodes = {"a": NodeTable(3), "b": NodeTable(40, None, {"club": clubs, "same": pa.array(["x"] * 40)})}
    edges = {"edge": EdgeTable(np.array([0, 2]), np.array([0, 39]))}
    graph = Graph.build(schema, nodes, edges)
    club, same = subjects.labels_of(graph)
    assert (club.name, club.not_run) == ("b.club", None)
    assert club.classes.tolist() == [-1] * 3 + [0, -1, 1, 0] * 10
    assert "classes" in (same.not_run or "")
    view = subjects.whole(graph, ("edge",))
    assert (view.u.tolist(), view.v.tolist(), view.node_count) == ([0, 2], [3, 42], 43)
    assert subjects.public_features(graph, ("a", "b")) is None


def test_features_are_the_public_ones():
    rng = np.random.default_rng(1)
    words, secret = rng.random((4, 20), dtype=np.float32), rng.random((4, 20), dtype=np.float32)
    public = {"kind": AttributeKind.VECTOR, "protection": Protection.PUBLIC}
    kind = NodeType(
        count=4,
        attributes=(
            Attribute(name="words", **public),
            Attribute(name="secret", kind=AttributeKind.VECTOR),
            Attribute(name="age", kind=AttributeKind.NUMBER, protection=Protection.PUBLIC),
        ),
    )
    ages = np.array([1.0, 3.0, np.nan, 2.0])
    nodes = {"node": NodeTable(4, None, {"words": words, "secret": secret, "age": ages})}
    graph = Graph.build(GraphSchema(node_types=(kind,)), nodes, {})
    found = subjects.public_features(graph, ("node", "node"))
    assert found is not None
    assert found.values.shape == (4, 21)
    assert np.allclose(np.linalg.norm(found.values[:, :20], axis=1), 1)
    spread = np.sqrt(2 / 3)
    assert found.values[:, 20] == pytest.approx([-1 / spread, 1 / spread, 0, 0])
    narrow = replace(nodes["node"], attributes={"age": ages})
    few = GraphSchema(node_types=(kind.model_copy(update={"attributes": kind.attributes[2:]}),))
    assert subjects.public_features(Graph.build(few, {"node": narrow}, {}), ("node",)) is None


def test_the_features_of_all_types_stand_in_columns_of_their_own(monkeypatch):
    words = np.random.default_rng(1).random((3, 20), dtype=np.float32)
    public = Attribute(name="words", kind=AttributeKind.VECTOR, protection=Protection.PUBLIC)
    papers, authors = NodeType(name="paper", count=3, attributes=(public,)), NodeType(name="author", count=2)
    schema = GraphSchema(
        node_types=(authors, papers), edge_types=(EdgeType(source="paper", target="author"),)
    )
    graph = Graph.build(schema, {"paper": NodeTable(3, None, {"words": words})}, {})
    found = subjects.typed_features(graph)
    assert found is not None
    assert found.values[:2].tolist() == [[1.0] + [0.0] * 20] * 2
    assert not found.values[2:, 0].any()
    assert np.allclose(found.values[2:, 1:], subjects.unit_rows(words))
    monkeypatch.setattr(subjects, "MOST_VALUES", 5 * 21 - 1)
    assert subjects.typed_features(graph) is None
    plain = GraphSchema(node_types=(authors,), edge_types=(EdgeType(source="author", target="author"),))
    assert subjects.typed_features(Graph.build(plain, {}, {})) is None


def test_papers_of_a_typed_graph_are_classified_by_their_words(monkeypatch):
    """Links say nothing here: a model that does not read the papers' words can only guess."""
    monkeypatch.setattr(limits, "REPETITIONS", 1)
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 2, 120)
    words = (np.arange(40) % 2 == classes[:, None]).astype(np.float32)
    label = Attribute(name="field", label=True, protection=Protection.PUBLIC)
    vector = Attribute(name="words", kind=AttributeKind.VECTOR, protection=Protection.PUBLIC)
    schema = GraphSchema(
        node_types=(
            NodeType(name="paper", count=120, attributes=(vector, label)),
            NodeType(name="author", count=60),
        ),
        # Public, so that no link is predicted: that would take longer than all else here.
        edge_types=(EdgeType(name="by", source="paper", target="author", public=True),),
    )
    nodes = {"paper": NodeTable(120, None, {"words": words, "field": pa.array(classes.astype(str))})}
    by = EdgeTable(np.arange(120), rng.integers(0, 60, 120))
    graph = Graph.build(schema, nodes, {"by": by})
    found = {task["name"]: task for task in run_tasks(graph, graph, Suite.FULL, lambda *at: None)}
    assert found["node_classification"]["trained_on_original"] > 0.9
