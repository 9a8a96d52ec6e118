"""Link privacy of DPGGAN's releases: whether a link was there, and whether a hidden one can be predicted.

    python -m papers.dpggan.benchmarks.attacks relabeled_dblp2.jsonl.gz --epsilon 1 --graphs 14

Membership (likelihood ratio, as in Carlini et al., "Membership Inference Attacks From First Principles"): of
every network of 80 to 260 nodes random halves of the links are kept and released, each by SAMPLES graphs of
one model. A true link's score is the log odds of its share among these graphs, less the mean of the same over
the releases of which it was left out. In against out, over all links and releases. The attacker knows what
the other releases were made of, and which released node is whose.

Hidden links (DPGGAN, "Protecting individual links"): 80 % of the links are kept and released; the other 20 %
and as many pairs without a link are ranked on one released graph by its links and by resource allocation, by
someone who knows which node is whose (``known``), or who aligns nodes by the degrees of the whole original
(``aligned``, as in the paper). ``kept as they are`` publishes the 80 % themselves. The unsafe row is a build
of ours whose networks see the original and whose decoder alone is under DP-SGD; the paper's encoder row is
Algorithm 1, its graphs generated from the encoder's output, as by the published program. Both claim epsilon.

Unit edge, delta 1e-5 where a row needs one. AUCs with 95 % intervals (DeLong). A pure epsilon allows at most
e^epsilon / (1 + e^epsilon) in the first column; the last column is the epsilon that the lower end of that
column's interval is the bound of: the release has no smaller one.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.graphs import static_graph
from benchmarks.small_graphs import load
from core.evaluation.attacks import scoring
from core.evaluation.attacks.degree_alignment import DegreeAlignment
from core.evaluation.attacks.heuristics import proximity
from core.evaluation.attacks.negatives import uniform
from core.evaluation.attacks.pairs import are_linked
from core.graphs.graph import EdgeTable, Graph
from core.methods.base import no_progress
from core.privacy.entropy import Generator, noise_generator
from papers.dpggan.benchmarks.rows import FREE, ROWS, Row, fitted, view

SMALLEST, LARGEST = 80, 260
HALVES = 6
SAMPLES = 20
KEPT_SHARE = 0.8
ATTACKED = (
    "dpggan",
    "dpggan, noisy graph",
    "dpggan, learned",
    "dpggan, learned alone",
    "dpggan, paper's decoder alone",
    "unsafe: an encoder of the original",
    "paper, from its encoder",
    "gvae",
)
COPY = "kept as they are"


def keeping(graph: Graph, kept: np.ndarray) -> Graph:
    """The graph with those of its links alone."""
    table = graph.edges["edge"]
    return static_graph(graph.nodes["node"].count, EdgeTable(table.source[kept], table.target[kept]))


def log_odds(row: Row | None, graph: Graph, kept: np.ndarray, epsilon: float, rng: Generator) -> np.ndarray:
    """Every true link's log odds of being in a graph that was released from those kept."""
    table = graph.edges["edge"]
    part = keeping(graph, kept)
    found = np.zeros(len(kept))
    model = None if row is None else fitted(row, part, epsilon)
    for _ in range(SAMPLES):
        released = part if model is None else model.sample(rng, no_progress)
        found += are_linked(view(released), table.source, table.target)
    return np.log((found + 0.5) / (SAMPLES - found + 0.5))


def membership(row: Row | None, graphs: list[Graph], epsilon: float, rng: Generator) -> dict[str, float]:
    """The attack's AUC over all links of all graphs."""
    scores, labels = [], []
    for graph in graphs:
        links = graph.edges["edge"].count
        inside = np.zeros((HALVES, links), dtype=bool)
        for k in range(0, HALVES, 2):  # a half and the rest of it: each link is in as often as out
            inside[k, rng.permutation(links)[: links // 2]] = True
            inside[k + 1] = ~inside[k]
        odds = np.array([log_odds(row, graph, kept, epsilon, rng) for kept in inside])
        for k in range(HALVES):
            # Neither of its own pair: a link is left out of one of each other pair, be it in here or out.
            others = ~inside & (np.arange(HALVES) // 2 != k // 2)[:, None]
            known = np.where(others, odds, 0).sum(0) / others.sum(0)
            scores.append(odds[k] - known)
            labels.append(inside[k])
    return scoring.score(np.concatenate(scores), np.concatenate(labels))["auc"]


def hidden(row: Row | None, graphs: list[Graph], epsilon: float, rng: Generator) -> list[dict[str, float]]:
    """AUC on hidden links against pairs without a link: nodes known, and aligned by degree."""
    scores: list[list[np.ndarray]] = [[], []]
    labels = []
    for number, graph in enumerate(graphs):
        table, whole = graph.edges["edge"], view(graph)
        kept = np.zeros(table.count, dtype=bool)
        kept[rng.permutation(table.count)[: math.ceil(KEPT_SHARE * table.count)]] = True
        part = keeping(graph, kept)
        released = view(part if row is None else fitted(row, part, epsilon).sample(rng, no_progress))
        wrong = uniform(whole, int((~kept).sum()), rng)
        source = np.concatenate([table.source[~kept], wrong[0]])
        target = np.concatenate([table.target[~kept], wrong[1]])
        scores[0].append(
            are_linked(released, source, target) + squashed(proximity(released, source, target, "resource"))
        )
        scores[1].append(DegreeAlignment(whole.degrees).score(released, source, target, number))
        labels.append(np.arange(len(source)) < (~kept).sum())
    label = np.concatenate(labels)
    return [scoring.score(np.concatenate(each), label)["auc"] for each in scores]


def squashed(values: np.ndarray) -> np.ndarray:
    """Pressed into [0, 1), in the same order."""
    return values / (1 + values)


def needed(auc: float) -> float:
    """The least pure epsilon under which an attack can have this AUC."""
    return max(0.0, math.log(auc / (1 - auc))) if auc < 1 else math.inf


def told(auc: dict[str, Any]) -> str:
    return f"{auc['value']:.3f} ({auc['low']:.3f}-{auc['high']:.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("networks", type=Path)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0])
    parser.add_argument("--graphs", type=int, default=14)
    parser.add_argument("--only", action="append", choices=[COPY, *ATTACKED])
    asked = parser.parse_args()
    sized = [g for g in load(asked.networks) if SMALLEST <= g.nodes["node"].count <= LARGEST]
    graphs, rng = sized[: asked.graphs], noise_generator()
    print(f"{len(graphs)} networks, {HALVES} releases of {SAMPLES} graphs each")
    print("| epsilon | released | membership | hidden, known | hidden, aligned | epsilon at least |")
    print("|---|---|---|---|---|---|")
    for epsilon in asked.epsilon:
        for label in asked.only or [COPY, *ATTACKED]:
            row = ROWS.get(label) or FREE.get(label)
            member = membership(row, graphs, epsilon, rng)
            known, aligned = hidden(row, graphs, epsilon, rng)
            least = f"{needed(member['low']):.2f}"
            told_all = " | ".join([told(member), told(known), told(aligned), least])
            print(f"| {epsilon:g} | {label} | {told_all} |", flush=True)
        print(f"| {epsilon:g} | *allowed by a pure epsilon* | {1 / (1 + math.exp(-epsilon)):.3f} | | | |")


if __name__ == "__main__":
    main()
