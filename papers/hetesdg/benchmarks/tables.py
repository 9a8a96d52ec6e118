"""HeteSDG's Table 3: node classification and link prediction by epsilon, beside plain rows and the paper's.

    python -m papers.hetesdg.benchmarks.tables RESULTS.jsonl --data FOLDER  all rows, 5 seeds
    python -m papers.hetesdg.benchmarks.tables RESULTS.jsonl --data FOLDER --set acm --only hetesdg
    python -m papers.hetesdg.benchmarks.tables RESULTS.jsonl --table

Links: AUC on a fifth of a relation's links and as many uniform pairs without one, on two splits. leak_free:
the test links are gone before anything is computed. leaky: the same pairs, but the model has seen the whole
graph, as in the published program's own test. Nodes: F1 of a logistic regression on public features and what
was released of the nodes, side by side, a fifth or four fifths of the classes known; alone: without the
features. A seed chooses split and non-links; the noise is the operating system's.

Unit edge, every relation at the whole epsilon (its links are no other's), delta 1e-5 where a row needs one.
RESULTS holds one line a figure; a call makes only those that are missing. CPU seconds of fit and scores.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks.link_splits import Split, split_links
from benchmarks.representations import (
    TRAINING_SHARES,
    row_classification,
    unit_features,
)
from benchmarks.results_file import parser_of, read, run_or_print
from core.graphs.graph import Graph
from papers.hetesdg.benchmarks.data import DATASETS, classes_of, features_of, load
from papers.hetesdg.benchmarks.reported import LINKS, NODES, PAPER, PROGRAM
from papers.hetesdg.benchmarks.rows import DESCRIBERS, FREE_DESCRIBERS, FREE_SCORERS, LINK_SCORERS, PROTECTED

EPSILONS = (0.01, 0.1, 1.0, 4.0)
SEEDS = 5
EVERY = list(dict.fromkeys([*FREE_DESCRIBERS, *FREE_SCORERS, *LINK_SCORERS, *DESCRIBERS]))


class Cell(NamedTuple):
    """One figure's place. ``where``: relation and split of links, share of known classes of nodes.
    ``epsilon`` is 0 for rows that know none."""

    set: str
    task: str
    where: str
    label: str
    epsilon: float
    seed: int


def link_figures(graph: Graph, relation: str, split: Split, cell: Cell) -> dict[str, float]:
    """AUC of one row on one split, in percent, with the ends of its interval."""
    found = split_links(graph, relation, split, cell.seed)
    scorer = (FREE_SCORERS | LINK_SCORERS)[cell.label](found.seen, cell.epsilon, cell.seed)
    auc = found.auc(scorer(relation, found.source, found.target))
    return {name: 100 * value for name, value in auc.items()}


def node_figures(graph: Graph, share: float, cell: Cell) -> dict[str, float]:
    """F1 of one row, in percent: beside the features, and alone where anything was released.

    A block of released columns is brought to the features' length: divided by the root of their number.
    Where features are protected they do not stand beside: both figures are of what was released.
    """
    dataset = DATASETS[cell.set]
    classes = classes_of(graph, dataset)
    rows = (FREE_DESCRIBERS | DESCRIBERS)[cell.label](graph, dataset.subject, cell.epsilon)
    rows = rows / np.sqrt(max(rows.shape[1], 1))
    blocks = [rows]
    if cell.label != PROTECTED:
        blocks.append(unit_features(features_of(graph, dataset)))
    micro, macro = row_classification(blocks, classes, share, cell.seed)
    found = {"micro": 100 * micro, "macro": 100 * macro}
    if rows.shape[1]:
        micro, macro = row_classification([rows], classes, share, cell.seed)
        found |= {"alone micro": 100 * micro, "alone macro": 100 * macro}
    return found


def wanted(asked: argparse.Namespace) -> Iterator[Cell]:
    """Every figure that is asked for, links first."""
    for name in asked.set:
        dataset = DATASETS[name]
        relations = asked.relation or [dataset.focus]
        for seed in range(asked.seeds):
            for task, rows, free in (
                (LINKS, LINK_SCORERS, FREE_SCORERS),
                (NODES, DESCRIBERS, FREE_DESCRIBERS),
            ):
                if task not in asked.task or (task == NODES and not dataset.classes):
                    continue
                places = (
                    [f"{relation} {split}" for relation in relations for split in Split]
                    if task == LINKS
                    else [f"{share:.0%} known" for share in TRAINING_SHARES]
                )
                for where in places:
                    for label in asked.only:
                        if label in free:
                            yield Cell(name, task, where, label, 0.0, seed)
                        elif label in rows:
                            yield from (Cell(name, task, where, label, e, seed) for e in asked.epsilon)


def measure(graph: Graph, cell: Cell) -> dict[str, float]:
    """The figures of one cell and their CPU seconds."""
    started = time.process_time()
    if cell.task == LINKS:
        relation, split = cell.where.rsplit(" ", 1)
        found = link_figures(graph, relation, Split(split), cell)
    else:
        found = node_figures(graph, float(cell.where.split("%")[0]) / 100, cell)
    return found | {"cpu_seconds": time.process_time() - started}


def cell_of(line: dict[str, Any]) -> Cell:
    return Cell(*(line[name] for name in Cell._fields))


def run_missing(asked: argparse.Namespace) -> None:
    """Appends what RESULTS lacks."""
    done = {cell_of(line) for line in read(asked.results)}
    graphs: dict[str, Graph] = {}
    for cell in wanted(asked):
        if cell in done:
            continue
        if cell.set not in graphs:
            graphs = {cell.set: load(cell.set, asked.data)}
        line = cell._asdict() | {"figures": measure(graphs[cell.set], cell)}
        with asked.results.open("a") as out:
            out.write(json.dumps(line) + "\n")
        print(*cell, " ".join(f"{name} {value:.1f}" for name, value in line["figures"].items()), flush=True)


def tables(lines: list[dict[str, Any]]) -> Iterator[str]:
    """Markdown: for each set links by split, nodes by known share; mean and spread over seeds, in percent."""
    cells: dict[tuple[str, str, str, str, float], list[dict[str, float]]] = defaultdict(list)
    for line in lines:
        cell = cell_of(line)
        cells[cell[:5]].append(line["figures"])
    for name in [name for name in DATASETS if any(key[0] == name for key in cells)]:
        for task, figures in ((LINKS, ("value",)), (NODES, ("macro", "micro", "alone macro"))):
            found = {key[2:]: values for key, values in cells.items() if key[:2] == (name, task)}
            if found:
                yield from _table(name, task, figures, found)


def _table(
    name: str,
    task: str,
    figures: tuple[str, ...],
    found: dict[tuple[str, str, float], list[dict[str, float]]],
) -> Iterator[str]:
    epsilons = sorted({key[2] for key in found if key[2]})
    for where in dict.fromkeys(key[0] for key in found):
        for figure in figures:
            what = "AUC of links" if task == LINKS else f"{figure} F1 of nodes"
            yield f"\n**{name}, {what}, {where}**\n"
            yield "| row | seeds | " + " | ".join(f"{e:g}" for e in epsilons) + " | without epsilon |"
            yield "|---|---|" + "---|" * (len(epsilons) + 1)
            for label in dict.fromkeys(key[1] for key in found if key[0] == where):
                values = {
                    e: [each[figure] for each in found.get((where, label, e), []) if figure in each]
                    for e in (*epsilons, 0.0)
                }
                if any(values.values()):
                    seeds = max(len(each) for each in values.values())
                    told = " | ".join(_told(values[e]) for e in (*epsilons, 0.0))
                    yield f"| {label} | {seeds} | {told} |"
            yield from _reported(name, task, figure, where)


def _told(values: list[float]) -> str:
    return f"{np.mean(values):.1f} ± {np.std(values):.1f}" if values else ""


def _reported(name: str, task: str, figure: str, where: str) -> Iterator[str]:
    """What others say, under the table that is nearest to theirs: leaky links, most classes known."""
    focus = f"{DATASETS[name].focus} {Split.LEAKY}"
    if (task == LINKS and where != focus) or (task == NODES and (figure != "macro" or "80%" not in where)):
        return
    for source, given in (("paper", PAPER), ("published program", PROGRAM)):
        rows = given.get((name, task), {})
        if rows:
            yield f"\n*{source}:* " + "; ".join(f"{label} {value:g}" for label, value in rows.items())


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--set", action="append", choices=list(DATASETS))
    parser.add_argument("--task", action="append", choices=[LINKS, NODES])
    parser.add_argument("--relation", action="append", help="another one than the set's own")
    parser.add_argument("--only", action="append", choices=EVERY, metavar="ROW", help=", ".join(EVERY))
    parser.add_argument("--epsilon", action="append", type=float)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    asked = parser.parse_args()
    asked.set, asked.task = asked.set or list(DATASETS), asked.task or [LINKS, NODES]
    asked.only, asked.epsilon = asked.only or EVERY, asked.epsilon or list(EPSILONS)
    run_or_print(parser, asked, run_missing, tables)


if __name__ == "__main__":
    main()
