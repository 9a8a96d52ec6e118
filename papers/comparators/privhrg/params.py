"""The parameters of ``privhrg``. Public facts only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field, model_validator

from core.methods._shared.values.share import ValueParameters


class PrivHRGParams(ValueParameters):
    """What a caller may set. All of it is public and enters the report."""

    READS = ("adjust", "evidence", "count")
    RETIRED: ClassVar[Mapping[str, Any]] = {"leaves": 16, "steps_per_leaf": 1000}
    leaves: ClassVar[int] = RETIRED["leaves"]
    """Most leaves of the dendrogram."""
    steps_per_leaf: ClassVar[int] = RETIRED["steps_per_leaf"]
    """Steps of the Markov chain for each leaf; public and fixed."""

    adjust_share: float = Field(
        default=0.6, gt=0, le=0.9, description="Share of a cell's epsilon for moving nodes between leaves."
    )
    evidence_share: float = Field(
        default=0.2,
        gt=0,
        le=0.9,
        description="Share of a cell's epsilon for the noisy counts that the dendrogram is fitted to.",
    )

    @model_validator(mode="after")
    def _leaves_a_rest(self) -> PrivHRGParams:
        if self.adjust_share + self.evidence_share > 0.99:
            raise ValueError("adjust_share + evidence_share must leave at least 0.01 for the counts")
        return self
