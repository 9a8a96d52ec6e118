"""What a release of ``method: auto`` is good for, job by job, by size, density and epsilon.

    python -m benchmarks.good_for RESULTS.jsonl --data FOLDER --epsilons 0.5 1 2 4
    python -m benchmarks.good_for RESULTS.jsonl --table

Unit edge, static undirected graphs: those of ``benchmarks.static_graphs``, and NAME-200, the 200 nodes
nearest to the one of most edges in each. A job is done on the release and on the original; what it loses:

- totals: relative error of the number of edges.
- degree law: total variation of the degree distribution.
- hubs: the share of the 1 % of nodes of highest PageRank that are others.
- influence: twenty nodes chosen greedily on the release for most neighbours together reach so much less of
  the original than those chosen on it.
- epidemic: difference of the shares infected by SIR at three times the original's threshold, by bond
  percolation, twenty runs.
- distances: total variation of the distribution of distances.
- communities: 1 - NMI above chance.
- links: pairs are scored by the release's common neighbours; of the AUC above .5 on the original's edges that
  the original's own common neighbours give, the share that is lost.
- labels: half of the nodes' classes are told and the others take their neighbours' majority; of the accuracy
  above the largest class that the original gives, the share that is lost.

Usable: at most the first threshold of :mod:`core.reports.good_for` on average, partly: at most the second,
else not.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import breadth_first_order, connected_components

from benchmarks.graphs import community_graph, static_graph
from benchmarks.person_graphs import groups_of, with_groups
from benchmarks.results_file import Line, add, parser_of, read, run_or_print
from benchmarks.static_graphs import SOURCES, load
from benchmarks.static_tables import release
from core.evaluation.compare import compared
from core.evaluation.metric import Suite
from core.evaluation.view import UndirectedView
from core.graphs.graph import EdgeTable, Graph
from core.methods.base import PublicFacts
from core.methods.choice import choose
from core.privacy.accounting.events import NANO
from core.privacy.units import Unit
from core.reports.good_for import DENSE_DEGREE, SMALL_NODES, THRESHOLDS, verdict

LARGE = tuple(name for name, source in SOURCES.items() if source.edges < 32_000)
SMALL = tuple(f"{name}-200" for name in (*LARGE, "as-caida", "digg", "facebook") if name != "radoslaw")
LABELS = {"citeseer", "cora", "polblogs", "lastfm"}
"""Graphs whose nodes have classes."""
MEASURED = {
    "totals": "density",
    "degree law": "degree_total_variation",
    "hubs": "top_pagerank_overlap",
    "distances": "distance_total_variation",
    "communities": "partition_nmi_above_chance",
}
SEEDS, RUNS_OF_SIR, PAIRS = 20, 20, 20_000


def named(name: str, data: Path) -> tuple[Graph, np.ndarray | None]:
    """One of LARGE or SMALL, and its nodes' classes where it has some."""
    whole, _, nodes = name.rpartition("-200")
    if whole and not nodes:
        return ball(load(whole, data), 200), None
    if name not in LABELS:
        return load(name, data), None
    source = SOURCES[name]
    grouped = with_groups(data / source.path, data / str(source.nodes))
    return static_graph(grouped.nodes["node"].count, grouped.edges["edge"]), groups_of(grouped)


def ball(graph: Graph, nodes: int) -> Graph:
    """The nodes nearest to the one of most edges, so many, and their edges."""
    links = adjacency(graph)
    start = int(np.argmax(np.diff(links.indptr)))
    near = breadth_first_order(links, start, return_predecessors=False)[:nodes]
    place = np.full(links.shape[0], -1)
    place[np.random.default_rng(0).permutation(near)] = np.arange(len(near))
    table = graph.edges["edge"]
    source, target = place[table.source], place[table.target]
    inside = (source >= 0) & (target >= 0)
    return static_graph(len(near), EdgeTable(source[inside], target[inside]))


def adjacency(graph: Graph) -> csr_matrix:
    """Symmetric, of ones."""
    table, nodes = graph.edges["edge"], graph.nodes["node"].count
    half = csr_matrix((np.ones(table.count), (table.source, table.target)), shape=(nodes, nodes))
    return csr_matrix(((half + half.T) > 0).astype(np.float64))


def seeds(links: csr_matrix) -> list[int]:
    """The nodes that reach most neighbours together, chosen one after the other."""
    reached, found = np.zeros(links.shape[0], dtype=bool), list[int]()
    for _ in range(SEEDS):
        found.append(int(np.argmax(links @ ~reached)))
        reached[links[found[-1]].indices] = True
    return found


def reach(links: csr_matrix, chosen: list[int]) -> int:
    """How many nodes are neighbours of the chosen."""
    return len(np.unique(links[chosen].indices))


def infected(links: csr_matrix, rate: float, rng: np.random.Generator) -> float:
    """The share that SIR infects from one random node: its part where each edge passes with this chance."""
    edges, nodes, shares = links.tocoo(), links.shape[0], []
    once = edges.row < edges.col
    row, col = edges.row[once], edges.col[once]
    for _ in range(RUNS_OF_SIR):
        kept = rng.random(len(row)) < rate
        graph = csr_matrix((np.ones(kept.sum()), (row[kept], col[kept])), shape=(nodes, nodes))
        sizes = np.bincount(connected_components(graph, directed=False)[1])
        shares.append(float(np.square(sizes / nodes).sum()))
    return float(np.mean(shares))


def threshold_rate(links: csr_matrix) -> float:
    """Three times the chance at which an epidemic begins to spread, by degrees; at most 1."""
    degree = np.diff(links.indptr)
    return float(min(1.0, 3 * degree.sum() / max(float((degree * (degree - 1)).sum()), 1.0)))


def link_auc(scored: csr_matrix, true: csr_matrix, rng: np.random.Generator) -> float:
    """The AUC of common neighbours in ``scored``, of true edges against random pairs without one."""
    edges = true.tocoo()
    pick = rng.integers(0, len(edges.row), PAIRS)
    low, high = (rng.integers(0, true.shape[0], PAIRS) for _ in range(2))
    none = (low != high) & (np.asarray(true[low, high]).ravel() == 0)
    on, off = (
        np.asarray(scored[a].multiply(scored[b]).sum(axis=1)).ravel()
        for a, b in ((edges.row[pick], edges.col[pick]), (low[none], high[none]))
    )
    below = np.searchsorted(np.sort(off), on, "left") + np.searchsorted(np.sort(off), on, "right")
    return float(below.mean() / 2 / len(off))


def voted(links: csr_matrix, classes: np.ndarray, told: np.ndarray) -> float:
    """Accuracy of the majority of told neighbours; a node without one takes the largest class."""
    one = np.zeros((len(classes), int(classes.max()) + 1))
    one[np.flatnonzero(told), classes[told]] = 1
    votes = links @ one
    votes += one.sum(axis=0) / len(classes) / 10
    return float((votes.argmax(axis=1)[~told] == classes[~told]).mean())


def lost(original: Graph, synthetic: Graph, classes: np.ndarray | None) -> dict[str, float]:
    """What every job loses on the release."""
    rng = np.random.default_rng(1)
    views = [UndirectedView.of(graph.cell("edge", None)) for graph in (original, synthetic)]
    row = compared(views[0], views[1], Suite.STANDARD, only=MEASURED.values())
    found: dict[str, float] = {"totals": row["scalars"]["density"]["relative_error"]}
    for job, name in MEASURED.items():
        value = row["distances"].get(name)
        if value is not None:
            found[job] = value if name.endswith("variation") else 1 - value
    true, drawn = adjacency(original), adjacency(synthetic)
    found["influence"] = max(0.0, 1 - reach(true, seeds(drawn)) / reach(true, seeds(true)))
    rate = threshold_rate(true)
    found["epidemic"] = abs(infected(true, rate, rng) - infected(drawn, rate, rng))
    best, got = (link_auc(links, true, np.random.default_rng(2)) - 0.5 for links in (true, drawn))
    if best > 0.05:
        found["links"] = float(np.clip(1 - got / best, 0, 1))
    if classes is not None:
        told = rng.random(len(classes)) < 0.5
        least = np.bincount(classes[~told]).max() / (~told).sum()
        best, got = (voted(links, classes, told) - least for links in (true, drawn))
        if best > 0.05:
            found["labels"] = float(np.clip(1 - got / best, 0, 1))
    return {job: float(value) for job, value in found.items()}


def made(asked: argparse.Namespace) -> None:
    """Every graph and epsilon has its runs."""
    had = Counter((line["graph"], line["epsilon"]) for line in read(asked.results))
    release("dcsbm", community_graph(500, 2_500), 1.0, {})
    for epsilon in asked.epsilons:
        for name in asked.graphs:
            if had[name, epsilon] >= asked.runs:
                continue
            original, classes = named(name, asked.data)
            nodes = original.nodes["node"].count
            facts = PublicFacts(original.schema, Unit.EDGE, None, round(epsilon * NANO), 0, ("edge",))
            choice = choose(facts, {"node": nodes})
            for _ in range(asked.runs - had[name, epsilon]):
                synthetic, seconds = release(choice.method, original, epsilon, dict(choice.params))
                line: Line = {"graph": name, "nodes": nodes, "edges": original.edges["edge"].count}
                line |= {
                    "epsilon": epsilon,
                    "lost": lost(original, synthetic, classes),
                    "cpu_seconds": seconds,
                }
                add(asked.results, line)


def kind_of(line: Line) -> str:
    """The row of a graph: its size and density."""
    if line["nodes"] < SMALL_NODES:
        return f"below {SMALL_NODES} nodes"
    dense = 2 * line["edges"] / line["nodes"] >= DENSE_DEGREE
    return f"mean degree of {DENSE_DEGREE:g} and more" if dense else f"mean degree below {DENSE_DEGREE:g}"


def printed(lines: list[Line]) -> Iterator[str]:
    """Mean loss and verdict by kind of graph, epsilon and job."""
    kinds = sorted({kind_of(line) for line in lines})
    epsilons = sorted({line["epsilon"] for line in lines})
    for kind in kinds:
        own = [line for line in lines if kind_of(line) == kind]
        yield f"\n**{kind}**: {', '.join(dict.fromkeys(line['graph'] for line in own))}\n"
        yield "| job | " + " | ".join(f"epsilon {epsilon:g}" for epsilon in epsilons) + " |"
        yield "|---" * (len(epsilons) + 1) + "|"
        for job in THRESHOLDS:
            cells = []
            for epsilon in epsilons:
                here = [line["lost"].get(job) for line in own if line["epsilon"] == epsilon]
                values = [value for value in here if value is not None]
                mean = float(np.mean(values)) if values else None
                cells.append("not measured" if mean is None else f"{verdict(job, mean)} ({mean:.2f})")
            yield f"| {job} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = parser_of(__doc__)
    both = (*LARGE, *SMALL)
    parser.add_argument("--graphs", nargs="+", choices=both, default=list(both), metavar="GRAPH")
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.5, 1.0, 2.0, 4.0])
    parser.add_argument("--runs", type=int, default=1)
    run_or_print(parser, parser.parse_args(), made, printed)


if __name__ == "__main__":
    main()
