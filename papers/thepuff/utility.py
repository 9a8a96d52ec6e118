"""The utility discriminator.

It learns from original edges under DP-SGD, or from raw walks without a guarantee. Sound form (one edge is one
example): a sampled original edge is the middle of a walk that is extended on both sides through the perturbed
graph only, so that an edge touches one clipped gradient a step. The negatives are typed walks of candidates
sampled by their weights; they cost nothing, and pass through the same clip and divisor, since a free negative
gradient next to clipped positive ones makes the discriminator a constant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

from core.methods.base import Progress
from core.privacy import entropy
from core.privacy.accounting.dp_sgd import DpSgd
from core.privacy.accounting.plan import CellKey
from core.privacy.mechanisms.gradients import DpSgdSession, Sampled
from papers.thepuff.embedding import Candidates, Embedding
from papers.thepuff.networks import Discriminator, PublishedDiscriminator, Shown
from papers.thepuff.schedule import Settings
from papers.thepuff.snapshots import Snapshots
from papers.thepuff.walks import Walks, edge_anchored, edge_started, middles

CLIP = 1.0
LEARNING_RATE = 5e-3
OURS = Settings(0)


@dataclass(frozen=True)
class Metered:
    """Original edges, behind a session that pays.

    ``open(module=, optimiser=, clip=, divisor=)`` opens the session over ``cells``, in this order, for the
    steps of ``training``: ``PrivateGraph.dp_sgd`` with the rest of its arguments filled in.
    """

    open: Callable[..., DpSgdSession]
    cells: tuple[CellKey, ...]
    training: DpSgd


@dataclass(frozen=True)
class Raw:
    """The original graph's own snapshots. They are the paper's variant, which has no guarantee."""

    snapshots: Snapshots
    batches: int


class Viewer:
    """Shows walks of node numbers to a discriminator. It shows vectors, types, valid places.

    With ``one_step`` a walk's own step is not shown: generated walks have none, nodes have.
    """

    def __init__(
        self, snapshots: Snapshots, embedding: Embedding, place: torch.device, one_step: bool = False
    ) -> None:
        self.layout, self.embedding, self.place = snapshots.layout, embedding, place
        self.one_step = one_step
        self.table = torch.from_numpy(embedding.table).to(place)
        same = embedding.over_time is embedding.table
        self.over_time = self.table if same else torch.from_numpy(embedding.over_time).to(place)

    def __call__(self, walks: Walks) -> Shown:
        """Show the walks as tensors on the device; O(walks * length * d)."""
        valid = walks.nodes >= 0
        nodes = np.maximum(walks.nodes, 0)
        rows = torch.from_numpy(np.array(self.embedding.rows(walks.steps[:, None], nodes)))
        kinds = torch.from_numpy(self.layout.type_of(nodes)).to(self.place)
        return Shown(
            self.table[rows.to(self.place)],
            self.over_time[torch.from_numpy(nodes).to(self.place)],
            functional.one_hot(kinds, len(self.layout.types)).to(self.table.dtype),
            torch.from_numpy(valid).to(self.place),
            torch.from_numpy(np.zeros_like(walks.steps) if self.one_step else walks.steps).to(self.place),
        )


def steps_drawn(snapshots: Snapshots, count: int, rng: entropy.Generator) -> np.ndarray:
    """Sample ``count`` steps in proportion to their edges.

    These are to be made; steps are those with an anchor edge; int64. Empty where no step has any.
    """
    weight = snapshots.step_counts * (np.diff(snapshots.anchor_start) > 0)
    total = weight.sum()
    if total <= 0:
        return np.empty(0, np.int64)
    return rng.choice(len(weight), size=count, p=weight / total)


def random_walks(
    snapshots: Snapshots, choices: Candidates, count: int, length: int, rng: entropy.Generator
) -> Walks:
    """Sample walks without structure. Types are as in walks of the snapshots, nodes by their weights only."""
    pattern = edge_started(snapshots, steps_drawn(snapshots, count, rng), length, rng)
    types = snapshots.layout.type_of(pattern.nodes)
    block = choices.block[pattern.steps[:, None], types]
    mass = np.concatenate([[0.0], np.cumsum(np.exp(choices.weights.astype(np.float64)))])
    low, high = choices.start[block], choices.start[block + 1]
    wanted = mass[low] + rng.random(block.shape) * (mass[high] - mass[low])
    at = np.searchsorted(mass, wanted, side="right") - 1
    return Walks(pattern.steps, choices.nodes[np.clip(at, low, high - 1)])


def trained(
    source: Metered | Raw,
    snapshots: Snapshots,
    choices: Candidates,
    viewer: Viewer,
    module: Discriminator | PublishedDiscriminator,
    *,
    length: int,
    batch: int,
    seed: Callable[[int], int],
    progress: Progress,
    settings: Settings = OURS,
) -> list[float]:
    """Train ``module`` to separate original walks from random ones.

    Returned is its curve, step by step. The curve is the loss only of the negatives where the source is
    metered: that of the positives would have to be paid for.
    """
    if isinstance(source, Raw):
        return _plain(source, snapshots, choices, viewer, module, length, batch, seed, progress, settings)
    return _metered(source, snapshots, choices, viewer, module, length, progress)


def _metered(
    source: Metered,
    snapshots: Snapshots,
    choices: Candidates,
    viewer: Viewer,
    module: Discriminator | PublishedDiscriminator,
    length: int,
    progress: Progress,
) -> list[float]:
    layout = snapshots.layout
    by_name = {relation.name: relation for relation in layout.relations}
    step_of = np.array([step or 0 for _, step in source.cells])
    offsets = np.array(
        [
            [layout.offsets[by_name[name].source], layout.offsets[by_name[name].target]]
            for name, _ in source.cells
        ]
    )
    expected = float(source.training.rate) * sum(max(snapshots.counts[cell], 0) for cell in source.cells)
    negatives = max(1, round(expected))
    optimiser = torch.optim.Adam(module.parameters(), lr=LEARNING_RATE)
    session = source.open(
        module=module, optimiser=optimiser, clip=CLIP, divisor=max(expected, 1.0) + negatives
    )
    # Coins of the walks are as secret as the session's own: known ones would tell rows apart.
    rng = entropy.noise_generator()

    def examples(edges: Sampled) -> tuple[torch.Tensor, ...]:
        ends = offsets[edges.cell]
        walks = edge_anchored(
            snapshots,
            step_of[edges.cell],
            edges.source + ends[:, 0],
            edges.target + ends[:, 1],
            length,
            rng,
            places=middles(length),
        )
        return (*viewer(walks).parts(), torch.ones(len(walks), device=viewer.place))

    curve = []
    for done in range(source.training.steps):
        public = None
        if steps_drawn(snapshots, 1, rng).size:
            shown = viewer(random_walks(snapshots, choices, negatives, length, rng))
            public = (*shown.parts(), torch.zeros(negatives, device=viewer.place))
            with torch.no_grad():
                curve.append(float(functional.softplus(module(*shown.parts())).mean()))
        session.step(_loss, examples, public)
        progress("utility", done + 1, source.training.steps)
    return curve


def _loss(
    call: Callable[..., torch.Tensor],
    time: torch.Tensor,
    over: torch.Tensor,
    kinds: torch.Tensor,
    valid: torch.Tensor,
    step: torch.Tensor,
    label: torch.Tensor,
) -> torch.Tensor:
    """Compute the logistic loss of one walk."""
    logit = call(time, over, kinds, valid, step)
    return functional.softplus(logit) - label * logit


def separating(real: torch.Tensor, fake: torch.Tensor, linear: bool) -> torch.Tensor:
    """Compute a discriminator's loss of the logits of real and other walks.

    ``linear``: Eq. 10 and 12, the sum of the probabilities' differences; else logistic, a mean.
    """
    if linear:
        return (torch.sigmoid(fake) - torch.sigmoid(real)).sum()
    return functional.softplus(-real).mean() + functional.softplus(fake).mean()


def passing(logits: torch.Tensor, linear: bool) -> torch.Tensor:
    """Compute the generator's loss of one discriminator's logits: its part of Eq. 15, or logistic."""
    return -torch.sigmoid(logits).sum() if linear else functional.softplus(-logits).mean()


def _plain(
    source: Raw,
    snapshots: Snapshots,
    choices: Candidates,
    viewer: Viewer,
    module: Discriminator | PublishedDiscriminator,
    length: int,
    batch: int,
    seed: Callable[[int], int],
    progress: Progress,
    settings: Settings,
) -> list[float]:
    """Run Algorithm 2, lines 3 to 6."""
    kind = torch.optim.SGD if settings.published_optimisers else torch.optim.Adam
    optimiser = kind(module.parameters(), lr=settings.discriminator_rate)
    curve: list[float] = []
    for done in range(source.batches):
        rng = entropy.public_generator(seed(done))
        steps = steps_drawn(source.snapshots, batch, rng)
        if not steps.size or not steps_drawn(snapshots, 1, rng).size:
            break
        real = viewer(edge_started(source.snapshots, steps, length, rng))
        fake = viewer(random_walks(snapshots, choices, batch, length, rng))
        loss = separating(module(*real.parts()), module(*fake.parts()), settings.linear_losses)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        curve.append(float(loss.detach()))
        progress("utility", done + 1, source.batches)
    return curve
