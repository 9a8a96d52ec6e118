"""The parameters of ``graphrnn``. Public facts only."""

from __future__ import annotations

from pydantic import Field

from core.methods.base import Parameters

REASON = "GraphRNN is trained on the raw graph; no noise is added that an epsilon could count."


class GraphRnnParams(Parameters):
    """What a caller may set. All of it is public and enters the report."""

    steps: int = Field(default=300, ge=1, le=100_000, description="Steps of the training.")
