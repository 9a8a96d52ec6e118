"""Learned scores out of a model's weights."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from core.learning.devices import seeded
from core.privacy.entropy import Generator as Rng
from papers.dpggan.draw import Scores
from papers.dpggan.link_decoder import symmetric_scores
from papers.dpggan.networks import Decoder

BILINEAR, LATENT = "bilinear", "latent"


def bilinear_weights(matrix: torch.Tensor, rows: torch.Tensor) -> dict[str, torch.Tensor]:
    """Store the weights of scores rows W rows."""
    return {BILINEAR: matrix, "rows": rows}


def latent_weights(
    mean: torch.Tensor, spread: torch.Tensor, decoder: Decoder, *, prior: bool = False
) -> dict[str, torch.Tensor]:
    """Store the weights of a decoder's scores.

    They are on latent vectors that each graph samples anew.

    ``prior``: from the normal law, whatever ``mean`` and ``spread`` are.
    """
    state = {f"decoder.{name}": value for name, value in decoder.state_dict().items()}
    if prior:
        mean, spread = torch.zeros_like(mean), torch.zeros_like(spread)
    return {LATENT: mean, "spread": spread, **state}


def scores_of(weights: Mapping[str, torch.Tensor], rng: Rng) -> Scores:
    """Compute the score factors (left, right), float64 (nodes, width).

    They are on the CPU, whatever the model was trained on.
    """
    if BILINEAR in weights:
        return symmetric_scores(weights[BILINEAR], weights["rows"])
    decoder = Decoder()
    prefix = "decoder."
    decoder.load_state_dict({k[len(prefix) :]: v for k, v in weights.items() if k.startswith(prefix)})
    with seeded(int(rng.integers(2**63)), torch.device("cpu")), torch.no_grad():
        mean = weights[LATENT]
        rows = decoder.rows(mean + torch.randn_like(mean) * weights["spread"].exp())
    values = rows.double().numpy()
    return values, values
