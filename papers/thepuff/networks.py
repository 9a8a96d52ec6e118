"""The generator (Eq. 13 and 14) and the tri-level attention discriminators (Eq. 6 to 9) of THEPUFF.

Where the paper and a working construction differ, in one place each: a walk has one step, sampled from the
counts of the cells (a step at each place, where variant paper asks for it), and no end class, since a walk
along undirected edges can always turn back; its first two nodes are the ends of a learned relation; each
level of attention has values of its own; valid positions are pooled by their mean, and a bilinear term
compares neighbours. The attention as published is the class beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from papers.thepuff.sampled_softmax import Offered, Vocabulary, chosen, drawn

NOISE = 64
HEADS = 4
RANK = 16
TYPE_TEMPERATURE = 3.0


@dataclass(frozen=True)
class Shown:
    """Walks as a discriminator sees them.

    There are w walks of length l.

    ``time`` and ``over`` (w, l, d) are the vectors of the node at its step and over all time, ``kinds``
    (w, l, types) one-hot types, ``valid`` (w, l) bool, ``steps`` (w,) int64.
    """

    time: torch.Tensor
    over: torch.Tensor
    kinds: torch.Tensor
    valid: torch.Tensor
    steps: torch.Tensor

    def parts(self) -> tuple[torch.Tensor, ...]:
        """Return the five tensors in a discriminator's order."""
        return self.time, self.over, self.kinds, self.valid, self.steps

    def detached(self) -> Shown:
        """Return the same values without gradient."""
        return Shown(*(part.detach() for part in self.parts()))


class Discriminator(nn.Module):
    """A logit for each walk: higher, more real. Our form, of both discriminators."""

    def __init__(self, types: int, steps: int, dimensions: int, width: int) -> None:
        super().__init__()
        self.step = nn.Embedding(steps, dimensions)
        nn.init.zeros_(self.step.weight)
        self.width = width
        self.time = nn.Linear(dimensions, 4 * width + 2 * RANK, bias=False)  # all that is made of `time`
        self.over = nn.Linear(dimensions, 3 * width, bias=False)
        self.kinds = nn.Linear(types, 3 * width, bias=False)
        self.lift = nn.Parameter(torch.zeros(width))
        self.out = nn.Linear(width, 1)

    def forward(
        self,
        time: torch.Tensor,
        over: torch.Tensor,
        kinds: torch.Tensor,
        valid: torch.Tensor,
        steps: torch.Tensor,
    ) -> torch.Tensor:
        """Compute (...) logits of (..., l) walks, with any leading dimensions."""
        made = self.time(time + self.step(steps).unsqueeze(-2))
        asked, residual, left, right = made.split((3 * self.width, self.width, RANK, RANK), -1)
        hidden = functional.gelu(self._attended(asked, over, kinds, valid) + residual + self.lift)
        weight = valid.to(hidden.dtype).unsqueeze(-1)
        pooled = (hidden * weight).sum(-2) / weight.sum(-2).clamp(min=1)
        pairs = (left[..., :-1, :] * right[..., 1:, :]).sum(-1, keepdim=True)
        both = weight[..., :-1, :] * weight[..., 1:, :]
        beside = (pairs * both).sum(-2) / both.sum(-2).clamp(min=1)
        logits: torch.Tensor = (self.out(pooled) + beside / math.sqrt(RANK)).squeeze(-1)
        return logits

    def _attended(
        self, asked: torch.Tensor, over: torch.Tensor, kinds: torch.Tensor, valid: torch.Tensor
    ) -> torch.Tensor:
        """Sum softmax(Q K / sqrt(d_k)) V over the levels and valid places; (..., l, width).

        ``asked`` (..., l, 3 width) is Q, K and V of the first level.
        """
        levels = torch.stack([asked, self.over(over), self.kinds(kinds)], -2)
        split = levels.unflatten(-1, (3, HEADS, self.width // HEADS)).movedim(-3, 0)
        query, key, value = split.flatten(-3, -2).transpose(-3, -2)
        barred = torch.where(valid, 0.0, -1e9).unsqueeze(-2).unsqueeze(-2)
        scores = query @ key.transpose(-2, -1) / math.sqrt(self.width // HEADS)
        found = torch.softmax(scores + barred, -1) @ value
        heads: torch.Tensor = found.unflatten(-3, (3, HEADS)).sum(-4).transpose(-3, -2).flatten(-2)
        return heads


class PublishedDiscriminator(nn.Module):
    """Algorithm 3 with Eq. 6 to 9: three attentions, one V for all of them, a layer with two outputs.

    A walk's logit is p_0 - p_1, whose logistic function is the softmax of line 5. What the paper leaves open:
    HEADS heads, and p is the mean over the walk's places.
    """

    def __init__(self, types: int, dimensions: int, width: int, dropout: float) -> None:
        super().__init__()
        self.width, self.dropout = width, dropout
        self.asked = nn.ModuleList(
            nn.Linear(size, 2 * width, bias=False) for size in (dimensions, dimensions, types)
        )
        self.value = nn.Linear(dimensions, width, bias=False)
        self.out = nn.Linear(width, 2)

    def forward(
        self,
        time: torch.Tensor,
        over: torch.Tensor,
        kinds: torch.Tensor,
        valid: torch.Tensor,
        steps: torch.Tensor,
    ) -> torch.Tensor:
        """Compute (...) logits of (..., l) walks. Their steps are in the vectors alone."""
        barred = torch.where(valid, 0.0, -1e9).unsqueeze(-2).unsqueeze(-2)
        value = self._heads(self.value(time))
        found = torch.zeros_like(value)
        for given, layer in zip((time, over, kinds), self.asked, strict=True):
            query, key = (self._heads(each) for each in layer(given).chunk(2, -1))
            scores = query @ key.transpose(-2, -1) / math.sqrt(self.width // HEADS)
            weight = functional.dropout(torch.softmax(scores + barred, -1), self.dropout, self.training)
            found = found + weight @ value
        each_place = self.out(found.transpose(-3, -2).flatten(-2))
        weight = valid.to(each_place.dtype).unsqueeze(-1)
        both = (each_place * weight).sum(-2) / weight.sum(-2).clamp(min=1)
        logits: torch.Tensor = both[..., 0] - both[..., 1]
        return logits

    def _heads(self, values: torch.Tensor) -> torch.Tensor:
        """Split (..., l, width) into (..., HEADS, l, width / HEADS)."""
        split: torch.Tensor = values.unflatten(-1, (HEADS, self.width // HEADS))
        return split.transpose(-3, -2)


@dataclass(frozen=True)
class Drawn:
    """Generated walks. ``kinds`` and ``nodes`` (w, l) int64; ``shown`` for a discriminator, with gradient."""

    kinds: torch.Tensor
    nodes: torch.Tensor
    shown: Shown | None


class Generator(nn.Module):
    """An LSTM that samples walks.

    At each place it samples a type and a node.

    ``type_weights`` (steps, 3, types + 1, types) are logs, minus infinity where the schema forbids a type.
    ``stride``: how many candidate numbers a node has; above 1 where each place has a step of its own.
    """

    type_weights: torch.Tensor

    def __init__(
        self,
        type_weights: torch.Tensor,
        dimensions: int,
        hidden: int,
        candidates: int,
        learn_weights: bool,
        stride: int = 1,
    ) -> None:
        super().__init__()
        steps, _, _, types = type_weights.shape
        self.stride = stride
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
        """Sample ``each`` walks of every one of ``steps``.

        Steps come one after the other. With ``over_time`` (nodes, d) the draws carry gradient, through the
        vectors at the step, and can be shown to a discriminator; without, they are draws only. O(walks *
        length * offered candidates * d).
        """
        place = self.step.weight.device
        walks = len(steps) * each
        of_step = torch.tensor(list(steps), device=place).repeat_interleave(each)
        constant = self.step(of_step)
        memory = self.start(torch.randn(walks, NOISE, device=place))
        state = (torch.zeros(walks, self.hidden, device=place), memory)
        inputs = torch.zeros(walks, self.hidden, device=place)
        before = torch.full((walks,), self.types, device=place)
        shelf: dict[tuple[int, int], tuple[Offered, torch.Tensor | None]] = {}
        found: list[tuple[torch.Tensor, ...]] = []
        for at in range(length):
            state = self.cell(inputs + constant, state)
            bias = self.type_weights[of_step, min(at, 2), before]
            kind, one_hot = self._types(self.to_type(state[0]) + bias, over_time is not None)
            if over_time is None:
                shelf = {}  # fresh samples at every place
            wanted = self.to_node(state[0])
            nodes, vectors = self._nodes(vocabulary, steps, each, kind, wanted, over_time is not None, shelf)
            found.append((kind, one_hot, nodes, vectors))
            inputs = self.from_type(one_hot) + self.from_node(vectors)
            before = kind
        kinds, one_hots, nodes, vectors = (torch.stack(part, 1) for part in zip(*found, strict=True))
        if over_time is None:
            return Drawn(kinds, nodes, None)
        valid = torch.ones_like(kinds, dtype=torch.bool)
        return Drawn(kinds, nodes, Shown(vectors, over_time[nodes // self.stride], one_hots, valid, of_step))

    def _types(self, values: torch.Tensor, gradient: bool) -> tuple[torch.Tensor, torch.Tensor]:
        """Draw g_o: types (w,), and their one-hot rows with the Gumbel softmax's gradient (Jang 2017)."""
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
        gradient: bool,
        shelf: dict[tuple[int, int], tuple[Offered, torch.Tensor | None]],
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Draw g_v: nodes (w,) and their vectors (w, d), straight through with ``gradient``.

        Walks of one step and type choose together: they are sorted by both, and put back at the end.
        """
        row = torch.arange(len(kind), device=kind.device)
        group = row // each * self.types + kind
        order = torch.argsort(group, stable=True)
        counts = torch.bincount(group, minlength=len(steps) * self.types).tolist()
        sorted_rows = wanted.view(-1, self.dimensions)[order * self.types + kind[order]]
        nodes, vectors = [], []
        for number, rows in enumerate(sorted_rows.split(counts)):
            if not len(rows):
                continue
            name = steps[number // self.types], number % self.types
            if name not in shelf:
                offered = vocabulary.offered(*name)
                shelf[name] = offered, None if self.shift is None else self.shift[offered.places]
            offered, shift = shelf[name]
            at, found = chosen(rows, offered, shift, gradient)
            nodes.append(offered.nodes[at])
            vectors.append(found)
        back = torch.empty_like(order)
        back[order] = row
        return torch.cat(nodes)[back], torch.cat(vectors)[back]
