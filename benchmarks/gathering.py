"""How many edges ``dcsbm`` gathers into circles, and from which evidence on it reads labels.

    python -m benchmarks.gathering RESULTS.jsonl --data FOLDER --what gathered --epsilons 1 --runs 3
    python -m benchmarks.gathering RESULTS.jsonl --data FOLDER --what labels --epsilons 0.5 1 2 4
    python -m benchmarks.gathering RESULTS.jsonl --table

``gathered``: one paid model is drawn by every rule of ``WAYS``: so much of the edges for transitivity of one,
and so much at most. ``labels``: labels as many as a node's mean degree can tell, or one, each paid for anew;
the threshold of evidence is chosen among ``FROM``. Unit edge. The loss is the mean error in all measures of
``benchmarks.regret`` but those of which node is which, one above 1 taken as 1. Each choice is by the mean
loss over the *other* graphs, and judged on the graph that was left out. RESULTS holds one line a draw; a call
makes those that are missing.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from benchmarks.freed_shares import SCOPES
from benchmarks.regret_cells import errors_of
from benchmarks.results_file import Line, add, parser_of, read, run_or_print
from benchmarks.static_graphs import SOURCES, load
from core.evaluation.view import UndirectedView
from core.graphs.graph import Graph
from core.methods._shared.rewiring import triangles
from core.methods.base import FittedModel, PublicFacts, no_progress
from core.methods.dcsbm import fit
from core.methods.dcsbm.budget import shares
from core.methods.dcsbm.params import DCSBMParams
from core.methods.registry import get
from core.privacy.accounting.events import NANO
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import noise_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit

WAYS: Mapping[str, tuple[float, float]] = {
    "none": (0.0, 0.0),
    "a fifth": (1e9, 0.2),
    "two fifths": (1e9, 0.4),
    "by transitivity, two fifths at most": (5.0, 0.4),
}
FROM = (2.0, 2.5, 3.2, 4.0, 6.0, 1e9)
"""Evidence that labels may be asked for, see ``core.methods.dcsbm.fit.groups_of``; the last: never any."""
DENSE = ("email-eu", "collegemsg", "polblogs", "chameleon", "lastfm", "bitcoin-alpha", "facebook")
SHOWN = (
    "modularity",
    "mean_local_clustering",
    "transitivity",
    "distance_total_variation",
    "clustering_by_degree",
)
RUNS = 2


def paid(graph: Graph, epsilon: float, groups: int | None) -> FittedModel:
    """A model of ``dcsbm``; ``groups``: labels, None as its own rule has it."""
    generator, params = get("dcsbm"), DCSBMParams.varied(groups=groups)
    facts = PublicFacts(graph.schema, Unit.EDGE, None, round(epsilon * NANO), 0, ("edge",))
    plan = generator.plan(params, facts)
    return generator.fit(PrivateGraph(graph, Meter(plan, MemoryRecorder())), plan, params, no_progress)


@contextmanager
def gathering(way: str) -> Iterator[None]:
    """Edges are gathered that way meanwhile."""
    rule = triangles.GATHERED, triangles.MOST_GATHERED
    triangles.GATHERED, triangles.MOST_GATHERED = WAYS[way]
    try:
        yield
    finally:
        triangles.GATHERED, triangles.MOST_GATHERED = rule


def evidence_of(graph: Graph, epsilon: float) -> float:
    """How well a mean node's labels are told, of the true number of edges: a figure of the experiment."""
    label = shares(DCSBMParams.varied(), round(epsilon * NANO))["label"] / NANO
    mean = 2 * graph.edges["edge"].count / graph.nodes["node"].count
    return float(mean * label / fit.EDGES_A_LABEL / np.sqrt(min(1.0, epsilon)))


def drawn(model: FittedModel, original: UndirectedView) -> dict[str, float | None]:
    """The errors of one graph of a model."""
    return errors_of(
        original, UndirectedView.of(model.sample(noise_generator(), no_progress).cell("edge", None))
    )


def made(asked: argparse.Namespace) -> None:
    """Every graph and epsilon has its runs."""
    for name in asked.graphs or (DENSE if asked.what == "labels" else SOURCES):
        if SOURCES[name].edges > asked.largest:
            continue
        graph = load(name, asked.data)
        original = UndirectedView.of(graph.cell("edge", None))
        for epsilon in asked.epsilons:
            key = {"what": asked.what, "graph": name, "epsilon": epsilon}
            had = {line["run"] for line in read(asked.results) if key.items() <= line.items()}
            for run in set(range(asked.runs)) - had:
                found = []
                if asked.what == "gathered":
                    model = paid(graph, epsilon, None)
                    for way in WAYS:
                        with gathering(way):
                            found.append({"way": way, "errors": drawn(model, original)})
                else:
                    evidence = evidence_of(graph, epsilon)
                    told = int(np.clip(round(evidence), 2, fit.MOST_GROUPS))
                    for way, groups in (("labels", told), ("one", 1)):
                        errors = drawn(paid(graph, epsilon, groups), original)
                        found.append({"way": way, "evidence": evidence, "errors": errors})
                for line in found:
                    add(asked.results, {**key, "run": run, **line})


def loss(lines: Iterable[Line], measures: Iterable[str]) -> float:
    """The mean error over measures and runs, one above 1 taken as 1."""
    errors = [line["errors"] for line in lines]
    means = [np.mean([min(e[name], 1.0) for e in errors if e[name] is not None]) for name in sorted(measures)]
    return float(np.mean(means))


def of_ways(lines: list[Line], epsilon: float) -> Iterator[str]:
    """What every rule loses, and which is chosen with each graph left out."""
    here = [line for line in lines if line["what"] == "gathered" and line["epsilon"] == epsilon]
    graphs = list(dict.fromkeys(line["graph"] for line in here))
    if len(graphs) < 2:
        return
    cells = {(g, w): [e for e in here if (e["graph"], e["way"]) == (g, w)] for g in graphs for w in WAYS}
    table = np.array([[loss(cells[g, w], SCOPES["shape"]) for w in WAYS] for g in graphs])
    chosen = [int(np.delete(table, place, 0).mean(axis=0).argmin()) for place in range(len(graphs))]
    runs = 1 + max(line["run"] for line in here)
    told_of = f"epsilon {epsilon:g}, {len(graphs)} graphs, {runs} paid models each"
    yield f"\n**Edges gathered into circles, {told_of}**\n"
    yield (
        "| gathered | chosen, a graph left out | shape | "
        + " | ".join(f"{name} (worst)" for name in SHOWN)
        + " |"
    )
    yield "|---" * (3 + len(SHOWN)) + "|"
    for place, way in enumerate(WAYS):
        gain = table[:, place] - table[:, 0]
        told = [[loss(cells[g, way], [name]) for g in graphs] for name in SHOWN]
        shown = " | ".join(f"{np.mean(own):.3f} ({max(own):.3f})" for own in told)
        spread = f" ± {gain.std(ddof=1) / np.sqrt(len(graphs)):.3f}" if place else ""
        yield f"| {way} | {chosen.count(place)} | {table[:, place].mean():.3f}{spread} | {shown} |"
    none, *_, last = WAYS
    yield "\n| graph | " + " | ".join(f"{name}, {way}" for name in SHOWN[:2] for way in (none, last)) + " |"
    yield "|---" * 5 + "|"
    for graph in graphs:
        told_of = [f"{loss(cells[graph, way], [name]):.3f}" for name in SHOWN[:2] for way in (none, last)]
        yield f"| {graph} | {' | '.join(told_of)} |"
    for what, measures in (("shape", SCOPES["shape"]), ("modularity", {"modularity"})):
        own = np.array([[loss(cells[g, way], measures) for way in WAYS] for g in graphs])
        picks = [int(np.delete(own, place, 0).mean(axis=0).argmin()) for place in range(len(graphs))]
        left = [own[place, pick] - own[place, 0] for place, pick in enumerate(picks)]
        judged = f"{np.mean(left):.3f} ± {_error(left):.3f}"
        yield f"\nChosen by {what}, on the graph left out, less none: {judged}."


def of_labels(lines: list[Line]) -> Iterator[str]:
    """What labels and one label lose, and the threshold that is chosen with each graph left out."""
    here = [line for line in lines if line["what"] == "labels"]
    cases = list(dict.fromkeys((line["graph"], line["epsilon"]) for line in here))
    if not cases:
        return
    rows, losses = [], np.zeros((len(cases), len(FROM)))
    for place, (graph, epsilon) in enumerate(cases):
        own = [line for line in here if (line["graph"], line["epsilon"]) == (graph, epsilon)]
        labels, one = ([line for line in own if line["way"] == way] for way in ("labels", "one"))
        evidence, both = own[0]["evidence"], [loss(each, SCOPES["shape"]) for each in (labels, one)]
        losses[place] = [both[0] if evidence >= least else both[1] for least in FROM]
        told = [f"{loss(each, [name]):.3f}" for name in SHOWN[:2] for each in (labels, one)]
        rows.append(
            (
                evidence,
                f"| {graph}, {epsilon:g} | {evidence:.1f} | {both[0]:.3f} | {both[1]:.3f} | "
                f"{' | '.join(told)} |",
            )
        )
    yield "\n**Labels or one label: shape, by evidence**\n"
    yield (
        "| graph, epsilon | evidence | labels | one | modularity, labels | one | "
        "local clustering, labels | one |"
    )
    yield "|---" * 8 + "|"
    yield from (row for _, row in sorted(rows))
    graphs = list(dict.fromkeys(graph for graph, _ in cases))
    inside = np.array([[graph == each for graph, _ in cases] for each in graphs])
    chosen = [FROM[int(losses[~own].mean(axis=0).argmin())] for own in inside]
    left = [
        losses[own, FROM.index(pick)].mean() - losses[own, 1].mean()
        for own, pick in zip(inside, chosen, strict=True)
    ]
    yield (
        "\n| labels from evidence | "
        + " | ".join("never" if each > 100 else f"{each:g}" for each in FROM)
        + " |"
    )
    yield "|---" * (1 + len(FROM)) + "|"
    yield "| shape | " + " | ".join(f"{each:.4f}" for each in losses.mean(axis=0)) + " |"
    picks = " | ".join(str(chosen.count(each)) for each in FROM)
    yield f"| chosen, a graph left out | {picks} |"
    judged = f"{np.mean(left):.3f} ± {_error(left):.3f}"
    yield f"\nThe chosen one on the graph left out, less {FROM[1]:g}: {judged}."


def _error(values: list[float]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def printed(lines: list[Line]) -> Iterator[str]:
    """Both choices' tables."""
    for epsilon in sorted({line["epsilon"] for line in lines if line["what"] == "gathered"}):
        yield from of_ways(lines, epsilon)
    yield from of_labels(lines)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--what", choices=["gathered", "labels"], default="gathered")
    parser.add_argument("--graphs", nargs="+", choices=list(SOURCES), metavar="GRAPH")
    parser.add_argument("--largest", type=int, default=90_000, help="leave out graphs of more edges")
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0])
    parser.add_argument("--runs", type=int, default=RUNS)
    run_or_print(parser, parser.parse_args(), made, printed)


if __name__ == "__main__":
    main()
