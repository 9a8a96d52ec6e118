"""The parameters of ``projection``. Public facts only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field, field_validator, model_validator

from core.errors import NotAccepted
from core.graphs.schema import EdgeType, NodeType
from core.methods._shared.values.share import ValueParameters
from core.privacy.reads.public_groups import group_attribute

NAME = "projection"
PEOPLE_OF = "people of "
"""How the plan names its relation: what is granted is granted for the whole graph."""
HISTOGRAM = 0.4
"""Of what an attribute of edges has, where public groups have the rest."""
ROUGHLY = 0.35
"""Of what values of edges have, for the first look at them."""
MOST_TAKEN = 0.95
LEFT = "the shares must leave at least 0.05 for the law of degrees"
LEAST_SHARE = 0.001
"""Of epsilon, so that each read of the least epsilon that is taken has a part of it."""


COUNTED: Mapping[str, Any] = {"triangle_share": 0}
"""Parameters under which edges may stay in parts, where all others are left out."""


class ProjectionParams(ValueParameters):
    """What a caller may set. All of it is public and enters the report."""

    RETIRED: ClassVar[Mapping[str, Any]] = {"proposals": 60.0}
    proposals: ClassVar[float] = RETIRED["proposals"]
    """Rewirings tried for each end of an edge, at most."""

    groups: str | None = Field(
        default=None,
        description=(
            "The public attribute of categories whose values group persons, for communities; by default the "
            "class label where it is declared public, and none otherwise."
        ),
    )
    scale_share: float = Field(
        default=0.1,
        ge=LEAST_SHARE,
        lt=1,
        description="Share of epsilon for edge counts at theta 4, 16, ..., which say at what theta to go on.",
    )
    edge_share: float = Field(
        default=0.2, ge=LEAST_SHARE, lt=1, description="Share of epsilon for the number of edges."
    )
    group_share: float = Field(
        default=0.2,
        ge=LEAST_SHARE,
        lt=1,
        description="Share of epsilon for edges inside groups and across, where there are groups.",
    )
    triangle_share: float = Field(
        default=0.15,
        ge=0,
        lt=1,
        description=(
            "Share of epsilon for the number of triangles; 0: it is not aimed at. The law of degrees gets "
            "what all shares leave."
        ),
    )
    mutual_share: float = Field(
        default=0.12,
        ge=LEAST_SHARE,
        lt=1,
        description="Share of epsilon for the pairs of a directed relation that are linked both ways.",
    )
    step_share: float = Field(
        default=0.2,
        ge=LEAST_SHARE,
        lt=1,
        description="Share of epsilon for the edges of each period of a timed relation.",
    )

    @field_validator("triangle_share")
    @classmethod
    def _nothing_or_enough(cls, share: float) -> float:
        if 0 < share < LEAST_SHARE:
            raise ValueError(f"triangle_share is 0, or at least {LEAST_SHARE}")
        return share

    @model_validator(mode="after")
    def _leaves_the_law_a_share(self) -> ProjectionParams:
        if min(self.taken(True), self.taken(False)) > MOST_TAKEN:
            raise ValueError(LEFT)
        return self

    def taken(self, plain: bool) -> float:
        """Return the share of all reads but the law's. The relation is plain or not."""
        others = (self.group_share, self.triangle_share) if plain else (self.mutual_share, self.step_share)
        return self.scale_share + self.edge_share + sum(others)


def require_counts(params: ProjectionParams) -> None:
    """Check that a graph in parts can be fitted, and sampled in shards. NotAccepted with the field to mend.

    Then kept edges and kept degrees are read, of all edges or of those inside public groups and across.
    """
    for name in ("triangle_share", "attribute_share"):
        if getattr(params, name):
            raise NotAccepted(
                f"edges in parts are kept and counted, and nothing else is read of them; set {name} to 0",
                field=name,
            )


def plain(relation: EdgeType) -> bool:
    """Tell whether a relation has neither directions nor time. Groups and triangles are read of it."""
    return not relation.directed and not relation.temporal


def between_groups(kind: NodeType, relation: EdgeType, params: ProjectionParams) -> bool:
    """Tell whether values are also read between public groups. Such a table has a declared bound only."""
    grouped = group_attribute(kind, params.groups) is not None
    return grouped and plain(relation) and kind.degree_bound is not None
