"""TopoGDP: a variational encoder and a link predictor.

The encoder is of a relation's two ends; both are by DP-SGD over links. The encoder sees noisy tables and
public columns only: a node's own coordinates, those of its expected neighbours, and those of theirs: two
rounds of relational mean aggregation over the noisy tables, carried out beforehand, then two layers (Eq. 16,
17, 19). A pair's logit is a bilinear form of two latent vectors (Eq. 20, with a matrix between them, as the
ends are of different types). A link's loss is its cross entropy, the KL term and the semantic regulariser
L_C, which draws a node to what the encoder makes of its mean neighbour (Eq. 21, 22). Absent pairs are uniform
ones, sampled without a look at links: free, under the same clip.

Sensitivity, proof: :class:`core.privacy.mechanisms.gradients.DpSgdSession`; a link's gradient depends on the
parameters and on its two nodes' rows, which follow from what was paid for. Unit: one edge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn.functional import embedding, softplus

from core.learning.devices import seeded
from core.privacy.accounting.dp_sgd import DpSgd
from core.privacy.mechanisms.gradients import DpSgdSession, Gradient, Sampled
from core.privacy.rounding import covered
from papers.hetesdg.inputs import Inputs
from papers.hetesdg.params import HeteParams
from papers.hetesdg.sides import Sides
from papers.hetesdg.sound.attention import standardised
from papers.hetesdg.sound.pair_gradient import pair_gradient
from papers.hetesdg.sound.tables import Table, expected

HIDDEN, LATENT = 8, 8
RATE = 0.02
AVERAGED = 2
"""The parameters of the last half of the steps are averaged: it takes most of the noise off."""

Open = Callable[..., DpSgdSession]
"""``PrivateGraph.dp_sgd`` with all but module, optimiser, clip and divisor filled in."""


@dataclass(frozen=True)
class Latents:
    """The two ends' latent vectors, and the loss curve.

    Vectors are float32 (n, LATENT), and their products a relation's logits; the curve is of the loss of
    absent pairs.
    """

    source: np.ndarray
    target: np.ndarray
    curve: tuple[float, ...]


class Encoder(nn.Module):
    """Means and log standard deviations of latent vectors. They are from a row of inputs."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(width, HIDDEN)
        self.second = nn.Linear(HIDDEN, 2 * LATENT)

    def means(self, rows: torch.Tensor) -> torch.Tensor:
        """Map (n, width) to (n, LATENT)."""
        means: torch.Tensor = self.second(torch.relu(self.first(rows)))[:, :LATENT]
        return means


class Predictor(nn.Module):
    """Both ends' encoders, and the form between them. ``weights``: of the KL term and of L_C."""

    def __init__(self, source: int, target: int, divergence: float, semantic: float) -> None:
        super().__init__()
        self.source, self.target = Encoder(source), Encoder(target)
        self.form = nn.Parameter(torch.eye(LATENT))
        self.offset = nn.Parameter(torch.zeros(()))
        self.weights = divergence, semantic

    def gradient(
        self,
        values: Mapping[str, torch.Tensor],
        of_source: torch.Tensor,
        of_target: torch.Tensor,
        sign: torch.Tensor,
    ) -> dict[str, torch.Tensor]:
        """Compute the gradient of one pair's loss at ``values``.

        ``of_source`` (2, width): the rows of the source and of the target's mean neighbour; ``of_target``: of
        the target and of the source's mean neighbour; ``sign``: 1 for a link, -1 for an absent pair.
        """
        noise = torch.randn(2, LATENT, device=of_source.device)
        return pair_gradient(values, (of_source, of_target), sign, noise, self.weights)


def rows_of_ends(
    sides: Sides, table: Table, grouped: Inputs, counted: Inputs
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Compute both ends' rows, with those of mean neighbours.

    They are ((source rows, rows of their mean neighbours), the same of targets); float32. A row is a node's
    coordinates, those of its mean neighbour, and those of that one's: two rounds of mean aggregation over the
    noisy table. O(n k d).
    """
    counts = expected(table)
    own = np.concatenate([counted.place, standardised(np.log1p(counts))], axis=1)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-9)
    mass = counts / np.maximum(counts.sum(axis=0, keepdims=True), 1e-9)

    def onto_clusters(rows: np.ndarray) -> np.ndarray:
        return np.asarray((mass.T @ rows)[grouped.label])

    def onto_counted(rows: np.ndarray) -> np.ndarray:
        sums = np.zeros((counts.shape[1], rows.shape[1]))
        np.add.at(sums, grouped.label, rows)
        size = np.bincount(grouped.label, minlength=counts.shape[1]).reshape(-1, 1)
        return np.asarray(share @ (sums / np.maximum(size, 1)))

    near_a, near_b = onto_clusters(own), onto_counted(grouped.place)
    far_a, far_b = onto_clusters(near_b), onto_counted(near_a)
    ends = [
        (np.concatenate([grouped.place, near_a, far_a], 1), np.concatenate([near_a, far_a, near_a], 1)),
        (np.concatenate([own, near_b, far_b], 1), np.concatenate([near_b, far_b, near_b], 1)),
    ]
    if sides.grouped_side == "target":
        ends.reverse()
    source, target = (tuple(each.astype(np.float32) for each in pair) for pair in ends)
    return (source[0], source[1]), (target[0], target[1])


def place_for(source: int, target: int) -> torch.device | None:
    """Choose the CPU for wide rows; else None.

    They are so wide that a GPU's rounding is not allowed for; None is for any device.
    """
    with torch.device("meta"):
        shapes = [tuple(each.shape) for each in Predictor(source, target, 0.0, 0.0).parameters()]
    return None if covered(shapes) else torch.device("cpu")


def learned(
    open_session: Open,
    training: DpSgd,
    ends: tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]],
    edges: float,
    params: HeteParams,
    seed: int,
    tick: Callable[[int], None],
) -> Latents:
    """Learn latent vectors of both ends by ``training``. ``edges``: a paid-for number of links.

    O(steps * sampled links * parameters).
    """
    widths = ends[0][0].shape[1], ends[1][0].shape[1]
    with seeded(seed, place_for(*widths)) as place:
        (u, near_u), (v, near_v) = (tuple(torch.from_numpy(each).to(place) for each in end) for end in ends)
        module = Predictor(u.shape[1], v.shape[1], params.divergence, params.semantic).to(place)
        optimiser = torch.optim.Adam(module.parameters(), lr=RATE)
        divisor = max(1.0, float(training.rate) * edges) + params.negatives
        session = open_session(module=module, optimiser=optimiser, clip=params.clip, divisor=divisor)
        average = [torch.zeros_like(each) for each in module.parameters()]
        curve = []

        def gradient(
            values: Mapping[str, torch.Tensor], i: torch.Tensor, j: torch.Tensor, sign: torch.Tensor
        ) -> dict[str, torch.Tensor]:
            of_source = torch.stack([embedding(i, u), embedding(j, near_v)])
            of_target = torch.stack([embedding(j, v), embedding(i, near_u)])
            return module.gradient(values, of_source, of_target, sign)

        kept = max(1, training.steps // AVERAGED)
        for done in range(training.steps):
            absent = [torch.randint(len(each), (params.negatives,), device=place) for each in (u, v)]
            session.step(
                Gradient(gradient), _links, [*absent, torch.full((params.negatives,), -1.0, device=place)]
            )
            if done >= training.steps - kept:
                with torch.no_grad():
                    for total, each in zip(average, module.parameters(), strict=True):
                        total += each / kept
            curve.append(_absent(module, u, v))
            tick(done + 1)
        with torch.no_grad():
            for total, each in zip(average, module.parameters(), strict=True):
                each.copy_(total)
            source = module.source.means(u) @ module.form
            target = module.target.means(v)
        return Latents(source.cpu().numpy(), target.cpu().numpy(), tuple(curve))


def _links(sampled: Sampled) -> list[torch.Tensor]:
    """Make every link its two nodes and its sign."""
    return [
        torch.from_numpy(sampled.source),
        torch.from_numpy(sampled.target),
        torch.ones(len(sampled)),
    ]


def _absent(module: Predictor, u: torch.Tensor, v: torch.Tensor, pairs: int = 256) -> float:
    """Average the cross entropy of uniform pairs as absent ones: public rows and paid-for parameters."""
    with torch.no_grad():
        i, j = (torch.randint(len(each), (pairs,), device=each.device) for each in (u, v))
        ends = module.source.means(u[i]) @ module.form, module.target.means(v[j])
        logit = (ends[0] * ends[1]).sum(1) + module.offset
        return float(softplus(logit).mean())
