"""Choice of evaluated snapshots, and means over them."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.evaluation.metric import Suite
from core.evaluation.utility import relative
from core.graphs.schema import EdgeType, GraphSchema

# A year of daily snapshots in full; longer grids, and dearer suites, read that many evenly spaced steps.
MAX_STEPS_EVALUATED = {Suite.QUICK: 366, Suite.STANDARD: 120, Suite.FULL: 60}
FIELDS = ("original", "synthetic", "absolute_error", "relative_error")
STANDARD_ERRORS = ("original_standard_error", "synthetic_standard_error")


def evaluated_steps(schema: GraphSchema, suite: Suite = Suite.QUICK) -> tuple[int, ...]:
    """Choose the evaluated steps. They are all, or evenly spaced ones with both ends. A public rule."""
    limit = MAX_STEPS_EVALUATED[suite]
    if schema.steps <= limit:
        return tuple(range(schema.steps))
    return tuple(int(step) for step in np.unique(np.linspace(0, schema.steps - 1, limit).round()))


def steps_of(schema: GraphSchema, edge_type: EdgeType, suite: Suite) -> tuple[int | None, ...]:
    """Choose the evaluated steps of a relation. They are (None,) for one without time."""
    return evaluated_steps(schema, suite) if edge_type.temporal else (None,)


def mean_row(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Average the defined values of compared rows by field. It is a mean of errors, not of values."""
    first = rows[0]
    return {
        "step": None,
        "scalars": {
            name: {field: relative.mean([row["scalars"][name][field] for row in rows]) for field in FIELDS}
            | {
                field: relative.mean_standard_error([row["scalars"][name][field] for row in rows])
                for field in STANDARD_ERRORS
            }
            for name in first["scalars"]
        },
        "distances": relative.mean_by_name([row["distances"] for row in rows]),
    }
