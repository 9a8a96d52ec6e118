"""The public facts of a training. Sizes, rates, how many batches, and the seed of each."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

EDGES_A_WALK = 6
MOST_WALKS_AN_EPOCH = 2**17


def batches_an_epoch(edges: int, batch: int) -> int:
    """Count the batches of an epoch.

    It goes by the paid count of all edges to be made: a walk for six edges. About what the paper's program
    takes on MovieLens-100k: 260 batches of 64.
    """
    walks = min(max(edges, 1) / EDGES_A_WALK, MOST_WALKS_AN_EPOCH)
    return max(1, math.ceil(walks / batch))


def seed_of(seed: int, phase: int, batch: int) -> int:
    """Derive a seed below 2^63 for a phase's batch."""
    digest = hashlib.sha256(f"{seed}/{phase}/{batch}".encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


@dataclass(frozen=True)
class Settings:
    """The public facts of a training.

    ``batches`` adversarial batches in all. ``exact_up_to`` and ``sampled``: see
    :mod:`papers.thepuff.sampled_softmax`. ``learn_weights``: the candidates' log degrees are where
    their weights begin, not where they stay. A ``privacy_weight`` of 0 leaves the privacy discriminator out.
    From ``dropout`` on the defaults are ours; the parameters of variant paper say what else there is.
    """

    batches: int
    batch: int = 64
    length: int = 5
    dimensions: int = 64
    hidden: int = 64
    width: int = 32
    utility_width: int = 16
    privacy_weight: float = 1.0
    utility_weight: float = 0.5
    learn_weights: bool = False
    generator_rate: float = 1e-3
    discriminator_rate: float = 1e-3
    exact_up_to: int = 4096
    sampled: int = 1024
    dropout: float = 0.0
    published_attention: bool = False
    published_optimisers: bool = False
    linear_losses: bool = False
    degree_weights: bool = True
    across_steps: bool = False
    just_walks: int | None = None
    just_length: int = 20
    generator_every: int = 1

    def stride(self, steps: int) -> int:
        """Tell how many candidate numbers a node has: one a step and one without, or one in all."""
        return steps + 1 if self.across_steps and steps > 1 else 1
