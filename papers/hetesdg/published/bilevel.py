"""Eq. 5, 24 and 25: how the published form divides epsilon between its stages, on the raw graph.

FeatADP's loss f falls with epsilon_f, TopoGDP's g with epsilon_s. Each is moved by its own slope at step size
1, as printed, while the other stands; f's by a turn an epoch, g's once, after it. Filled in: both keep LEAST
of epsilon, and after the last turn they are scaled to sum to it. g's slope is that of the loss one step of
plain gradient descent later, as the noise of a step tells only there.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch

LEAST = 0.05
PILOT = 50
"""Steps of TopoGDP over which g's slope is averaged, at most."""


def turned(own: float, slope: float, epsilon: float) -> float:
    """Take one step of Eq. 24 or 25 within the bounds."""
    return min(max(own - slope, LEAST * epsilon), (1 - LEAST) * epsilon)


def held(feature: float, topology: float, epsilon: float) -> tuple[float, float]:
    """Scale epsilon_f and epsilon_s to the sum that Eq. 5 asks for."""
    return epsilon * feature / (feature + topology), epsilon * topology / (feature + topology)


def topology_slope(
    gradients: Iterable[torch.Tensor],
    noises: Iterable[torch.Tensor],
    *,
    rate: float,
    scale: float,
    epsilon: float,
) -> float:
    """Compute g's slope in epsilon_s, through one step.

    The step was w - rate * (gradient + scale * noise), and ``scale`` goes by one over ``epsilon``;
    ``gradients`` are those of the loss after it. Then dw / d epsilon = rate * scale / epsilon * noise.
    """
    met = sum(float((each * noise).sum()) for each, noise in zip(gradients, noises, strict=True))
    return met * rate * scale / epsilon
