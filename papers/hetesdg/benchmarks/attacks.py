"""HeteSDG's Table 4: which class a node belongs to, inferred from what was released of it because of links.

    python -m papers.hetesdg.benchmarks.attacks RESULTS.jsonl --data FOLDER                 all rows, 5 seeds
    python -m papers.hetesdg.benchmarks.attacks RESULTS.jsonl --table

Half of the papers (movies) are the attacker's, with their classes; the classes of the others are inferred, by
naive Bayes, k nearest neighbours and a decision tree. Two attackers:

- shadow: has a network of his own half, and runs the method on it; the victims' half is released by itself;
- insider: knows which nodes of the one release are his own. Stronger: nothing differs but the nodes.

The rows attacked leave public features out; those alone stand in the table as a control: whoever has them
needs no release. ``majority`` names the largest class. Percent, means over seeds.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks.representations import split_nodes, unit_features
from benchmarks.results_file import parser_of, read, run_or_print
from benchmarks.shadow_model import MAJORITY, ClassInference, class_inference, worst
from core.evaluation.attacks.semantic import CLASSIFIERS
from core.graphs.graph import EdgeTable, Graph
from papers.hetesdg.benchmarks.data import DATASETS, Dataset, classes_of, features_of, load
from papers.hetesdg.benchmarks.reported import ATTACK
from papers.hetesdg.benchmarks.rows import DESCRIBERS, FREE_DESCRIBERS, NO_NOISE

EPSILONS = (0.01, 1.0, 4.0)
SEEDS = 5
TWO_HOPS = "hetesdg, always two hops"
FEATURES, NOISELESS = "public features, control", f"{TWO_HOPS}, without noise"
FREE = (FEATURES, "exact hops", NOISELESS)
ROWS = ("hetesdg", TWO_HOPS, "hetesdg, variant paper")
ATTACKERS = ("shadow", "insider")


def part(graph: Graph, sources: np.ndarray) -> Graph:
    """The links of these nodes alone; every relation starts at their type, the universe stays."""
    tables = {}
    for name, table in graph.edges.items():
        kept = np.isin(table.source, sources)
        tables[name] = EdgeTable(table.source[kept], table.target[kept])
    return Graph.build(graph.schema, graph.nodes, tables)


def described(label: str, graph: Graph, dataset: Dataset, epsilon: float) -> np.ndarray:
    """The rows of the subject's nodes that an attacker sees."""
    if label == FEATURES:
        return unit_features(features_of(graph, dataset))
    if label == NOISELESS:
        return DESCRIBERS[TWO_HOPS](graph, dataset.subject, NO_NOISE)
    return (FREE_DESCRIBERS | DESCRIBERS)[label](graph, dataset.subject, epsilon)


def attacked(
    label: str, attacker: str, graph: Graph, dataset: Dataset, epsilon: float, seed: int
) -> dict[str, ClassInference]:
    """What one attacker infers of the other half."""
    classes = classes_of(graph, dataset)
    own, victims = split_nodes(classes, 0.5, seed)
    if attacker == "shadow":
        shadow = described(label, part(graph, own), dataset, epsilon)[own]
        rows = described(label, part(graph, victims), dataset, epsilon)[victims]
    else:
        released = described(label, graph, dataset, epsilon)
        shadow, rows = released[own], released[victims]
    return class_inference(shadow, classes[own], rows, classes[victims], seed)


def run_missing(asked: argparse.Namespace) -> None:
    """Appends what RESULTS lacks."""
    fields = ("set", "label", "attacker", "epsilon", "seed")
    done = {tuple(line[name] for name in fields) for line in read(asked.results)}
    for name in asked.set:
        graph, dataset = load(name, asked.data), DATASETS[name]
        for seed in range(asked.seeds):
            for label in asked.only or (*FREE, *ROWS):
                for attacker in ATTACKERS:
                    for epsilon in (0.0,) if label in FREE else asked.epsilon:
                        key = (name, label, attacker, epsilon, seed)
                        if key in done:
                            continue
                        found = attacked(label, attacker, graph, dataset, epsilon, seed)
                        figures = {by: asdict(each) for by, each in found.items()}
                        figures["worst"] = asdict(worst(found))
                        with asked.results.open("a") as out:
                            out.write(
                                json.dumps(dict(zip(fields, key, strict=True)) | {"f1": figures}) + "\n"
                            )
                        print(*key, f"worst macro F1 {100 * worst(found).macro_f1:.1f}", flush=True)


def tables(lines: list[dict[str, Any]]) -> Iterator[str]:
    """Markdown: a table for each set and attacker; F1 by classifier, and the worst macro F1."""
    cells: dict[tuple[str, str, str, float], list[dict[str, dict[str, float]]]] = defaultdict(list)
    for line in lines:
        cells[line["set"], line["attacker"], line["label"], line["epsilon"]].append(line["f1"])
    for name, attacker in dict.fromkeys(key[:2] for key in cells):
        yield f"\n**{name}, attacker: {attacker}**\n"
        titles = [
            f"{by} {what}" for by in (*CLASSIFIERS.values(), MAJORITY) for what in ("micro", "weighted")
        ]
        yield "| row | epsilon | seeds | " + " | ".join(titles) + " | worst macro | majority macro |"
        yield "|---|---|---|" + "---|" * (len(titles) + 2)
        for key, runs in sorted(cells.items(), key=lambda each: (each[0][3] > 0, each[0][2], each[0][3])):
            if key[:2] == (name, attacker):
                places = [
                    (by, f"{what}_f1") for by in (*CLASSIFIERS, MAJORITY) for what in ("micro", "weighted")
                ]
                places += [("worst", "macro_f1"), (MAJORITY, "macro_f1")]
                told = [f"{100 * np.mean([run[by][what] for run in runs]):.1f}" for by, what in places]
                yield f"| {key[2]} | {key[3] or '-'} | {len(runs)} | " + " | ".join(told) + " |"
        if attacker == "shadow":
            for label, given in ATTACK.get(name, {}).items():
                yield f"| *paper, {label}* | | | " + " | ".join(f"{v:g}" for v in given[2:]) + " | | | | |"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--set", action="append", choices=[n for n, each in DATASETS.items() if each.classes])
    parser.add_argument("--only", action="append", choices=[*FREE, *ROWS])
    parser.add_argument("--epsilon", action="append", type=float)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    asked = parser.parse_args()
    asked.set = asked.set or [name for name, each in DATASETS.items() if each.classes]
    asked.epsilon = asked.epsilon or list(EPSILONS)
    run_or_print(parser, asked, run_missing, tables)


if __name__ == "__main__":
    main()
