"""What is left of links, against the best attacker of the sensitive ones, who may know the defence.

    python -m papers.ppgsl.benchmarks.frontier RESULTS.jsonl --data FOLDER                  all rows, one seed
    python -m papers.ppgsl.benchmarks.frontier RESULTS.jsonl --data FOLDER --set cora --seeds 2
    python -m papers.ppgsl.benchmarks.frontier RESULTS.jsonl --table --to docs/pictures  # and the plots

The protocol of :mod:`papers.ppgsl.benchmarks.tables`, tested links held out. A method with a guarantee gets
all other links, the sensitive ones among them, as it needs no list. Attackers, AUC in percent:

- ``proximity``, the best of common neighbours, Adamic-Adar and resource allocation; ``gae``, cosines of a
  graph auto-encoder of the release; ``words``, on graphs with features, cosines of a network of the two
  nodes' own features, trained on the release's links: it knows which words go together, not who is linked;
- ``told``: boosted trees on degrees, common neighbours and cosines of a pair, which have learned from four
  fifths of the sensitive links *themselves* and as many other pairs, and are asked about the rest, five
  times. Shadow runs of the defence teach the same, of other links. ``told, links alone`` reads no features.

The figure is the best of these, either way round; ``features alone`` needs no release, is no part of it, and
bounds from below what any release of links leaves to whoever has the features.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn import functional

from benchmarks.line_plots import panels
from benchmarks.results_file import Line, add, parser_of, read, run_or_print
from core.evaluation.attacks.knowing import DEPTH, LEARNING_RATE, ROUNDS, described, privacy_figure
from core.evaluation.attacks.targets import LinkTargets
from core.evaluation.learning.pairs import cosine
from core.evaluation.learning.tensors import feature_tensor
from core.evaluation.view import UndirectedView
from core.learning.devices import seeded
from papers.ppgsl.benchmarks.data import FOLDERS, Case, case, load
from papers.ppgsl.benchmarks.tables import AS_PUBLISHED, FEATURES, ORIGINAL, Row, auc, released

if TYPE_CHECKING:
    from core.evaluation.learning.features import Features
    from core.graphs.graph import Graph

PUBLISHED, INFORMED = "ppgsl, as published", "ppgsl, informed"
ROWS = {
    ORIGINAL: Row(ORIGINAL, "", (0,)),
    PUBLISHED: Row("ppgsl", "alpha", (0.25,), AS_PUBLISHED),
    INFORMED: Row("ppgsl", "alpha", (0.06, 0.25, 0.5), {"against": "informed"}),
    "random_rewire": Row("random_rewire", "share", (0.5,)),
    "edgerand": Row("edgerand", "epsilon", (8,), {}, True, True),
    "dcsbm": Row("dcsbm", "epsilon", (4,), {}, True, True),
}
GAE, PROXIMITY, TOLD, TOLD_LINKS, WORDS = "gae", "proximity", "told", "told_links", "words"
COLUMNS = {
    "links": "links AUC",
    PROXIMITY: "proximity",
    GAE: "GAE, cosine",
    WORDS: "words that go together",
    TOLD_LINKS: "told, links alone",
    TOLD: "told",
    "figure": "best attacker",
    FEATURES: "features alone",
    "deleted": "deleted",
    "added": "added",
    "cpu_s": "CPU s",
}
WHOLE = ("deleted", "added")
FOLDS, HIDDEN, EPOCHS, RATE, SHARPNESS = 5, 64, 40, 0.01, 5.0
DEGREES_TO_GAE, NEIGHBOURS, COSINE = slice(0, 6), slice(2, 5), 5
"""Columns of :func:`described`: degrees and neighbours and the auto-encoder; neighbours; the auto-encoder."""


def told(rows: np.ndarray, targets: LinkTargets, seed: int) -> float:
    """AUC, cross-validated, of trees that learned from the other pairs which are sensitive links."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    trees = HistGradientBoostingClassifier(
        max_iter=ROUNDS, max_depth=DEPTH, learning_rate=LEARNING_RATE, random_state=seed
    )
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    scores = cross_val_predict(trees, rows, targets.label, cv=folds, method="decision_function")
    return auc(scores, targets)


def going_together(view: UndirectedView, features: Features, seed: int) -> np.ndarray:
    """Embed nodes by their own features alone, so that the release's links have large cosines, others not."""
    with seeded(seed) as place:
        inputs = feature_tensor(features.values, place)
        first = torch.nn.init.xavier_uniform_(
            torch.empty(features.values.shape[1], HIDDEN, device=place)
        ).requires_grad_(True)
        second = torch.nn.Linear(HIDDEN, HIDDEN).to(place)
        optimiser = torch.optim.Adam([first, *second.parameters()], lr=RATE, weight_decay=5e-4)
        u, v = (torch.from_numpy(each).to(place) for each in (view.u, view.v))
        embed = partial(_own, inputs, first, second)
        for _ in range(EPOCHS):
            rows = embed()
            other = torch.randint(view.node_count, (2, len(u)), device=place)
            linked, random = (
                SHARPNESS * (rows.index_select(0, a) * rows.index_select(0, b)).sum(1)
                for a, b in ((u, v), other)
            )
            optimiser.zero_grad()
            (functional.softplus(-linked).mean() + functional.softplus(random).mean()).backward()
            optimiser.step()
        with torch.no_grad():
            return embed().cpu().numpy()


def _own(inputs: Any, first: torch.Tensor, second: torch.nn.Linear) -> torch.Tensor:
    return functional.normalize(second(torch.relu(inputs @ first)), dim=1)


def figures(given: Case, row: Row, value: float) -> dict[str, Any]:
    """All figures of one release, in percent."""
    view, spent = released(given, row, value)
    seed, features = given.seed, given.features
    secret, tested = given.targets(given.sensitive), given.targets(given.tested)
    ends = secret.source, secret.target
    rows = described(view, features, *ends, seed)
    found = {
        PROXIMITY: max(auc(column, secret) for column in rows[:, NEIGHBOURS].T),
        GAE: auc(rows[:, COSINE], secret),
        TOLD: told(rows, secret, seed),
    }
    alone = {}
    if features is not None:
        found[WORDS] = auc(cosine(going_together(view, features, seed), *ends), secret)
        alone[FEATURES] = auc(cosine(features.values, *ends), secret)
        found[TOLD_LINKS] = told(described(view, None, *ends, seed)[:, DEGREES_TO_GAE], secret, seed)
    same = np.intersect1d(_keys(view), _keys(given.visible)).size
    return (
        found
        | alone
        | {
            "links": auc(described(view, features, tested.source, tested.target, seed)[:, COSINE], tested),
            "figure": 100 * privacy_figure(each / 100 for each in found.values()),
            "deleted": given.visible.edge_count - same,
            "added": view.edge_count - same,
            "cpu_s": spent,
        }
    )


def _keys(view: UndirectedView) -> np.ndarray:
    return view.u * view.node_count + view.v


def place(line: Line) -> tuple[str, str, float, int]:
    """Graph, row, setting and seed of a line."""
    return line["set"], line["label"], line["value"], line["seed"]


def run_missing(asked: argparse.Namespace) -> None:
    """Every asked cell has a line."""
    there = {place(line) for line in read(asked.results)}
    graphs: dict[str, Graph] = {}
    for name in asked.set or FOLDERS:
        for seed in range(asked.seeds):
            for label in asked.only or ROWS:
                for value in asked.value or ROWS[label].values:
                    if (name, label, value, seed) in there:
                        continue
                    if name not in graphs:
                        graphs[name] = load(name, asked.data)
                    cell = {"set": name, "label": label, "value": value, "seed": seed}
                    given = case(graphs[name], seed, left=False)
                    add(asked.results, cell | figures(given, ROWS[label], value))


def means(lines: Iterable[Line]) -> dict[tuple[str, str, float], dict[str, float]]:
    """Means over seeds, in the order of graphs, rows and settings."""
    found: dict[tuple[str, str, float], list[Line]] = defaultdict(list)
    for line in lines:
        found[place(line)[:3]].append(line)
    order = sorted(found, key=lambda at: (list(FOLDERS).index(at[0]), list(ROWS).index(at[1]), at[2]))
    return {
        at: {key: float(np.mean([line[key] for line in found[at]])) for key in COLUMNS if key in found[at][0]}
        for at in order
    }


def tables(lines: list[Line]) -> Iterator[str]:
    """Markdown, a row for each graph, method and setting."""
    yield f"| graph | row | setting | {' | '.join(COLUMNS.values())} |"
    yield "|---" * (3 + len(COLUMNS)) + "|"
    for (name, label, value), each in means(lines).items():
        at = f"{ROWS[label].knob} {value:g}" if ROWS[label].knob else ""
        shown = [f"{each[key]:.{0 if key in WHOLE else 1}f}" if key in each else "" for key in COLUMNS]
        yield f"| {name} | {label} | {at} | {' | '.join(shown)} |"


def regrets(lines: Iterable[Line]) -> Iterator[str]:
    """Markdown: for each graph the setting of ``ppgsl`` that the others choose, and what that costs there.

    A setting is worth the links less the best attacker, in points; those that every graph has compete. The
    others choose what falls least short of their best, on average.
    """
    worth = {at: each["links"] - each["figure"] for at, each in means(lines).items() if "ppgsl" in at[1]}
    graphs = list(dict.fromkeys(at[0] for at in worth))
    every = dict.fromkeys(at[1:] for at in worth)
    settings = [one for one in every if all((name, *one) in worth for name in graphs)]
    short = {
        (name, one): max(worth[name, *other] for other in settings) - worth[name, *one]
        for name in graphs
        for one in settings
    }
    names = " | ".join(f"{label}, {value:g}" for label, value in settings)
    yield f"| graph | {names} | others choose | regret |"
    yield "|---" * (3 + len(settings)) + "|"
    for name in graphs:
        mean = {one: sum(short[other, one] for other in graphs if other != name) for one in settings}
        chosen = min(settings, key=mean.__getitem__)
        shown = " | ".join(f"{worth[name, *one]:.1f}" for one in settings)
        yield f"| {name} | {shown} | {chosen[0]}, {chosen[1]:g} | {short[name, chosen]:.1f} |"


def picture(lines: list[Line]) -> str:
    """The frontiers: the best attacker against links, a panel for each graph."""
    found = means(lines)
    charts = []
    for name in dict.fromkeys(at[0] for at in found):
        drawn: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for (graph, label, _), each in found.items():
            if graph == name:
                drawn[label].append((each["links"], each["figure"]))
        charts.append((name, "links AUC, %", "best attacker's AUC, %", dict(drawn)))
    about = "Best attacker of sensitive links against links predicted, by method, a panel for each graph."
    return panels("Sensitive links: the frontier", about, charts, 75.0, (INFORMED,), tuple(ROWS))


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--set", action="append", choices=list(FOLDERS))
    parser.add_argument("--only", action="append", choices=list(ROWS))
    parser.add_argument("--value", action="append", type=float, help="settings in place of a row's own")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--to", type=Path, help="with --table: the folder of the picture")
    asked = parser.parse_args()
    run_or_print(parser, asked, run_missing, lambda lines: [*tables(lines), "", *regrets(lines)])
    if asked.table and asked.to:
        (asked.to / "ppgsl_frontier.svg").write_text(picture(read(asked.results)))


if __name__ == "__main__":
    main()
