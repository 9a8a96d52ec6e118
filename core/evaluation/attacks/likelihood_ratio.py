"""Edge membership by a likelihood ratio learned on shadow releases.

The attacker knows the method and its parameters, so they can publish graphs of their own and see what the
method makes of links and of other pairs. A shadow is such a pair of graphs: one that the attacker holds (the
release itself will do) and its own release by the same method. Over the shadows the attacker estimates
p(x | link) and p(x | no link) for what a release shows of a pair, x, and ranks the real targets by

    log p(x | link) - log p(x | no link).

x is whether the release links the pair (a Bernoulli variable) and SCALED, the logarithms of its proximity
scores and degrees with whether one component holds both ends (a Gaussian vector given class and link). This
is LiRA's test (Carlini et al., "Membership Inference Attacks From First Principles", IEEE S&P 2022) with one
density for all pairs in place of one for each, since a record here is one pair among very many alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from core.evaluation.attacks.heuristics import affordable, proximity
from core.evaluation.attacks.pairs import are_linked
from core.evaluation.attacks.targets import LinkScorer, draw_targets
from core.evaluation.utility import components
from core.evaluation.view import UndirectedView

# Pairs drawn from each shadow, half of them links; fewer where degrees are very great.
SHADOW_PAIRS = 10_000
FEWEST_LINKS = 20
PRIOR_PAIRS = 50
RIDGE = 0.05
# Standard deviations; what lies beyond counts as this far, so that one odd pair cannot outweigh its link.
CLIP = 4.0


def features(view: UndirectedView, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Describe what a release shows of each pair.

    The result is float64 (pairs, 7): 1 for a link, then SCALED.
    """
    degrees = np.log1p(np.stack([view.degrees[source], view.degrees[target]]))
    parts = view.once(components.labels)
    return np.stack(
        [
            are_linked(view, source, target).astype(np.float64),
            *(np.log1p(proximity(view, source, target, kind)) for kind in PROXIMITIES),
            degrees.sum(axis=0),
            np.abs(degrees[0] - degrees[1]),
            (parts[source] == parts[target]).astype(np.float64),
        ],
        axis=1,
    )


PROXIMITIES = ("common", "adamic_adar", "resource")
SCALED = (*PROXIMITIES, "degree_sum", "degree_difference", "same_component")


@dataclass(frozen=True)
class Densities:
    """Both classes' densities.

    Class c = 0 is no link of the original, 1 is a link. ``linked[c]`` is the share that the release links;
    ``mean[a, c]`` and ``covariance[a, c]`` describe the Gaussian columns of the pairs that it does not link
    (a = 0) and does (a = 1), after standardising by ``centre`` and ``scale``.
    """

    linked: np.ndarray
    centre: np.ndarray
    scale: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray

    @classmethod
    def learned(cls, x: np.ndarray, label: np.ndarray) -> Densities:
        """Estimate densities from features (pairs, 7) and bool labels.

        Both classes are there. Linked shares with half a pair added to either outcome. Columns are
        standardised over all pairs and clipped. Mean and covariance of a cell (a, c) with k pairs are shrunk
        towards those of both classes with the same a, which weigh ``PRIOR_PAIRS`` against k: a cell without
        pairs says nothing.
        """
        linked = np.array([(part[:, 0].sum() + 0.5) / (len(part) + 1) for part in (x[~label], x[label])])
        centre, scale = x[:, 1:].mean(axis=0), x[:, 1:].std(axis=0)
        scale = np.where(scale > 1e-12, scale, 1.0)
        rest, seen = _standard(x, centre, scale), x[:, 0] > 0
        width = len(centre)
        mean, covariance = np.zeros((2, 2, width)), np.zeros((2, 2, width, width))
        for a in (0, 1):
            both = rest[seen == a]
            common = _moments(both, np.zeros(width), np.eye(width))
            for c in (0, 1):
                mean[a, c], covariance[a, c] = _moments(rest[(seen == a) & (label == c)], *common)
        # Columns that hardly vary, or go together, would make a covariance that cannot be inverted.
        return cls(linked, centre, scale, mean, covariance + RIDGE * np.eye(width))

    def log_ratio(self, x: np.ndarray) -> np.ndarray:
        """Compute each row's log likelihood ratio. It is log p(x | link) - log p(x | no link), float64."""
        rest, seen = _standard(x, self.centre, self.scale), x[:, 0] > 0
        logs = np.zeros((2, len(x)))
        for c in (0, 1):
            logs[c] = np.where(seen, np.log(self.linked[c]), np.log1p(-self.linked[c]))
            for a in (0, 1):
                rows = seen == a
                logs[c, rows] += _log_density(rest[rows], self.mean[a, c], self.covariance[a, c])
        ratio: np.ndarray = logs[1] - logs[0]
        return ratio


def _standard(x: np.ndarray, centre: np.ndarray, scale: np.ndarray) -> np.ndarray:
    standard: np.ndarray = np.clip((x[:, 1:] - centre) / scale, -CLIP, CLIP)
    return standard


def _moments(x: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute mean and covariance of the rows, shrunk towards those given."""
    if not len(x):
        return mean, covariance
    weight = len(x) / (len(x) + PRIOR_PAIRS)
    own = x.mean(axis=0)
    spread = (x - own).T @ (x - own) / len(x)
    return weight * own + (1 - weight) * mean, weight * spread + (1 - weight) * covariance


def _log_density(x: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Compute a Gaussian's log density, up to the constant that both classes share."""
    factor = np.linalg.cholesky(covariance)
    whitened = np.linalg.solve(factor, (x - mean).T)
    # Half of the log determinant is the sum of the factor's log diagonal.
    density: np.ndarray = -0.5 * (whitened**2).sum(axis=0) - np.log(np.diag(factor)).sum()
    return density


Shadow = tuple[UndirectedView, UndirectedView]


@dataclass(frozen=True)
class LikelihoodRatio(LinkScorer):
    """The attack with its ``shadows``. They are views (held, released), of the relation under attack."""

    shadows: Sequence[Shadow] = field(default=())
    name: str = "likelihood_ratio"
    title: str = "Likelihood ratio from shadow releases"
    knowledge: str = (
        "Knows which released node is which person, the method and its parameters; publishes graphs they "
        "hold by the same method, learns what becomes of links and of other pairs, and ranks pairs by the "
        "log likelihood ratio of link, proximity scores, degrees and component (after LiRA)."
    )

    def applies(self, view: UndirectedView) -> str | None:
        if not self.shadows:
            return "No shadow releases were made: the attacker learns from them."
        if not any(held.edge_count >= FEWEST_LINKS for held, _ in self.shadows):
            return f"Every shadow graph has fewer than {FEWEST_LINKS} links of this relation."
        return None

    def score(
        self, published: UndirectedView, source: np.ndarray, target: np.ndarray, seed: int
    ) -> np.ndarray:
        """Compute the log ratio of each pair.

        Densities are learned anew, from pairs sampled with ``seed``.
        """
        seen, labels = [], []
        for number, (held, released) in enumerate(self.shadows):
            if held.edge_count < FEWEST_LINKS:
                continue
            limit = min(SHADOW_PAIRS, affordable(released))
            pairs = draw_targets(held, limit, seed + number)
            if pairs.negatives:
                seen.append(features(released, pairs.source, pairs.target))
                labels.append(pairs.label)
        if not seen:
            return np.zeros(len(source))
        densities = Densities.learned(np.concatenate(seen), np.concatenate(labels))
        return densities.log_ratio(features(published, source, target))
