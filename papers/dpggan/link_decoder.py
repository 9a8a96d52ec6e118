"""Learning a decoder from original edges, by DP-SGD.

One edge is one example. A decoder's logit of a pair depends on its parameters and on the two nodes' latent
vectors, which come from the noisy graph or from chance. So the loss is a sum with one term for each edge,
which is paid for, and a sum over all pairs, which does not look at the graph and is free.

``bilinear``: the logit is h_u W h_v for rows h of length at most 1. Its gradient at an edge is the symmetric
part of h_u h_v, whatever W is, of length at most 1: nothing is clipped away, and every step would read the
same sum. So one step over all edges is paid for, and W is fitted to its noisy sum afterwards, as often and
with as many steps as one likes. ``mlp``: the paper's decoder, by steps that each read the edges anew.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import nn
from torch.func import vmap
from torch.nn.functional import embedding

from core.privacy.accounting.dp_sgd import DpSgd
from core.privacy.mechanisms.gradients import DpSgdSession, Gradient, Sampled
from papers.dpggan import closed_form
from papers.dpggan.backbone import Backbone
from papers.dpggan.networks import Decoder
from papers.dpggan.union import Union, partition

MLP_RATE = 0.03
FIT_RATE = 0.05
COMPARED = 64
"""Uniform pairs whose gradients say by how much clipping shortens one on average."""
COMPARE_EVERY = 5

Open = Callable[..., DpSgdSession]
"""``PrivateGraph.dp_sgd`` with all but module, optimiser, clip and divisor filled in."""


def unit_rows(rows: torch.Tensor) -> torch.Tensor:
    """Scale rows to a length a little below 1.

    It is short of 1 so that rounding cannot clip; zero rows stay.
    """
    unit: torch.Tensor = rows / rows.norm(dim=1, keepdim=True).clamp(min=1e-6) * (1 - 1e-6)
    return unit


class Bilinear(nn.Module):
    """A bilinear decoder.

    H_u W h_v for a symmetric W, which is kept as its upper triangle with an isometry's weights.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.triangle = nn.Parameter(torch.zeros(width * (width + 1) // 2))
        row, column = torch.triu_indices(width, width)
        self.register_buffer("place", row * width + column, persistent=False)
        self.register_buffer("back", column * width + row, persistent=False)
        weight = torch.where(row == column, 1.0, math.sqrt(0.5))
        self.register_buffer("weight", weight, persistent=False)

    place: torch.Tensor
    back: torch.Tensor
    weight: torch.Tensor

    def matrix(self) -> torch.Tensor:
        """Build W; (width, width)."""
        values = self.triangle * self.weight
        flat = values.new_zeros(self.width**2).index_add(0, self.place, values)
        off = torch.where(self.place == self.back, 0.0, values)
        return flat.index_add(0, self.back, off).view(self.width, self.width)

    def forward(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        """Compute the logit of one pair of rows (width,)."""
        outer = torch.outer(left, right)
        half = (outer + outer.T).flatten()[self.place] / 2
        # <W, sym(h_u h_v)>, of which each entry off the diagonal stands twice
        return (self.triangle * torch.where(self.weight == 1, 1.0, math.sqrt(2)) * half).sum()


def told(open_session: Open, union: Union, rows: torch.Tensor) -> torch.Tensor:
    """Pay for the noisy sum of the edges' sym(h_u h_v).

    It is the triangle of a matrix, by one step over all.

    Sensitivity: 1 in L2, as rows are no longer than 1. O(edges * width^2).
    """
    module = Bilinear(rows.shape[1]).to(rows.device)
    optimiser = torch.optim.SGD(module.parameters(), lr=1.0)
    session = open_session(module=module, optimiser=optimiser, clip=1.0, divisor=1.0)
    session.step(lambda call, u, v: -call(embedding(u, rows), embedding(v, rows)), _ends(union))
    return module.triangle.detach().clone()


def _ends(union: Union) -> Callable[[Sampled], Sequence[torch.Tensor]]:
    """Make every edge the numbers of its two nodes."""
    start = torch.from_numpy(union.offsets)

    def examples(edges: Sampled) -> Sequence[torch.Tensor]:
        first = start[torch.from_numpy(edges.cell)]
        return [first + torch.from_numpy(edges.source), first + torch.from_numpy(edges.target)]

    return examples


def fitted(
    told_sum: torch.Tensor,
    deviation: float,
    union: Union,
    rows: torch.Tensor,
    steps: int,
    tick: Callable[[int], None],
) -> tuple[torch.Tensor, list[float]]:
    """Fit W (width, width) to the measured expected sum.

    Returned with it is the curve of the loss.

    ``deviation``: of the noise in each entry. Free: reads the noisy sum and public rows. W is shrunk towards
    0 by a normal prior of unit variance and, where a sum over so few edges is mostly noise, by as much as
    that noise asks for.
    """
    place = rows.device
    module = Bilinear(rows.shape[1]).to(place)
    offsets = nn.Parameter(torch.from_numpy(union.priors()).float().to(place))
    edges = torch.tensor(union.edges, dtype=torch.float32, device=place)
    total = float(edges.sum())
    information = max(total / len(told_sum), 1.0)
    prior = 1 + deviation**2 / information
    optimiser = torch.optim.Adam([*module.parameters(), offsets], lr=FIT_RATE, fused=True)
    curve = []
    for done in range(steps):
        free = partition(union, rows @ module.matrix(), rows, offsets)
        known = (module.triangle * told_sum).sum() + (offsets * edges).sum()
        loss = (free - known + prior / 2 * module.triangle.square().sum()) / total
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        curve.append(float(loss.detach()))
        tick(done + 1)
    return module.matrix().detach(), curve


class _WithFree(torch.optim.Adam):
    """Adam on the sum of the paid gradient and of one that is free."""

    free: Sequence[torch.Tensor] = ()

    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Take a step on the parameters' gradients plus ``free``."""
        for parameter, gradient in zip(self.param_groups[0]["params"], self.free, strict=True):
            parameter.grad.add_(gradient)
        super().step(closure)


def trained(
    open_session: Open,
    training: DpSgd,
    union: Union,
    backbone: Backbone,
    *,
    clip: float,
    decay: float,
    tick: Callable[[int], None],
) -> list[float]:
    """Train ``backbone.decoder`` on the edges by ``training``.

    Returned is the curve of the pairs' part. The loss of an edge is minus its logit, that of a pair softplus.
    The latter's gradient is shortened as clipping shortens an edge's, by what uniform pairs say: else the
    pairs would win and all logits fall. Clipping at clip * decay^t is clipping the gradient times decay^-t at
    ``clip``.
    """
    decoder, place = backbone.decoder, backbone.mean.device
    priors = torch.from_numpy(union.priors()).float().to(place)
    expected = float(training.rate) * sum(union.edges)
    optimiser = _WithFree(decoder.parameters(), lr=MLP_RATE, fused=True)
    session = open_session(module=decoder, optimiser=optimiser, clip=clip, divisor=max(expected, 1.0))
    examples, edges = _ends(union), sum(union.edges)
    whole = closed_form.Whole(union, place) if closed_form.fits(union) else None
    curve, ratio = [], 1.0
    for done in range(training.steps):
        latent = backbone.mean + torch.randn_like(backbone.mean) * backbone.spread.exp()
        scale = decay**-done
        if done % COMPARE_EVERY == 0:
            ratio = _shortened(decoder, latent, union, clip / scale)
        if whole is not None:
            free, slopes = closed_form.free_slopes(decoder, whole, latent, priors)
        else:
            rows = decoder.rows(latent)
            free = partition(union, rows, rows, priors + decoder.offset)
            slopes = list(torch.autograd.grad(free, list(decoder.parameters())))
        optimiser.free = torch._foreach_mul(slopes, ratio * scale / edges)
        curve.append(float(free.detach()) / edges)

        def gradient_of_edge(
            values: dict[str, torch.Tensor],
            u: torch.Tensor,
            v: torch.Tensor,
            z: torch.Tensor = latent,
            s: float = scale,
        ) -> dict[str, torch.Tensor]:
            return Decoder.gradient(values, embedding(u, z), embedding(v, z), -s)

        session.step(Gradient(gradient_of_edge), examples)
        tick(done + 1)
    return curve


def _shortened(decoder: Decoder, latent: torch.Tensor, union: Union, clip: float) -> float:
    """Compute the mean of min(1, clip / length) over the gradients of uniform pairs' logits. Public."""
    if not union.pairs.any():
        return 1.0
    _, u, v = union.sampled(COMPARED, latent.device)
    values = {name: each.detach() for name, each in decoder.named_parameters()}
    found = vmap(decoder.gradient, in_dims=(None, 0, 0))(values, latent[u], latent[v])
    flat = torch.cat([each.reshape(len(u), -1) for each in found.values()], dim=1)
    length = flat.norm(dim=1)
    return float((clip / length.clamp(min=clip)).mean())


def symmetric_scores(matrix: torch.Tensor, rows: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Return (left, right) whose products are centred logits.

    They are float64, and the products the logits less the offset.
    """
    return (rows @ matrix).double().cpu().numpy(), rows.double().cpu().numpy()
