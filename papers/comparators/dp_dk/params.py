"""The parameters of ``dp_dk``. Public facts only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from core.methods._shared.values.share import ValueParameters


class DKParams(ValueParameters):
    """What a caller may set. All of it is public and enters the report."""

    READS = ("count", "matrix", "degree")
    RETIRED: ClassVar[Mapping[str, Any]] = {"class_ratio": 1.5}
    class_ratio: ClassVar[float] = RETIRED["class_ratio"]
    """Order 2: public ratio of consecutive thresholds between degree classes."""

    order: int = Field(
        default=2,
        ge=1,
        le=2,
        description="1: the degree sequence alone. 2: degrees and edges between degree classes.",
    )
    count_share: float = Field(
        default=0.05, gt=0, le=0.5, description="Share of a cell's epsilon for its number of edges."
    )
    matrix_share: float = Field(
        default=0.1,
        gt=0,
        le=0.45,
        description="Order 2: share of a cell's epsilon for the edges between degree classes.",
    )
