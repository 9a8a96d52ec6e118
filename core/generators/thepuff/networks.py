"""The generator (Eq. 13 and 14) and the tri-level attention discriminators (Eq. 6 to 9) of THEPUFF.

Where the paper and a working construction differ, in one place each: a walk has one step, drawn from the
counts of the cells, and no end class, since a walk along undirected edges can always turn back; its first two
nodes are the ends of a learned relation; each level of attention has values of its own; valid positions are
pooled by their mean, and a bilinear term compares neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from core.generators.thepuff.sampled_softmax import Offered, Vocabulary, drawn, logits

NOISE = 64
HEADS = 4
RANK = 16
TYPE_TEMPERATURE = 3.0


@dataclass(frozen=True)
class Shown:
    """Walks as a discriminator sees them; w walks of length l.

    ``time`` and ``over`` (w, l, d) are the vectors of the node at its step and over all time, ``kinds``
    (w, l, types) one-hot types, ``valid`` (w, l) bool, ``steps`` (w,) int64.
    """

    time: torch.Tensor
    over: torch.Tensor
    kinds: torch.Tensor
    valid: torch.Tensor
    steps: torch.Tensor

    def parts(self) -> tuple[torch.Tensor, ...]:
        """The five tensors, in the order in which a discriminator takes them."""
        return self.time, self.over, self.kinds, self.valid, self.steps

    def detached(self) -> Shown:
        """The same values without gradient."""
        return Shown(*(part.detach() for part in self.parts()))


class Discriminator(nn.Module):
    """A logit for each walk: higher, more real. Both discriminators of the paper share this form."""

    def __init__(self, types: int, steps: int, dimensions: int, width: int) -> None:
        super().__init__()
        self.step = nn.Embedding(steps, dimensions)
        nn.init.zeros_(self.step.weight)
        self.width = width
        self.time = nn.Linear(dimensions, 3 * width, bias=False)
        self.over = nn.Linear(dimensions, 3 * width, bias=False)
        self.kinds = nn.Linear(types, 3 * width, bias=False)
        self.residual = nn.Linear(dimensions, width)
        self.left = nn.Linear(dimensions, RANK, bias=False)
        self.right = nn.Linear(dimensions, RANK, bias=False)
        self.out = nn.Linear(width, 1)

    def forward(
        self,
        time: torch.Tensor,
        over: torch.Tensor,
        kinds: torch.Tensor,
        valid: torch.Tensor,
        steps: torch.Tensor,
    ) -> torch.Tensor:
        """(...) logits of (..., l) walks, with any leading dimensions."""
        time = time + self.step(steps).unsqueeze(-2)
        hidden = functional.gelu(self._attended(time, over, kinds, valid) + self.residual(time))
        weight = valid.to(hidden.dtype).unsqueeze(-1)
        pooled = (hidden * weight).sum(-2) / weight.sum(-2).clamp(min=1)
        pairs = (self.left(time)[..., :-1, :] * self.right(time)[..., 1:, :]).sum(-1, keepdim=True)
        both = weight[..., :-1, :] * weight[..., 1:, :]
        beside = (pairs * both).sum(-2) / both.sum(-2).clamp(min=1)
        return (self.out(pooled) + beside / math.sqrt(RANK)).squeeze(-1)

    def _attended(
        self, time: torch.Tensor, over: torch.Tensor, kinds: torch.Tensor, valid: torch.Tensor
    ) -> torch.Tensor:
        """(..., l, width): the sum over the levels of softmax(Q K / sqrt(d_k)) V, over valid places."""
        levels = torch.stack([self.time(time), self.over(over), self.kinds(kinds)], -2)
        split = levels.unflatten(-1, (3, HEADS, self.width // HEADS)).movedim(-3, 0)
        query, key, value = split.flatten(-3, -2).transpose(-3, -2)
        barred = torch.where(valid, 0.0, -1e9).unsqueeze(-2).unsqueeze(-2)
        scores = query @ key.transpose(-2, -1) / math.sqrt(self.width // HEADS)
        found = torch.softmax(scores + barred, -1) @ value
        return found.unflatten(-3, (3, HEADS)).sum(-4).transpose(-3, -2).flatten(-2)


@dataclass(frozen=True)
class Drawn:
    """Generated walks: ``kinds`` and ``nodes`` (w, l) int64; ``shown`` for a discriminator, with gradient."""

    kinds: torch.Tensor
    nodes: torch.Tensor
    shown: Shown | None


class Generator(nn.Module):
    """An LSTM that draws a type and a node at each place of a walk.

    ``type_weights`` (steps, 3, types + 1, types) are logs, minus infinity where the schema forbids a type.
    """

    type_weights: torch.Tensor

    def __init__(
        self, type_weights: torch.Tensor, dimensions: int, hidden: int, candidates: int, learn_weights: bool
    ) -> None:
        super().__init__()
        steps, _, _, types = type_weights.shape
        self.types, self.dimensions, self.hidden = types, dimensions, hidden
        self.register_buffer("type_weights", type_weights.float())
        self.step = nn.Embedding(steps, hidden)
        self.start = nn.Linear(NOISE, hidden)
        self.cell = nn.LSTMCell(hidden, hidden)
        self.from_type = nn.Linear(types, hidden)
        self.from_node = nn.Linear(dimensions, hidden)
        self.to_type = nn.Linear(hidden, types)
        self.to_node = nn.Linear(hidden, types * dimensions)
        self.shift = nn.Parameter(torch.zeros(candidates)) if learn_weights else None
        nn.init.zeros_(self.to_type.weight)
        nn.init.zeros_(self.to_type.bias)

    def forward(
        self,
        vocabulary: Vocabulary,
        steps: Sequence[int],
        each: int,
        length: int,
        over_time: torch.Tensor | None = None,
    ) -> Drawn:
        """``each`` walks of every one of ``steps``, one step after the other.

        With ``over_time`` (nodes, d) the draws carry gradient, through the vectors at the step, and can be
        shown to a discriminator; without, they are draws only. O(walks * length * offered candidates * d).
        """
        place = self.step.weight.device
        walks = len(steps) * each
        of_step = torch.tensor(list(steps), device=place).repeat_interleave(each)
        constant = self.step(of_step)
        memory = self.start(torch.randn(walks, NOISE, device=place))
        state = (torch.zeros(walks, self.hidden, device=place), memory)
        inputs = torch.zeros(walks, self.hidden, device=place)
        before = torch.full((walks,), self.types, device=place)
        shelf: dict[tuple[int, int], Offered] = {}
        found: list[tuple[torch.Tensor, ...]] = []
        for at in range(length):
            state = self.cell(inputs + constant, state)
            bias = self.type_weights[of_step, min(at, 2), before]
            kind, one_hot = self._types(self.to_type(state[0]) + bias, over_time is not None)
            wanted = self.to_node(state[0]).view(walks, self.types, self.dimensions)
            wanted = wanted[torch.arange(walks, device=place), kind]
            if over_time is None:
                shelf = {}  # fresh samples at every place
            chosen = self._nodes(vocabulary, steps, each, kind, wanted, over_time, shelf)
            found.append((kind, one_hot, *chosen))
            inputs = self.from_type(one_hot) + self.from_node(chosen[1])
            before = kind
        kinds, one_hots, nodes, vectors = (torch.stack(part, 1) for part in zip(*found, strict=True))
        if over_time is None:
            return Drawn(kinds, nodes, None)
        valid = torch.ones_like(kinds, dtype=torch.bool)
        return Drawn(kinds, nodes, Shown(vectors, over_time[nodes], one_hots, valid, of_step))

    def _types(self, values: torch.Tensor, gradient: bool) -> tuple[torch.Tensor, torch.Tensor]:
        """g_o: types (w,), and their one-hot rows with the gradient of the Gumbel softmax (Jang 2017)."""
        if not gradient:
            kind = drawn(torch.softmax(values, 1))
            return kind, functional.one_hot(kind, self.types).to(values.dtype)
        perturbed = values - torch.empty_like(values).exponential_().log_()
        kind, soft = perturbed.argmax(1), torch.softmax(perturbed / TYPE_TEMPERATURE, 1)
        hard = functional.one_hot(kind, self.types).to(values.dtype)
        return kind, hard + (soft - soft.detach())

    def _nodes(
        self,
        vocabulary: Vocabulary,
        steps: Sequence[int],
        each: int,
        kind: torch.Tensor,
        wanted: torch.Tensor,
        over_time: torch.Tensor | None,
        shelf: dict[tuple[int, int], Offered],
    ) -> tuple[torch.Tensor, ...]:
        """g_v: nodes (w,) and their vectors (w, d), straight through: forward the vector of the node drawn,
        backward the mean vector under Eq. 14.
        """
        rows, parts = [], []
        for slot, step in enumerate(steps):
            here = kind[slot * each : (slot + 1) * each]
            for o in torch.unique(here).tolist():
                row = slot * each + torch.nonzero(here == o).squeeze(1)
                if (step, o) not in shelf:
                    shelf[step, o] = vocabulary.offered(step, o)
                offered = shelf[step, o]
                values = logits(wanted[row], offered)
                if self.shift is not None:
                    values = values + self.shift[offered.places]
                rows.append(row)
                chances = torch.softmax(values, 1)
                at = drawn(chances)
                vectors = offered.values[at]
                if over_time is not None:
                    expected = chances @ offered.values
                    vectors = vectors + (expected - expected.detach())
                parts.append((offered.nodes[at], vectors))
        order = torch.argsort(torch.cat(rows))
        return tuple(torch.cat(part)[order] for part in zip(*parts, strict=True))
