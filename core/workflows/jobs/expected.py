"""What a plan's noise means for callers' questions. It is worked out by stated methods, from public facts
only.

A relative answer needs a size: what the caller assumes, or else a declared bound. Never the data.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from statistics import NormalDist

from pydantic import BaseModel

from core.graphs.schema import GraphSchema
from core.methods.base import Method, no_reads
from core.privacy.accounting.plan import PlannedRead, PrivacyPlan
from core.reports.precision import CONFIDENCE, planned
from core.workflows.jobs.assumed import Assume, check_assumed
from core.workflows.jobs.questions import QUESTIONS, Facts, noises_of
from graphveil.models.plans import Expected
from graphveil.models.reports import Precision

TOTALS = {
    "thing_totals": ("thing_total_within_95", "edges of a thing", "a thing"),
    "value_totals": ("value_total_within_95", "records that carry values of one bin", "a bin of values"),
    "value_totals_of_things": (
        "thing_value_total_within_95",
        "records of a thing that carry values of one kind",
        "a thing and a kind of value",
    ),
}
"""Sums over clipped persons, by their query: the question, its unit, and what is summed."""
BY_PERIOD = frozenset({"value_total_within_95"})
"""Paid for each period of a relation with several steps: a bin's total of all time is a sum of such."""


def told(
    generator: Method,
    params: BaseModel,
    plan: PrivacyPlan,
    schema: GraphSchema,
    nodes: Mapping[str, int],
    assume: Assume | None,
    asked: Collection[str],
) -> tuple[tuple[Precision, ...], tuple[Expected, ...]]:
    """Predict how near paid figures will be. What follows from it comes too; of a method that names its
    reads.

    ``nodes``: the sizes of the universes; ``asked``: the relations to synthesise. Raises InvalidInput where
    ``assume`` cannot be.
    """
    check_assumed(assume, schema, nodes, asked)
    if generator.planned_reads is no_reads:
        return (), ()
    reads = list(generator.planned_reads(params, plan, schema, nodes))
    facts = Facts(schema, nodes, assume, noises_of(plan, schema, reads))
    return planned(plan.unit, schema, plan, reads), (*answers(facts), *_totals(schema, reads))


def _totals(schema: GraphSchema, reads: Iterable[PlannedRead]) -> Iterator[Expected]:
    """Tell how near paid totals of things are, where a bound on persons' edges is declared."""
    protected = schema.protected_type
    if protected is None or protected.degree_bound is None:
        return
    for read in reads:
        if read.query in TOTALS and read.deviation is not None:
            question, unit, total = TOTALS[read.query]
            if question in BY_PERIOD and schema.edge_type(read.edge_type).temporal and schema.steps > 1:
                unit, total = f"{unit} in one period", f"{total} in one period"
            clipped = read.deviation * math.sqrt(protected.degree_bound)
            yield Expected(
                question=question,
                edge_type=read.edge_type,
                value=math.ceil(NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * clipped),
                unit=unit,
                method=f"The paid total of {total}, persons clipped, is at most so far off, with probability "
                "95 %: the normal quantile of its noise, which grows with the root of the clip.",
                assumed=f"persons are clipped at {protected.degree_bound} edges, the declared degree_bound; "
                "the clip itself is a paid quantile of their degrees",
            )


def answers(facts: Facts, wanted: Collection[str] | None = None) -> Iterator[Expected]:
    """Answer questions for every relation. The ``wanted`` ones are answered, or all, where they follow from
    its noise."""
    for (name, query), (scales, _) in facts.noises.items():
        for key, question in QUESTIONS.items():
            if question.query != query or (wanted is not None and key not in wanted):
                continue
            found = question.answer(facts, facts.schema.edge_type(name), scales)
            if found is not None:
                value, assumed = found
                yield Expected(
                    question=key,
                    edge_type=name,
                    value=value,
                    unit=question.unit,
                    method=question.method,
                    assumed=assumed,
                )
