"""A noisy number of edges, joined at random: a method of another package, as CONTRIBUTING shows it.

What is read: the number of edges of every cell, sensitivity 1. Guarantee: pure epsilon, unit: one edge.
What to expect: the number of edges and nothing else of the graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.methods._shared.frame.percell import Parts, PerCell
from core.methods._shared.values.share import ValueParameters

if TYPE_CHECKING:
    import numpy as np

    from core.methods._shared.frame.columns import Columns
    from core.privacy.entropy import Generator as Rng
    from core.privacy.session.private_graph import PrivateCell


def _counted(cell: PrivateCell, nodes: int, nano_epsilon: int, params: ValueParameters, rng: Rng) -> Columns:
    """Pay for the number of edges: ``edges``, one int64."""
    import numpy as np

    from core.methods._shared.degrees.counts import noisy_count

    return {"edges": np.array([noisy_count(cell, nano_epsilon)], dtype=np.int64)}


def _joined(columns: Columns, nodes: int, params: ValueParameters, rng: Rng) -> np.ndarray:
    """Draw that many pairs ``low < high``, each once, as sorted keys ``low * nodes + high``."""
    import numpy as np

    low, high = np.triu_indices(nodes, 1)
    chosen = rng.choice(len(low), size=min(int(columns["edges"][0]), len(low)), replace=False)
    return np.sort(low[chosen] * nodes + high[chosen])


GENERATOR = PerCell(
    module=__name__,
    name="noisy_total",
    title="Noisy total",
    summary="A noisy number of edges, joined at random.",
    mechanism="laplace",
    Params=ValueParameters,
    parts=Parts(_counted, _joined),
).method()
