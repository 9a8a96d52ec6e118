"""Every structural metric by family.

Suites choose from them and the documentation prints them. A family is a module of
:mod:`core.evaluation.utility` that binds ``SCALARS`` or ``DISTANCES``; discovered, not listed.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import Any

from core.evaluation import utility
from core.evaluation.metric import Metric, Suite, of_suite

REPORTED_FIRST = (
    "edges",
    "degrees",
    "inequality",
    "assortativity",
    "clustering",
    "motifs",
    "components",
    "paths",
    "communities",
    "eigenvector",
)
"""Families in the order of the report; those that are not named here follow by name."""


def _families() -> tuple[ModuleType, ...]:
    """Find every family, in report order."""
    names = {module.name for module in pkgutil.iter_modules(utility.__path__) if module.name[0] != "_"}
    ordered = [*(name for name in REPORTED_FIRST if name in names), *sorted(names.difference(REPORTED_FIRST))]
    modules = [importlib.import_module(f"{utility.__name__}.{name}") for name in ordered]
    return tuple(module for module in modules if hasattr(module, "SCALARS") or hasattr(module, "DISTANCES"))


FAMILIES = _families()
SCALAR_FAMILIES = tuple(family for family in FAMILIES if hasattr(family, "SCALARS"))
DISTANCE_FAMILIES = tuple(family for family in FAMILIES if hasattr(family, "DISTANCES"))
SCALARS: tuple[Metric, ...] = tuple(metric for family in SCALAR_FAMILIES for metric in family.SCALARS)
DISTANCES: tuple[Metric, ...] = tuple(metric for family in DISTANCE_FAMILIES for metric in family.DISTANCES)


def described(suite: Suite) -> dict[str, dict[str, Any]]:
    """Describe every metric of ``suite`` by name. It has a title, definition, family and direction."""
    return {metric.name: metric.to_json() for metric in of_suite(SCALARS + DISTANCES, suite)}
