"""Attackers who know that a graph was defended.

One turns scores round, one has seen the defence at work. A defence that pushes sensitive pairs apart can be
betrayed by pushing too far: then the least likely pairs are the sensitive ones. And it leaves traces around
them, which whoever can run it learns to read on graphs of their own. What a release gives away is what the
best of all attackers gets, whichever way round.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.evaluation.attacks.heuristics import proximity
from core.evaluation.attacks.negatives import uniform
from core.evaluation.attacks.pairs import Pairs, contains, pair_keys
from core.evaluation.attacks.targets import LinkScorer
from core.evaluation.learning.features import Features
from core.evaluation.learning.limits import unlearnable
from core.evaluation.learning.pairs import cosine
from core.evaluation.metric import Suite
from core.evaluation.view import UndirectedView
from core.late import late
from core.privacy.entropy import public_generator

_boosted_trees = late("sklearn.ensemble:HistGradientBoostingClassifier")
_autoencoder = late("core.evaluation.learning.gcn:Autoencoder")
_propagation = late("core.evaluation.learning.tensors:propagation")

# Pairs of either kind that are learned from, of one shadow.
SHADOW_PAIRS = 5_000
ROUNDS, DEPTH, LEARNING_RATE = 100, 3, 0.1


TURNED = "Knows of the defence, and takes what scores lowest for links."


@dataclass(frozen=True, eq=False)
class Shadow:
    """A defended graph that an attacker held.

    With it are what the defence made of it, and the links that it was to hide.

    ``features``: those of its nodes, where they are known.
    """

    held: UndirectedView
    released: UndirectedView
    hidden: Pairs
    features: Features | None = None


@dataclass(frozen=True)
class Informed(LinkScorer):
    """Boosted trees that separate hidden links from other pairs.

    They are learned from shadows of the defence; the others have no link. A pair is described by degrees, by
    common neighbours of three weights, and by cosines: of rows learned by an auto-encoder of the release, and
    of features, as they are and spread along one and two links.
    """

    shadows: Sequence[Shadow] = field(repr=False)
    features: Features | None = field(default=None, repr=False)
    name: str = "informed"
    title: str = "Shadows of the defence"
    knowledge: str = (
        "Knows which released node is which person, and the defence with its parameters; has run it on "
        "graphs of their own and learned what it leaves around the links that it hides."
    )
    suite = Suite.FULL

    def applies(self, view: UndirectedView) -> str | None:
        if not self.shadows:
            return "There is no shadow of the defence to learn from."
        return unlearnable(view)

    def score(
        self, published: UndirectedView, source: np.ndarray, target: np.ndarray, seed: int
    ) -> np.ndarray:
        """Compute the log odds that a pair was hidden, float64. Time: an auto-encoder a shadow, and one."""
        rows, labels = [], []
        for number, shadow in enumerate(self.shadows):
            u, v, label = shadow_pairs(shadow, seed + number)
            rows.append(described(shadow.released, shadow.features, u, v, seed))
            labels.append(label)
        machine = _boosted_trees(
            max_iter=ROUNDS, max_depth=DEPTH, learning_rate=LEARNING_RATE, random_state=seed
        )
        machine.fit(np.concatenate(rows), np.concatenate(labels))
        features = described(published, self.features, source, target, seed)
        scores: np.ndarray = machine.decision_function(features).astype(np.float64)
        return scores


def shadow_pairs(shadow: Shadow, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sample labelled pairs of a shadow.

    ``(u, v, label)``: at most SHADOW_PAIRS hidden links of a shadow, and as many other pairs.
    """
    rng = public_generator(seed)
    chosen = rng.permutation(len(shadow.hidden[0]))[:SHADOW_PAIRS]
    u, v = shadow.hidden[0][chosen], shadow.hidden[1][chosen]
    wrong = uniform(shadow.held, len(chosen), rng)
    hidden = np.sort(pair_keys(shadow.held.node_count, *shadow.hidden))
    # A hidden link is none of the graph that was released, but one of the graph that was held: never "no
    # link".
    free = ~contains(hidden, pair_keys(shadow.held.node_count, *wrong))
    label = np.arange(len(u) + int(free.sum())) < len(u)
    return np.append(u, wrong[0][free]), np.append(v, wrong[1][free]), label


def described(
    view: UndirectedView, features: Features | None, u: np.ndarray, v: np.ndarray, seed: int
) -> np.ndarray:
    """Describe each pair in one row, float64.

    The columns are the same of every graph, with features or without.
    """
    # Which end comes first means nothing.
    low, high = np.sort(np.log1p(np.stack([view.degrees[u], view.degrees[v]])), axis=0)
    columns = [low, high]
    columns += [proximity(view, u, v, kind) for kind in ("common", "adamic_adar", "resource")]
    columns.append(cosine(view.once(_autoencoder(seed, features)), u, v))
    columns += [cosine(rows, u, v) for rows in _spread(view, features)]
    return np.stack(columns, axis=1)


def _spread(view: UndirectedView, features: Features | None) -> list[np.ndarray]:
    """Average features along no, one and two links; without features rows of zeros."""
    if features is None:
        return [np.zeros((view.node_count, 1))] * 3
    step, rows = _propagation(view), [np.asarray(features.values, dtype=np.float64)]
    for _ in range(2):
        rows.append(step @ rows[-1])
    return rows


def privacy_figure(aucs: Iterable[float]) -> float:
    """Return the best AUC of any attacker, whichever way round.

    It is the largest of AUC and 1 - AUC; 1/2 for none. The more attackers, the further mere chance takes it
    from 1/2: read it beside their intervals.
    """
    return max((max(auc, 1 - auc) for auc in aucs), default=0.5)
