"""PPGSL and what it is compared with: what attackers find of sensitive links, and what is left to learn.

    python -m papers.ppgsl.benchmarks.tables RESULTS.jsonl --data FOLDER  all rows, 5 seeds
    python -m papers.ppgsl.benchmarks.tables RESULTS.jsonl --data FOLDER --set cora --only ppgsl --attacks all
    python -m papers.ppgsl.benchmarks.tables RESULTS.jsonl --table

A tenth of the links is sensitive and never published; another tenth is to be predicted, and taken out
before anything is released ("held") or not ("left", the paper does not say). Attacks and link prediction:
AUC in percent of a graph auto-encoder's cosines, trained on what was released, on those links and as many
uniform pairs without one. Nodes: micro F1 of a GCN on the released links, 30 % of the classes known.
``--attacks all``: the paper's eight attackers and the one who has seen the defence (shadows: it is run again,
twice, on what it released), with features and without; beside them cosines of the features, which need no
release. The figure is the best of those who need one, either way round. CPU seconds are of the fit.
``ppgsl`` is the published form here; the informed one is in :mod:`papers.ppgsl.benchmarks.frontier`.

RESULTS holds one line a cell; a call makes only those that are missing. A seed chooses the links; what a
method draws is the operating system's.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from benchmarks.results_file import Line, add, parser_of, read, run_or_print
from core.evaluation.attacks import heuristics, scoring
from core.evaluation.attacks.knowing import Informed, Shadow, privacy_figure
from core.evaluation.attacks.learned import scorers
from core.evaluation.attacks.targets import LinkScorer, LinkTargets
from core.evaluation.learning.gcn import Autoencoder, trained_classifier
from core.evaluation.learning.pairs import cosine
from core.evaluation.tasks.node_classification import TRAINING_SHARE, f1
from core.evaluation.view import UndirectedView
from core.graphs.graph import EdgeTable, Graph
from core.methods.base import PublicFacts, no_progress
from core.methods.registry import get
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import GuaranteeKind
from core.privacy.entropy import noise_generator, public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from papers.ppgsl.benchmarks.data import FOLDERS, Case, again, case, load

ORIGINAL = "original"
NANO, DELTA_ATTO = 10**9, 10**13
SHADOWS, SEEDS = 2, 5
FEATURES, STRUCTURE = "features", "informed_structure"
COLUMNS = {
    "attack": "attack AUC",
    "common_neighbours": "common neighbours",
    "links": "links AUC",
    "nodes": "nodes F1",
    "deleted": "deleted",
    "added": "added",
    "cpu_s": "CPU s",
}
ATTACKERS = {
    "common_neighbours": "common neighbours",
    "adamic_adar": "Adamic-Adar",
    "resource_allocation": "resource allocation",
    "node2vec_cosine": "node2vec, cosine",
    "node2vec_svm": "node2vec, SVM",
    "gae_cosine": "GAE, cosine",
    "gae_svm": "GAE, SVM",
    "seal": "SEAL",
    STRUCTURE: "knows the defence, structure alone",
    "informed": "knows the defence",
    FEATURES: "features alone",
}


class Row(NamedTuple):
    """A method, and the settings that trade privacy for utility. ``epsilon``: they are epsilons.

    A method that knows no list of sensitive links gets the graph without them, as in the paper; ``whole``: it
    gets all links, the sensitive ones among them, and its guarantee covers them like any other.
    """

    method: str
    knob: str
    values: tuple[float, ...]
    params: dict[str, Any] = {}  # noqa: RUF012
    epsilon: bool = False
    whole: bool = False


AS_PUBLISHED = {"against": "surrogate"}
ROWS = {
    ORIGINAL: Row(ORIGINAL, "", (0,)),
    "ppgsl": Row("ppgsl", "alpha", (0.15, 0.25, 0.4, 0.7), AS_PUBLISHED),
    "ppgsl, k = 0": Row("ppgsl", "alpha", (0.05, 0.25), AS_PUBLISHED | {"additions": 0.0}),
    "ppgsl, preset paper": Row("ppgsl", "alpha", (0.001, 0.01), {"preset": "paper"}),
    "random_rewire": Row("random_rewire", "share", (0.3, 0.5, 0.7, 0.9)),
    "dice": Row("dice", "share", (0.1, 0.3, 0.5, 0.7)),
    "rwlp": Row("rwlp", "length", (1, 2, 5, 10)),
    "ppne": Row("ppne", "share", (0.1, 0.2, 0.4, 0.6)),
    "privgraph": Row("privgraph", "epsilon", (1, 4, 8), {}, True),
    "dcsbm": Row("dcsbm", "epsilon", (1, 4, 8), {}, True),
    "edgerand": Row("edgerand", "epsilon", (6, 8, 10), {}, True),
    "lapgraph": Row("lapgraph", "epsilon", (6, 8, 10), {}, True),
    "dcsbm, all links": Row("dcsbm", "epsilon", (4,), {}, True, True),
    "edgerand, all links": Row("edgerand", "epsilon", (6, 8), {}, True, True),
}


class Cell(NamedTuple):
    """One release's place."""

    set: str
    setting: str
    label: str
    value: float
    seed: int


def released(given: Case, row: Row, value: float) -> tuple[UndirectedView, float]:
    """What the method publishes of a case, and the CPU seconds of its fit."""
    if row.method == ORIGINAL:
        return given.visible, 0.0
    method = get(row.method)
    params = method.Params.model_validate(row.params | ({} if row.epsilon else {row.knob: value}))
    nano = int(value * NANO) if row.epsilon else NANO
    delta = 0 if method.kinds <= {GuaranteeKind.PURE, GuaranteeKind.NONE} else DELTA_ATTO
    graph = given.given
    if row.epsilon and not row.whole:
        view = given.visible
        graph = Graph.build(graph.schema, graph.nodes, {"edge": EdgeTable(view.u, view.v)})
    plan = method.plan(params, PublicFacts(graph.schema, Unit.EDGE, None, nano, delta, ("edge",)))
    session = PrivateGraph(graph, Meter(plan, MemoryRecorder()), lambda: given.secret)
    start = time.process_time()
    model = method.fit(session, plan, params, no_progress)
    spent = time.process_time() - start
    return UndirectedView.of(model.sample(noise_generator(), no_progress).cell("edge", None)), spent


def auc(scores: np.ndarray, targets: LinkTargets) -> float:
    return 100 * float(scoring.score(scores, targets.label)["auc"]["value"])


def judged(given: Case, published: UndirectedView) -> dict[str, Any]:
    """What one attacker finds in a release, and what is left to learn, in percent."""
    seed, features = given.seed, given.features
    rows = published.once(Autoencoder(seed, features))
    secret, tested = given.targets(given.sensitive), given.targets(given.tested)
    common = heuristics.proximity(published, secret.source, secret.target, "common")
    found = {
        "attack": auc(cosine(rows, secret.source, secret.target), secret),
        "common_neighbours": auc(common, secret),
        "links": auc(cosine(rows, tested.source, tested.target), tested),
    }
    return found if given.classes is None else found | {"nodes": 100 * classified(given, published)}


def figures(given: Case, row: Row, value: float, thorough: bool) -> dict[str, Any]:
    """All figures of one release, in percent."""
    published, spent = released(given, row, value)
    visible = given.visible
    same = np.intersect1d(_keys(published), _keys(visible)).size
    found = judged(given, published) | {
        "published": published.edge_count,
        "deleted": visible.edge_count - same,
        "added": published.edge_count - same,
        "cpu_s": spent,
    }
    if thorough:
        seed, features, secret = given.seed, given.features, given.targets(given.sensitive)
        attackers: list[LinkScorer] = [
            each for each in heuristics.SCORERS if isinstance(each, heuristics.Proximity)
        ]
        attackers += scorers(features)
        ends = secret.source, secret.target
        each = {} if features is None else {FEATURES: auc(cosine(features.values, *ends), secret)}
        if row.method != ORIGINAL and not row.epsilon:
            made = shadows(given, published, row, value)
            attackers.append(Informed(made, features))
            if features is not None:
                bare = [replace(shadow, features=None) for shadow in made]
                attackers.append(Informed(bare, name=STRUCTURE))
        each |= {a.name: auc(a.score(published, *ends, seed), secret) for a in attackers}
        found["attacks"] = each
        found["figure"] = 100 * privacy_figure(
            share / 100 for name, share in each.items() if name != FEATURES
        )
    return found


def shadows(given: Case, published: UndirectedView, row: Row, value: float) -> list[Shadow]:
    """The defence, run again on what it released, with links that the attacker names sensitive."""
    made = []
    for number in range(SHADOWS):
        trial = again(published, given, number)
        view, _ = released(trial, row, value)
        hidden = trial.whole.u[trial.sensitive], trial.whole.v[trial.sensitive]
        made.append(Shadow(trial.whole, view, hidden, given.features))
    return made


def classified(given: Case, published: UndirectedView) -> float:
    """Micro F1 of a GCN on the released links, of the nodes whose class it was not told."""
    order = public_generator(given.seed).permutation(np.flatnonzero(given.classes >= 0))
    known, tested = np.split(order, [int(TRAINING_SHARE * len(order))])
    model = trained_classifier(published, given.features, given.classes, known, given.seed)
    return f1(given.classes[tested], model.predict(published)[tested])[0]


def _keys(view: UndirectedView) -> np.ndarray:
    return view.u * view.node_count + view.v


def cells(asked: argparse.Namespace, rows: Mapping[str, Row]) -> Iterator[Cell]:
    """Every cell that was asked for, one draw of the links after the other."""
    for name in asked.set or FOLDERS:
        for seed in range(asked.seeds):
            for label in asked.only or rows:
                for value in asked.value or rows[label].values:
                    yield Cell(name, "left" if asked.left else "held", label, value, seed)


def by_cell(lines: list[Line]) -> dict[Cell, Line]:
    """The cells that are there, the last of each."""
    return {Cell(*(line[name] for name in Cell._fields)): line for line in lines if "label" in line}


def run_missing(asked: argparse.Namespace, rows: Mapping[str, Row] = ROWS) -> None:
    """Every asked cell has a line; with ``--attacks all`` one that has all attacks."""
    graphs: dict[str, Graph] = {}
    there, thorough = by_cell(read(asked.results)), asked.attacks == "all"
    for cell in cells(asked, rows):
        if cell in there and ("attacks" in there[cell] or not thorough):
            continue
        if cell.set not in graphs:
            graphs[cell.set] = load(cell.set, asked.data)
        given = case(graphs[cell.set], cell.seed, cell.setting == "left")
        add(asked.results, cell._asdict() | figures(given, rows[cell.label], cell.value, thorough))


def tables(lines: list[Line], known: Mapping[str, Row] = ROWS) -> Iterator[str]:
    """Markdown, a table for each graph and setting: means over seeds, and their standard deviation."""
    grouped: dict[tuple[str, str], dict[tuple[str, float], list[dict]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for cell, row in by_cell(lines).items():
        grouped[cell.set, cell.setting][cell.label, cell.value].append(row)
    for (name, setting), rows in grouped.items():
        yield f"\n**{name}**, test links {setting}\n"
        yield f"| row | setting | seeds | {' | '.join(COLUMNS.values())} |"
        yield "|---" * (3 + len(COLUMNS)) + "|"
        for (label, value), each in sorted(
            rows.items(), key=lambda item: (list(known).index(item[0][0]), item[0][1])
        ):
            shown = [_shown(each, key) for key in COLUMNS]
            knob = known[label].knob
            at = f"{knob} {value:g}" if knob else ""
            yield f"| {label} | {at} | {len(each)} | {' | '.join(shown)} |"


def attackers(lines: list[Line], known: Mapping[str, Row] = ROWS) -> Iterator[str]:
    """Markdown, a row for each release that all attackers were set on: means over seeds, and the figure."""
    found: dict[tuple[str, str, float], list[Line]] = defaultdict(list)
    for cell, line in by_cell(lines).items():
        if "attacks" in line and cell.setting == "held":
            found[cell.set, cell.label, cell.value].append(line)
    if not found:
        return
    yield "\n**Every attacker**, test links held\n"
    yield f"| graph | row | setting | seeds | {' | '.join(ATTACKERS.values())} | figure |"
    yield "|---" * (5 + len(ATTACKERS)) + "|"
    order = sorted(found, key=lambda at: (list(FOLDERS).index(at[0]), list(known).index(at[1]), at[2]))
    for name, label, value in order:
        each = found[name, label, value]
        shown = [_shown([line["attacks"] for line in each], key) for key in ATTACKERS]
        at = f"{known[label].knob} {value:g}" if known[label].knob else ""
        yield f"| {name} | {label} | {at} | {len(each)} | {' | '.join(shown)} | {_shown(each, 'figure')} |"


def _shown(rows: list[dict[str, Any]], key: str) -> str:
    values = [row[key] for row in rows if key in row]
    if not values:
        return ""
    if key in ("deleted", "added"):
        return f"{np.mean(values):.0f}"
    spread = f" ± {np.std(values, ddof=1):.1f}" if len(values) > 1 else ""
    return f"{np.mean(values):.1f}{spread}"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--set", action="append", choices=list(FOLDERS))
    parser.add_argument("--only", action="append", choices=list(ROWS))
    parser.add_argument("--value", action="append", type=float, help="settings in place of a row's own")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--left", action="store_true", help="test links stay in what is published")
    parser.add_argument("--attacks", choices=("gae", "all"), default="gae")
    run_or_print(parser, parser.parse_args(), run_missing, lambda lines: [*tables(lines), *attackers(lines)])


if __name__ == "__main__":
    main()
