"""What the tables of edge values cost, read by read."""

from __future__ import annotations

from collections.abc import Mapping

from core.graphs.schema import EVERY, GraphSchema
from core.methods._shared.values import share as value_share
from core.methods._shared.values.fit import costs_of
from core.privacy.accounting.plan import PlannedRead
from core.privacy.reads.edge_values import OF_NUMBERS
from core.privacy.units import Unit, charged_together


def value_reads(granted: Mapping[str, int], schema: GraphSchema, unit: Unit) -> list[PlannedRead]:
    """List what each attribute of a relation pays for its margins, and for its values between classes; and
    what the number of an edge's records does, where each is kept."""
    reads = []
    if schema.collection is not None and granted:  # which are read together
        granted = {EVERY: min(granted.values())}
    for name, nano_epsilon in granted.items():
        relation = schema.edge_type_or_every(name)
        steps = (None,) if name == EVERY else schema.steps_of(name)
        cells = len(charged_together(unit, steps))
        queries = ["value_histogram", "values_by_classes", *(["values_by_step"] if len(steps) > 1 else [])]
        numbers, each = value_share.divided(relation, nano_epsilon)
        asked = dict(zip(queries, costs_of(each, len(steps)), strict=False))
        if numbers:
            costs = costs_of(numbers, len(steps))
            asked |= {OF_NUMBERS[query]: cost for query, cost in zip(queries, costs, strict=False)}
        reads += [PlannedRead(name, query, (cost,), cells) for query, cost in asked.items()]
    return reads
