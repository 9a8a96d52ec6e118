"""PPNE: links flipped a few at a time, those that hide the most for the least change first.

The sensitive links are taken out first. Then, in a fixed number of rounds, some links and some pairs without
one are drawn as candidates; of each it is worked out, to first order, how much flipping it lowers the
proximity of the sensitive pairs and how much it changes proximities altogether, and the candidates with the
best ratio are flipped. It stops flipping where nothing helps. Guarantee ``none``.

Proximity is that of random walks: P = Y^2 + Y^3 of the smoothed adjacency Y = D^-1/2 (A + I) D^-1/2, summed
over the sensitive pairs. Its derivative at a pair is read off G = SY + YS + SY^2 + YSY + Y^2 S, S the matrix
of sensitive pairs; a flip also changes two degrees, hence whole rows of Y. The change altogether is that of Y
and Y^2 in squared length. The paper measures both on embeddings that it learns again for every few flips,
which took its authors minutes a round; the closed form is ours, so that this is a method of its kind and not
its program.
Source: Han, Yang, Wang, Wu, "Privacy-preserving network embedding against private link inference attacks",
IEEE TDSC 2023, the baseline "PPNE" of PPGSL (2025, section V-A4).

What to expect: on Cora with a share of .4, an auto-encoder tells sensitive links with an AUC of .82 (.925
without a defence) and common neighbours with .50 (.71); other links with .87 (.92), and a GCN classes nodes
at an F1 of .81 (.84).
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
    import scipy.sparse as sp

    from core.privacy.entropy import Generator as Rng


class PpneParams(DefenceParams):
    """What a caller may set. All of it is public and enters the report."""

    RETIRED: ClassVar[Mapping[str, Any]] = {"rounds": 20, "candidates": 5.0}
    rounds: ClassVar[int] = RETIRED["rounds"]
    """How often the best flips are looked for."""
    candidates: ClassVar[float] = RETIRED["candidates"]
    """Links, and as many pairs without one, that a round looks at for each that it may flip."""

    share: float = Field(
        default=0.2, ge=0, le=1, description="Most pairs that are flipped, as a share of the visible links."
    )


def altered(visible: Visible, params: PpneParams, rng: Rng, progress: Progress) -> Altered:
    """Make the flips. O(rounds * (sums of squared degrees + m log m))."""
    import numpy as np

    from papers._shared.defences.absent import absent_pairs

    links, total = visible.links, int(params.share * len(visible.links))
    for done in range(params.rounds):
        left = total * (done + 1) // params.rounds - total * done // params.rounds
        drawn = int(params.candidates * left)
        taken = np.union1d(links, visible.sensitive)
        present = rng.permutation(links)[:drawn]
        absent = absent_pairs(taken, visible.nodes, drawn, rng)
        gain, change = flips(links, visible.sensitive, visible.nodes, present, absent)
        order = np.argsort(-gain / change, kind="stable")[:left]
        chosen = np.append(present, absent)[order[gain[order] > 0]]
        links = np.setxor1d(links, chosen, assume_unique=True)
        progress("flip", done + 1, params.rounds)
    return Altered(links, np.ones(len(links)))


def flips(
    links: np.ndarray, sensitive: np.ndarray, nodes: int, present: np.ndarray, absent: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Compute by how much each candidate, links to delete and then pairs to add, lowers P, and its change.

    To first order, float64; the change is positive. All are sorted or unsorted int64 keys.
    """
    import numpy as np
    import scipy.sparse as sp

    step = smoothed(links, nodes)
    hidden = symmetric(sensitive, nodes)
    near = hidden @ step
    twice = near @ step
    slope = sp.csr_array(near + near.T + twice + step @ near + twice.T)
    row_slope = np.asarray(step.multiply(slope).sum(axis=1)).ravel()
    size = 1 / step.diagonal()  # degrees and one
    length = np.asarray(step.multiply(step).sum(axis=1)).ravel()
    u, v = np.divmod(np.append(present, absent), nodes)
    sign = np.where(np.arange(len(u)) < len(present), -1.0, 1.0)
    entry = 1 / np.sqrt(size[u] * size[v])
    there = np.asarray(slope[u, v]).ravel() if len(u) else np.zeros(0)
    raised = sign * (2 * entry * there - row_slope[u] / size[u] - row_slope[v] / size[v])
    return -raised, entry**2 * (1 + length[u] + length[v])


def smoothed(links: np.ndarray, nodes: int) -> sp.csr_array:
    """Compute Y, as a sparse (nodes, nodes) matrix."""
    import numpy as np
    import scipy.sparse as sp

    looped = symmetric(links, nodes) + sp.eye_array(nodes, format="csr")
    scale = sp.diags_array(1 / np.sqrt(np.asarray(looped.sum(axis=1)).ravel()))
    return sp.csr_array(scale @ looped @ scale)


def symmetric(keys: np.ndarray, nodes: int) -> sp.csr_array:
    """Build the sparse adjacency of the pairs, with a one in both directions of each."""
    import numpy as np
    import scipy.sparse as sp

    u, v = np.divmod(keys, nodes)
    ends = np.append(u, v), np.append(v, u)
    return sp.csr_array(sp.coo_array((np.ones(2 * len(u)), ends), shape=(nodes, nodes)))


GENERATOR = defence(
    module=__name__,
    name="ppne",
    title="PPNE",
    summary=(
        "Flips the links and pairs that lower the proximity of sensitive pairs most for the change they "
        "make, to compare defences with. Guarantee none."
    ),
    Params=PpneParams,
    altered=altered,
)
