"""DPGGAN and its relatives on one large graph, where learning could pay: structural metrics at an epsilon.

    python -m papers.dpggan.benchmarks.large Facebook.txt --epsilon 4 --only dpggan --only "dpggan, learned"

The figures of ``static_tables``, the share of true edges among those released, CPU seconds of fit and draw.
Unit edge, delta 1e-5 where a row needs one. Rows without a guarantee do not look at epsilon.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from benchmarks import static_tables
from benchmarks.load import load_static
from benchmarks.small_graphs import keys
from papers.dpggan.benchmarks.rows import FREE, ROWS, release, view


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--only", action="append", choices=[*FREE, *ROWS], required=True)
    parser.add_argument("--epsilon", action="append", type=float, required=True)
    parser.add_argument("--runs", type=int, default=1)
    asked = parser.parse_args()
    graph = load_static(asked.path)
    titles = [title for title, _ in static_tables.FIGURES.values()]
    columns = [*titles, "true edges", "fit CPU s", "draw CPU s"]
    print("| epsilon | row | " + " | ".join(columns) + " |\n|---|---|" + "---|" * len(columns))
    for epsilon in asked.epsilon:
        for label in asked.only:
            rows = []
            for _ in range(asked.runs):
                synthetic, *seconds = release(label, graph, epsilon)
                values = [x or 0.0 for x in static_tables.figures(view(graph), synthetic).values()]
                true = float(np.isin(keys(synthetic), keys(graph)).mean())
                rows.append([*values, true, *seconds])
            told = " | ".join(f"{x:.3g}" for x in np.mean(rows, axis=0))
            print(f"| {epsilon:g} | {label} | {told} |", flush=True)


if __name__ == "__main__":
    main()
