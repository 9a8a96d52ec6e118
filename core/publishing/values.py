"""What a plan and a report say of what edges carry, where a method synthesises it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from core.generators.base import Generator, ValuesGenerator
from core.graphs.schema import GraphSchema
from core.privacy.events import NANO
from core.privacy.plan import PrivacyPlan
from core.reports.base import Notice


def value_notices(
    generator: Generator, params: Any, plan: PrivacyPlan, schema: GraphSchema
) -> tuple[Notice, ...]:
    """Say what edges carry in the release, and what covers a value by itself; nothing for other methods.

    A function of the plan and the public schema.
    """
    if not isinstance(generator, ValuesGenerator) or not generator.carries(params):
        return ()
    own = generator.values_plan(plan)
    names = {each.edge_type for each in own.allotments}
    told = "; ".join(
        f"{', '.join(attribute.name for attribute in each.attributes)} of {each.name}"
        for each in schema.edge_types
        if each.name in names
    )
    twice = 2 * Decimal(own.cost().nano_epsilon or 0) / NANO
    return (
        Notice(
            code="edge_values_synthesised",
            text=f"What edges carry is synthesised: {told}. Epsilon covers an edge together with what it "
            "carries. Where only what the edges of one unit carry is another, both are covered at epsilon "
            f"{twice.normalize():f}, twice what was spent on it. Attributes of one relation are drawn "
            "each by itself: how they go together is not kept.",
        ),
    )
