"""What the curators' utility score says of graphs whose worth is known: random, the original, and between.

    python -m benchmarks.score_scale Facebook.txt cora.txt --methods dcsbm tmf --epsilon 1

Per graph: a uniform graph with as many edges, one with the original's degrees and nothing else, the original
with shares of its edges drawn anew, the original; then a release of each method. The suite is ``standard``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from benchmarks.load import load_static
from benchmarks.static_tables import release
from core.evaluation import anchors
from core.evaluation.metric import Suite
from core.evaluation.suite import compare
from core.graphs.graph import Cell, Graph
from core.methods.base import no_progress
from core.privacy.entropy import Generator, public_generator
from core.reports.comparison import Comparison
from core.reports.measured import measured_parts

SEED = 1_000  # not a seed of the anchors themselves
SHARES = (0.05, 0.2, 0.5)


def scored(original: Graph, other: Graph) -> tuple[float, dict[str, float]]:
    """The score of ``other`` from 0 to 10, and its parts from 0 to 1."""
    comparison = Comparison.model_validate(compare(original, other, Suite.STANDARD, no_progress))
    parts = {part.name: part.value for part in measured_parts(comparison)}
    return (10 * sum(parts.values()) / len(parts) if parts else float("nan")), parts


def with_degrees(cell: Cell, rng: Generator) -> np.ndarray:
    """Keys of edges between drawn ends, as many as the cell has: its expected degrees and nothing else."""
    return anchors.resampled(cell, rng, share=1.0)


def known(original: Graph) -> dict[str, Graph]:
    """Graphs whose worth is known, from the worst to the best."""
    relations = original.schema.edge_types

    def drawn(draw: anchors.Draw) -> Graph:
        return anchors.redrawn(original, relations, draw, public_generator(SEED))

    found = {"uniform": drawn(anchors.uniform), "degrees only": drawn(with_degrees)}
    for share in reversed(SHARES):
        found[f"{share:.0%} anew"] = drawn(lambda cell, rng, s=share: anchors.resampled(cell, rng, share=s))
    return found | {"original": original}


def main() -> None:
    """Prints a line for every graph and candidate: the score, then each part."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--methods", nargs="*", default=[])
    parser.add_argument("--epsilon", type=float, default=1.0)
    options = parser.parse_args()
    for path in options.files:
        original = load_static(path)
        candidates = known(original)
        for method in options.methods:
            candidates[method] = release(method, original, options.epsilon, {})[0]
        for name, graph in candidates.items():
            score, parts = scored(original, graph)
            shown = "  ".join(f"{part} {value:.2f}" for part, value in parts.items())
            print(f"{path.stem:12} {name:14} {score:4.1f}   {shown}", flush=True)


if __name__ == "__main__":
    main()
