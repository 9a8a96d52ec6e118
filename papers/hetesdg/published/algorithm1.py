"""Algorithm 1 as published, on the raw graph.

FeatADP comes first, then TopoGDP by relation. No guarantee. Filled in where the paper says nothing: semantic
neighbours are WALKS walks of the Markov chain of Eq. 6 for each node and meta-path, and C is the share of
them that are distinct; FeatADP's weights are learned from semantic neighbours against uniform nodes, and its
dropout is of attention; a node without features has its neighbours' mean. A link's gradient is taken through
NEIGHBOURS sampled neighbours of each end, as neighbour sampling has it; L_C compares a node with the
neighbour at hand. Adam, and c_2 = 1. Without noise a stage has neither noise nor a clip.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.nn.functional import dropout, embedding, leaky_relu, logsigmoid

from papers.hetesdg.params import HeteParams
from papers.hetesdg.published import paper
from papers.hetesdg.published.bilevel import topology_slope, turned

WALKS = NEIGHBOURS = 8
FEATURE_BATCH = 1024

Ends = tuple[torch.Tensor, torch.Tensor]


class Adjacency:
    """The neighbours of one side's nodes, to sample from. Nodes without any sample themselves as -1."""

    def __init__(self, here: torch.Tensor, there: torch.Tensor, nodes: int) -> None:
        order = torch.argsort(here, stable=True)
        self.there = there[order]
        self.count = torch.bincount(here, minlength=nodes)
        self.start = torch.cumsum(self.count, 0) - self.count

    def drawn(self, node: torch.Tensor) -> torch.Tensor:
        """Sample one uniform neighbour for each entry of ``node``.

        It is -1 for -1 and nodes without neighbours.
        """
        known = node.clamp(min=0)
        have = self.count[known]
        place = (torch.rand(node.shape, device=node.device) * have).long()
        valid = (node >= 0) & (have > 0)
        last = max(len(self.there) - 1, 0)
        found = self.there[(self.start[known] + place).clamp(max=last)] if len(self.there) else known
        return torch.where(valid, found, torch.full_like(node, -1))


class FeatADP(nn.Module):
    """Eq. 7 to 15 for one node type. ``width``: of a head."""

    def __init__(self, features: int, paths: int, width: int = 8, heads: int = 4, drop: float = 0.0) -> None:
        super().__init__()
        self.map = nn.Linear(features, width, bias=False)
        self.attention = nn.Parameter(torch.randn(paths, heads, 2 * width) * 0.3)
        self.semantic = nn.Linear(width * heads, 1)
        self.drop = drop

    def forward(
        self, features: torch.Tensor, near: torch.Tensor, reach: torch.Tensor, deviation: float | torch.Tensor
    ) -> torch.Tensor:
        """Compute noisy embeddings (n, width * heads). ``near`` (paths, n, WALKS), -1: none; ``reach``: C."""
        mapped = self.map(features)
        views, influence = [], []
        for path, own in enumerate(near):
            other = embedding(own.clamp(min=0), mapped)  # (n, WALKS, width)
            both = torch.cat([mapped[:, None].expand_as(other), other], -1)
            score = leaky_relu(both @ self.attention[path].T).masked_fill((own < 0)[..., None], -math.inf)
            weight = torch.softmax(score, 1).nan_to_num(0.0)  # (n, WALKS, heads)
            influence.append(torch.sigmoid(weight.sum(1).mean(1)))  # Eq. 10
            weight = dropout(weight, self.drop, self.training)
            views.append(torch.einsum("nwh,nwd->nhd", weight, other).flatten(1).tanh())
        importance = torch.stack([leaky_relu(self.semantic(view)).mean() for view in views])
        share = torch.softmax(importance + reach, 0)
        combined = sum(part * view for part, view in zip(share, views, strict=True))
        scale = sum(part * each for part, each in zip(share, influence, strict=True)) * paper.SENSITIVITY
        noise = torch.randn_like(combined) * (deviation * scale[:, None].detach())
        noisy: torch.Tensor = combined + paper.ATTENUATION * noise
        return noisy


@dataclass(frozen=True)
class FeatureStage:
    """FeatADP of one node type, and the semantic neighbours that it attends to."""

    module: FeatADP
    features: torch.Tensor
    near: torch.Tensor
    reach: torch.Tensor
    params: HeteParams

    @classmethod
    def begun(
        cls, features: torch.Tensor, paths: list[tuple[Adjacency, ...]], params: HeteParams
    ) -> FeatureStage:
        """Draw the semantic neighbours. ``paths``: of each meta-path its steps, in their order."""
        nodes, place = len(features), features.device
        found = []
        for steps in paths:
            at = torch.arange(nodes, device=place)[:, None].expand(nodes, WALKS)
            for step in steps:
                at = step.drawn(at)
            found.append(at)
        near = torch.stack(found)
        distinct = (near.sort(-1).values.diff(dim=-1) != 0).sum(-1).float() + 1
        reach = distinct.mean(1) / WALKS if params.debias else torch.zeros(len(paths), device=place)
        width = params.way.feature_width // params.way.heads
        module = FeatADP(features.shape[1], len(paths), width, params.way.heads, params.way.dropout).to(place)
        return cls(module, features, near, reach, params)

    def train(self, epsilon: float, whole: float) -> float:
        """Train the weights at epsilon_f; with the split bilevel it moves by Eq. 24, and is returned."""
        nodes, place = len(self.features), self.features.device
        optimiser = torch.optim.Adam(
            self.module.parameters(),
            lr=self.params.way.feature_rate,
            weight_decay=self.params.way.weight_decay,
        )
        self.module.train()
        for _ in range(self.params.way.feature_epochs):
            own = torch.tensor(epsilon, requires_grad=True, device=place)
            found = self.module(self.features, self.near, self.reach, self._deviation(own))
            u = torch.randint(nodes, (FEATURE_BATCH,), device=place)
            path = torch.randint(len(self.near), (FEATURE_BATCH,), device=place)
            v = self.near[path, u, torch.randint(WALKS, (FEATURE_BATCH,), device=place)]
            other = torch.randint(nodes, (FEATURE_BATCH,), device=place)
            same = logsigmoid((found[u] * found[v.clamp(min=0)]).sum(1)) * (v >= 0)
            loss = -(same + logsigmoid(-(found[u] * found[other]).sum(1))).mean()
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
            if self.params.split == "bilevel" and own.grad is not None:
                epsilon = turned(epsilon, float(own.grad), whole)
        return epsilon

    def released(self, epsilon: float) -> torch.Tensor:
        """Draw the noisy embeddings, (n, feature_width)."""
        self.module.eval()
        with torch.no_grad():
            deviation = self._deviation(torch.tensor(epsilon))
            aggregated: torch.Tensor = self.module(self.features, self.near, self.reach, deviation)
            return aggregated

    def _deviation(self, epsilon: torch.Tensor) -> float | torch.Tensor:
        if self.params.noise in ("topology", "none"):
            return 0.0
        return paper.feature_deviation(1.0) / epsilon


class HeteGCN(nn.Module):
    """Two layers on one relation, for both ends' latents.

    They give means and log deviations of either end (Eq. 17, 19).
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        latent = hidden // 2
        self.first = nn.ModuleList([nn.Linear(width, hidden), nn.Linear(width, hidden)])
        self.mean = nn.ModuleList([nn.Linear(hidden, latent), nn.Linear(hidden, latent)])
        self.spread = nn.ModuleList([nn.Linear(hidden, latent), nn.Linear(hidden, latent)])

    def forward(self, near: torch.Tensor, side: int) -> tuple[torch.Tensor, torch.Tensor]:
        """``near`` (..., NEIGHBOURS, width): what a node's sampled neighbours aggregated."""
        hidden = torch.relu(self.first[side](near)).mean(-2)
        return self.mean[side](hidden), self.spread[side](hidden).clamp(-6.0, 2.0)


def steps_of(links: int, params: HeteParams) -> int:
    """Count TopoGDP's steps on a relation: as set, or ``link_epochs`` times its batches."""
    if params.way.link_epochs is None:
        return params.steps
    return params.way.link_epochs * max(1, math.ceil(links / params.way.batch))


def topology_stage(
    ends: Ends,
    embeddings: Ends,
    epsilon: float,
    steps: int,
    params: HeteParams,
    tick: Callable[[int], None],
) -> tuple[Ends, list[float], float]:
    """Train the latent means of one relation's two ends.

    Returned with them are the curve of the loss, and its mean slope in epsilon_s for Eq. 25.

    ``ends``: source and target of every link; ``embeddings``: of both types' nodes. O(steps * batch).
    """
    links, place = len(ends[0]), embeddings[0].device
    sizes = len(embeddings[0]), len(embeddings[1])
    around = Adjacency(ends[0], ends[1], sizes[0]), Adjacency(ends[1], ends[0], sizes[1])
    # What a node aggregates from its neighbours, for its own neighbours to take from it.
    gathered = [neighbour_means(ends[s], ends[1 - s], embeddings[1 - s], sizes[s]) for s in (0, 1)]
    module = HeteGCN(embeddings[0].shape[1], params.way.topology_width).to(place)
    optimiser = torch.optim.Adam(module.parameters(), lr=params.way.topology_rate)
    batch = min(params.way.batch, links)
    deviation = paper.gradient_deviation(epsilon, batch / max(links, 1), steps)
    scale = params.clip * deviation / max(batch, 1) if params.noise in ("both", "topology") else 0.0
    curve: list[float] = []
    slopes: list[float] = []
    noises: list[torch.Tensor] = []

    def rows(node: torch.Tensor, side: int) -> torch.Tensor:
        near = around[side].drawn(node[..., None].expand(*node.shape, NEIGHBOURS))
        return embedding(near.clamp(min=0), gathered[1 - side]) * (near >= 0)[..., None]

    def loss_of_link(
        values: dict[str, torch.Tensor], near_u: torch.Tensor, near_v: torch.Tensor, near_other: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        def latent(near: torch.Tensor, side: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
            mean, spread = functional_call(module, values, (near, side))
            return mean, spread, mean + spread.exp() * torch.randn_like(mean)

        (mean_u, spread_u, u), (mean_v, spread_v, v) = latent(near_u, 0), latent(near_v, 1)
        other = latent(near_other, 1)[2]
        fit = -logsigmoid((u * v).sum()) - logsigmoid(-(other @ u)).sum()
        prior = sum(
            0.5 * (m.square() + (2 * s).exp() - 2 * s - 1).sum()
            for m, s in ((mean_u, spread_u), (mean_v, spread_v))
        )
        return fit + params.divergence * prior + params.semantic * 0.5 * (v - u).square().sum(), fit

    gradients = vmap(grad(loss_of_link, has_aux=True), in_dims=(None, 0, 0, 0), randomness="different")
    for done in range(steps if links else 0):
        chosen = torch.randperm(links, device=place)[:batch]
        other = torch.randint(sizes[1], (batch, params.way.negatives_per_link), device=place)
        values = {name: each.detach() for name, each in module.named_parameters()}
        found, fits = gradients(values, rows(ends[0][chosen], 0), rows(ends[1][chosen], 1), rows(other, 1))
        if noises:
            after = [each.mean(0) for each in found.values()]
            known = {"rate": params.way.topology_rate, "scale": scale, "epsilon": epsilon}
            slopes.append(topology_slope(after, noises, **known))
        noises = _noisy(module, found, params.clip if scale else math.inf, scale, batch)
        optimiser.step()
        curve.append(float(fits.mean()))
        tick(done + 1)
    with torch.no_grad():
        both = [module(rows(torch.arange(sizes[s], device=place), s), s)[0] for s in (0, 1)]
    return (both[0], both[1]), curve, sum(slopes) / max(len(slopes), 1)


def _noisy(
    module: nn.Module, found: Mapping[str, torch.Tensor], clip: float, scale: float, batch: int
) -> list[torch.Tensor]:
    """Set Eq. 23's gradients: each link's clipped to ``clip``, over the batch, plus ``scale`` times noise.

    Returned is the noise, at deviation 1; none where ``scale`` is 0.
    """
    square = torch.stack([each.reshape(batch, -1).square().sum(1) for each in found.values()]).sum(0)
    share = (clip / square.sqrt()).clamp(max=1.0)
    noises = []
    for name, parameter in module.named_parameters():
        parameter.grad = torch.tensordot(share, found[name], 1) / batch
        if scale:
            noises.append(torch.randn_like(parameter))
            parameter.grad += scale * noises[-1]
    return noises


def neighbour_means(here: torch.Tensor, there: torch.Tensor, rows: torch.Tensor, nodes: int) -> torch.Tensor:
    """Average every node's neighbours' rows; zeros without any."""
    total = torch.zeros(nodes, rows.shape[1], device=rows.device).index_add(0, here, rows[there])
    return total / torch.bincount(here, minlength=nodes).clamp(min=1)[:, None]
