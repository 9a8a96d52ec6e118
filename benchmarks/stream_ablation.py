"""What each option of PSGraph does on real streams: ratios to the default, and to the published method.

    python -m benchmarks.stream_ablation --runs 5 --stream as-days=as-733 --stream email-weekly=email-Eu.txt

Streams as in :mod:`benchmarks.stream_tables`. Two tables a stream: the default and one option changed at a
time; the preset ``paper`` and its own ablations (Ablation1 to 3 of its Table 3, and R1, which partitions at
every step). The first row of each holds figures, the others ratios to it: errors are better below 1, the
overlap above.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.stream_data import FIGURES, LOADERS, figures, release
from core.graphs.graph import Graph

OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "no combination": {"combine": False},
    "two steps, by epsilon": {"combination": "two_steps"},
    "past weight 1": {"past_weight": 1},
    "past weight 20": {"past_weight": 20},
    "super-graph": {"partition": "super_graph"},
    "label stream": {"partition": "label_stream"},
    "super-graph, previous step": {"partition": "super_graph", "trigger": "previous_step"},
    "NormSub": {"degrees": "norm_sub"},
    "deconvolved": {"degrees": "deconvolved"},
    "weighted pairs": {"reconstruction": "weighted_pairs"},
    "count at most 0.01": {"count_cap": 0.01, "count_share": 0.1},
    "triangles, 0.1": {"triangle_share": 0.1},
}
PAPER: dict[str, dict[str, Any]] = {
    "paper (Ablation4)": {},
    "Ablation1: neither": {"combine": False, "post_process": False},
    "Ablation2: combination": {"post_process": False},
    "Ablation3: post-processing": {"combine": False},
    "R1: a partition a step": {"reuse_partition": False},
    "last partition's count": {"trigger": "last_partition"},
    "combination of all steps": {"combination": "all_past"},
    "one community": {"partition": "single"},
    "totals rescaled": {"totals": "noisy_count"},
}


def measured(graph: Graph, window: int, epsilon: float, parameters: dict[str, Any], runs: int) -> np.ndarray:
    """(runs, figures)."""
    found = []
    for _ in range(runs):
        synthetic, _ = release("psgraph", graph, window, epsilon, parameters)
        found.append([figures(graph, synthetic)[name] for name in FIGURES])
    return np.array(found)


def table(graph: Graph, variants: dict[str, dict[str, Any]], args: argparse.Namespace, window: int) -> None:
    """Markdown: figures of the first variant, ratios of the others to them."""
    print("| |", " | ".join(title for title, _ in FIGURES.values()), "|")
    print("|---" * (len(FIGURES) + 1) + "|")
    first: np.ndarray | None = None
    for name, parameters in variants.items():
        found = measured(graph, window, args.epsilon, parameters, args.runs)
        mean = found.mean(axis=0)
        if first is None:
            first = mean
            spread = found.std(axis=0)
            cells = [f"{value:.3f} ±{sd:.3f}" for value, sd in zip(mean, spread, strict=True)]
        else:
            ratios = np.divide(mean, first, out=np.full(len(mean), np.nan), where=first > 0)
            cells = [f"{ratio:.2f}" for ratio in ratios]
        print(f"| {name} |", " | ".join(cells), "|", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--stream", action="append", required=True, metavar="NAME=PATH", help=f"{list(LOADERS)}"
    )
    parser.add_argument("--window", action="append", type=int)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    paper = {name: {"preset": "paper"} | changes for name, changes in PAPER.items()}
    for stream, path in (pair.split("=", 1) for pair in args.stream):
        graph = LOADERS[stream](Path(path))
        for window in args.window or [5, 10]:
            print(f"\n**{stream}**, epsilon {args.epsilon:g}, w = {window}, {args.runs} runs\n")
            table(graph, OPTIONS, args, window)
            print()
            table(graph, paper, args, window)


if __name__ == "__main__":
    main()
