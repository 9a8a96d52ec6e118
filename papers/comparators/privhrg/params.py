"""The parameters of ``privhrg``. Public facts only."""

from __future__ import annotations

from pydantic import Field, model_validator

from core.methods._shared.values.share import ValueParameters


class PrivHRGParams(ValueParameters):
    """What a caller may set. All of it is public and enters the report."""

    READS = ("adjust", "evidence", "count")

    leaves: int = Field(default=16, ge=2, le=512, description="Most leaves of the dendrogram.")
    adjust_share: float = Field(
        default=0.6, gt=0, le=0.9, description="Share of a cell's epsilon for moving nodes between leaves."
    )
    evidence_share: float = Field(
        default=0.2,
        gt=0,
        le=0.9,
        description="Share of a cell's epsilon for the noisy counts that the dendrogram is fitted to.",
    )
    steps_per_leaf: int = Field(
        default=1_000,
        ge=1,
        le=10_000,
        description="Steps of the Markov chain for each leaf; public and fixed.",
    )

    @model_validator(mode="after")
    def _leaves_a_rest(self) -> PrivHRGParams:
        if self.adjust_share + self.evidence_share > 0.99:
            raise ValueError("adjust_share + evidence_share must leave at least 0.01 for the counts")
        return self
