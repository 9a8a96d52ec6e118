"""The parameters of ``profiles``, and the shares of epsilon. Public facts only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from core.methods._shared.values.share import ValueParameters

NAME = "profiles"
CLIP_QUANTILE, PURE_QUANTILE = 0.6, 0.25
"""Of persons' noisy degrees: where sums over things clip them, with a delta and without."""


class ProfilesParams(ValueParameters):
    """What a caller may set, all of it public. Shares are relative to one another, but for
    ``attribute_share``, which is of all that the noise of the others leaves: of 1 over its variance."""

    RETIRED: ClassVar[Mapping[str, Any]] = {"clip_quantile": None, "sweeps": 20.0}
    clip_quantile: ClassVar[float | None] = RETIRED["clip_quantile"]
    """A person with more edges than this quantile of the noisy degrees counts for the root of their number in
    sums over things; without a delta, for no more than those edges. Lower: less noise, and busy persons count
    for less. None: 0.6, and 0.25 without a delta."""
    sweeps: ClassVar[float] = RETIRED["sweeps"]
    """Swaps tried for each edge to follow preferences."""

    degree_share: float = Field(
        default=0.14, gt=0, le=1, description="Share of a relation's budget for how many edges persons have."
    )
    activity_share: float = Field(
        default=0.08,
        gt=0,
        le=1,
        description="Share for when persons begin, and how many steps they use; relations with time.",
    )
    total_share: float = Field(
        default=0.4, gt=0, le=1, description="Share for the things' edges, all steps together."
    )
    step_share: float = Field(
        default=0.18, gt=0, le=1, description="Share for the things' edges in each step; relations with time."
    )
    structure_share: float = Field(
        default=0.4,
        ge=0,
        le=1,
        description="Share for what kinds of things persons prefer, where public facts tell things apart.",
    )
    class_share: float = Field(
        default=0.02, gt=0, le=1, description="Share for each relation that gives a person one class."
    )
