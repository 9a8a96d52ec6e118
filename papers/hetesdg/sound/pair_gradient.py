"""The gradient of one pair's loss, in closed form.

With many pairs at once it is three times as fast as asking torch. A step of DP-SGD wants every pair's own
gradient: :class:`core.privacy.mechanisms.gradients.Gradient` asks for it pair by pair, under vmap. Unit tests
hold it against the loss term by term, differentiated by torch.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

LEAST, MOST = -6.0, 2.0
"""Log deviations are held to this range."""
SIDES = ("source", "target")


def pair_gradient(
    values: Mapping[str, torch.Tensor],
    rows: tuple[torch.Tensor, torch.Tensor],
    sign: torch.Tensor,
    noise: torch.Tensor,
    weights: tuple[float, float],
) -> dict[str, torch.Tensor]:
    """Compute a predictor's gradient at ``values``, by name.

    The predictor is a :class:`papers.hetesdg.sound.topo.Predictor`.

    ``rows``: (2, width) of both ends: a node's own row, and that of the other end's mean neighbour; ``sign``:
    1 for a link, -1 for an absent pair; ``noise`` (2, d) of the two latent vectors; ``weights``: of the KL
    term and of L_C. O(parameters).
    """
    form = values["form"]
    own, other = weights
    size = len(form)
    hidden, found = [], []
    for side, row in zip(SIDES, rows, strict=True):
        hidden.append(torch.relu(row @ values[f"{side}.first.weight"].T + values[f"{side}.first.bias"]))
        found.append(hidden[-1] @ values[f"{side}.second.weight"].T + values[f"{side}.second.bias"])
    means, raw = ([each[0, part] for each in found] for part in (slice(size), slice(size, None)))
    near = [found[1 - end][1, :size] for end in (0, 1)]  # what an end's own mean neighbour looks like
    deviations = [each.clamp(LEAST, MOST).exp() for each in raw]
    latent = [m + d * noise[end] for end, (m, d) in enumerate(zip(means, deviations, strict=True))]
    turned = [form @ latent[1], latent[0] @ form]
    by_logit = -sign * torch.sigmoid(-sign * (latent[0] @ turned[0] + values["offset"]))
    gaps = [mean - beside for mean, beside in zip(means, near, strict=True)]
    gradient = {"form": by_logit * torch.outer(latent[0], latent[1]), "offset": by_logit}
    for end, side in enumerate(SIDES):
        by_latent = by_logit * turned[end]
        by_spread = by_latent * deviations[end] * noise[end] + own * (deviations[end].square() - 1)
        by_spread = by_spread * ((raw[end] >= LEAST) & (raw[end] <= MOST))
        by_mean = by_latent + own * means[end] + other * gaps[end]
        by_near = -other * gaps[1 - end]  # this encoder's second row stands for the other end's neighbour
        by_found = torch.stack(
            [torch.cat([by_mean, by_spread]), torch.cat([by_near, torch.zeros_like(by_near)])]
        )
        by_hidden = (by_found @ values[f"{side}.second.weight"]) * (hidden[end] > 0)
        gradient |= {
            f"{side}.first.weight": by_hidden.T @ rows[end],
            f"{side}.first.bias": by_hidden.sum(0),
            f"{side}.second.weight": by_found.T @ hidden[end],
            f"{side}.second.bias": by_found.sum(0),
        }
    return gradient
