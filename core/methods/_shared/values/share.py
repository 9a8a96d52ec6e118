"""The share of epsilon of edge values, and its plan. Public facts only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import Field

from core.graphs.schema import EdgeType, GraphSchema
from core.methods._shared.frame.plan import together_nano_epsilon
from core.methods.base import Parameters, PublicFacts
from core.privacy.accounting.events import Pure
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.units import charged_together

FIELD = "attribute_share"
FOLDER = "values"
PURPOSE = "what edges carry"
MECHANISM = "discrete_laplace/values"
NUMBERS_SHARE = 0.2
"""Of a relation's share where each record is kept: for how many an edge has."""
NUMBERS_APART = 0.5
"""The same where records are apart: values are read with the noise of one, numbers with that of two. Chosen
while looking at flights (benchmarks/table_scores.py)."""


class ValueParameters(Parameters):
    """Parameters of a method that synthesises what edges carry."""

    attribute_share: float = Field(
        default=0,
        ge=0,
        le=0.9,
        description=(
            "Share of epsilon for what edges carry, as the schema declares it; the attributes of a relation "
            "divide it evenly, after a fifth for how many records an edge has where each is kept (half, "
            "where records are apart). 0: edges are released without."
        ),
    )


def carrying(schema: GraphSchema, edge_types: tuple[str, ...]) -> tuple[EdgeType, ...]:
    """List the relations among ``edge_types`` whose edges carry something."""
    return tuple(
        relation for relation in schema.edge_types if relation.name in edge_types and relation.attributes
    )


def why_idle(public: PublicFacts) -> str | None:
    """Say why no share of epsilon could change anything. None where it does."""
    if carrying(public.schema, public.edge_types):
        return None
    return "the edges asked for carry nothing; the schema may declare attributes of edges"


def require_synthesised(public: PublicFacts) -> None:
    """Refuse nothing. Whatever edges carry is synthesised, of whole graphs and of live streams."""


def allotments(
    public: PublicFacts, nano_epsilon: int, structure: Sequence[Allotment] = ()
) -> list[Allotment]:
    """List the reads of edge values, of all steps together.

    They are of every relation whose edges carry some. A snapshot of a live stream is charged its step's part,
    whatever came before it: any window of steps costs ``nano_epsilon`` at most.
    """
    facts, added = replace(public, nano_epsilon=nano_epsilon), []
    for relation in carrying(public.schema, public.edge_types):
        event = Pure(together_nano_epsilon(facts, relation.name), MECHANISM)
        steps = charged_together(public.unit, public.schema.steps_of(relation.name))
        added += [Allotment(relation.name, step, event, PURPOSE) for step in steps]
    return added


def divided(relation: EdgeType, nano_epsilon: int) -> tuple[int, int]:
    """Divide a charged cell's budget between records and attributes.

    The number of records of an edge has a part, nothing where that is one; so has each of its attributes.
    """
    share = NUMBERS_APART if relation.records_apart else NUMBERS_SHARE
    numbers = 0 if relation.merged else max(1, int(nano_epsilon * share))
    # What rounding leaves is not spent: each attribute's part is the same.
    return numbers, (nano_epsilon - numbers) // len(relation.attributes)


def granted(plan: PrivacyPlan) -> dict[str, int]:
    """Return a charged cell's budget for values, by relation. It is of a plan that reads nothing else."""
    return {
        allotment.edge_type: allotment.event.nano_epsilon
        for allotment in plan.allotments
        if isinstance(allotment.event, Pure)
    }
