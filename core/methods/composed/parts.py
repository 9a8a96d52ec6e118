"""One relation of a composition: what it may spend, and its part of the plan. Public facts only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from core import errors
from core.methods._shared.frame.plan import cell_nano_epsilon, parts_of_window, step_nano_epsilon
from core.methods.base import Generator, PublicFacts
from core.methods.composed.params import ComposedParams
from core.privacy.accounting.events import pure_nano_epsilon
from core.privacy.accounting.plan import PrivacyPlan
from core.privacy.units import Unit


@dataclass(frozen=True)
class Part:
    """A relation, the method that draws its edges, and that method's parameters."""

    relation: str
    generator: Generator
    params: Any


def parts_of(params: ComposedParams, edge_types: tuple[str, ...]) -> list[Part]:
    """List the parts of these relations; NotAccepted where one has no structure."""
    found = []
    for name in edge_types:
        choice = params.structure(name)
        if choice is None:
            raise errors.NotAccepted(
                f"no structure is named for the relation {name!r}; name one, or one for '*'",
                field="structures",
            )
        found.append(Part(name, choice.generator, choice.params))
    return found


def facts_of(public: PublicFacts, relation: str) -> PublicFacts:
    """Return the facts of one relation, with the epsilon that its cells have under the whole schema.

    EDGE and EVENT: all of it. W_EVENT: what each of its steps has of a window that all relations share, times
    the steps of a window. PAIR: the parts of its cells. Where it is the only relation, the facts are the
    same. Raises NotAccepted where too little is left to divide.
    """
    if public.edge_types == (relation,):
        return public
    own = replace(public, edge_types=(relation,))
    if public.unit is Unit.W_EVENT:
        return replace(own, nano_epsilon=step_nano_epsilon(public) * parts_of_window(own))
    if public.unit is Unit.PAIR:
        cells = len(public.schema.steps_of(relation))
        return replace(own, nano_epsilon=cell_nano_epsilon(public) * cells)
    return own


def plan_of_part(plan: PrivacyPlan, part: Part) -> PrivacyPlan:
    """Return what the plan of all structures grants one of them, as its own plan."""
    own = tuple(each for each in plan.allotments if each.edge_type == part.relation)
    pure = all(pure_nano_epsilon(each.event) is not None for each in own)
    return replace(
        plan, method=part.generator.name, allotments=own, delta_atto=0 if pure else plan.delta_atto
    )
