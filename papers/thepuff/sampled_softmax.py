"""The choice of a node near a wanted vector.

It goes by distance (Eq. 14), exact or over sampled candidates. With a public or paid-for log weight w_v for
every candidate the law is softmax(-|h* - h_v| + w_v). Up to ``exact_up_to`` candidates of a type at a step it
is evaluated as it stands. Above, ``sampled`` candidates are sampled with replacement with probability
proportional to exp(w_v); dividing by that probability cancels w_v, so that among those sampled the law is
softmax(-|h* - h_v|): self-normalised importance sampling, whose error goes down as one over ``sampled``.
Nothing then costs O(candidates) but the cumulated weights, made once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from papers.thepuff.embedding import Candidates, Embedding

NEAREST = 1e-3  # added to squared distances: above rounding, and the root's slope is infinite at 0


@dataclass(frozen=True)
class Offered:
    """What may be chosen.

    Global ``nodes`` (k,), ``values`` (k, d) vectors, ``weights`` (k,) logs.

    ``places`` (k,) count into all candidates. ``squares`` (k,): the squared lengths of the vectors.
    """

    places: torch.Tensor
    nodes: torch.Tensor
    values: torch.Tensor
    weights: torch.Tensor
    squares: torch.Tensor


class Vocabulary:
    """The candidates and all vectors as tensors.

    They are on one device, with what is offered for a choice.
    """

    def __init__(
        self, tensors: Mapping[str, torch.Tensor], *, exact_up_to: int, sampled: int, place: torch.device
    ) -> None:
        self.table = tensors["table"].to(place)
        self.nodes = tensors["nodes"].to(place)
        self.rows = tensors["rows"].to(place)
        self.weights = tensors["weights"].to(place)
        self.block = tensors["block"].tolist()
        self.start = tensors["start"].tolist()
        self.exact_up_to, self.sampled = exact_up_to, sampled
        self.place = place
        mass = torch.from_numpy(
            np.concatenate([[0.0], np.cumsum(np.exp(tensors["weights"].double().numpy()))])
        )
        self._mass = mass.to(place)
        self._ends = mass[tensors["start"]].tolist()

    @staticmethod
    def tensors_of(embedding: Embedding, choices: Candidates) -> dict[str, torch.Tensor]:
        """Collect the tensors of a vocabulary. A model saves them."""
        found = {name: torch.from_numpy(column) for name, column in choices.columns().items()}
        found["weights"] = found["weights"].float()
        found["table"] = torch.from_numpy(embedding.table)
        return found

    @property
    def candidates(self) -> int:
        """How many candidates there are over all steps and types."""
        return len(self.nodes)

    def offers(self, step: int, kind: int) -> int:
        """Count the candidates of this type at this step."""
        block = self.block[step][kind]
        count: int = self.start[block + 1] - self.start[block]
        return count

    def large(self, step: int, kind: int) -> bool:
        """Tell whether a choice is offered only a sample. It is a choice of this type at this step."""
        return self.offers(step, kind) > self.exact_up_to

    def drawn(self, step: int, kind: int, count: int) -> torch.Tensor:
        """Sample ``count`` places in proportion to exp(weight).

        They are of candidates of a type at a step.
        """
        block = self.block[step][kind]
        low, high = self.start[block], self.start[block + 1]
        begin, end = self._ends[block], self._ends[block + 1]
        at = begin + torch.rand(count, dtype=torch.float64, device=self.place) * (end - begin)
        found = torch.searchsorted(self._mass[low + 1 : high + 1], at, right=True)
        places: torch.Tensor = low + found.clamp_(max=high - low - 1)
        return places

    def offered(self, step: int, kind: int) -> Offered:
        """Offer candidates of a type at a step. They are all, or a fresh sample of them."""
        block = self.block[step][kind]
        low, high = self.start[block], self.start[block + 1]
        if not self.large(step, kind):
            places = torch.arange(low, high, device=self.place)
            weights = self.weights[low:high]
        else:
            places = self.drawn(step, kind, self.sampled)
            weights = torch.zeros(self.sampled, device=self.place)
        values = self.table[self.rows[places]]
        return Offered(places, self.nodes[places], values, weights, values.square().sum(1))


def distances(wanted: torch.Tensor, values: torch.Tensor, squares: torch.Tensor) -> torch.Tensor:
    """Compute Euclidean distances, (rows, k), between vectors.

    They are (rows, d) and (k, d). O(rows * k * d).
    """
    own = wanted.square().sum(1, keepdim=True) + NEAREST
    return torch.add(own, squares).addmm_(wanted, values.T, alpha=-2).sqrt_()


def chosen(
    wanted: torch.Tensor, offered: Offered, shift: torch.Tensor | None, gradient: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sample a node among ``offered`` for each row.

    Returned are its place, (rows,) int64, and its vector (rows, d).

    ``shift`` (k,) is added to the weights. With ``gradient`` the vectors are straight through: forward that
    of the sampled node, backward the mean vector under the law.
    """
    weights = offered.weights if shift is None else offered.weights + shift
    parts = wanted, weights, offered.values, offered.squares
    if not gradient:
        at, vectors = _draw(*parts)[:2]
    else:
        at, vectors = _StraightThrough.apply(*parts)  # type: ignore[no-untyped-call]  # torch's own
    return at, vectors


def _draw(
    wanted: torch.Tensor, weights: torch.Tensor, values: torch.Tensor, squares: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    apart = distances(wanted, values, squares)
    chances = torch.softmax(weights - apart, 1)
    at = drawn(chances)
    return at, values[at], apart, chances


class _StraightThrough(torch.autograd.Function):
    """The gradient of sum_v p_v h_v with p = softmax(w - |h* - h|), in closed form: four passes, no graph."""

    @staticmethod
    def forward(
        ctx: Any, wanted: torch.Tensor, weights: torch.Tensor, values: torch.Tensor, squares: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        at, vectors, apart, chances = _draw(wanted, weights, values, squares)
        ctx.save_for_backward(wanted, values, apart, chances)
        ctx.mark_non_differentiable(at)
        return at, vectors

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(
        ctx: Any, _: torch.Tensor, slope: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor | None, None, None]:
        wanted, values, apart, chances = ctx.saved_tensors
        slopes = slope @ values.T
        slopes.sub_(torch.linalg.vecdot(slopes, chances).unsqueeze(1)).mul_(chances)
        weights = slopes.sum(0) if ctx.needs_input_grad[1] else None
        slopes.div_(apart)
        return slopes @ values - slopes.sum(1, keepdim=True) * wanted, weights, None, None


def drawn(chances: torch.Tensor) -> torch.Tensor:
    """Sample a place for each row, (rows,) int64.

    It goes by chances (rows, k) that sum to about 1; one coin a row.
    """
    mass = chances.detach().cumsum(1)
    coins = torch.rand(len(mass), 1, device=mass.device) * mass[:, -1:]
    return torch.searchsorted(mass, coins, right=True).squeeze(1).clamp_(max=mass.shape[1] - 1)
