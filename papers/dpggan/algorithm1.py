"""Algorithm 1 as published, with clipped and noised decoder gradients.

They are clipped and noised node by node. Its encoder and its discriminator read the raw graph without noise.
Every step takes a subgraph of q n nodes, 2 at least. The reconstruction loss is the cross entropy of the
subgraph's pairs (DPGVAE), the distance between the discriminator's views of the subgraph and of what is
generated (DPGGAN), or both. :class:`Settings` has what the paper states, and what was filled in: Adam, and
self-loops in the smoothing, without which a node by itself in its subgraph has no latent vector.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.func import functional_call, grad, vmap
from torch.nn import functional

from papers.dpggan import paper
from papers.dpggan.networks import HIDDEN, START, Decoder, Discriminator, Encoder, Smoothed
from papers.dpggan.union import Union


@dataclass(frozen=True)
class Settings:
    """What Algorithm 1 goes by; the parameters of variant paper say what each is.

    ``links``, ``views``: the parts of the reconstruction loss. ``printed``: Eq. 2 to 4 to the letter.
    """

    steps: int
    rate: float = paper.RATE
    noise: float = paper.NOISE
    clip: float = paper.CLIP
    decay: float = paper.DECAY
    learning_rate: float = paper.LEARNING_RATE
    prior_weight: float = paper.PRIOR_WEIGHT
    adversarial: float = 0.0
    links: bool = True
    views: bool = False
    plain: bool = False
    printed: bool = False
    total: bool = False
    offset: bool = False

    def optimiser(self, parameters: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
        """Make the optimiser of one network."""
        return (torch.optim.SGD if self.plain else torch.optim.Adam)(parameters, lr=self.learning_rate)


@dataclass(frozen=True)
class Published:
    """The encoder's output, the decoder, and curves by name. The output is on the raw graph."""

    mean: torch.Tensor
    spread: torch.Tensor
    decoder: Decoder
    curves: dict[str, list[float]]


def published(
    union: Union, settings: Settings, place: torch.device, tick: Callable[[int], None]
) -> Published:
    """Train the networks over the raw graph; ``union`` is one graph. O(steps * (q n)^2)."""
    nodes, printed = union.nodes, settings.printed
    encoder = Encoder(nodes, start=0.0 if printed else START).to(place)
    decoder = Decoder(scale=1.0 if printed else HIDDEN**0.25).to(place)
    rival = Discriminator(nodes, total=settings.total, loops=not printed).to(place)
    decoder.offset.requires_grad_(settings.offset)
    if settings.offset:
        with torch.no_grad():
            decoder.offset.fill_(float(union.priors()[0]))
    inner = settings.optimiser(list(encoder.parameters()))
    outer = settings.optimiser(list(_trained(decoder).values()))
    other = settings.optimiser(list(rival.parameters()))
    size = min(nodes, max(2, round(settings.rate * nodes)))
    subgraphs = _Subgraphs(union, size, place, loops=not printed)
    curve = []
    for done in range(settings.steps if nodes else 0):  # a mean over no nodes is NaN
        clip = settings.clip * settings.decay ** (done * size // max(nodes, 1))
        at, graph, present = subgraphs.draw()
        mean, spread = encoder(graph, at)
        latent = mean + torch.randn_like(mean) * spread.exp()
        output = decoder.rows(latent)
        rows = output.detach().requires_grad_()
        shift = decoder.offset.detach().expand(size).clone().requires_grad_()
        rebuilt, told, own = _losses(rows, shift, present, graph, at, rival, settings)
        prior = 0.5 * (mean**2 + (2 * spread).exp() - 2 * spread - 1).sum(1)
        prior = prior.sum() if printed else prior.mean()
        along = torch.autograd.grad(
            rebuilt + settings.adversarial * told, (rows, shift), retain_graph=True, materialize_grads=True
        )
        (of_rebuilt,) = torch.autograd.grad(rebuilt, rows, retain_graph=True)
        inner.zero_grad(set_to_none=True)
        (output * of_rebuilt).sum().add(settings.prior_weight * prior).backward()
        inner.step()
        _noisy_step(decoder, latent.detach(), along, clip, settings.noise, outer)
        if settings.adversarial:
            other.zero_grad(set_to_none=True)
            (settings.adversarial * own).backward()
            other.step()
        curve.append(float(rebuilt.detach()))
        tick(done + 1)
    with torch.no_grad():
        mean, spread = encoder(subgraphs.whole())
    return Published(mean, spread, decoder.folded().to(place), {"reconstruction": curve})


class _Subgraphs:
    """Uniform sets of ``size`` nodes with the edges among them."""

    def __init__(self, union: Union, size: int, place: torch.device, *, loops: bool) -> None:
        self.nodes, self.size, self.place, self.loops = union.nodes, size, place, loops
        _, self.u, self.v = union.links(place)

    def draw(self) -> tuple[torch.Tensor, Smoothed, torch.Tensor]:
        """Draw (nodes, their smoothed graph, their adjacency matrix of 0 and 1)."""
        at = torch.randperm(self.nodes, device=self.place)[: self.size]
        where = torch.full((self.nodes,), -1, dtype=torch.int64, device=self.place)
        where[at] = torch.arange(self.size, device=self.place)
        u, v = where[self.u], where[self.v]
        inside = (u >= 0) & (v >= 0)
        u, v = u[inside], v[inside]
        present = torch.zeros(self.size, self.size, device=self.place)
        present[u, v] = present[v, u] = 1.0
        return at, Smoothed(u, v, self.size, loops=self.loops), present

    def whole(self) -> Smoothed:
        return Smoothed(self.u, self.v, self.nodes, loops=self.loops)


def _losses(
    rows: torch.Tensor,
    shift: torch.Tensor,
    present: torch.Tensor,
    graph: Smoothed,
    at: torch.Tensor,
    rival: Discriminator,
    settings: Settings,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Compute L_rec, what the generator minimises of L_gan, and what the discriminator does.

    ``shift``: the offset as every node has it; a pair has half of either's.
    """
    logits = rows @ rows.T + (shift.unsqueeze(0) + shift.unsqueeze(1)) / 2
    pairs = 1 - torch.eye(len(rows), device=rows.device)
    rebuilt = told = own = 0.0 * logits.sum()
    if settings.links:
        each = functional.binary_cross_entropy_with_logits(logits, present, weight=pairs, reduction="sum")
        rebuilt = rebuilt + (each if settings.printed else each / 2)  # Eq. 4 has every pair both ways
    if settings.views or settings.adversarial:
        real, fake = rival.known(graph, at), rival.dense(pairs * torch.sigmoid(logits), at)
        if settings.views:
            rebuilt = rebuilt + (real.detach() - fake).square().sum()
        told = -functional.softplus(rival.judge(fake)).sum()  # log(1 - D(A'))
        own = (functional.softplus(-rival.judge(real)) + functional.softplus(rival.judge(fake))).sum()
    return rebuilt, told, own


def _trained(decoder: Decoder) -> dict[str, torch.nn.Parameter]:
    return {name: each for name, each in decoder.named_parameters() if each.requires_grad}


def _noisy_step(
    decoder: Decoder,
    latent: torch.Tensor,
    along: tuple[torch.Tensor, ...],
    clip: float,
    noise: float,
    optimiser: torch.optim.Optimizer,
) -> None:
    """Take a step of Eq. 5: each node's gradient clipped to ``clip``; their sum, noised, over their number.

    ``along``: the loss by every node's row and by its offset.
    """
    values = {name: each.detach() for name, each in decoder.named_parameters()}

    def one(
        given: dict[str, torch.Tensor], z: torch.Tensor, by_row: torch.Tensor, by_offset: torch.Tensor
    ) -> torch.Tensor:
        rows = functional_call(_Rows(decoder), {f"of.{k}": v for k, v in given.items()}, (z,))
        total: torch.Tensor = (rows * by_row).sum() + given["offset"] * by_offset
        return total

    found = vmap(grad(one), in_dims=(None, 0, 0, 0))(values, latent, *along)
    trained, size = _trained(decoder), len(latent)
    length = sum(found[name].reshape(size, -1).square().sum(1) for name in trained)
    share = (clip / torch.as_tensor(length).sqrt().clamp(min=clip)).nan_to_num(0.0)
    for name, parameter in trained.items():
        total = torch.tensordot(share, found[name], 1)
        parameter.grad = (total + noise * clip * torch.randn_like(total)) / size
    optimiser.step()


class _Rows(torch.nn.Module):
    """A decoder whose call gives rows."""

    def __init__(self, of: Decoder) -> None:
        super().__init__()
        self.of = of

    def forward(self, latent: torch.Tensor) -> torch.Tensor:
        return self.of.rows(latent)
