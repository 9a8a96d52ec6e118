"""Every structural metric by family: what the suites choose from and the documentation prints."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from core.evaluation.metric import Metric, Suite, of_suite
from core.evaluation.utility import (
    assortativity,
    clustering,
    communities,
    components,
    degrees,
    edges,
    eigenvector,
    inequality,
    motifs,
    paths,
)

# In report order.
FAMILIES: tuple[ModuleType, ...] = (
    edges,
    degrees,
    inequality,
    assortativity,
    clustering,
    motifs,
    components,
    paths,
    communities,
    eigenvector,
)
SCALAR_FAMILIES = tuple(family for family in FAMILIES if hasattr(family, "SCALARS"))
DISTANCE_FAMILIES = tuple(family for family in FAMILIES if hasattr(family, "DISTANCES"))
SCALARS: tuple[Metric, ...] = tuple(metric for family in SCALAR_FAMILIES for metric in family.SCALARS)
DISTANCES: tuple[Metric, ...] = tuple(metric for family in DISTANCE_FAMILIES for metric in family.DISTANCES)


def described(suite: Suite) -> dict[str, dict[str, Any]]:
    """Describe every metric of ``suite`` by name: title, definition, family and direction."""
    return {metric.name: metric.to_json() for metric in of_suite(SCALARS + DISTANCES, suite)}
