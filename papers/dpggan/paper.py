"""DPGGAN as published. What it claims, what it reads, and why one edge is not what it protects."""

from __future__ import annotations

import math

from core.methods.base import Claimed

DELTA = 1e-5
RATE, NOISE = 0.01, 5.0
CLIP, DECAY = 5.0, 0.99
LEARNING_RATE = 1e-3
PRIOR_WEIGHT = ADVERSARIAL_WEIGHT = 0.1
"""Section 4 of the paper: q, sigma, C, gamma, eta, lambda_1 and lambda_2."""

REASON = "DPGGAN as published clips gradients by node, and its encoder and discriminator read the raw graph."
BACKBONE_REASON = "The backbone is trained on the raw graph without noise."
SOURCE = "Yang et al., DPGGAN (IJCAI 2021), Theorem 1, Corollaries 1.1 and 1.2, Algorithm 1, section 4"
REMARK = (
    "What is clipped to C is the gradient of one node, and the noise is sized for a sum that one edge "
    "changes by C. One edge is in the loss of both of its nodes, so it changes two clipped gradients, by up "
    "to 2 C each: 4 C in all. The encoder and the discriminator read the whole graph, so through them it "
    "changes every node's gradient: by up to 2 C for each node of a batch. Their own gradients have no "
    "noise, and the number of edges that is kept is the true one. None of this is in the stated epsilon."
)


def claim_of(epsilon: float) -> Claimed:
    """Return what the paper claims for the steps of ``epsilon``.

    It says too why it is no epsilon of an edge.
    """
    return Claimed(f"{epsilon:g}", f"{DELTA:.5f}", SOURCE, REMARK)


def calibrated_steps(epsilon: float, noise: float = NOISE, rate: float = RATE) -> int:
    """Compute the steps T of the paper's calibration. It is sigma = 2 q sqrt(T log(1/delta)) / epsilon."""
    return max(1, round((epsilon * noise / (2 * rate)) ** 2 / math.log(1 / DELTA)))
