"""What THEPUFF's paper states, and why our published form differs from it by default."""

from __future__ import annotations

from papers._shared.deviations import Stated
from papers.thepuff.params import WHOLE, ThepuffParams

PAPER = ThepuffParams(preset="paper")
STATED = {
    "epsilon_minus": Stated(8.0, "A.5"),
    "batch": Stated(32, "A.5; 64 for ML-20M, Taobao"),
    "dimensions": Stated(128, "A.5"),
    "hidden": Stated(128, "A.5"),
    "width": Stated(128, "A.5"),
    "dropout": Stated(0.2, "A.5"),
    "generator_rate": Stated(1e-4, "A.5"),
    "discriminator_rate": Stated(1e-3, "A.5"),
    "optimisers": Stated("paper", "A.5"),
    "losses": Stated("linear", "Eq. 10, 12, 15"),
    "attention": Stated("paper", "Eq. 6-9, Alg. 3"),
    "utility_weight": Stated(1.0, "Eq. 15"),
    "generator_every": Stated(2, "A.6: 2-5"),
    "node_choice": Stated("distance", "Eq. 14"),
    "offered": Stated(WHOLE, "Eq. 14"),
    "across_steps": Stated(True, "4.3, Alg. 4"),
    "just_walks": Stated(10, "A.5"),
    "just_length": Stated(100, "A.5"),
}
_COST, _SHORT = "cost", "few batches"
REASONS = {
    "batch": _COST,
    "dimensions": _COST,
    "hidden": _COST,
    "width": _COST,
    "dropout": _SHORT,
    "generator_rate": _SHORT,
    "optimisers": _SHORT,
    "losses": "with a gradient penalty",
    "attention": "a term for neighbours",
    "utility_weight": "a choice of ours",
    "generator_every": _SHORT,
    "node_choice": "degrees to begin with",
    "offered": _COST,
    "across_steps": "a pair has one step",
    "just_walks": _COST,
    "just_length": _COST,
}
