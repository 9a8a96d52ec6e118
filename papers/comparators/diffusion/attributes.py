"""Attributes of nodes by discrete diffusion towards their marginals. Also what else is known of nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import torch
from torch import nn

from core.graphs.graph import NodeTable
from core.graphs.schema import AttributeKind, NodeType, Protection
from core.privacy.entropy import Generator as Rng
from papers.comparators.diffusion.edges import LEARNING_RATE

STEPS = 16
HIDDEN = 64
ROWS = 4096
MOST_COLUMNS = 32
"""Public attributes of more columns than that are projected on their leading directions."""


class ValueDenoiser(nn.Module):
    """A row's own values from noisy ones. ``sizes``: how many bins each attribute has."""

    def __init__(self, sizes: Sequence[int], inputs: int) -> None:
        super().__init__()
        self.sizes = list(sizes)
        self.net = nn.Sequential(
            nn.Linear(sum(sizes) + inputs + 2, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, sum(sizes))
        )

    def forward(
        self, noisy: torch.Tensor, degrees: torch.Tensor, inputs: torch.Tensor, share: float
    ) -> tuple[torch.Tensor, ...]:
        """Compute (n, bins) logits of each attribute. A ``share`` of values was sampled anew."""
        facts = torch.stack([torch.log1p(degrees), torch.full_like(degrees, share)], 1)
        found: torch.Tensor = self.net(torch.cat([one_hot(noisy, self.sizes), facts, inputs], 1))
        return tuple(torch.split(found, list(self.sizes), 1))


def one_hot(values: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
    """Encode (n, attributes) bins as (n, sum of sizes) indicators.

    They are zeros and ones; a missing value, -1, is zeros.
    """
    parts = [
        nn.functional.one_hot(values[:, k].clamp(min=0), size) * (values[:, k] >= 0)[:, None]
        for k, size in enumerate(sizes)
    ]
    return torch.cat(parts, 1).float() if parts else values.new_zeros((len(values), 0)).float()


def marginals(values: np.ndarray, sizes: Sequence[int]) -> list[np.ndarray]:
    """Compute each attribute's bin frequencies. Those of one without any value are alike."""
    counts = [np.bincount(values[:, k][values[:, k] >= 0], minlength=size) for k, size in enumerate(sizes)]
    return [(each + 1e-9) / (each + 1e-9).sum() for each in counts]


def _noise(law: Sequence[np.ndarray], rows: int, rng: Rng) -> np.ndarray:
    columns = [np.searchsorted(np.cumsum(each)[:-1], rng.random(rows), side="right") for each in law]
    return np.stack(columns, 1).astype(np.int64)


def learned(
    values: np.ndarray,
    degrees: np.ndarray,
    inputs: torch.Tensor,
    network: ValueDenoiser,
    law: Sequence[np.ndarray],
    steps: int,
    rng: Rng,
    tick: Callable[[int], None],
) -> list[float]:
    """Train on (n, attributes) bins, and return the curve. A bin is -1 where a value is missing."""
    place = inputs.device
    optimiser = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    curve = []
    for done in range(steps if (values >= 0).any() else 0):
        at = rng.integers(len(values), size=min(len(values), ROWS))
        share = float(rng.random())
        own = values[at]
        anew = (rng.random(own.shape) < share) | (own < 0)
        noisy = np.where(anew, _noise(law, len(at), rng), own)
        degree = torch.from_numpy(degrees[at]).to(place, torch.float32)
        known = inputs[torch.from_numpy(at).to(place)]
        told = network(torch.from_numpy(noisy).to(place), degree, known, share)
        truth = torch.from_numpy(own).to(place)
        losses = [
            nn.functional.cross_entropy(each, truth[:, k], ignore_index=-1, reduction="sum")
            for k, each in enumerate(told)
        ]
        loss = torch.stack(losses).sum() / max(int((own >= 0).sum()), 1)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        curve.append(float(loss.detach()))
        tick(done + 1)
    return curve


def dealt(
    degrees: np.ndarray, inputs: torch.Tensor, network: ValueDenoiser, law: Sequence[np.ndarray], rng: Rng
) -> np.ndarray:
    """Sample (n, attributes) bins from noise. Each step guesses all values and puts less noise to them."""
    place = inputs.device
    degree = torch.from_numpy(degrees).to(place, torch.float32)
    found = _noise(law, len(degrees), rng)
    for step in range(STEPS, 0, -1):
        with torch.no_grad():
            told = network(torch.from_numpy(found).to(place), degree, inputs, step / STEPS)
        guessed = []
        for each in told:
            chance = torch.softmax(each.double(), 1).cumsum(1).cpu().numpy()
            aim = rng.random((len(chance), 1)) * chance[:, -1:]
            guessed.append(np.minimum((chance < aim).sum(1), chance.shape[1] - 1))
        anew = rng.random(found.shape) < (step - 1) / STEPS
        found = np.where(anew, _noise(law, len(degrees), rng), np.stack(guessed, 1))
    return found


def public_inputs(kind: NodeType, tables: Sequence[NodeTable]) -> list[np.ndarray]:
    """Encode the public attributes of types that declare alike.

    They all declare them as ``kind`` does. float32 (n, d) each: categories as zeros and ones, numbers and
    vectors standardised; of many columns the leading directions. Missing values are zeros.
    """
    counts = [table.count for table in tables]
    blocks = [np.zeros((sum(counts), 0), np.float32)]
    for each in kind.attributes:
        if each.protection is not Protection.PUBLIC or any(each.name not in t.attributes for t in tables):
            continue
        columns = [table.attributes[each.name] for table in tables]
        if each.kind is AttributeKind.CATEGORY:
            text = pa.concat_arrays([pa.array(column).cast(pa.string()) for column in columns])
            coded = text.dictionary_encode()
            codes = coded.indices.fill_null(-1).to_numpy()
            blocks.append((codes[:, None] == np.arange(len(coded.dictionary))[None, :]).astype(np.float32))
            continue
        own = [c.to_numpy(zero_copy_only=False) if isinstance(c, pa.Array) else c for c in columns]
        block = np.nan_to_num(np.concatenate(own).astype(np.float32).reshape(sum(counts), -1))
        blocks.append((block - block.mean(0)) / np.maximum(block.std(0), 1e-6))
    joined = np.concatenate(blocks, 1)
    if joined.shape[1] > MOST_COLUMNS:
        left, size, _ = torch.svd_lowrank(torch.from_numpy(joined), q=min(MOST_COLUMNS, len(joined)))
        scaled = (left * size).numpy()
        joined = scaled / np.maximum(scaled.std(0).max(initial=0), 1e-6)
    return np.split(joined, np.cumsum(counts)[:-1])
