"""DICE: links deleted around the sensitive ones, links added far from them.

The sensitive links are taken out first. Of the visible links those with an end that is also the end of a
sensitive link are deleted, a number of them at random; as many pairs are joined of nodes that are the end of
none. What hides a sensitive link is that its ends lose their neighbours; what gives that away is that they
have fewer than before. Where too few links or pairs are of the sort, as many are changed as there are.
Guarantee ``none``.
Source: Waniek, Michalak, Wooldridge, Rahwan, "Hiding individuals and communities in a social network", Nature
Human Behaviour 2018, in the form that PPGSL (2025, section V-A4) compares with.

What to expect: on Cora with a share of .5, an auto-encoder tells sensitive links with an AUC of .76 (.925
without a defence), other links with .715 (.92), and a GCN classes nodes at an F1 of .70 (.84).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from core.methods.base import Progress
from papers._shared.defences.defence import defence
from papers._shared.defences.visible import Altered, DefenceParams, Visible

if TYPE_CHECKING:
    from core.privacy.entropy import Generator as Rng


class DiceParams(DefenceParams):
    """What a caller may set. All of it is public and enters the report."""

    share: float = Field(
        default=0.3,
        ge=0,
        le=1,
        description="Number of links deleted and of links added, as a share of the visible links.",
    )


def altered(visible: Visible, params: DiceParams, rng: Rng, progress: Progress) -> Altered:
    """Keep the links that stay, and add those that come. O(m log m)."""
    import numpy as np

    from papers._shared.defences.absent import absent_pairs

    nodes, count = visible.nodes, int(params.share * len(visible.links))
    named = np.zeros(nodes, dtype=bool)
    for ends in np.divmod(visible.sensitive, nodes):
        named[ends] = True
    low, high = np.divmod(visible.links, nodes)
    near = named[low] | named[high]
    deleted = rng.permutation(visible.links[near])[:count]
    others = np.flatnonzero(~named)
    # Pairs of the other nodes, by their places among them, which keeps the order of keys.
    inside = ~near
    places = np.searchsorted(others, low[inside]) * len(others) + np.searchsorted(others, high[inside])
    first, second = np.divmod(absent_pairs(places, len(others), count, rng), max(len(others), 1))
    kept = np.setdiff1d(visible.links, deleted, assume_unique=True)
    keys = np.union1d(kept, others[first] * nodes + others[second])
    return Altered(keys, np.ones(len(keys)))


GENERATOR = defence(
    module=__name__,
    name="dice",
    title="DICE",
    summary=(
        "Deletes links around the sensitive ones and adds others away from them, to compare defences with. "
        "Guarantee none."
    ),
    Params=DiceParams,
    altered=altered,
)
