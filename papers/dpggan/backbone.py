"""GVAE and GGAN, trained on a readable graph.

They have an encoder, a decoder and, for GGAN, a discriminator. That is a noisy graph in the sound variants,
so that all of it is post-processing; or the original, under no guarantee. The reconstruction loss is the
cross entropy of links against all pairs; GGAN adds the distance between the discriminator's views of the
graph and of the generated one, and the generator's share of the adversarial loss (Eq. 6 in its form that does
not saturate). Every step has the same public schedule; nothing stops early.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import torch
from torch.nn import functional

from papers.dpggan import closed_form
from papers.dpggan.networks import Decoder, Discriminator, Encoder, Smoothed
from papers.dpggan.union import Union, partition

LEARNING_RATE = 0.02
PRIOR_WEIGHT = 0.001
GENERATED_PAIRS = 2**15
"""Pairs of a generated graph that the discriminator sees, besides the edges of the true one; at most."""


@dataclass(frozen=True)
class Weights:
    """The weights of the adversarial parts. Both are 0 for a GVAE."""

    structure: float = 0.0
    adversarial: float = 0.0

    @property
    def discriminates(self) -> bool:
        return self.structure > 0 or self.adversarial > 0


@dataclass(frozen=True)
class Backbone:
    """The latent parameters, the decoder, and curves by name.

    They are latent means and log standard deviations (nodes, LATENT).
    """

    mean: torch.Tensor
    spread: torch.Tensor
    decoder: Decoder
    curves: dict[str, list[float]] = field(default_factory=dict)


def trained(
    union: Union,
    weights: Weights,
    steps: int,
    place: torch.device,
    tick: Callable[[int], None],
    features: torch.Tensor | None = None,
) -> Backbone:
    """Train the networks for ``steps`` steps.

    They learn what ``union`` may read; torch draws from its own state.

    ``features``: the encoder's node inputs (nodes, d); one-hot without them.

    O(steps * (edges + pairs looked at) * width).
    """
    encoder, decoder = Encoder(union.nodes, features).to(place), Decoder().to(place)
    links = union.links(place)
    smoothed = Smoothed(*links[1:], union.nodes)
    rival = Discriminator(union.nodes).to(place) if weights.discriminates else None
    step = (_closed if closed_form.fits(union) else _recorded)(
        union, weights, encoder, decoder, rival, smoothed, links
    )
    optimiser = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=LEARNING_RATE, fused=True)
    curves: dict[str, list[float]] = {"reconstruction": []}
    if rival is not None:
        curves["discriminator"] = []
    for done in range(steps if union.nodes else 0):  # a mean over no nodes is NaN
        rebuilt, told = step()
        optimiser.step()
        curves["reconstruction"].append(float(rebuilt.detach()))
        if told is not None:
            curves["discriminator"].append(float(told.detach()))
        tick(done + 1)
    with torch.no_grad():
        mean, spread = encoder(smoothed)
    return Backbone(mean, spread, decoder, curves)


def untrained(mean: torch.Tensor, place: torch.device) -> Backbone:
    """Take latent vectors as they are, with an untrained decoder. They are ``mean`` (nodes, LATENT)."""
    mean = mean.to(place)
    return Backbone(mean, torch.full_like(mean, -torch.inf), Decoder().to(place))


Step = Callable[[], tuple[torch.Tensor, torch.Tensor | None]]
"""Sets gradients of encoder and decoder, moves the discriminator; the losses of the reconstruction and of the
discriminator."""
Links = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def _closed(
    union: Union,
    weights: Weights,
    encoder: Encoder,
    decoder: Decoder,
    rival: Discriminator | None,
    smoothed: Smoothed,
    links: Links,
) -> Step:
    """Step in closed form, on graphs of few nodes."""
    networks = closed_form.Networks(union, encoder, decoder, smoothed.matrix, links[1:], PRIOR_WEIGHT)
    if rival is None:
        return partial(networks.step, None)
    shares = weights.structure, weights.adversarial
    return partial(networks.step, closed_form.Rival(rival, _optimiser(rival), smoothed.matrix, *shares))


def _recorded(
    union: Union,
    weights: Weights,
    encoder: Encoder,
    decoder: Decoder,
    rival: Discriminator | None,
    smoothed: Smoothed,
    links: Links,
) -> Step:
    """Step by autograd."""
    graph, u, v = links
    priors = torch.from_numpy(union.priors()).float().to(u.device)
    told_apart = Rival(union, weights, rival, smoothed, links) if rival is not None else None
    edges = max(len(u), 1)
    moved = [*encoder.parameters(), *decoder.parameters()]

    def step() -> tuple[torch.Tensor, torch.Tensor | None]:
        mean, spread = encoder(smoothed)
        latent = mean + torch.randn_like(mean) * spread.exp()
        rows, offsets = decoder.rows(latent), priors + decoder.offset
        free = partition(union, rows, rows, offsets)
        rebuilt = (free - ((rows[u] * rows[v]).sum(-1) + offsets[graph]).sum()) / edges
        divergence = 0.5 * (mean**2 + (2 * spread).exp() - 2 * spread - 1).sum(1).mean()
        loss, own = rebuilt + PRIOR_WEIGHT * divergence, None
        if told_apart is not None:
            paid, own = told_apart.loss(rows, offsets)
            loss = loss + paid
        for parameter in moved:
            parameter.grad = None
        loss.backward()
        return rebuilt, own

    return step


def _optimiser(network: Discriminator) -> torch.optim.Optimizer:
    return torch.optim.Adam(network.parameters(), lr=LEARNING_RATE, fused=True)


class Rival:
    """The discriminator, and what it tells the generator. It learns a step at each call."""

    def __init__(
        self, union: Union, weights: Weights, network: Discriminator, smoothed: Smoothed, links: Links
    ) -> None:
        self.union, self.weights, self.smoothed, self.links = union, weights, smoothed, links
        self.network, self.optimiser = network, _optimiser(network)
        self.count = min(GENERATED_PAIRS, int(4 * union.nodes + 4 * len(links[0])))

    def loss(self, rows: torch.Tensor, offsets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Train the discriminator one step, and return both losses.

        The generator's is what it then pays for being told apart; the other is the discriminator's own.
        """
        u, v, weight = self._generated(rows, offsets)
        seen = partial(self.network.soft, u, v)
        real, fake = self.network.known(self.smoothed), seen(weight.detach())
        own = functional.softplus(-self.network.judge(real)) + functional.softplus(self.network.judge(fake))
        self.optimiser.zero_grad(set_to_none=True)
        own.sum().backward()
        self.optimiser.step()
        with torch.no_grad():
            real = self.network.known(self.smoothed)
        fake = seen(weight)
        told = functional.softplus(-self.network.judge(fake)).sum()
        distance = (fake - real).square().sum() / real.square().sum().clamp(min=1e-6)
        return self.weights.structure * distance + self.weights.adversarial * told, own.squeeze()

    def _generated(
        self, rows: torch.Tensor, offsets: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Compute A' on a set of pairs: the graph's own edges, and uniform pairs that stand for the rest."""
        graph, u, v = self.union.sampled(self.count, rows.device)
        graph, u, v = (torch.cat([a, b]) for a, b in zip(self.links, (graph, u, v), strict=True))
        weight = torch.sigmoid((rows[u] * rows[v]).sum(-1) + offsets[graph])
        others = float(self.union.pairs.sum()) - len(self.links[0])
        scale = torch.ones_like(weight)
        scale[len(self.links[0]) :] = max(others, 1.0) / self.count
        return u, v, weight * scale
