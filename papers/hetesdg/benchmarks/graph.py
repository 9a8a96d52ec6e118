"""HeteSDG's synthetic graph beside plain ones: degrees of every relation, paths of length two, class mix.

    python -m papers.hetesdg.benchmarks.graph RESULTS.jsonl --data FOLDER  all rows, 3 runs each
    python -m papers.hetesdg.benchmarks.graph RESULTS.jsonl --data FOLDER --set acm --only hetesdg --epsilon 1
    python -m papers.hetesdg.benchmarks.graph RESULTS.jsonl --table

Unit edge, every relation at the whole epsilon. chung-lu: noisy degrees of both sides, half of epsilon each,
pairs drawn in proportion to their product. sorted: noisy sorted degrees of both sides, half each, ends
matched at random: right degrees on nodes that are told apart by nothing. For each relation and side:

- degree TV: total variation of the degree distributions;
- path TV: of the numbers of paths of length two from each node back to its own type (author-paper-author), in
  bins that double; ``total``: relative error of their number;
- class mix TV: of the table of both classes at the ends of paths between nodes that have one;
- true links: their share among those released.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.results_file import parser_of, read, run_or_print
from benchmarks.typed_metrics import degree_figures
from core.evaluation.utility.degrees import total_variation
from core.graphs.graph import EdgeTable, Graph
from core.methods.base import no_progress
from core.privacy.accounting.events import Pure
from core.privacy.entropy import noise_generator
from papers.hetesdg.benchmarks.data import DATASETS, classes_of, load
from papers.hetesdg.benchmarks.plain import NANO, opened
from papers.hetesdg.benchmarks.rows import Row, fitted
from papers.hetesdg.sound.joining import joined
from papers.hetesdg.sound.sequences import ascending

EPSILONS = (0.1, 1.0, 4.0)
GRAPH = {"release": ("graph",)}
ROWS: dict[str, Row] = {
    "hetesdg": Row("hetesdg", GRAPH),
    "hetesdg, 1 cluster": Row("hetesdg", GRAPH | {"clusters": 1}),
    "hetesdg, 8 clusters": Row("hetesdg", GRAPH | {"clusters": 8}),
    "hetesdg, equal split": Row("hetesdg", GRAPH | {"split": "equal"}),
    "hetesdg, bi-level split": Row("hetesdg", GRAPH | {"split": "bilevel"}),
    "hetesdg, links by predictor": Row(
        "hetesdg", GRAPH | {"learn": "link-sgd", "links": "predictor"}, delta=True
    ),
    "hetesdg, variant paper": Row("hetesdg", GRAPH | {"variant": "paper"}, of_epsilon="claimed_epsilon"),
    "thepuff_perturb": Row("thepuff_perturb"),
}


def paid(graph: Graph, relation: str, query: str, epsilon: float) -> list[np.ndarray]:
    """A noisy degree query of both sides of a relation, half of epsilon each."""
    nano = round(epsilon * NANO)
    cell = opened(graph, relation, Pure(nano, "laplace")).cell(relation, None)
    return [
        cell.laplace(query, nano_epsilon=nano // 2, purpose=query, side=side) for side in ("source", "target")
    ]


def chung_lu(graph: Graph, relation: str, epsilon: float, rng: np.random.Generator) -> EdgeTable:
    """Distinct pairs in proportion to the product of noisy degrees, as many as the source side has."""
    left, right = (np.maximum(side, 0) for side in paid(graph, relation, "degrees", epsilon))
    return _by_weight(left, right, rng)


def chung_lu_exact(graph: Graph, relation: str, epsilon: float, rng: np.random.Generator) -> EdgeTable:
    """The same from true degrees; no guarantee."""
    cell = graph.cell(relation, None)
    left = np.bincount(cell.source, minlength=cell.source_count)
    return _by_weight(left, np.bincount(cell.target, minlength=cell.target_count), rng)


def _by_weight(left: np.ndarray, right: np.ndarray, rng: np.random.Generator) -> EdgeTable:
    """Every pair by itself with probability min(1, product / sum): Poisson numbers, repeats dropped."""
    count = rng.poisson(left.sum()) if right.sum() else 0
    ends = [rng.choice(len(side), size=count, p=side / max(side.sum(), 1)) for side in (left, right)]
    keys = np.unique(ends[0] * len(right) + ends[1])
    return EdgeTable(keys // len(right), keys % len(right))


def sorted_alone(graph: Graph, relation: str, epsilon: float, rng: np.random.Generator) -> EdgeTable:
    """Ends of paid sorted degrees, matched at random."""
    noisy = paid(graph, relation, "sorted_degrees", epsilon)
    scale, slots = 2 / epsilon, len(noisy[0]) * len(noisy[1])
    left, right = (
        ascending(values, scale, len(other), slots)
        for values, other in zip(noisy, reversed(noisy), strict=True)
    )
    stubs = np.repeat(rng.permutation(len(right)), right)
    none = np.zeros(len(stubs), dtype=np.int64)
    label = np.zeros(len(left), dtype=np.int64)
    return EdgeTable(*joined(left, label, (stubs, none), len(right), True, rng))


PLAIN: dict[str, Callable[[Graph, str, float, np.random.Generator], EdgeTable]] = {
    "chung-lu": chung_lu,
    "sorted": sorted_alone,
}
FREE: dict[str, Callable[[Graph, str, float, np.random.Generator], EdgeTable]] = {
    "chung-lu, true degrees": chung_lu_exact
}
EVERY = [*FREE, *PLAIN, *ROWS]


def release(label: str, graph: Graph, epsilon: float) -> tuple[Graph, float]:
    """One synthetic graph of a row, and its CPU seconds."""
    rng = noise_generator()
    started = time.process_time()
    if label in ROWS:
        synthetic = fitted(ROWS[label], graph, epsilon).sample(rng, no_progress)
    else:
        draw = (PLAIN | FREE)[label]
        names = [kind.name for kind in graph.schema.edge_types]
        tables = {name: draw(graph, name, epsilon, rng) for name in names}
        synthetic = Graph.build(graph.schema, graph.nodes, tables)
    return synthetic, time.process_time() - started


def paths(graph: Graph, relation: str) -> dict[str, np.ndarray]:
    """For each side how many paths of length two lead from every node to other nodes of its type."""
    links = graph.cell(relation, None).adjacency.astype(np.float64)
    found = {}
    for side, matrix in (("source", links), ("target", links.T.tocsr())):
        found[side] = matrix @ (matrix.sum(axis=0) - 1)
    return found


def class_mix(graph: Graph, relation: str, classes: np.ndarray) -> np.ndarray:
    """How often paths between two nodes of the source's type join each pair of classes, as shares."""
    links = graph.cell(relation, None).adjacency.astype(np.float64)
    own = sp.csr_array(np.eye(int(classes.max()) + 1)[classes])
    met = links.T @ own
    table = (met.T @ met).toarray() - np.diag(np.asarray(met.sum(axis=0)).ravel())
    return table / max(table.sum(), 1)


def figures(original: Graph, synthetic: Graph, classes: np.ndarray | None) -> dict[str, float]:
    """Every figure, named by relation and side."""
    found: dict[str, float] = {}
    for kind in original.schema.edge_types:
        name = kind.name
        sides = degree_figures(original, synthetic, name)
        found |= {key: value for key, value in sides.items() if value is not None}
        ours, theirs = paths(original, name), paths(synthetic, name)
        for side, counts in ours.items():
            found[f"path_tv {name} {side}"] = total_variation(*_binned(counts, theirs[side]))
            if counts.any():
                found[f"path_total {name} {side}"] = float(abs(theirs[side].sum() / counts.sum() - 1))
        if classes is not None:
            both = (class_mix(graph, name, classes) for graph in (original, synthetic))
            found[f"class_mix {name}"] = float(abs(np.subtract(*both)).sum() / 2)
        columns = original.nodes[kind.target].count
        real, drawn = (
            graph.edges[name].source.astype(np.int64) * columns + graph.edges[name].target
            for graph in (original, synthetic)
        )
        found[f"true_links {name}"] = float(np.isin(drawn, real).mean()) if len(drawn) else 0.0
        found[f"links {name}"] = len(drawn) / max(len(real), 1)
    return found


def _binned(*counts: np.ndarray) -> list[np.ndarray]:
    """Shares of nodes by the power of two below their count, 0 apart."""
    places = [np.floor(np.log2(np.maximum(each, 0.5))).astype(np.int64) + 1 for each in counts]
    width = 1 + max(int(each.max(initial=0)) for each in places)
    return [np.bincount(each, minlength=width) / max(len(each), 1) for each in places]


def run_missing(asked: argparse.Namespace) -> None:
    """Appends what RESULTS lacks."""
    lines = read(asked.results)
    for name in asked.set:
        graph = load(name, asked.data)
        classes = classes_of(graph, DATASETS[name]) if DATASETS[name].classes else None
        for label in asked.only:
            for epsilon in (0.0,) if label in FREE else asked.epsilon:
                key = {"set": name, "label": label, "epsilon": epsilon}
                made = sum({part: line[part] for part in key} == key for line in lines)
                for _ in range(made, asked.runs):
                    synthetic, seconds = release(label, graph, epsilon)
                    found = figures(graph, synthetic, classes) | {"cpu_seconds": seconds}
                    with asked.results.open("a") as out:
                        out.write(json.dumps(key | {"figures": found}) + "\n")
                    print(name, label, epsilon, f"{seconds:.2f} CPU s", flush=True)


def tables(lines: list[dict[str, Any]]) -> Iterator[str]:
    """Markdown: for each set and relation a table, a line for each row and epsilon; means over runs."""
    cells: dict[tuple[str, float, str], list[dict[str, float]]] = defaultdict(list)
    for line in lines:
        cells[line["set"], line["epsilon"], line["label"]].append(line["figures"])
    for name in dict.fromkeys(key[0] for key in cells):
        some = next(values[0] for key, values in cells.items() if key[0] == name)
        for relation in [key.removeprefix("links ") for key in some if key.startswith("links ")]:
            columns = [key for key in some if relation in key.split()]
            yield f"\n**{name}, {relation}**\n"
            titles = [" ".join(part for part in key.split() if part != relation) for key in columns]
            yield "| epsilon | row | runs | " + " | ".join(titles) + " | CPU s |"
            yield "|---|---|---|" + "---|" * (len(columns) + 1)
            for key in sorted((key for key in cells if key[0] == name), key=lambda key: key[1]):
                runs = cells[key]
                told = [np.mean([run[column] for run in runs]) for column in (*columns, "cpu_seconds")]
                yield (
                    f"| {key[1] or '-'} | {key[2]} | {len(runs)} | "
                    + " | ".join(f"{value:.3f}" for value in told)
                    + " |"
                )


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--set", action="append", choices=list(DATASETS))
    parser.add_argument("--only", action="append", choices=EVERY, metavar="ROW", help=", ".join(EVERY))
    parser.add_argument("--epsilon", action="append", type=float)
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    asked.set, asked.only = asked.set or list(DATASETS), asked.only or EVERY
    asked.epsilon = asked.epsilon or list(EPSILONS)
    run_or_print(parser, asked, run_missing, tables)


if __name__ == "__main__":
    main()
