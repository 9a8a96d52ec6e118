"""Graph classification on collections whose classes are plain to see."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest

from core.evaluation.tasks.graph_classification import accuracy, graph_classification
from core.evaluation.view import UndirectedView
from core.reports.evidence import Task

KINDS: tuple[Callable[[int], nx.Graph], ...] = (nx.complete_graph, nx.cycle_graph, nx.star_graph)
LABEL = np.repeat([4, 5, 9], 6)


def view_of(graph: nx.Graph) -> UndirectedView:
    pairs = np.array(list(graph.edges), dtype=np.int64)
    return UndirectedView.of_pairs(graph.number_of_nodes(), pairs[:, 0], pairs[:, 1])


def collection(order: tuple[int, ...]) -> list[UndirectedView]:
    return [view_of(KINDS[k](size)) for k in order for size in range(8, 14)]


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
