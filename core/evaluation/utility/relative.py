"""Errors of a scalar metric: absolute and relative, always side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

# Keeps the quotient defined at a true value of zero, and changes no other in the digits that are printed.
FLOOR = 1e-15


def absolute_error(true: float, synthetic: float) -> float:
    """``|true - synthetic|``."""
    return abs(true - synthetic)


def relative_error(true: float, synthetic: float) -> float:
    """``|true - synthetic| / (|true| + 1e-15)``; unbounded, and huge where the true value is zero."""
    return abs(true - synthetic) / (abs(true) + FLOOR)


def scalar(true: float | None, synthetic: float | None) -> dict[str, float | None]:
    """Both values with both errors; the errors are None where either value is undefined."""
    defined = true is not None and synthetic is not None
    return {
        "original": true,
        "synthetic": synthetic,
        "absolute_error": absolute_error(true, synthetic) if defined else None,  # type: ignore[arg-type]
        "relative_error": relative_error(true, synthetic) if defined else None,  # type: ignore[arg-type]
    }


def mean(values: list[Any]) -> float | None:
    """The mean of the defined values; None when there is none."""
    defined = [value for value in values if value is not None]
    return float(np.mean(defined)) if defined else None
