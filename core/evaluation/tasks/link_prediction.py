"""Link prediction on the original's held-out links.

It measures which of them a model of either graph ranks above non-links.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from core.evaluation.attacks.negatives import uniform
from core.evaluation.learning.features import Features
from core.evaluation.learning.limits import repetitions, unlearnable
from core.evaluation.learning.pairs import cosine, without
from core.evaluation.tasks.entry import task_entry
from core.evaluation.view import UndirectedView
from core.late import late
from core.privacy.entropy import public_generator

_autoencoder = late("core.evaluation.learning.gcn:Autoencoder")
_roc_auc_score = late("sklearn.metrics:roc_auc_score")
SEED = 20_160_907
HELD_OUT = 0.1

DEFINITION = (
    f"{HELD_OUT:.0%} of the original's links and as many pairs without a link are test pairs; both are taken "
    "out of either graph before training, so that what counts is the structure around them. A graph "
    "auto-encoder (two convolutions, public node features or one learned row a node) is trained without "
    "labels on the rest; the AUC of its cosines on the test pairs, mean over repetitions (PPGSL, V-A3)."
)


def link_prediction(
    original: UndirectedView, synthetic: UndirectedView, features: Features | None, subject: str
) -> dict[str, Any]:
    """Measure the fields of the report's Task, by ``auc``.

    Nodes are aligned by index. Deterministic. Equal graphs get equal figures. Time: two auto-encoders a
    repetition (see ``repetitions``).
    """
    entry = task_entry(
        "link_prediction",
        "Link prediction",
        DEFINITION,
        subject,
        "auc",
        baseline=0.5,
        repetitions=repetitions(original),
        not_run=unlearnable(original) or unlearnable(synthetic),
    )
    if entry["not_run"] is None:
        runs = [run(original, synthetic, features, SEED + turn) for turn in range(entry["repetitions"])]
        entry["trained_on_original"], entry["trained_on_synthetic"] = np.mean(runs, axis=0).tolist()
    return entry


def run(
    original: UndirectedView, synthetic: UndirectedView, features: Features | None, seed: int
) -> tuple[float, float]:
    """Compute both AUCs of one split. One is trained on the original's rest, one on the synthetic graph's."""
    rng = public_generator(seed)
    held = rng.permutation(original.edge_count)[: max(1, int(HELD_OUT * original.edge_count))]
    wrong = uniform(original, len(held), rng)
    u, v = np.append(original.u[held], wrong[0]), np.append(original.v[held], wrong[1])
    label = np.arange(len(u)) < len(held)
    return (
        predicted(original, features, u, v, label, seed),
        predicted(synthetic, features, u, v, label, seed),
    )


def predicted(
    graph: UndirectedView,
    features: Features | None,
    u: np.ndarray,
    v: np.ndarray,
    label: np.ndarray,
    seed: int,
) -> float:
    """Compute the AUC of an auto-encoder's cosines. It has seen the graph without the pairs (u, v)."""
    embedding = _autoencoder(seed, features)(without(graph, u, v))
    return float(_roc_auc_score(label, cosine(embedding, u, v)))
