"""How one cell of ``dcsbm`` divides its epsilon. Public facts only."""

from __future__ import annotations

from collections.abc import Mapping

from core.methods._shared.frame.plan import divide
from core.methods.dcsbm.params import DCSBMParams

SHARED = ("count", "degree", "tail", "block", "triangle", "clustering", "product")
FREED = {"degree": 0.32, "tail": 0.08, "triangle": 0.33, "clustering": 0.27}
"""How what labels would cost is divided where there is one. By the mean error over sparse graphs at epsilon
1, each left out in turn (``benchmarks/freed_shares.py``); at .5, 2 and 4 no division is surely better."""

FREED_BY_GROUPS = {"degree": 0.1, "tail": 0.1, "block": 0.3, "triangle": 0.3, "clustering": 0.2}
"""The same where labels are public groups: edges between them are told first."""


def shares(params: DCSBMParams, nano_epsilon: int) -> dict[str, int]:
    """Return the nano-epsilon of every paid read. They sum to ``nano_epsilon``."""
    named = {name: getattr(params, f"{name}_share") for name in SHARED}
    named = {name: share for name, share in named.items() if share}
    return dict(zip((*named, "label"), divide(nano_epsilon, *named.values()), strict=True))


def without_labels(budget: Mapping[str, int], freed: Mapping[str, float] = FREED) -> dict[str, int]:
    """Return ``budget`` without the labels' part. What they would cost goes to what remains, by ``freed``."""
    rest = {name: cost for name, cost in budget.items() if name != "label"}
    weights = {name: weight for name, weight in freed.items() if name in rest}
    left = budget["label"]
    for name, weight in weights.items():
        more = int(budget["label"] * weight / sum(weights.values()))
        rest[name] += more
        left -= more
    # What rounding leaves, so that nothing of the budget is lost.
    rest["degree"] += left
    return rest


def cell_reads(params: DCSBMParams, nano_epsilon: int) -> dict[str, int]:
    """Return a cell's least payment for counts, degrees and tails. It is more where it reads no labels."""
    budget = shares(params, nano_epsilon)
    spent = {
        "edge_count": "count",
        "degrees": "degree",
        "tail_counts": "tail",
        "group_matrix": "block",
        "triangles": "triangle",
    }
    return {query: budget[share] for query, share in spent.items() if share in budget}
