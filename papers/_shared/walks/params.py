"""The parameters that walk generators share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from core.methods.base import Parameters


class WalkParams(Parameters):
    """What a caller may set. All of it is public and enters the report."""

    RETIRED: ClassVar[Mapping[str, Any]] = {"pairs_per_edge": 5.0}
    pairs_per_edge: ClassVar[float] = RETIRED["pairs_per_edge"]
    """Pairs that are generated for each edge of the synthetic graph."""

    epochs: int = Field(
        default=30, ge=1, le=1000, description="Passes over walks that have as many edges as the graph."
    )
    most_batches: int = Field(
        default=3000,
        ge=1,
        le=1_000_000,
        description="Most batches of 1,024 walks (fewer in small graphs), however many epochs.",
    )
    length: int = Field(default=4, ge=2, le=64, description="Edges of a walk.")
    dimensions: int = Field(
        default=64, ge=2, le=1024, description="Numbers of a node's vector; the network is twice as wide."
    )
