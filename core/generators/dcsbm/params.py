"""The parameters of ``dcsbm`` and its presets. Public facts only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, model_validator

from core.generators._shared.frame.presets import PresetParameters

PRESETS: Mapping[str, Mapping[str, float]] = {
    "default": {},
    "balanced": {
        "degree_share": 0.35,
        "triangle_share": 0.07,
        "product_share": 0.13,
        "band": 0.003,
        "proposals": 60,
    },
    "spectral": {"degree_share": 0.32, "product_share": 0, "proposals": 20},
}
"""What a preset sets apart from the parameters' own defaults, which are the preset ``default``."""


class DCSBMParams(PresetParameters):
    """What a caller may set. All of it is public and enters the report."""

    PRESETS = PRESETS

    preset: Literal["default", "balanced", "spectral"] = Field(
        default="default",
        description=(
            "Values for all that is not set: 'default' gives labels the most; 'balanced' spends more on "
            "degrees and rewires longest, for clustering and assortativity; 'spectral' leaves assortativity "
            "alone, for the leading eigenvector."
        ),
    )
    degree_share: float = Field(
        default=0.28, gt=0, lt=1, description="Share of epsilon for noisy degrees. Labels get what is left."
    )
    block_share: float = Field(
        default=0.05, gt=0, lt=1, description="Share of epsilon for edge counts inside and between labels."
    )
    triangle_share: float = Field(
        default=0.06,
        ge=0,
        lt=1,
        description="Share of epsilon for the number of triangles; 0: it is not aimed at.",
    )
    product_share: float = Field(
        default=0.05,
        ge=0,
        lt=1,
        description=(
            "Share of epsilon for the sum of degree products over edges, which assortativity rests on; "
            "0: it is not aimed at."
        ),
    )
    groups: int | None = Field(
        default=None,
        ge=1,
        le=64,
        description="Number of labels; by default as many as the noisy mean degree can tell apart, 2 to 16.",
    )
    core: float = Field(
        default=0.2,
        ge=0,
        le=1,
        description=(
            "Share of the nodes, those of largest noisy degree, whose edges among them are read twice."
        ),
    )
    forward_share: float = Field(
        default=0.6, gt=0, lt=1, description="The first reading's share of the labels' epsilon in the core."
    )
    resolution: float = Field(
        default=1.0,
        ge=0,
        le=100,
        description="Weight of the neighbours that a label's size lets expect; more makes labels even.",
    )
    band: float = Field(
        default=0.02,
        ge=0,
        le=1,
        description="Relative distance from the sum of degree products within which rewiring moves freely.",
    )
    proposals: float = Field(
        default=15, ge=0, le=1000, description="Rewirings tried for each end of an edge, at most."
    )

    @model_validator(mode="after")
    def _leaves_the_labels_a_share(self) -> DCSBMParams:
        if self.degree_share + self.block_share + self.triangle_share + self.product_share > 0.99:
            raise ValueError("the shares must leave at least 0.01 for the labels")
        if self.product_share and not self.triangle_share:
            raise ValueError("product_share goes with triangle_share: both are met by one rewiring")
        return self
