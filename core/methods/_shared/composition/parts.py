"""One structure of a composition.

Its relations, what they may spend, and its part of the plan. Public facts only.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from core import errors
from core.graphs.schema import GraphSchema
from core.methods._shared.composition.params import ComposedParams
from core.methods._shared.frame.plan import cell_nano_epsilon, parts_of_window, step_nano_epsilon
from core.methods.base import Method, PublicFacts
from core.privacy.accounting.events import MAX_TEXT, pure_nano_epsilon
from core.privacy.accounting.plan import PrivacyPlan
from core.privacy.units import Unit

THINGS = 7 / 3
"""Under unit node: what all relations of persons and things have of epsilon, where a relation of persons has
1. Chosen on ACM."""
AFTER_MARK = ": "
DIRECTED = math.sqrt(2)
"""The same of a directed relation of persons: both of its sides are read."""


@dataclass(frozen=True)
class Part:
    """Relations that one method draws, and that method's parameters."""

    relations: tuple[str, ...]
    generator: Method
    params: Any


def parts_of(
    params: ComposedParams, schema: GraphSchema, unit: Unit, edge_types: Collection[str]
) -> list[Part]:
    """List the parts of these relations. Those of one method, set alike, are one where it takes several."""
    found: dict[str, Part] = {}
    for name in edge_types:
        choice = params.structure(schema.edge_type(name), unit)
        generator = choice.generator
        key = name if not generator.accepts.several else json.dumps(choice.model_dump(), sort_keys=True)
        before = found[key].relations if key in found else ()
        # Set alike, they are one part: its method sees them together and divides by all of them.
        found[key] = Part((*before, name), generator, choice.params)
    return list(found.values())


def facts_of(public: PublicFacts, relations: tuple[str, ...]) -> PublicFacts:
    """Return the facts of some relations.

    Their cells keep the epsilon that they have under the whole schema. EDGE and EVENT: all of it. W_EVENT:
    what each of their steps has of a window that all relations share, times the steps of a window. PAIR: the
    parts of their cells. NODE: a part by :func:`weight`; the others' is what is spent on other reads. Where
    they are all relations, the facts are the same. Raises NotAccepted where too little is left to divide.
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
    """Return a relation's share of epsilon under unit node.

    Noise relative to what is read is 1 / (persons * epsilon), whatever the degree: relations of persons weigh
    alike.
    """
    declared = schema.edge_type(relation)
    if declared.homogeneous:
        return DIRECTED if declared.directed else 1.0
    return THINGS / sum(not schema.edge_type(each).homogeneous for each in edge_types)


def parts_in(params: ComposedParams, schema: GraphSchema, plan: PrivacyPlan) -> list[Part]:
    """List the parts of a plan."""
    if plan.unit is not Unit.NODE:
        names = dict.fromkeys(each.edge_type for each in plan.allotments)
        return parts_of(params, schema, plan.unit, names)
    marks = dict.fromkeys(each.purpose.partition(AFTER_MARK)[0] for each in plan.allotments)
    places = sorted(int(place) for mark in marks for place in mark.split(","))
    return parts_of(params, schema, plan.unit, [schema.edge_types[place].name for place in places])


def plan_of_part(plan: PrivacyPlan, schema: GraphSchema, part: Part) -> PrivacyPlan:
    """Return one structure's plan, out of the plan of all."""
    if plan.unit is Unit.NODE:
        before = marked(schema, part, "")
        own = tuple(
            replace(each, purpose=each.purpose.removeprefix(before))
            for each in plan.allotments
            if each.purpose.startswith(before)
        )
    else:
        own = tuple(each for each in plan.allotments if each.edge_type in part.relations)
    # A part that spends no delta must not be refused for one that another part spends.
    pure = all(pure_nano_epsilon(each.event) is not None for each in own)
    return replace(
        plan, method=part.generator.name, allotments=own, delta_atto=0 if pure else plan.delta_atto
    )


def unmarked(purpose: str) -> str:
    """Return the purpose that a part's own plan names."""
    return purpose.partition(AFTER_MARK)[2]


def marked(schema: GraphSchema, part: Part, purpose: str) -> str:
    """Name the purpose of a part's allotment.

    It names the part where all parts read the whole graph. The places of its relations among the declared
    ones stand before it. Raises NotAccepted for more of them than a purpose has room for.
    """
    places = [place for place, each in enumerate(schema.edge_types) if each.name in part.relations]
    text = f"{','.join(map(str, places))}{AFTER_MARK}{purpose}"
    if len(text) > MAX_TEXT:
        raise errors.NotAccepted(
            f"{len(places)} relations are more than one structure takes under unit node; ask for fewer",
            field="edge_types",
        )
    return text
