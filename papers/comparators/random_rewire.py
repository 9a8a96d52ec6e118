"""Random rewiring: links taken out at random, and as many others put in at random.

The sensitive links are taken out first; of the visible ones a share is removed, and the same number of pairs
that were no links is added, both uniformly. It looks at nothing, so it is what every defence must beat: the
neighbourhoods that give sensitive links away thin out no faster than everything else. Guarantee ``none``.
Source: the baseline "Random" of Wu, Yang, Han, Wang, Wu, "Learning-based privacy-preserving graph publishing
against sensitive link inference attacks" (PPGSL), 2025, section V-A4.

What to expect: on Cora with a share of .5, an auto-encoder tells sensitive links with an AUC of .74 (.925
without a defence), other links with as much (.74, without .92), and a GCN classes nodes at an F1 of .65
(.84).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from core.methods.base import Progress
from papers._shared.defences.defence import defence
from papers._shared.defences.visible import Altered, DefenceParams, Visible

if TYPE_CHECKING:
    from core.privacy.entropy import Generator as Rng


class RewireParams(DefenceParams):
    """What a caller may set. All of it is public and enters the report."""

    share: float = Field(default=0.3, ge=0, le=1, description="Share of the visible links that is replaced.")


def altered(visible: Visible, params: RewireParams, rng: Rng, progress: Progress) -> Altered:
    """Keep the links that stay, and add those that come. O(m log m)."""
    import numpy as np

    from papers._shared.defences.absent import absent_pairs

    count = int(params.share * len(visible.links))
    kept = rng.permutation(visible.links)[count:]
    taken = np.union1d(visible.links, visible.sensitive)
    keys = np.union1d(kept, absent_pairs(taken, visible.nodes, count, rng))
    return Altered(keys, np.ones(len(keys)))


GENERATOR = defence(
    module=__name__,
    name="random_rewire",
    title="Random rewiring",
    summary="Replaces a share of the links by random ones, to compare defences with. Guarantee none.",
    Params=RewireParams,
    altered=altered,
)
