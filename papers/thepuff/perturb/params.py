"""The parameters of ``thepuff_perturb``. Public facts only."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from core.methods._shared.values.share import ValueParameters
from papers.thepuff import paper


class ThepuffPerturbParams(ValueParameters):
    """What a caller may set. All of it is public and enters the report."""

    READS = ("count", "flips")

    variant: Literal["sound", "paper"] = Field(
        default="sound",
        description=(
            "sound: about a noisy number of edges, within epsilon. paper: the published probabilities, from "
            "exact counts; guarantee none."
        ),
    )
    count_share: float = Field(
        default=0.04,
        gt=0,
        le=0.5,
        description="Share of epsilon for the number of edges; variant sound alone spends it.",
    )
    epsilon_minus: float = Field(
        default=paper.PUBLISHED_EPSILON_MINUS,
        gt=0,
        le=paper.LARGEST_EPSILON_MINUS,
        description="The paper's eps_minus: an edge vanishes with probability exp(-eps_minus). Paper only.",
    )
