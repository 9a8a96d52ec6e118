"""Steps of GVAE, GGAN and their decoder in closed form.

They are for graphs whose matrices are stored whole. Networks this small cost by the number of operations, and
autograd's records of them are most of a step. Here every gradient is written down, and equals what autograd
finds but for the order of sums. The losses are those of :mod:`papers.dpggan.backbone`. All of it reads what
may be read: a noisy graph, or under no guarantee the original.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from papers.dpggan.networks import (
    DENSE_NODES,
    HIDDEN,
    START,
    WIDEST,
    Decoder,
    Discriminator,
    Encoder,
)
from papers.dpggan.union import Union

SCALE = HIDDEN**0.25


def fits(union: Union) -> bool:
    """Tell whether the union's pairs are few enough to store. They are all pairs of its nodes."""
    return 0 < union.nodes <= DENSE_NODES


class Whole:
    """The pairs inside a union's graphs as matrices (n, n). Offsets (graphs,) go to their nodes' pairs."""

    def __init__(self, union: Union, place: torch.device) -> None:
        sizes = torch.tensor(union.sizes, device=place)
        self.graph = torch.arange(len(union.sizes), device=place).repeat_interleave(sizes)
        same = self.graph.unsqueeze(1) == self.graph.unsqueeze(0)
        self.inside = same.fill_diagonal_(False).float()

    def chances(self, rows: torch.Tensor, offsets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Compute all pairs' logits, and their logistic. This is where they are inside one graph, else 0."""
        logits = torch.addmm(offsets[self.graph].unsqueeze(1), rows, rows.T)
        return logits, torch.sigmoid(logits).mul_(self.inside)

    def free(self, logits: torch.Tensor) -> torch.Tensor:
        """Sum softplus(logit) over pairs u < v. Its gradient by the rows is ``chances @ rows``."""
        return (functional.softplus(logits) * self.inside).sum() / 2


@torch.no_grad()
def decoded(decoder: Decoder, latent: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute the decoder's hidden layer and rows of ``latent``."""
    hidden = functional.linear(latent, decoder.first.weight, decoder.first.bias).relu_()
    return hidden, functional.linear(hidden, decoder.second.weight, decoder.second.bias) / SCALE


def decoder_slopes(
    decoder: Decoder,
    latent: torch.Tensor,
    hidden: torch.Tensor,
    by_rows: torch.Tensor,
    by_offset: torch.Tensor,
) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """Backpropagate through the decoder by rows and offset.

    The gradient goes to its parameters, by name, and to ``latent``.
    """
    outer = by_rows / SCALE
    inner = (outer @ decoder.second.weight).mul_(hidden > 0)
    found = {
        "offset": by_offset,
        "first.weight": inner.T @ latent,
        "first.bias": inner.sum(0),
        "second.weight": outer.T @ hidden,
        "second.bias": outer.sum(0),
    }
    return found, inner @ decoder.first.weight


@torch.no_grad()
def free_slopes(
    decoder: Decoder, whole: Whole, latent: torch.Tensor, priors: torch.Tensor
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Sum softplus of all pairs' logits, with its gradient.

    It is by the decoder's parameters, in their order.
    """
    hidden, rows = decoded(decoder, latent)
    logits, chances = whole.chances(rows, priors + decoder.offset)
    slopes, _ = decoder_slopes(decoder, latent, hidden, chances @ rows, chances.sum() / 2)
    return whole.free(logits), [slopes[name] for name, _ in decoder.named_parameters()]


class Networks:
    """Networks with loss gradients in closed form.

    They are encoder, decoder and, if given, a discriminator.

    ``matrix`` is the smoothed graph, ``links`` the ends (u, v) of its edges. ``structure`` and
    ``adversarial`` weigh what the discriminator tells the generator; ``prior`` weighs the divergence.
    """

    def __init__(
        self,
        union: Union,
        encoder: Encoder,
        decoder: Decoder,
        matrix: torch.Tensor,
        links: tuple[torch.Tensor, torch.Tensor],
        prior: float,
    ) -> None:
        self.encoder, self.decoder, self.matrix, self.prior = encoder, decoder, matrix, prior
        self.whole, self.nodes = Whole(union, matrix.device), union.nodes
        u, v = links
        self.adjacency = torch.zeros_like(matrix)
        self.adjacency[u, v] = self.adjacency[v, u] = 1.0
        self.edges = max(len(u), 1)
        self.priors = torch.from_numpy(union.priors()).float().to(matrix.device)

    @torch.no_grad()
    def step(self, rival: Rival | None) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Set encoder's and decoder's gradients, at fresh latent noise.

        The discriminator takes a step. Returns the loss of the reconstruction, and the discriminator's if
        there is one.
        """
        encoder, decoder = self.encoder, self.decoder
        features = encoder.features
        table = encoder.table if features is None else features @ encoder.table
        hidden = (self.matrix @ table).relu_()
        heads = torch.cat([encoder.mean.weight, encoder.spread.weight])
        mean, spread = (self.matrix @ (hidden @ heads.T)).chunk(2, 1)
        bounded = spread + START <= WIDEST
        spread = (spread + START).clamp(max=WIDEST)
        deviation, noise = spread.exp(), torch.randn_like(mean)
        latent = mean + noise * deviation
        inner, rows = decoded(decoder, latent)
        logits, chances = self.whole.chances(rows, self.priors + decoder.offset)
        both = (self.adjacency * logits).sum() / 2
        rebuilt = (self.whole.free(logits) - both) / self.edges
        miss = (chances - self.adjacency) / self.edges
        by_rows, by_offset = miss @ rows, miss.sum() / 2
        told = None
        if rival is not None:
            told, by_weight = rival.learned(chances)
            by_logit = by_weight * chances * (1 - chances)
            by_rows += (by_logit + by_logit.T) @ rows
            by_offset = by_offset + by_logit.sum()
        slopes, by_latent = decoder_slopes(decoder, latent, inner, by_rows, by_offset)
        for name, parameter in decoder.named_parameters():
            parameter.grad = slopes[name]
        by_mean = by_latent + self.prior / self.nodes * mean
        by_spread = by_latent * noise * deviation + self.prior / self.nodes * (deviation.square() - 1)
        by_heads = self.matrix @ torch.cat([by_mean, by_spread * bounded], 1)
        encoder.mean.weight.grad, encoder.spread.weight.grad = (by_heads.T @ hidden).chunk(2)
        by_table = self.matrix @ (by_heads @ heads).mul_(hidden > 0)
        encoder.table.grad = by_table if features is None else features.T @ by_table
        return rebuilt, told


class Rival:
    """The discriminator. It learns a step at each call, and returns what the generator pays."""

    def __init__(
        self,
        network: Discriminator,
        optimiser: torch.optim.Optimizer,
        matrix: torch.Tensor,
        structure: float,
        adversarial: float,
    ) -> None:
        self.network, self.optimiser, self.matrix = network, optimiser, matrix
        self.mean = matrix.mean(0)
        first, last = network.judge[0], network.judge[2]
        assert isinstance(first, nn.Linear)
        assert isinstance(last, nn.Linear)
        self.first, self.last = first, last
        self.structure, self.adversarial = structure, adversarial

    def learned(self, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Train a step, and return loss and gradient.

        It is on the graph and the generated ``weight`` (n, n); the gradient is by weight, of what the
        generator pays afterwards.
        """
        network = self.network
        scale = (1 + weight.sum(1)).rsqrt()
        near = weight @ scale + scale
        share = scale * near / len(weight)
        fake, real = self._seen(weight, scale, share), self._known()
        judged = [self._judged(each.told) for each in (real, fake)]
        own = functional.softplus(-judged[0].logit) + functional.softplus(judged[1].logit)
        slopes = {name: torch.zeros_like(each) for name, each in network.named_parameters()}
        for seen, of, by in (
            (real, judged[0], -torch.sigmoid(-judged[0].logit)),
            (fake, judged[1], torch.sigmoid(judged[1].logit)),
        ):
            by_told = self._back(of, seen, by, slopes)
            by_rows = torch.outer(seen.share, by_told @ network.second.weight).mul_(seen.hidden > 0)
            if seen is real:
                slopes["table"] += self.matrix @ by_rows
            else:
                by_rows *= scale.unsqueeze(1)
                slopes["table"] += (weight @ by_rows + by_rows) * scale.unsqueeze(1)
        for name, parameter in network.named_parameters():
            parameter.grad = slopes[name]
        self.optimiser.step()
        return own.squeeze(), self._by_weight(weight, scale, near, share)

    def _by_weight(
        self, weight: torch.Tensor, scale: torch.Tensor, near: torch.Tensor, share: torch.Tensor
    ) -> torch.Tensor:
        """Compute the gradient by every entry of ``weight`` of the generator's share of the losses."""
        table, second = self.network.table, self.network.second.weight
        fake, real = self._seen(weight, scale, share), self._known()
        judged = self._judged(fake.told)
        by_told = 2 * self.structure * (fake.told - real.told) / real.told.square().sum().clamp(min=1e-6)
        by_told = by_told + self._through(judged, -self.adversarial * torch.sigmoid(-judged.logit))
        by_mean = by_told @ second
        by_hidden = torch.outer(share, by_mean).mul_(fake.hidden > 0)
        by_share = fake.hidden @ by_mean / len(weight)
        by_near = by_hidden * scale.unsqueeze(1)
        rows = table * scale.unsqueeze(1)
        by_rows = weight @ by_near + by_near
        by_scale = (by_hidden * fake.before).sum(1) + (by_rows * table).sum(1)
        by_scale = by_scale + by_share * (near + scale) + weight @ (by_share * scale)
        by_degree = -0.5 * by_scale * scale**3
        found = torch.addmm(by_degree.unsqueeze(1), by_near, rows.T)
        return found.addr_(by_share * scale, scale)

    def _known(self) -> _Seen:
        hidden = (self.matrix @ self.network.table).relu_()
        return _Seen(hidden, hidden, self.mean, self.mean @ hidden, self.network.second)

    def _seen(self, weight: torch.Tensor, scale: torch.Tensor, share: torch.Tensor) -> _Seen:
        rows = self.network.table * scale.unsqueeze(1)
        before = weight @ rows + rows
        hidden = (before * scale.unsqueeze(1)).relu_()
        return _Seen(before, hidden, share, share @ hidden, self.network.second)

    def _judged(self, told: torch.Tensor) -> _Judged:
        hidden = functional.linear(told, self.first.weight, self.first.bias).relu_()
        return _Judged(hidden, functional.linear(hidden, self.last.weight, self.last.bias))

    def _through(self, judged: _Judged, by_logit: torch.Tensor) -> torch.Tensor:
        """Carry a gradient by the logit back to what was judged."""
        found: torch.Tensor = ((by_logit @ self.last.weight) * (judged.hidden > 0)) @ self.first.weight
        return found

    def _back(
        self, judged: _Judged, seen: _Seen, by_logit: torch.Tensor, slopes: dict[str, torch.Tensor]
    ) -> torch.Tensor:
        """Add to the slopes of all but the table; return the gradient by what was judged."""
        inner = (by_logit @ self.last.weight) * (judged.hidden > 0)
        slopes["judge.2.weight"] += torch.outer(by_logit, judged.hidden)
        slopes["judge.2.bias"] += by_logit
        slopes["judge.0.weight"] += torch.outer(inner, seen.told)
        slopes["judge.0.bias"] += inner
        by_told: torch.Tensor = inner @ self.first.weight
        slopes["second.weight"] += torch.outer(by_told, seen.mean)
        return by_told


class _Seen:
    """A graph's view: the mean of its hidden rows by ``share``, and what is judged of it (LATENT,)."""

    def __init__(
        self,
        before: torch.Tensor,
        hidden: torch.Tensor,
        share: torch.Tensor,
        mean: torch.Tensor,
        second: nn.Linear,
    ) -> None:
        self.before, self.hidden, self.share, self.mean = before, hidden, share, mean
        self.told: torch.Tensor = second.weight @ mean


@dataclass(frozen=True)
class _Judged:
    """The judge's hidden layer and its logit (1,)."""

    hidden: torch.Tensor
    logit: torch.Tensor
