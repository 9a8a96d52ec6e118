"""Graph classification on collections whose classes are plain to see."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest

from core.evaluation.metric import Suite
from core.evaluation.tasks import graph_classification as task
from core.evaluation.tasks.graph_classification import accuracy, graph_classification
from core.evaluation.tasks.run import run_tasks
from core.evaluation.view import UndirectedView
from core.graphs.graph import EdgeTable, Graph
from core.graphs.schema import Collection, CollectionGraph, GraphSchema
from core.methods.base import no_progress
from core.reports.evidence import Task

KINDS: tuple[Callable[[int], nx.Graph], ...] = (nx.complete_graph, nx.cycle_graph, nx.star_graph)
LABEL = np.repeat([4, 5, 9], 6)


def view_of(graph: nx.Graph) -> UndirectedView:
    pairs = np.array(list(graph.edges), dtype=np.int64)
    return UndirectedView.of_pairs(graph.number_of_nodes(), pairs[:, 0], pairs[:, 1])


def collection(order: tuple[int, ...]) -> list[UndirectedView]:
    return [view_of(KINDS[k](size)) for k in order for size in range(8, 14)]


@pytest.mark.papers
def test_originals_teach_their_classes_and_graphs_of_other_classes_do_not():
    truth, wrong = collection((0, 1, 2)), collection((1, 2, 0))
    found = Task.model_validate(graph_classification(truth, truth, LABEL, "kind", folds=3))
    assert found.trained_on_original == found.trained_on_synthetic
    assert found.trained_on_original is not None
    assert found.trained_on_original > 0.9
    assert found.baseline == pytest.approx(1 / 3)
    assert accuracy(wrong, truth, np.repeat([0, 1, 2], 6), folds=3) < 0.1


def test_collections_must_match_their_labels():
    graphs = collection((0, 1, 2))
    with pytest.raises(ValueError, match="one graph a label"):
        graph_classification(graphs, graphs[1:], LABEL, "kind", folds=3)
    with pytest.raises(ValueError, match="each fold"):
        graph_classification(graphs, graphs, LABEL, "kind", folds=9)


def dataset(order: tuple[int, ...], labels: list[str | None]) -> Graph:
    views = collection(order)
    graphs = tuple(
        CollectionGraph(id=str(i), nodes=view.node_count, label=label)
        for i, (view, label) in enumerate(zip(views, labels, strict=True))
    )
    edges = {f"graph-{i}": EdgeTable(view.u, view.v) for i, view in enumerate(views)}
    return Graph.build(GraphSchema(collection=Collection(graphs=graphs)), {}, edges)


@pytest.mark.papers
def test_a_release_of_other_classes_teaches_a_collections_labels_wrong(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(task, "FOLDS", 3)
    given = [f"kind {k}" for k in (0, 1, 2) for _ in range(6)]
    found = Task.model_validate(task.of_collection(dataset((0, 1, 2), given), dataset((1, 2, 0), given)))
    assert found.trained_on_original is not None
    assert found.trained_on_synthetic is not None
    assert found.trained_on_original > 0.9
    assert found.trained_on_synthetic < 0.1


def test_it_is_a_task_of_the_full_suite():
    graphs = tuple(CollectionGraph(id=str(i), nodes=3, label="a") for i in range(3))
    graph = Graph.build(GraphSchema(collection=Collection(graphs=graphs)), {}, {})
    assert run_tasks(graph, graph, Suite.FULL, no_progress)[-1]["name"] == "graph_classification"
    assert run_tasks(graph, graph, Suite.STANDARD, no_progress) == []


def test_a_collection_without_labels_or_with_few_has_nothing_to_learn():
    plain = dataset((0, 1, 2), [None] * 18)
    assert task.of_collection(plain, plain) is None
    for labels, reason in ((["a"] * 18, "one label"), (["a"] * 12 + ["b"] * 6, "fewer than 10 graphs")):
        graphs = dataset((0, 1, 2), [*labels])
        found = Task.model_validate(task.of_collection(graphs, graphs))
        assert found.trained_on_original is None
        assert found.not_run is not None
        assert reason in found.not_run
