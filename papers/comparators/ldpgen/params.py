"""The parameters of ``ldpgen``. Public facts only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from core.methods._shared.values.share import ValueParameters


class LDPGenParams(ValueParameters):
    """What a caller may set. All of it is public and enters the report."""

    RETIRED: ClassVar[Mapping[str, Any]] = {"initial_groups": 2}
    initial_groups: ClassVar[int] = RETIRED["initial_groups"]
    """Random groups towards which the first report counts edges."""

    reports: int = Field(
        default=2,
        ge=2,
        le=8,
        description=(
            "Reports of every node; epsilon is shared equally among them. Groups made from the first tell "
            "little but degrees apart, as it counts edges to random groups; a third report finds communities."
        ),
    )
    groups: int = Field(
        default=8,
        ge=1,
        le=256,
        description="Most groups that k-means makes; fewer where nodes times groups would pass 2^26.",
    )
