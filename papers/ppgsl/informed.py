"""What is left for an attacker who knows the defence.

It is how sensitive links differ from pairs that are none. Pushed below other pairs, or robbed of their
neighbours, sensitive pairs are identified by whoever has run the defence on graphs of their own. So they are
not pushed down, but made to look like *reference* pairs: pairs that are no links, and as alike in their
public features as the sensitive ones are, since what features say is known without a release. Where nothing
else tells one kind from the other, the release adds nothing to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

from core.privacy.entropy import Generator as Rng
from papers._shared.defences.absent import absent_pairs
from papers._shared.defences.visible import Visible
from papers.ppgsl.sparse import Pattern
from papers.ppgsl.surrogate import Features, Identity, Smoothed

WIDTH, DIRECTIONS, POOL, CHUNK = 64, 16, 50, 65_536
"""Columns of projected features, directions of a step, random pairs to choose a reference pair from, and
pairs that are compared at a time."""

STANDARD_DEVIATION = 0.25
"""What one standard deviation counts, so that one default of alpha suits both losses. Tuned on Cora and
PolBlogs."""


@dataclass(frozen=True)
class Traces:
    """An informed attacker's view of pairs, and reference pairs.

    ``reference``: (2, s) ends. ``rows``: (nodes, WIDTH) projected features, at random where there are none.
    """

    reference: torch.Tensor
    rows: torch.Tensor

    def described(
        self, pattern: Pattern, weights: torch.Tensor, embedded: torch.Tensor, pairs: torch.Tensor
    ) -> torch.Tensor:
        """Describe (2, s) pairs by 5 numbers each.

        They are degrees, and cosines of learned and of spread features.
        """
        degrees = torch.log1p(pattern.row_sums(weights))
        graph = Smoothed(pattern, weights, False)
        near = graph @ self.rows
        u, v = (degrees.index_select(0, each) for each in pairs)
        cosines = [alike(rows, pairs) for rows in (embedded, near, graph @ near)]
        return torch.stack([torch.minimum(u, v), torch.maximum(u, v), *cosines], dim=1)

    def told(
        self,
        pattern: Pattern,
        weights: torch.Tensor,
        embedded: torch.Tensor,
        sensitive: torch.Tensor,
    ) -> torch.Tensor:
        """Measure the sensitive pairs' distance from the reference pairs.

        It is between their descriptions. The sliced Wasserstein distance: the mean, over each description by
        itself and over random directions, of the distance between sorted values. 0 where both are distributed
        alike, so that pushing further costs as much as not pushing enough. Source: Bonneel, Rabin, Peyre and
        Pfister, "Sliced and Radon Wasserstein barycenters of measures", 2015.
        """
        if not sensitive.shape[1] or not self.reference.shape[1]:
            return weights.sum() * 0
        both = torch.cat([sensitive, self.reference], dim=1)
        found = self.described(pattern, weights, embedded, both)
        ours, theirs = found[: sensitive.shape[1]], found[sensitive.shape[1] :]
        spread = theirs.detach().std(dim=0, correction=0).clamp(min=1e-3)
        each = torch.eye(found.shape[1], device=found.device)
        mixed = functional.normalize(torch.randn(found.shape[1], DIRECTIONS, device=found.device), dim=0)
        seen = torch.cat([each, mixed], dim=1)
        ours, theirs = (((rows / spread) @ seen).sort(dim=0).values for rows in (ours, theirs))
        return STANDARD_DEVIATION * (ours - theirs).abs().mean()


def alike(rows: torch.Tensor, pairs: torch.Tensor) -> torch.Tensor:
    """Compute the cosine of each pair's rows."""
    u, v = (functional.normalize(rows.index_select(0, each), dim=1, eps=1e-6) for each in pairs)
    return (u * v).sum(1)


def traces_of(visible: Visible, features: Features, inputs: int, place: torch.device, rng: Rng) -> Traces:
    """Draw one reference pair for every sensitive link. O(POOL * sensitive links) where there are features.

    A graph that has fewer pairs without a link gives them several times over, a complete one none.
    """
    taken = np.union1d(visible.links, visible.sensitive)
    known, count = not isinstance(features, Identity), len(visible.sensitive)
    width = (inputs, WIDTH) if known else (visible.nodes, WIDTH)
    rows = features @ torch.randn(width, device=place)
    pool = absent_pairs(taken, visible.nodes, count * (POOL if known else 1), rng)
    if known and len(pool):
        wanted = _alike(rows, visible.sensitive, visible.nodes)
        pool = pool[nearest(_alike(rows, pool, visible.nodes), wanted)]
    elif len(pool):
        pool = np.resize(pool, count)
    return Traces(_ends(pool, visible.nodes, place), rows)


def _alike(rows: torch.Tensor, keys: np.ndarray, nodes: int) -> np.ndarray:
    parts = np.split(keys, range(CHUNK, len(keys), CHUNK))
    return np.concatenate([alike(rows, _ends(part, nodes, rows.device)).cpu().numpy() for part in parts])


def nearest(offered: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Choose a near offered value for every wanted one.

    Returned is its place, no place twice while enough are there. Both are sorted; a value takes the nearest
    place that leaves one for each value above it. O(k log k).
    """
    order = np.argsort(offered, kind="stable")
    rank = np.argsort(wanted, kind="stable")
    at = np.searchsorted(offered[order], wanted[rank])
    spare = len(offered) - len(wanted)
    steps = np.arange(len(wanted))
    at = np.maximum.accumulate(np.minimum(at, spare + steps) - steps) + steps
    found = np.empty(len(wanted), dtype=np.int64)
    found[rank] = order[np.clip(at, 0, len(offered) - 1)]
    return found


def _ends(keys: np.ndarray, nodes: int, place: torch.device) -> torch.Tensor:
    return torch.from_numpy(np.stack(np.divmod(keys, nodes))).to(place)
