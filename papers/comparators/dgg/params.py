"""The parameters of ``dgg``. Public facts only."""

from __future__ import annotations

from pydantic import Field

from core.methods._shared.values.share import ValueParameters


class DGGParams(ValueParameters):
    """What a caller may set. All of it is public and enters the report."""

    READS = ("count", "degree")

    count_share: float = Field(
        default=0.05, gt=0, le=0.5, description="Share of a cell's epsilon for its number of edges."
    )
    clustering: float = Field(
        default=0.2,
        ge=0,
        le=1,
        description=(
            "Public guess of the clustering coefficient inside affinity blocks; pairs there are linked with "
            "its cube root as probability. Zero: no blocks, degrees only."
        ),
    )
