"""The parameters that walk generators share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from core.methods.base import Parameters


class WalkParams(Parameters):
    """What a caller may set. All of it is public and enters the report."""

    RETIRED: ClassVar[Mapping[str, Any]] = {
        "most_batches": 3000,
        "length": 4,
        "dimensions": 64,
        "pairs_per_edge": 5.0,
    }
    most_batches: ClassVar[int] = RETIRED["most_batches"]
    """Most batches of 1,024 walks (fewer in small graphs), however many epochs."""
    length: ClassVar[int] = RETIRED["length"]
    """Edges of a walk."""
    dimensions: ClassVar[int] = RETIRED["dimensions"]
    """Numbers of a node's vector; the network is twice as wide."""
    pairs_per_edge: ClassVar[float] = RETIRED["pairs_per_edge"]
    """Pairs that are generated for each edge of the synthetic graph."""

    epochs: int = Field(
        default=30, ge=1, le=1000, description="Passes over walks that have as many edges as the graph."
    )
