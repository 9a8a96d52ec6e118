"""What is known of nodes beside their links."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Features:
    """(n, d) float32 node features, compared by identity."""

    values: np.ndarray
