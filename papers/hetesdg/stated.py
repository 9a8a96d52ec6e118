"""What HeteSDG's paper states, and why our published form differs from it by default."""

from __future__ import annotations

from papers._shared.deviations import Stated
from papers.hetesdg.params import HeteParams

PAPER = HeteParams(preset="paper")
STATED = {
    "claimed_epsilon": Stated(1.0, "Table 3"),
    "split": Stated("bilevel", "Eq. 5, 24, 25"),
    "heads": Stated(8, "5.1"),
    "feature_width": Stated(64, "5.1"),
    "feature_rate": Stated(0.005, "5.1"),
    "feature_epochs": Stated(100, "5.1"),
    "dropout": Stated(0.8, "5.1"),
    "weight_decay": Stated(0.001, "5.1"),
    "topology_width": Stated(32, "5.1"),
    "topology_rate": Stated(0.001, "5.1"),
    "link_epochs": Stated(100, "5.1"),
    "batch": Stated(2048, "5.1"),
    "negatives_per_link": Stated(5, "5.1"),
}
_SHORT = "cost"
REASONS = {
    "split": "halves, no look at losses",
    "heads": _SHORT,
    "feature_width": _SHORT,
    "feature_rate": "few epochs",
    "feature_epochs": _SHORT,
    "dropout": "few epochs",
    "weight_decay": "few epochs",
    "topology_width": _SHORT,
    "topology_rate": "few steps",
    "link_epochs": "200 `steps`",
    "batch": _SHORT,
    "negatives_per_link": _SHORT,
}
