"""One structure of a composition: its relations, what they may spend, and its part of the plan. Public facts
only."""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from core import errors
from core.graphs.schema import GraphSchema
from core.methods._shared.frame.plan import cell_nano_epsilon, parts_of_window, step_nano_epsilon
from core.methods.base import Generator, PublicFacts
from core.methods.composed.params import REST, ComposedParams
from core.privacy.accounting.events import pure_nano_epsilon
from core.privacy.accounting.plan import PrivacyPlan
from core.privacy.units import Unit

THINGS = 7 / 3
"""Under unit node: what all relations of persons and things have of epsilon, where a relation of persons has
1. Chosen on ACM."""
DIRECTED = math.sqrt(2)
"""The same of a directed relation of persons: both of its sides are read."""


@dataclass(frozen=True)
class Part:
    """Relations that one method draws, and that method's parameters."""

    relations: tuple[str, ...]
    generator: Generator
    params: Any


def parts_of(params: ComposedParams, edge_types: Collection[str]) -> list[Part]:
    """List the parts of these relations: those of one method, set alike, are one where it takes several.

    NotAccepted where a relation has no structure.
    """
    found: dict[str, Part] = {}
    for name in edge_types:
        choice = params.structure(name)
        if choice is None:
            raise errors.NotAccepted(
                f"no structure is named for the relation {name!r}; name one, or one for '*'",
                field="structures",
            )
        generator = choice.generator
        key = name if not generator.accepts.several else json.dumps(choice.model_dump(), sort_keys=True)
        before = found[key].relations if key in found else ()
        found[key] = Part((*before, name), generator, choice.params)
    return list(found.values())


def facts_of(public: PublicFacts, relations: tuple[str, ...]) -> PublicFacts:
    """Return the facts of some relations, with the epsilon that their cells have under the whole schema.

    EDGE and EVENT: all of it. W_EVENT: what each of their steps has of a window that all relations share,
    times the steps of a window. PAIR: the parts of their cells. NODE: a part by :func:`weight`; the others'
    is what is spent beside. Where they are all relations, the facts are the same. Raises NotAccepted where
    too little is left to divide.
    """
    if public.edge_types == relations:
        return public
    own = replace(public, edge_types=relations)
    if public.unit is Unit.W_EVENT:
        return replace(own, nano_epsilon=step_nano_epsilon(public) * parts_of_window(own))
    if public.unit is Unit.PAIR:
        cells = sum(len(public.schema.steps_of(name)) for name in relations)
        return replace(own, nano_epsilon=cell_nano_epsilon(public) * cells)
    if public.unit is Unit.NODE:
        weights = {name: weight(public.schema, public.edge_types, name) for name in public.edge_types}
        share = math.fsum(weights[name] for name in relations) / math.fsum(weights.values())
        nano = int(public.nano_epsilon * share)
        return replace(own, nano_epsilon=nano, beside_nano_epsilon=public.whole_nano_epsilon - nano)
    return own


def weight(schema: GraphSchema, edge_types: Collection[str], relation: str) -> float:
    """Return what a relation has of epsilon under unit node, beside others.

    Noise beside what is read is 1 / (persons * epsilon), whatever the degree: relations of persons weigh
    alike.
    """
    declared = schema.edge_type(relation)
    if declared.homogeneous:
        return DIRECTED if declared.directed else 1.0
    return THINGS / sum(not schema.edge_type(each).homogeneous for each in edge_types)


def relations_in(params: ComposedParams, plan: PrivacyPlan) -> tuple[str, ...]:
    """List the relations of a plan; under unit node, whose cells are the whole graph, all that are named."""
    if plan.unit is Unit.NODE:
        return tuple(name for name in params.structures if name != REST)
    return tuple(dict.fromkeys(each.edge_type for each in plan.allotments))


def plan_of_part(plan: PrivacyPlan, part: Part) -> PrivacyPlan:
    """Return what the plan of all structures grants one of them, as its own plan."""
    if plan.unit is Unit.NODE:
        before = marked(part, "")
        own = tuple(
            replace(each, purpose=each.purpose.removeprefix(before))
            for each in plan.allotments
            if each.purpose.startswith(before)
        )
    else:
        own = tuple(each for each in plan.allotments if each.edge_type in part.relations)
    pure = all(pure_nano_epsilon(each.event) is not None for each in own)
    return replace(
        plan, method=part.generator.name, allotments=own, delta_atto=0 if pure else plan.delta_atto
    )


def marked(part: Part, purpose: str) -> str:
    """Name the purpose of a part's allotment where all parts read the whole graph: its first relation's."""
    return f"{part.relations[0]}: {purpose}"
