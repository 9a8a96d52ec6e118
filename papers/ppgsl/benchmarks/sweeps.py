"""What PPGSL's choices do on Cora: protocol, pairs that may be added, how often the surrogate is trained.

    python -m papers.ppgsl.benchmarks.sweeps RESULTS.jsonl --data FOLDER  all rows, and all surrogates
    python -m papers.ppgsl.benchmarks.sweeps RESULTS.jsonl --data FOLDER --only "mu = 10"
    python -m papers.ppgsl.benchmarks.sweeps RESULTS.jsonl --table --to docs/pictures

Rows as in `papers.ppgsl.benchmarks.tables`, against the settings k = 1 and mu = 50: k pairs may be added
for each link; the surrogate is trained anew every mu steps, 100 steps of its own each time. ``alternating``:
one surrogate, trained on by 8 steps after every step of the learner, as adversarial training goes. The rows
``surrogates``: a release is defended against one attacker and attacked by each. The encoder of either is a
graph convolution or GraphSAGE, its head cosines, inner products or a network. Means over seeds, in percent.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import torch

from benchmarks.line_plots import panels
from benchmarks.results_file import Line, add, parser_of, read, run_or_print
from core.evaluation.attacks.targets import LinkTargets
from core.evaluation.view import UndirectedView
from core.learning.devices import seeded
from papers.ppgsl.benchmarks.curves import ATTACK, UTILITIES, means, points
from papers.ppgsl.benchmarks.data import Case, case, load
from papers.ppgsl.benchmarks.tables import (
    AS_PUBLISHED,
    ORIGINAL,
    Row,
    auc,
    judged,
    released,
    run_missing,
    tables,
)
from papers.ppgsl.inputs import features_of
from papers.ppgsl.params import PpgslParams
from papers.ppgsl.sparse import Pattern
from papers.ppgsl.surrogate import Surrogate, train

ALPHAS = (0.15, 0.25, 0.5)
ADVERSARIAL = {"protocol": "alternating", "interval": 1, "surrogate_steps": 8}
USUAL = "k = 1, mu = 50"
SWEEPS = {
    USUAL: Row("ppgsl", "alpha", ALPHAS, AS_PUBLISHED),
    "k = 0": Row("ppgsl", "alpha", ALPHAS, AS_PUBLISHED | {"additions": 0.0}),
    "k = 5": Row("ppgsl", "alpha", ALPHAS, AS_PUBLISHED | {"additions": 5.0}),
    "mu = 10": Row("ppgsl", "alpha", ALPHAS, AS_PUBLISHED | {"interval": 10}),
    "mu = 1": Row("ppgsl", "alpha", ALPHAS, AS_PUBLISHED | {"interval": 1}),
    "alternating": Row("ppgsl", "alpha", ALPHAS, AS_PUBLISHED | ADVERSARIAL),
}
SURROGATES = "surrogates"
KINDS = tuple(f"{encoder} {head}" for encoder in ("gcn", "sage") for head in ("cosine", "inner", "mlp"))
"""The encoder and the head of a surrogate, and of an attacker."""
ALPHA, SEEDS = 0.25, 2


def params_of(kind: str) -> dict[str, str]:
    """The parameters that make a surrogate of this kind."""
    encoder, head = kind.split()
    return {"encoder": encoder, "head": head}


def reached(given: Case, published: UndirectedView, kind: str, targets: LinkTargets) -> float:
    """AUC, in percent, of an attacker of this kind who learned from what was published."""
    params = PpgslParams.model_validate(params_of(kind))
    graph = given.graph
    with seeded(given.seed) as place:
        features, inputs = features_of(graph.schema.node_types[0], graph.nodes["node"], place)
        ends = (torch.from_numpy(each.astype(np.int64)).to(place) for each in (published.u, published.v))
        pattern = Pattern(*ends, published.node_count)
        weights = torch.ones(published.edge_count, device=place)
        model = Surrogate(inputs, params).to(place)
        train(model, pattern, weights, features, params.surrogate_steps)
        with torch.no_grad():
            rows = model.embed(model.smoothed(pattern, weights), features @ model.first)
            asked = (torch.from_numpy(each).to(place) for each in (targets.source, targets.target))
            scores = model.score(rows, *asked).cpu().numpy()
    return auc(scores, targets)


def mismatched(asked: argparse.Namespace) -> None:
    """A line for every surrogate, and for the undefended graph, and every seed."""
    there = {(line["surrogate"], line["seed"]) for line in read(asked.results) if "surrogate" in line}
    graph = load("cora", asked.data)
    for seed in range(asked.seeds):
        given = case(graph, seed, left=False)
        targets = given.targets(given.sensitive)
        for kind in (ORIGINAL, *KINDS):
            if (kind, seed) in there:
                continue
            row = Row(ORIGINAL, "", (0,))
            if kind != ORIGINAL:
                row = Row("ppgsl", "alpha", (ALPHA,), AS_PUBLISHED | params_of(kind))
            published, spent = released(given, row, ALPHA)
            line = {"surrogate": kind, "seed": seed} | judged(given, published) | {"cpu_s": spent}
            attackers = {each: reached(given, published, each, targets) for each in KINDS}
            add(asked.results, line | {"attackers": attackers})


def matrix(lines: list[Line]) -> Iterator[str]:
    """Markdown: a row for every surrogate, a column for every attacker; then what is left to learn."""
    rows = [line for line in lines if "surrogate" in line]
    kinds = [kind for kind in (ORIGINAL, *KINDS) if any(row["surrogate"] == kind for row in rows)]
    if not kinds:
        return
    yield f"\n**Surrogates against attackers**, alpha {ALPHA:g}\n"
    yield f"| surrogate | {' | '.join(KINDS)} | links AUC | nodes F1 | CPU s |"
    yield "|---" * (len(KINDS) + 4) + "|"
    for kind in kinds:
        each = [row for row in rows if row["surrogate"] == kind]
        found = [np.mean([row["attackers"][attacker] for row in each]) for attacker in KINDS]
        found += [np.mean([row[key] for row in each]) for key in ("links", "nodes", "cpu_s")]
        yield f"| {kind} | {' | '.join(f'{value:.1f}' for value in found)} |"


def run_all(asked: argparse.Namespace) -> None:
    """The missing rows, then the missing surrogates; of those only what was asked for."""
    labels = [label for label in asked.only or SWEEPS if label != SURROGATES]
    if labels:
        asked.only = labels
        run_missing(asked, SWEEPS)
    if asked.only is None or SURROGATES in asked.only:
        mismatched(asked)


def show(to: Path | None, lines: list[Line]) -> Iterator[str]:
    """The tables; in ``to`` a plot of the rows."""
    yield from tables(lines, SWEEPS)
    yield from matrix(lines)
    if to is None:
        return
    rows = means(lines, "cora", "held", SWEEPS)
    pairs = [label for label in rows if label.startswith("k")]
    training = [label for label in rows if label.startswith(("k = 1", "mu", "alt"))]
    charts = [
        (heading, UTILITIES[key], ATTACK, {each: points(rows[each], key) for each in labels})
        for heading, labels in (("Pairs that may be added", pairs), ("Training of the surrogate", training))
        for key in UTILITIES
    ]
    about = "Attack on sensitive links of Cora against links predicted and nodes classified, by choice."
    to.mkdir(parents=True, exist_ok=True)
    picture = panels("Choices of PPGSL on Cora", about, charts, 50.0, (USUAL,))
    (to / "ppgsl_choices.svg").write_text(picture)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--only", action="append", choices=[*SWEEPS, SURROGATES])
    parser.add_argument("--value", action="append", type=float, help="alphas in place of a row's own")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--to", type=Path, help="with --table: the folder of the plots")
    asked = parser.parse_args()
    asked.set, asked.left, asked.attacks = ["cora"], False, "gae"
    run_or_print(parser, asked, run_all, partial(show, asked.to))


if __name__ == "__main__":
    main()
