"""What privacy costs: our defaults by epsilon, beside ceilings without a guarantee and a random graph.

    python -m papers.comparators.benchmarks.ceilings RESULTS.jsonl --data FOLDER  # every missing run
    python -m papers.comparators.benchmarks.ceilings RESULTS.jsonl --data FOLDER --family plain --runs 1
    python -m papers.comparators.benchmarks.ceilings RESULTS.jsonl --table
    python -m papers.comparators.benchmarks.ceilings RESULTS.jsonl --typed TYPED.jsonl --to docs/pictures

Families: ``plain``, Cora's links; ``attributed``, the same with the papers' fields as a protected class;
``collection``, DPGGAN's 68 networks of DBLP in one release. ``typed`` has the runs of
``papers.thepuff.benchmarks.tables``, whose file TYPED is read. Rows: ``default`` is what ``method: auto``
takes at that epsilon (of the collection ``dpggan``, with a delta of 1e-5); ``random graph`` has the
original's number of edges, by chance, and its classes dealt anew; the others carry no guarantee.

Figures of plain graphs as in ``benchmarks.static_tables``, of classes as in ``benchmarks.attribute_tables``,
of collections as in ``papers.dpggan.benchmarks.networks``. "true edges": share of the released edges that
are the original's. "told apart": AUC with which someone who knows which node is whose, and a release of a
random half of the edges, tells that half from the other, by whether a pair is linked and by resource
allocation; .5 is chance. CPU seconds of fit and draw, without the attack; MB: the most memory of the process,
imports and evaluation included. Every run has a process of its own, which makes a small release first.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import resource
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.attribute_tables import carried, protected
from benchmarks.graphs import community_graph
from benchmarks.line_plots import Point, panels
from benchmarks.load import load_static
from benchmarks.results_file import Line, add, parser_of, read
from benchmarks.small_graphs import keys, load_labelled
from benchmarks.static_tables import figures as of_plain
from benchmarks.static_tables import release
from core.evaluation.attacks import scoring
from core.evaluation.attacks.heuristics import proximity
from core.evaluation.attacks.pairs import are_linked
from core.graphs.graph import Graph, NodeTable
from core.methods.base import PublicFacts
from core.methods.choice import choose
from core.privacy.entropy import noise_generator
from core.privacy.units import Unit
from papers.dpggan.benchmarks.attacks import keeping, squashed
from papers.dpggan.benchmarks.networks import COLUMNS, FEWEST_NODES
from papers.dpggan.benchmarks.networks import figures as of_network
from papers.dpggan.benchmarks.rows import gnm, release_together, row_of, view

EPSILONS = {
    "plain": (0.5, 1.0, 2.0, 4.0, 8.0),
    "attributed": (0.5, 1.0, 4.0),
    "collection": (1.0, 4.0),
}
DEFAULT, RANDOM = "default", "random graph"
CEILINGS: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "plain": {
        "diffusion": ("diffusion", {}),
        "diffusion, by degrees": ("diffusion", {"communities": False}),
        "gvae": ("gvae", {}),
    },
    "attributed": {
        "diffusion": ("diffusion", {"node_attributes": True}),
        "with communities": ("diffusion", {"node_attributes": True, "communities": True}),
    },
    "collection": {"diffusion": ("diffusion", {}), "gvae": ("gvae", {})},
}
"""By family, what needs no epsilon: a method and its parameters."""
SHARE = 0.1  # of epsilon, for which classes meet
PANELS = {
    "plain": (
        "degree_total_variation",
        "triangles",
        "modularity",
        "partition_nmi",
        "true edges",
        "told apart",
    ),
    "attributed": ("homophily off", "node_value_degree_distance", "triangles", "told apart"),
    "collection": ("LCC", "TC", "CPL", "GINI", "motif cosine", "true edges"),
    "typed": ("degree_tv u-m-timed source", "cycles", "auc", "active_tv"),
}
TITLES = {
    "degree_total_variation": "degrees, total variation (0 is best)",
    "triangles": "triangles, relative error (0 is best)",
    "modularity": "modularity, relative error (0 is best)",
    "partition_nmi": "communities in common, NMI (1 is best)",
    "true edges": "released edges that are true, share",
    "told apart": "edges told from edges left out, AUC (.5: not)",
    "homophily off": "homophily by class, error (0 is best)",
    "node_value_degree_distance": "classes by degree, distance (0 is best)",
    "LCC": "largest component, nodes off (0 is best)",
    "TC": "triangles off (0 is best)",
    "CPL": "path length off (0 is best)",
    "GINI": "Gini of degrees off (0 is best)",
    "motif cosine": "29 motifs, cosine (1 is best)",
    "degree_tv u-m-timed source": "degrees of users, total variation (0 is best)",
    "cycles": "4-cycles, of the original's (1 is best)",
    "auc": "real pairs told by synthetic ones, AUC (1 is best)",
    "active_tv": "months in which a user is active, distance (0)",
}
HEADINGS = {
    "plain": "Cora: 2,708 papers, 5,278 links",
    "attributed": "Cora with the papers' fields, protected",
    "collection": "68 networks of DBLP in one release",
    "typed": "MovieLens-100k: users, films, occupations, seven months",
}
TYPED = {
    "anchored": DEFAULT,
    "typed-random": RANDOM,
    "temporal-walks": "temporal_walks",
    "heterogeneous-walks": "heterogeneous_walks",
}
"""Rows of ``papers.thepuff.benchmarks.tables``, and what they are here."""


def loaded(family: str, data: Path) -> Any:
    """The family's original: a graph, or the networks of a collection."""
    if family == "attributed":
        return protected("cora", data)
    if family == "collection":
        found = load_labelled(data / "dpggan_networks" / "relabeled_dblp2.jsonl.gz", FEWEST_NODES)
        return [graph for graph, _ in found]
    return load_static(data / "cora" / "edges.csv", universe=data / "cora" / "labels.csv")


def asked(family: str, row: str, graph: Graph, epsilon: float) -> tuple[str, dict[str, Any]]:
    """The method of a row, and its parameters."""
    if row != DEFAULT:
        return CEILINGS[family][row]
    if family == "attributed":
        return "dcsbm", {"node_attribute_share": SHARE}
    facts = PublicFacts(graph.schema, Unit.EDGE, None, round(epsilon * 1e9), 0, ("edge",))
    chosen = choose(facts, {"node": graph.nodes["node"].count})
    return chosen.method, dict(chosen.params)


def released(family: str, row: str, graph: Graph, epsilon: float) -> tuple[Graph, float]:
    """One synthetic graph, and the CPU seconds that it took."""
    if row == RANDOM:
        begun, rng = time.process_time(), noise_generator()
        drawn = gnm(graph, rng).edges["edge"]
        table = graph.nodes["node"]
        order = rng.permutation(table.count)
        columns = {name: values.take(order) for name, values in table.attributes.items()}
        nodes = {"node": NodeTable(table.count, None, columns)}
        return Graph.build(graph.schema, nodes, {"edge": drawn}), time.process_time() - begun
    method, params = asked(family, row, graph, epsilon)
    return release(method, graph, epsilon or 1.0, params)


def told_apart(family: str, row: str, graph: Graph, epsilon: float) -> float:
    """The AUC of the attack, on one release of half of the edges."""
    table, rng = graph.edges["edge"], noise_generator()
    kept = np.zeros(table.count, dtype=bool)
    kept[rng.permutation(table.count)[: math.ceil(table.count / 2)]] = True
    part = Graph.build(graph.schema, graph.nodes, {"edge": keeping(graph, kept).edges["edge"]})
    seen = view(released(family, row, part, epsilon)[0])
    ends = table.source, table.target
    scores = are_linked(seen, *ends) + squashed(proximity(seen, *ends, "resource"))
    return float(scoring.score(scores, kept)["auc"]["value"])


def measure(family: str, row: str, epsilon: float, data: Path) -> dict[str, float]:
    """The figures of one run, in a process of its own."""
    if family == "collection":
        found = of_collection(row, epsilon, data)
    else:
        released("plain", row, community_graph(60, 150), epsilon)
        graph = loaded(family, data)
        synthetic, seconds = released(family, row, graph, epsilon)
        plain = of_plain(view(graph), synthetic)
        found = {name: value for name, value in plain.items() if value is not None}
        if family == "attributed":
            found |= carried(graph, synthetic)
            found["homophily off"] = abs(found["homophily"] - found["true homophily"])
        found["true edges"] = float(np.isin(keys(synthetic), keys(graph)).mean())
        found["told apart"] = told_apart(family, row, graph, epsilon)
        found["CPU s"] = seconds
    found["MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {name: round(float(value), 5) for name, value in found.items()}


def of_collection(row: str, epsilon: float, data: Path) -> dict[str, float]:
    """The means over all networks of one run, each released by itself where a row has no joint form."""
    graphs, begun = loaded("collection", data), time.process_time()
    if row == RANDOM:
        made = [gnm(graph, noise_generator()) for graph in graphs]
    else:
        label = "dpggan, one collection" if row == DEFAULT else row
        own = row_of(label)
        if own is not None and own.together:
            made = release_together(label, graphs, epsilon)
        else:
            made = [release(row, graph, 1.0, {})[0] for graph in graphs]
    seconds = time.process_time() - begun
    rows = [of_network(graph, synthetic) for graph, synthetic in zip(graphs, made, strict=True)]
    return dict(zip(COLUMNS, np.mean(rows, axis=0).tolist(), strict=True)) | {"CPU s": seconds}


def wanted(family: str) -> Iterator[tuple[str, float]]:
    """The rows of a family, those without an epsilon at 0."""
    yield RANDOM, 0.0
    yield from ((row, 0.0) for row in CEILINGS[family])
    yield from ((DEFAULT, epsilon) for epsilon in EPSILONS[family])


def run_missing(given: argparse.Namespace) -> None:
    """Make the runs that RESULTS lacks."""
    known = {(line["family"], line["row"], line["epsilon"], line["run"]) for line in read(given.results)}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=1) as pool:
        for run in range(given.runs):
            for family in given.family or CEILINGS:
                for row, epsilon in wanted(family):
                    if (family, row, epsilon, run) not in known:
                        figures = pool.submit(measure, family, row, epsilon, given.data).result()
                        line = {"family": family, "row": row, "epsilon": epsilon, "run": run}
                        add(given.results, line | {"figures": figures})


Means = dict[str, dict[tuple[str, float], dict[str, tuple[float, float]]]]


def means(lines: list[Line], typed: list[Line]) -> Means:
    """Mean and standard deviation of every figure, by family, row and epsilon."""
    runs: dict[tuple[str, str, float], list[dict[str, float]]] = defaultdict(list)
    for line in lines:
        runs[line["family"], line["row"], line["epsilon"]].append(line["figures"])
    for line in typed:
        if line["graph"] == "ml-100k" and line["label"] in TYPED:
            row = TYPED[line["label"]]
            epsilon = 0.0 if row != DEFAULT else line["epsilon"]
            runs["typed", row, epsilon].append(line["figures"])
    found: Means = defaultdict(dict)
    for (family, row, epsilon), own in runs.items():
        names = [name for name, value in own[0].items() if isinstance(value, int | float)]
        values = {name: [each[name] for each in own if each.get(name) is not None] for name in names}
        found[family][row, epsilon] = {
            name: (float(np.mean(each)), float(np.std(each))) for name, each in values.items() if each
        }
    return found


REPORTED = {
    "plain": {
        "*NetGAN, printed, 39 % true edges*": {"triangles": 1 - 1410 / 2814, "true edges": 0.39},
        "*NetGAN, printed, 52 % true edges*": {"triangles": 1 - 1588 / 2814, "true edges": 0.52},
        "*DC-SBM, printed*": {"triangles": 1 - 1403 / 2814, "true edges": 0.11},
        "*VGAE, printed*": {"triangles": 1 - 14 / 2814, "true edges": 0.003},
    }
}
"""Table 1 of NetGAN (Bojchevski et al., ICML 2018), of Cora-ML: 2,810 papers and 7,981 links, another graph
of the same source. Its triangles as a relative error, and its edge overlap."""


def tables(found: Means) -> Iterator[str]:
    """Markdown, a table for each family."""
    for family, rows in found.items():
        columns = [*PANELS[family], *(["CPU s", "MB"] if family != "typed" else ["cpu_seconds"])]
        yield f"\n**{HEADINGS[family]}**\n"
        yield "| row | epsilon | " + " | ".join(columns) + " |"
        yield "|---|---|" + "---|" * len(columns)
        for (row, epsilon), own in sorted(rows.items(), key=lambda each: (each[0][0] != RANDOM, each[0])):
            told = " | ".join(
                f"{own[name][0]:.3g} ± {own[name][1]:.2g}" if name in own else "" for name in columns
            )
            yield f"| {row} | {epsilon or '-'} | {told} |"
        for row, known in REPORTED.get(family, {}).items():
            told = " | ".join(f"{known[name]:.3g}" if name in known else "" for name in columns)
            yield f"| {row} | - | {told} |"


def picture(family: str, rows: dict[tuple[str, float], dict[str, tuple[float, float]]]) -> str:
    """The family's figures by epsilon; what knows no epsilon is a line from end to end."""
    ends = (0.0, max(epsilon for _, epsilon in rows))
    charts = []
    for name in PANELS[family]:
        lines: dict[str, list[Point]] = defaultdict(list)
        for (row, epsilon), own in sorted(rows.items()):
            if name in own:
                lines[row] += [(x, own[name][0]) for x in ([epsilon] if epsilon else ends)]
        charts.append((TITLES[name], "epsilon", "", lines))
    told = (
        "Our default by epsilon. Level lines: models without a guarantee (ceilings) and a random graph (the "
        "floor)."
    )
    drawn = {row for row, _ in rows}  # the default and the floor have one colour in every picture
    order = [row for row in (DEFAULT, RANDOM) if row in drawn] + sorted(drawn - {DEFAULT, RANDOM})
    return panels(
        f"What privacy costs. {HEADINGS[family]}", told, charts, thick=(DEFAULT,), order=order, columns=2
    )


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--family", action="append", choices=list(CEILINGS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--typed", type=Path, help="results of papers.thepuff.benchmarks.tables")
    parser.add_argument("--to", type=Path, help="write the pictures there")
    given = parser.parse_args()
    if not given.table and given.to is None:
        if given.data is None:
            parser.error("--data names the folder of the public data sets")
        run_missing(given)
        return
    found = means(read(given.results), read(given.typed) if given.typed else [])
    if given.table:
        print("\n".join(tables(found)))
    for family, rows in found.items() if given.to is not None else ():
        (given.to / f"privacy_costs_{family}.svg").write_text(picture(family, rows))


if __name__ == "__main__":
    main()
