"""Algorithm 1 as published, with clipped and noised decoder gradients.

They are clipped and noised node by node. Its encoder and its discriminator read the raw graph without noise.
Every step takes a subgraph of q n nodes, 2 at least. The reconstruction loss is the cross entropy of the
subgraph's pairs (DPGVAE), or the distance between the discriminator's views of the subgraph and of what is
generated (DPGGAN). Left open by the paper and filled in here: Adam for all three networks, and self-loops in
the smoothing, without which a node by itself in its subgraph has no latent vector.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.func import functional_call, grad, vmap
from torch.nn import functional

from papers.dpggan import paper
from papers.dpggan.networks import Decoder, Discriminator, Encoder, Smoothed
from papers.dpggan.union import Union


@dataclass(frozen=True)
class Published:
    """The encoder's output, the decoder, and curves by name. The output is on the raw graph."""

    mean: torch.Tensor
    spread: torch.Tensor
    decoder: Decoder
    curves: dict[str, list[float]]


def published(
    union: Union, steps: int, adversarial: float, place: torch.device, tick: Callable[[int], None]
) -> Published:
    """Train the networks over the raw graph.

    They have ``steps`` iterations, and ``union`` is one graph.

    ``adversarial``: lambda_2; 0 leaves the discriminator out. O(steps * (q n)^2).
    """
    nodes = union.nodes
    encoder, decoder, rival = Encoder(nodes).to(place), Decoder().to(place), Discriminator(nodes).to(place)
    decoder.offset.requires_grad_(False)
    inner = torch.optim.Adam(encoder.parameters(), lr=paper.LEARNING_RATE)
    outer = torch.optim.Adam(_trained(decoder).values(), lr=paper.LEARNING_RATE)
    other = torch.optim.Adam(rival.parameters(), lr=paper.LEARNING_RATE)
    size = min(nodes, max(2, round(paper.RATE * nodes)))
    subgraphs = _Subgraphs(union, size, place)
    curve = []
    for done in range(steps if nodes else 0):  # a mean over no nodes is NaN
        clip = paper.CLIP * paper.DECAY ** (done * size // max(nodes, 1))
        at, graph, present = subgraphs.draw()
        mean, spread = encoder(graph, at)
        latent = mean + torch.randn_like(mean) * spread.exp()
        output = decoder.rows(latent)
        rows = output.detach().requires_grad_()
        rebuilt, told, own = _losses(rows, present, graph, at, rival, adversarial)
        prior = 0.5 * (mean**2 + (2 * spread).exp() - 2 * spread - 1).sum(1).mean()
        of_rows, of_rebuilt = (
            torch.autograd.grad(each, rows, retain_graph=True)
            for each in (rebuilt + adversarial * told, rebuilt)
        )
        inner.zero_grad(set_to_none=True)
        (output * of_rebuilt[0]).sum().add(paper.PRIOR_WEIGHT * prior).backward()
        inner.step()
        _noisy_step(decoder, latent.detach(), of_rows[0], clip, size, outer)
        if adversarial:
            other.zero_grad(set_to_none=True)
            (adversarial * own).backward()
            other.step()
        curve.append(float(rebuilt.detach()))
        tick(done + 1)
    with torch.no_grad():
        mean, spread = encoder(subgraphs.whole())
    return Published(mean, spread, decoder, {"reconstruction": curve})


class _Subgraphs:
    """Uniform sets of ``size`` nodes with the edges among them."""

    def __init__(self, union: Union, size: int, place: torch.device) -> None:
        self.nodes, self.size, self.place = union.nodes, size, place
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
        return at, Smoothed(u, v, self.size), present

    def whole(self) -> Smoothed:
        return Smoothed(self.u, self.v, self.nodes)


def _losses(
    rows: torch.Tensor,
    present: torch.Tensor,
    graph: Smoothed,
    at: torch.Tensor,
    rival: Discriminator,
    adversarial: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Compute L_rec, what the generator minimises of L_gan, and what the discriminator does."""
    logits = rows @ rows.T
    u, v = torch.triu_indices(len(rows), len(rows), 1, device=rows.device)
    if not adversarial:
        rebuilt = functional.binary_cross_entropy_with_logits(logits[u, v], present[u, v], reduction="sum")
        return rebuilt, torch.zeros_like(rebuilt), torch.zeros_like(rebuilt)
    real, fake = rival.known(graph, at), rival.soft(u, v, torch.sigmoid(logits[u, v]), at)
    rebuilt = (real.detach() - fake).square().sum()
    told = -functional.softplus(rival.judge(fake)).sum()  # log(1 - D(A'))
    own = functional.softplus(-rival.judge(real)) + functional.softplus(rival.judge(fake))
    return rebuilt, told, own.sum()


def _trained(decoder: Decoder) -> dict[str, torch.Tensor]:
    return {name: each for name, each in decoder.named_parameters() if each.requires_grad}


def _noisy_step(
    decoder: Decoder,
    latent: torch.Tensor,
    of_rows: torch.Tensor,
    clip: float,
    size: int,
    optimiser: torch.optim.Optimizer,
) -> None:
    """Take a step of Eq. 5: each node's gradient clipped to ``clip``; their sum, noised, over ``size``."""
    values = {name: each.detach() for name, each in decoder.named_parameters()}

    def one(given: dict[str, torch.Tensor], z: torch.Tensor, along: torch.Tensor) -> torch.Tensor:
        rows = functional_call(_Rows(decoder), {f"of.{k}": v for k, v in given.items()}, (z,))
        total: torch.Tensor = (rows * along).sum()
        return total

    found = vmap(grad(one), in_dims=(None, 0, 0))(values, latent, of_rows)
    trained = _trained(decoder)
    length = sum(found[name].reshape(len(latent), -1).square().sum(1) for name in trained)
    share = (clip / torch.as_tensor(length).sqrt().clamp(min=clip)).nan_to_num(0.0)
    for name, parameter in trained.items():
        total = torch.tensordot(share, found[name], 1)
        parameter.grad = (total + paper.NOISE * clip * torch.randn_like(total)) / size
    optimiser.step()


class _Rows(torch.nn.Module):
    """A decoder whose call gives rows."""

    def __init__(self, of: Decoder) -> None:
        super().__init__()
        self.of = of

    def forward(self, latent: torch.Tensor) -> torch.Tensor:
        return self.of.rows(latent)
