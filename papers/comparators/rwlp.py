"""RW-LP: every link replaced by one to where a random walk ends.

The sensitive links are taken out first. Then every visible link (u, v) becomes (u, z), where z is the node
that a random walk of some steps from v reaches; which end walks is a coin. A walk that ends at u, or at a
pair that is taken, is walked again up to ten times, and the link is left out where that does not help. Short
walks leave links inside their neighbourhoods, which keeps the graph useful and the sensitive links inferable;
long ones lose both. Guarantee ``none``.
Source: Mittal, Papamanthou, Song, "Preserving link privacy in social network based systems", NDSS 2013, the
baseline "RW-LP" of PPGSL (2025, section V-A4).

What to expect: on Cora with walks of 5, an auto-encoder tells sensitive links with an AUC of .85 (.925
without a defence), other links with as much (.85, without .92), and a GCN classes nodes at an F1 of .76
(.84).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from core.methods.base import Progress
from papers._shared.defences.defence import defence
from papers._shared.defences.visible import Altered, DefenceParams, Visible

if TYPE_CHECKING:
    import numpy as np

    from core.privacy.entropy import Generator as Rng

TRIES = 10


class WalkParams(DefenceParams):
    """What a caller may set. All of it is public and enters the report."""

    RETIRED: ClassVar[Mapping[str, Any]] = {"share": 1.0}
    share: ClassVar[float] = RETIRED["share"]
    """Share of the visible links that is replaced."""

    length: int = Field(default=2, ge=1, le=100, description="Steps of each walk.")


def altered(visible: Visible, params: WalkParams, rng: Rng, progress: Progress) -> Altered:
    """Keep the links that stay, and move the others. O(TRIES * length * m + m log m)."""
    import numpy as np

    from core.methods._shared.matching.pairs import pack

    nodes, order = visible.nodes, rng.permutation(visible.links)
    count = int(params.share * len(order))
    u, v = np.divmod(order[:count], nodes)
    turned = rng.random(count) < 0.5
    u, v = np.where(turned, v, u), np.where(turned, u, v)
    starts, neighbours = _adjacency(visible)
    found = np.sort(order[count:])
    for _ in range(TRIES):
        end = v
        for _ in range(params.length):
            degree = starts[end + 1] - starts[end]
            end = neighbours[starts[end] + (rng.random(len(end)) * degree).astype(np.int64)]
        keys = pack(u, end, nodes)
        fits = (u != end) & ~np.isin(keys, found) & ~np.isin(keys, visible.sensitive)
        first = np.zeros(len(keys), dtype=bool)
        first[np.unique(keys, return_index=True)[1]] = True
        fits &= first
        found = np.union1d(found, keys[fits])
        u, v = u[~fits], v[~fits]
    return Altered(found, np.ones(len(found)))


def _adjacency(visible: Visible) -> tuple[np.ndarray, np.ndarray]:
    """Build the visible graph's rows: where each node's neighbours begin, and the neighbours."""
    import numpy as np

    low, high = np.divmod(visible.links, visible.nodes)
    row, column = np.append(low, high), np.append(high, low)
    starts = np.zeros(visible.nodes + 1, dtype=np.int64)
    starts[1:] = np.cumsum(np.bincount(row, minlength=visible.nodes))
    return starts, column[np.argsort(row, kind="stable")]


GENERATOR = defence(
    module=__name__,
    name="rwlp",
    title="RW-LP",
    summary=("Moves an end of every link along a random walk, to compare defences with. Guarantee none."),
    Params=WalkParams,
    altered=altered,
)
