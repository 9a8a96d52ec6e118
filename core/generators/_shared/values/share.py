"""The share of epsilon that what edges carry has, and the plan that it makes. Public facts only."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field

from core import errors
from core.generators._shared.frame.plan import cell_nano_epsilon
from core.generators.base import Parameters, PublicFacts
from core.graphs.schema import EdgeType, GraphSchema
from core.privacy.events import Pure
from core.privacy.plan import Allotment, PrivacyPlan

FIELD = "attribute_share"
PURPOSE = "what edges carry"
MECHANISM = "discrete_laplace/values"


class ValueParameters(Parameters):
    """Parameters of a method that synthesises what edges carry."""

    attribute_share: float = Field(
        default=0,
        ge=0,
        le=0.9,
        description=(
            "Share of epsilon for what edges carry, as the schema declares it; the attributes of a relation "
            "divide it evenly. 0: edges are released without."
        ),
    )


def carrying(schema: GraphSchema, edge_types: tuple[str, ...]) -> tuple[EdgeType, ...]:
    """List the relations among ``edge_types`` whose edges carry something."""
    return tuple(each for each in schema.edge_types if each.name in edge_types and each.attributes)


def why_idle(public: PublicFacts) -> str | None:
    """Say why no share of epsilon could change anything; None where it does."""
    if carrying(public.schema, public.edge_types):
        return None
    return "the edges asked for carry nothing; the schema may declare attributes of edges"


def require_synthesised(public: PublicFacts) -> None:
    """Raise NotAccepted for relations whose values are not synthesised."""
    for each in carrying(public.schema, public.edge_types):
        if not each.merged:
            raise errors.NotAccepted(
                f"edges of {each.name!r} have several records each, which are not synthesised; declare "
                "multiplicity merged, or leave attribute_share out",
                field=FIELD,
            )
    if public.tick is not None:
        raise errors.NotAccepted(
            "snapshots of a live stream are released without what edges carry; leave attribute_share out",
            field=FIELD,
        )


def allotments(public: PublicFacts, nano_epsilon: int) -> list[Allotment]:
    """List what is read of the values: the same in every cell whose edges carry some.

    An edge's cell is charged, and so are all cells of a window or a pair.
    """
    event = Pure(cell_nano_epsilon(replace(public, nano_epsilon=nano_epsilon)), MECHANISM)
    return [
        Allotment(each.name, step, event, PURPOSE)
        for each in carrying(public.schema, public.edge_types)
        for step in public.schema.steps_of(each.name)
    ]


def granted(plan: PrivacyPlan) -> dict[str, int]:
    """Return what every cell of a relation may spend on its values, of a plan that reads nothing else."""
    return {
        each.edge_type: each.event.nano_epsilon for each in plan.allotments if isinstance(each.event, Pure)
    }
