"""Absolute and relative errors of a scalar metric. They always stand next to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core.evaluation.metric import Estimate, Value

# Keeps the quotient defined at a true value of zero, and changes no other in the digits that are printed.
FLOOR = 1e-15


def plain(value: Value) -> float | None:
    """Return the number itself, sampled or not."""
    return value.value if isinstance(value, Estimate) else value


def standard_error(value: Value) -> float | None:
    """Return the error of a sampled value. None for an exact one."""
    return value.standard_error if isinstance(value, Estimate) else None


def scalar(true: Value, synthetic: Value) -> dict[str, float | None]:
    """Compute both errors of a value, with both values.

    None where either is undefined; errors of sampled values too.
    """
    ours, theirs = plain(true), plain(synthetic)
    error = relative = None
    if ours is not None and theirs is not None:
        error = abs(ours - theirs)
        relative = error / (abs(ours) + FLOOR)  # unbounded, and huge where the true value is zero
    return {
        "original": ours,
        "synthetic": theirs,
        "absolute_error": error,
        "relative_error": relative,
        "original_standard_error": standard_error(true),
        "synthetic_standard_error": standard_error(synthetic),
    }


def mean(values: Sequence[Any]) -> float | None:
    """Average the defined values; None when there is none."""
    defined = [value for value in values if value is not None]
    return float(np.mean(defined)) if defined else None


def mean_by_name(rows: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Average each value by :func:`mean` over same-named rows."""
    return {name: mean([row[name] for row in rows]) for name in rows[0]}


def mean_standard_error(errors: Sequence[float | None]) -> float | None:
    """Compute the standard error of a mean of values.

    They are sampled independently, exact ones too; None if all are.
    """
    sampled = [error for error in errors if error is not None]
    return float(np.sqrt(np.sum(np.square(sampled)))) / len(errors) if sampled else None
