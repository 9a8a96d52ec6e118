"""DPGGAN's tables on its own networks: our releases beside plain random graphs and what others report.

    python -m papers.dpggan.benchmarks.networks RESULTS.jsonl relabeled_dblp2.jsonl.gz --set dblp
    python -m papers.dpggan.benchmarks.networks RESULTS.jsonl new_IMDB_MULTI.jsonl.gz --set imdb --epsilon 1
    python -m papers.dpggan.benchmarks.networks RESULTS.jsonl NETWORKS --only dpggan --only gnm --epsilon 1
    python -m papers.dpggan.benchmarks.networks RESULTS.jsonl --table

One JSON object a line in NETWORKS: {"nodes": n, "edges": [[u, v], ...], "label": class}. Loops are dropped,
nodes without edges stay, graphs of fewer than 10 nodes are left out, node numbers are shuffled. Unit edge,
every graph at the whole epsilon (its edges are no other's), by itself or in one collection, delta 1e-5 where
a row needs one. RESULTS holds one line a run over all graphs; a call makes only the runs that are missing.

Figures, means over the graphs: absolute differences of DPGGAN's five statistics (GINI counts from 0 there; by
its usual definition it is higher by 2/n, so the differences are the same); cosine of the degree histograms in
50 bins and of all 29 motif counts; share of true edges among those released. GIN: accuracy of a classifier
that learned from released graphs, on the originals, ten folds.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.small_graphs import FIGURES, keys, load_labelled
from core.evaluation.metric import Suite
from core.evaluation.suite import compare
from core.evaluation.tasks.graph_classification import accuracy
from core.evaluation.utility import motifs
from core.graphs.graph import Graph
from core.methods.base import no_progress
from papers.dpggan.benchmarks.rows import FREE, ROWS, release, release_together, row_of, view

EPSILONS = (0.1, 1.0, 10.0)
FEWEST_NODES = 10
FOLDS = 10
COLUMNS = (*FIGURES, "degree cosine", "motif cosine", "true edges")


REPORTED: dict[tuple[str, float], dict[str, tuple[float | None, ...]]] = {
    ("dblp", 0.0): {
        "paper, original": (*[None] * 8, 0.3578),
        "paper, GVAE": (7.51, 66.93, 0.1330, 0.0213, 0.0084, 0.6171, 0.4093, None, 0.3029),
        "paper, GGAN": (7.23, 56.29, 0.1293, 0.0201, 0.0057, 0.6258, 0.4231, None, 0.3374),
        "paper, NetGAN": (9.66, 39.87, 0.1943, 0.0105, 0.0022, 0.5754, 0.4109, None, 0.3471),
        "paper, GraphRNN": (10.27, 57.43, 0.2043, 0.0415, 0.0052, 0.5454, 0.3672, None, 0.3210),
    },
    ("dblp", 0.1): {
        "paper, DPGGAN": (24.62, 77.41, 0.2713, 0.0485, 0.0191),
        "paper, DPGVAE": (26.07, 215.13, 0.3342, 0.0344, 0.0158),
    },
    ("dblp", 1.0): {
        "paper, DPGGAN": (12.38, 70.97, 0.2643, 0.0353, 0.0117, 0.6092, 0.4150, None, 0.3261),
        "paper, DPGVAE": (23.80, 187.20, 0.3059, 0.0343, 0.0156, 0.5476, 0.4038, None, 0.3043),
        "published program, DPGGAN": (40.6, 28.1, 1.69, 0.358, 0.168),
    },
    ("dblp", 10.0): {
        "paper, DPGGAN": (9.24, 64.75, 0.2035, 0.0224, 0.0093),
        "paper, DPGVAE": (21.96, 175.29, 0.2471, 0.0339, 0.0153),
    },
    ("imdb", 0.0): {
        "paper, original": (*[None] * 8, 0.5163),
        "paper, GVAE": (0.0145, 25.83, 0.0121, 0.0030, 0.0016, 0.5132, 0.4129, None, 0.4698),
        "paper, GGAN": (0.0040, 21.71, 0.0109, 0.0010, 0.0012, 0.5493, 0.4279, None, 0.4800),
        "paper, NetGAN": (0.0083, 27.54, 0.0192, 0.0042, 0.0011, 0.4921, 0.3891, None, 0.4350),
        "paper, GraphRNN": (0.0594, 27.26, 0.0214, 0.0155, 0.0094, 0.4635, 0.3721, None, 0.3875),
    },
    ("imdb", 0.1): {
        "paper, DPGGAN": (0.0113, 24.91, 0.0168, 0.0029, 0.0025),
        "paper, DPGVAE": (0.0320, 44.12, 0.0392, 0.0042, 0.0032),
    },
    ("imdb", 1.0): {
        "paper, DPGGAN": (0.0053, 23.81, 0.0168, 0.0029, 0.0023, 0.5486, 0.4150, None, 0.4725),
        "paper, DPGVAE": (0.0253, 43.73, 0.0373, 0.0038, 0.0031, 0.5081, 0.4021, None, 0.4625),
    },
    ("imdb", 10.0): {
        "paper, DPGGAN": (0.0040, 22.89, 0.0164, 0.0010, 0.0017),
        "paper, DPGVAE": (0.0147, 43.63, 0.0367, 0.0036, 0.0030),
    },
}
"""What others say, in the order of the table's columns: Tables 1 and 2 of the paper, whose IMDB networks are
1500 others; and what its program was measured to give."""


def figures(original: Graph, synthetic: Graph) -> list[float]:
    """One graph's values of COLUMNS. A statistic that is undefined counts as 0."""
    found = compare(original, synthetic, Suite.STANDARD, no_progress)["overall"]
    scalars = found["scalars"]
    errors = [abs((scalars[n]["synthetic"] or 0) - (scalars[n]["original"] or 0)) for n in FIGURES.values()]
    cosine = motifs.distances(view(original), view(synthetic), Suite.FULL)["motif_cosine"]
    released = keys(synthetic)
    true = float(np.isin(released, keys(original)).mean()) if len(released) else 0.0
    return [*errors, found["distances"]["degree_cosine_50"] or 0.0, cosine or 0.0, true]


def run(label: str, graphs: list[Graph], labels: np.ndarray | None, epsilon: float) -> dict[str, Any]:
    """The means of one run over all graphs, and GIN's accuracy where there are labels."""
    rows, released = [], []
    row = row_of(label)
    together = row is not None and row.together
    made = (
        release_together(label, graphs, epsilon)
        if together
        else (release(label, graph, epsilon)[0] for graph in graphs)
    )
    for graph, synthetic in zip(graphs, made, strict=True):
        released.append(view(synthetic))
        rows.append(figures(graph, synthetic))
    found = dict(zip(COLUMNS, np.mean(rows, axis=0).tolist(), strict=True))
    if labels is not None:
        found["GIN"] = accuracy(released, [view(graph) for graph in graphs], labels, FOLDS)
    return found


def wanted(asked: argparse.Namespace) -> Iterator[tuple[str, float]]:
    for label in asked.only or [*FREE, *ROWS]:
        if label in FREE:
            yield label, 0.0
        else:
            for epsilon in asked.epsilon:
                yield label, epsilon


def tables(lines: list[dict[str, Any]]) -> Iterator[str]:
    """Markdown: a table for each set of networks; means over the runs."""
    cells: dict[tuple[str, float, str], list[dict[str, float]]] = defaultdict(list)
    for line in lines:
        cells[line["set"], line["epsilon"], line["label"]].append(line["figures"])
    for name in sorted({key[0] for key in cells}):
        columns = [*COLUMNS, "GIN"]
        yield f"\n**{name}**, {next(line['graphs'] for line in lines if line['set'] == name)} networks\n"
        yield "| epsilon | row | runs | " + " | ".join(columns) + " |"
        yield "|---|---|---|" + "---|" * len(columns)
        for epsilon in sorted({key[1] for key in cells if key[0] == name}):
            for label in [*FREE, *ROWS]:
                if found := cells.get((name, epsilon, label)):
                    values = [[each[c] for each in found if c in each] for c in columns]
                    told = " | ".join(f"{np.mean(each):.3g}" if each else "" for each in values)
                    yield f"| {epsilon or '-'} | {label} | {len(found)} | {told} |"
            for label, given in REPORTED.get((name, epsilon), {}).items():
                known = [*given, *[None] * (len(columns) - len(given))]
                told = " | ".join("" if value is None else f"{value:g}" for value in known)
                yield f"| {epsilon or '-'} | *{label}* | | {told} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("networks", type=Path, nargs="?")
    parser.add_argument("--set", default="dblp", help="the name of the networks in RESULTS")
    parser.add_argument("--only", action="append", choices=[*FREE, *ROWS])
    parser.add_argument("--epsilon", type=float, action="append")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--no-gin", action="store_true", help="nine tenths of a run's time are GIN's")
    parser.add_argument("--table", action="store_true")
    asked = parser.parse_args()
    asked.epsilon = asked.epsilon or list(EPSILONS)
    known = (
        [json.loads(line) for line in asked.results.read_text().splitlines()]
        if asked.results.exists()
        else []
    )
    if asked.table:
        print("\n".join(tables(known)))
        return
    found = load_labelled(asked.networks, FEWEST_NODES)
    graphs = [graph for graph, _ in found]
    _, labels = np.unique([label for _, label in found], return_inverse=True)
    with asked.results.open("a") as out:
        for label, epsilon in wanted(asked):
            key = (asked.set, label, epsilon)
            made = sum((line["set"], line["label"], line["epsilon"]) == key for line in known)
            for _ in range(made, asked.runs):
                means = run(label, graphs, None if asked.no_gin else labels, epsilon)
                line = {
                    "set": asked.set,
                    "label": label,
                    "epsilon": epsilon,
                    "graphs": len(graphs),
                    "figures": means,
                }
                out.write(json.dumps(line) + "\n")
                out.flush()
                print(
                    label,
                    epsilon,
                    " ".join(f"{name} {value:.3g}" for name, value in means.items()),
                    flush=True,
                )


if __name__ == "__main__":
    main()
