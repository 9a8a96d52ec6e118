"""Targets of attacks on links.

Pairs of nodes, half of them links of the original. A :class:`LinkScorer` sees the published graph and the
pairs, never the labels, and says how likely each pair is a link of the original. Nodes of both graphs are
aligned by index: the attacker knows who is who.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np

from core.evaluation.attacks import negatives as draws
from core.evaluation.attacks.pairs import Pairs
from core.evaluation.metric import Suite
from core.evaluation.view import UndirectedView
from core.privacy.entropy import public_generator

Negatives = Literal["degree_matched", "uniform"]
MAX_TARGETS = 20_000


class LinkScorer(ABC):
    """One attack on links. ``name`` is a JSON name, ``knowledge`` says what the attacker knows and does.

    ``suite`` is the smallest suite that runs it, ``max_targets`` the most pairs it scores.
    """

    name: str
    title: str
    knowledge: str
    suite: Suite = Suite.STANDARD
    max_targets: int = MAX_TARGETS

    def applies(self, view: UndirectedView) -> str | None:
        """Say why the attack is not run, or None. It is in plain words, of a graph of this size or kind."""
        return None

    @abstractmethod
    def score(
        self, published: UndirectedView, source: np.ndarray, target: np.ndarray, seed: int
    ) -> np.ndarray:
        """Score each pair, higher where a link is likelier.

        One float64 a pair; same seed, same scores. No NaN.

        ``source`` and ``target`` are int64 indices of the view's nodes (of a bipartite view: one end on each
        side, source first).
        """


@dataclass(frozen=True)
class LinkTargets:
    """Pairs of a view's nodes, and which are links.

    They are (``source``, ``target``), int64, and whether each is a link, bool.
    """

    source: np.ndarray
    target: np.ndarray
    label: np.ndarray

    @property
    def positives(self) -> int:
        return int(self.label.sum())

    @property
    def negatives(self) -> int:
        return len(self.label) - self.positives


def draw_targets(
    view: UndirectedView,
    limit: int,
    seed: int,
    negatives: Negatives = "degree_matched",
    positives: Pairs | None = None,
) -> LinkTargets:
    """Sample at most ``limit`` targets, half of them links.

    They are links of ``view``, the other half pairs without a link; no pair twice. Positives are a uniform
    sample of the links, or of ``positives``: given links, such as the sensitive ones. ``degree_matched``
    negatives are the positives' ends, paired anew: every node stands in as many negatives as positives, and
    partners have similar degrees, so that degrees by themselves say nothing. ``uniform`` negatives are
    sampled from all pairs without a link (PPGSL, V-A3). Fewer negatives where the graph has no room for more.
    O(m + limit log m).
    """
    rng = public_generator(seed)
    source, target = (view.u, view.v) if positives is None else positives
    chosen = rng.permutation(len(source))[: max(limit // 2, 0)]
    source, target = source[chosen].astype(np.int64), target[chosen].astype(np.int64)
    if negatives == "degree_matched":
        wrong_source, wrong_target = draws.degree_matched(view, source, target, rng)
    else:
        wrong_source, wrong_target = draws.uniform(view, len(source), rng)
    label = np.arange(len(source) + len(wrong_source)) < len(source)
    return LinkTargets(np.concatenate([source, wrong_source]), np.concatenate([target, wrong_target]), label)
