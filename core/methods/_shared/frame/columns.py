"""A fitted cell: named columns of numbers.

With them is the function that samples a cell's edges from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from core.privacy.entropy import Generator as Rng

Columns = Mapping[str, np.ndarray]
"""A cell's paid-for output: arrays by name."""

Draw = Callable[[Columns, int, Any, Rng], np.ndarray]
"""``draw(columns, nodes, params, rng)``: a cell's edges as sorted keys, see ``percell.Parts``."""
