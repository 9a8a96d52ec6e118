"""The size limits of graphs that these models learn from. No heavy import: read before any training."""

from __future__ import annotations

from core.evaluation.view import UndirectedView

# About two minutes a model on one core; docs/evaluation.md states the suites' costs.
MAX_NODES = 30_000
MAX_LINKS = 200_000
FEWEST_LINKS = 20
REPETITIONS = 3
# From here on one split tests thousands of pairs, and its own error is below a hundredth.
ONE_REPETITION_LINKS = 50_000
MAX_DENSITY = 0.9


def room(view: UndirectedView) -> int:
    """Count the unordered pairs that the view could link."""
    n, sources = view.node_count, view.source_count
    return sources * (n - sources) if view.bipartite else n * (n - 1) // 2


def too_large(view: UndirectedView) -> str | None:
    """Say why no model is trained on the graph, or None. It is in plain words, of a graph of this size."""
    if view.node_count > MAX_NODES or view.edge_count > MAX_LINKS:
        return f"Models are trained on at most {MAX_NODES} nodes and {MAX_LINKS} links; a graph is larger."
    return None


def unlearnable(view: UndirectedView) -> str | None:
    """Say why links cannot be learned, or None. It is in plain words, of the view."""
    if reason := too_large(view):
        return reason
    if view.edge_count < FEWEST_LINKS:
        return f"A graph has fewer than {FEWEST_LINKS} links: there is too little to learn from."
    if view.edge_count > MAX_DENSITY * room(view):
        return "Nearly all pairs of a graph are links: there is nothing to tell them from."
    return None


def repetitions(view: UndirectedView) -> int:
    """Choose how many random splits a task averages over.

    A task's figure is a mean on these splits of the view.
    """
    return REPETITIONS if view.edge_count < ONE_REPETITION_LINKS else 1
