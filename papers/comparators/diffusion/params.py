"""The parameters of ``diffusion``. Public facts only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from core.methods.base import Parameters

MOST_STEPS = 100_000
REASON = "A generative model is trained on the raw graph; no noise is added that an epsilon could count."


class DiffusionParams(Parameters):
    """What a caller may set. All of it is public and enters the report."""

    RETIRED: ClassVar[Mapping[str, Any]] = {"width": 32}
    width: ClassVar[int] = RETIRED["width"]
    """Width of the denoiser's layers."""

    training_steps: int = Field(
        default=300,
        ge=1,
        le=MOST_STEPS,
        description="Steps of the denoiser's training; each looks at up to 256 removed edges of one graph.",
    )
    steps: int = Field(
        default=256,
        ge=1,
        le=1024,
        description=(
            "Denoising steps of a sample, each of which adds an equal part of the edges: more of them see "
            "closer what the others added, and take longer."
        ),
    )
    communities: bool | None = Field(
        default=None,
        description=(
            "Find the communities of the original, and tell the denoiser which nodes share one; without them "
            "nodes are known by degrees and attributes alone, as in EDGE. None: unless node attributes are "
            "drawn, which do not follow communities, so that neighbours would be less alike."
        ),
    )
    node_attributes: bool = Field(
        default=False,
        description=(
            "Synthesise the protected attributes of nodes that declare categories or bounds, and draw edges "
            "by them."
        ),
    )

    @property
    def told(self) -> bool:
        """Whether communities are found, and told to the denoiser."""
        return not self.node_attributes if self.communities is None else self.communities
