"""Tasks and learned attacks: PPGSL's protocol on Cora beside measured reference figures, GIN on collections.

    python -m benchmarks.tasks --cora EDGES FEATURES LABELS [--repetitions 3]
    python -m benchmarks.tasks --collection NETWORKS.jsonl.gz [--folds 10]

Cora: 10 % of the links are sensitive and hidden, another 10 % are held out for testing, the rest is
published as it is. Attack: AUC on the sensitive links, link prediction: AUC on the test links, both against
uniform non-links; node classification: micro F1, 30/70 split. EDGES has the columns src,dst; FEATURES
node,feature (the ones of a binary matrix); LABELS node,label. A collection has one JSON object a line: nodes,
label, edges. Seconds are process CPU seconds, without the first compilation.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from core.evaluation.attacks import scoring
from core.evaluation.attacks.learned import scorers
from core.evaluation.attacks.negatives import uniform
from core.evaluation.learning.gcn import Features, trained_classifier
from core.evaluation.learning.limits import room
from core.evaluation.learning.pairs import without
from core.evaluation.tasks.graph_classification import accuracy
from core.evaluation.tasks.link_prediction import predicted
from core.evaluation.tasks.node_classification import TRAINING_SHARE, f1
from core.evaluation.tasks.subjects import unit_rows
from core.evaluation.view import UndirectedView

# An independent reproduction of PPGSL on the original Cora, test links held out: (lowest, highest) of its
# two training heads.
REFERENCE = {
    "attack: gae_cosine": (0.920, 0.930),
    "link prediction": (0.905, 0.916),
    "node classification, micro F1": (0.839, 0.850),
}
SPREAD = 0.02


def read_cora(edges: Path, features: Path, labels: Path) -> tuple[UndirectedView, Features, np.ndarray]:
    classes = pl.read_csv(labels).sort("node")["label"].to_numpy().astype(np.int64)
    ones = pl.read_csv(features)
    values = np.zeros((len(classes), int(ones["feature"].max()) + 1), dtype=np.float32)  # type: ignore[arg-type]
    values[ones["node"].to_numpy(), ones["feature"].to_numpy()] = 1
    links = pl.read_csv(edges)
    graph = UndirectedView.of_pairs(len(classes), links["src"].to_numpy(), links["dst"].to_numpy())
    return graph, Features(unit_rows(values)), classes


def cora(graph: UndirectedView, features: Features, classes: np.ndarray, seed: int) -> dict[str, tuple]:
    """Figure and CPU seconds of every measurement of one split."""
    rng = np.random.default_rng(seed)
    order, k = rng.permutation(graph.edge_count), graph.edge_count // 10
    sensitive, tested = ((graph.u[part], graph.v[part]) for part in (order[:k], order[k : 2 * k]))
    wrong = uniform(graph, 2 * k, rng)
    published = without(graph, *np.concatenate([sensitive, tested], axis=1))
    found: dict[str, tuple] = {}

    def measure(name: str, work: Callable[[], float]) -> None:
        started = time.process_time()
        value = work()
        found[name] = (value, time.process_time() - started)

    label = np.arange(2 * k) < k
    source, target = (np.append(sensitive[i], wrong[i][:k]) for i in (0, 1))
    for given in (features, None):
        for scorer in scorers(given):
            if given is not None and not scorer.name.startswith("gae"):
                continue
            name = f"attack: {scorer.name}" + ("" if given or "gae" not in scorer.name else ", no features")
            measure(
                name,
                lambda by=scorer: scoring.score(by.score(published, source, target, seed), label)["auc"][
                    "value"
                ],
            )
    u, v = (np.append(tested[i], wrong[i][k:]) for i in (0, 1))
    measure("link prediction", lambda: predicted(published, features, u, v, label, seed))
    measure("link prediction, no features", lambda: predicted(published, None, u, v, label, seed))
    nodes = rng.permutation(graph.node_count)
    known, asked = np.split(nodes, [int(TRAINING_SHARE * len(nodes))])
    for given in (features, None):
        name = "node classification, micro F1" + ("" if given else ", no features")

        def classify(given: Features | None = given) -> float:
            model = trained_classifier(published, given, classes, known, seed)
            return f1(classes[asked], model.predict(published)[asked])[0]

        measure(name, classify)
    return found


def print_cora(paths: list[Path], repetitions: int) -> None:
    graph, features, classes = read_cora(*paths)
    print(f"{graph.node_count} nodes, {graph.edge_count} links of {room(graph)}, {repetitions} splits")
    cora(graph, features, classes, 0)  # compiles
    runs = [cora(graph, features, classes, seed) for seed in range(repetitions)]
    print(f"{'':45}{'mean':>8}{'spread':>8}{'CPU s':>8}  reference")
    for name in runs[0]:
        values, seconds = np.array([run[name] for run in runs]).T
        line = f"{name:45}{values.mean():8.3f}{np.ptp(values) / 2:8.3f}{seconds.mean():8.1f}"
        if name in REFERENCE:
            low, high = REFERENCE[name]
            inside = low - SPREAD <= values.mean() <= high + SPREAD
            line += f"  {low:.3f}-{high:.3f} {'met' if inside else 'MISSED'} within {SPREAD}"
        print(line)


def print_collection(path: Path, folds: int) -> None:
    with gzip.open(path, "rt") as lines:
        rows = [json.loads(line) for line in lines]
    graphs = [UndirectedView.of_pairs(row["nodes"], *np.array(row["edges"]).T) for row in rows]
    rng = np.random.default_rng(0)
    random = [shuffled(graph, rng) for graph in graphs]
    _, codes = np.unique([row["label"] for row in rows], return_inverse=True)
    majority = np.bincount(codes).max() / len(codes)
    print(f"{path.name}: {len(graphs)} graphs, {folds} folds, majority class {majority:.3f}")
    for name, learned in (("originals", graphs), ("random graphs of the same sizes", random)):
        started = time.process_time()
        found = accuracy(learned, graphs, codes, folds)
        print(f"GIN trained on {name:35}{found:8.3f}{time.process_time() - started:8.1f} CPU s")


def shuffled(graph: UndirectedView, rng: np.random.Generator) -> UndirectedView:
    """A uniform random graph with as many nodes and links."""
    n = graph.node_count
    u, v = np.triu_indices(n, 1)
    chosen = rng.choice(len(u), graph.edge_count, replace=False)
    return UndirectedView.of_pairs(n, u[chosen], v[chosen])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cora", nargs=3, type=Path, metavar=("EDGES", "FEATURES", "LABELS"))
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--collection", nargs="+", type=Path, default=[])
    parser.add_argument("--folds", type=int, default=10)
    args = parser.parse_args()
    if args.cora:
        print_cora(args.cora, args.repetitions)
    for path in args.collection:
        print_collection(path, args.folds)


if __name__ == "__main__":
    main()
