"""The share of epsilon that what edges carry has, and the plan that it makes. Public facts only."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field

from core import errors
from core.generators._shared.frame.plan import cell_nano_epsilon
from core.generators.base import Parameters, PublicFacts
from core.graphs.schema import EdgeType, GraphSchema
from core.privacy.events import Pure
from core.privacy.plan import Allotment, GuaranteeKind, PrivacyPlan

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
                field="attribute_share",
            )
    if public.tick is not None:
        raise errors.NotAccepted(
            "snapshots of a live stream are released without what edges carry; leave attribute_share out",
            field="attribute_share",
        )


def structures(public: PublicFacts, share: float) -> PublicFacts:
    """The facts by which the edges themselves are planned: with what the share leaves of epsilon."""
    return replace(public, nano_epsilon=public.nano_epsilon - values_nano_epsilon(public, share))


def values_nano_epsilon(public: PublicFacts, share: float) -> int:
    """Return what is spent on what edges carry; at least 1, and not all."""
    return max(1, int(public.nano_epsilon * share))


def with_values(structure: PrivacyPlan, public: PublicFacts, share: float) -> PrivacyPlan:
    """Add to the structure's plan what is read of the values: the same in every cell whose edges carry some.

    Proof of the total: an edge's cell is charged both, and so are all cells of a window or a pair; costs of
    two pure plans add up at most, whatever the unit. Raises NotAccepted for a structure with a delta, whose
    cost the accountant converts as a whole.
    """
    if structure.kind is not GuaranteeKind.PURE:
        raise errors.NotAccepted(
            "what edges carry is paid for in pure epsilon, not beside parameters that spend a delta; leave "
            "out attribute_share, or them",
            field="attribute_share",
        )
    own = replace(public, nano_epsilon=values_nano_epsilon(public, share))
    event = Pure(cell_nano_epsilon(own), MECHANISM)
    added = [
        Allotment(each.name, step, event, PURPOSE)
        for each in carrying(public.schema, public.edge_types)
        for step in public.schema.steps_of(each.name)
    ]
    return replace(structure, allotments=(*structure.allotments, *added))


def of_values(plan: PrivacyPlan) -> PrivacyPlan:
    """Return the part of the plan that reads values; it has one."""
    return replace(plan, allotments=tuple(each for each in plan.allotments if each.purpose == PURPOSE))


def structure_of(plan: PrivacyPlan) -> PrivacyPlan:
    """Return the part of the plan that reads edges alone."""
    return replace(plan, allotments=tuple(each for each in plan.allotments if each.purpose != PURPOSE))


def granted(plan: PrivacyPlan) -> dict[str, int]:
    """Return what every cell of a relation may spend on its values, by relation, in nano-epsilon."""
    return {
        each.edge_type: each.event.nano_epsilon
        for each in of_values(plan).allotments
        if isinstance(each.event, Pure)
    }
