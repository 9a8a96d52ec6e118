"""What a plan's noise means for questions that callers ask: by stated methods, from public facts alone.

A relative answer needs a size: what the caller assumes, or else a declared bound. Never the data.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from pydantic import BaseModel

from core.generators.base import Generator, PlanningGenerator
from core.graphs.schema import GraphSchema
from core.privacy.plan import PrivacyPlan
from core.reports.precision import Precision, planned, planned_noise
from core.workflows.jobs.assumed import Assume, check_assumed
from core.workflows.jobs.questions import QUESTIONS, Facts
from core.workflows.jobs.views import Expected


def told(
    generator: Generator,
    params: BaseModel,
    plan: PrivacyPlan,
    schema: GraphSchema,
    nodes: Mapping[str, int],
    assume: Assume | None,
    asked: Collection[str],
) -> tuple[tuple[Precision, ...], tuple[Expected, ...]]:
    """Predict how near paid figures will be, and what follows from it; of a method that names its reads.

    ``nodes``: the sizes of the universes; ``asked``: the relations to synthesise. Raises InvalidInput where
    ``assume`` cannot be.
    """
    check_assumed(assume, schema, nodes, asked)
    if not isinstance(generator, PlanningGenerator):
        return (), ()
    reads = generator.planned_reads(params, plan, schema, nodes)
    facts = Facts(schema, nodes, assume, planned_noise(plan.unit, schema, plan, reads))
    return planned(plan.unit, schema, plan, reads), tuple(answers(facts))


def answers(facts: Facts, wanted: Collection[str] | None = None) -> Iterator[Expected]:
    """Answer the ``wanted`` questions, or all, for every relation whose noise they follow from."""
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
