"""The reads of ``profiles`` by relation, and their noise. It is a rule of public facts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from core import errors
from core.graphs.schema import EdgeType, GraphSchema, Protection
from core.methods._shared.frame.heeded import Idle
from core.methods._shared.frame.plan import besides, plan_of
from core.methods._shared.values.share import NUMBERS_SHARE, carrying
from core.methods.base import PublicFacts
from core.methods.profiles.params import ProfilesParams
from core.privacy.accounting import dp_sgd
from core.privacy.accounting.events import GaussianEvent, Pure
from core.privacy.accounting.plan import WHOLE_GRAPH, Allotment, PlannedRead, PrivacyPlan

CLIP = 1.0
"""Where profiles are cut, in lengths of that of a person without preferences."""
WORTH = 2.5
"""How large the noise may be beside what persons have in common, for one more thing with a column."""
MOST_COLUMNS = 32
SKETCH = 16
"""Columns of public facts beyond MOST_COLUMNS are put down to so many random sums of them."""
GRAIN = 1000
"""Noise multipliers are whole thousandths, rounded up."""


@dataclass(frozen=True)
class Read:
    """One read of one relation. ``what`` is a key of SHARES."""

    relation: str
    what: str
    share: float

    @property
    def purpose(self) -> str:
        return f"{self.what} of {self.relation}"


def thing_of(schema: GraphSchema, relation: EdgeType) -> str:
    """Name the type that a relation joins persons to."""
    protected = schema.protected_type
    return relation.target if protected and relation.source == protected.name else relation.source


def gives_classes(schema: GraphSchema, relation: EdgeType) -> bool:
    """Tell whether a person has at most one thing. It is of the relation, in all steps."""
    protected = schema.protected_type
    return relation.functional and protected is not None and relation.source == protected.name


def told_apart(schema: GraphSchema, relation: EdgeType) -> bool:
    """Tell whether anything public describes the relation's things.

    That is public columns or public relations.
    """
    thing = thing_of(schema, relation)
    columns = any(
        each.protection is Protection.PUBLIC and not each.label for each in schema.node_type(thing).attributes
    )
    return columns or any(each.public and thing in (each.source, each.target) for each in schema.edge_types)


def least_columns(schema: GraphSchema, relation: EdgeType, nodes: Mapping[str, int]) -> int:
    """Count public columns of a relation's things, at least: an attribute is one, a type one a node."""
    thing = thing_of(schema, relation)
    own = [
        each
        for each in schema.node_type(thing).attributes
        if each.protection is Protection.PUBLIC and not each.label
    ]
    joined = [
        nodes[end]
        for each in schema.edge_types
        for here, end in ((each.source, each.target), (each.target, each.source))
        if each.public and here == thing
    ]
    count = len(own) + sum(joined)
    return count if count <= MOST_COLUMNS else SKETCH


def without_tastes(plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]) -> Iterator[str]:
    """Say of which relations no tastes will be read. A rule of public facts: that of single columns."""
    events = {each.purpose: each.event for each in plan.allotments}
    for relation in schema.edge_types:
        if Read(relation.name, "degrees", 0.0).purpose not in events:
            continue
        said = f"Tastes of persons in {relation.name} will not be read"
        event = events.get(Read(relation.name, "structure", 0.0).purpose)
        if not isinstance(event, GaussianEvent):
            apart = told_apart(schema, relation)
            why = (
                "that takes a delta and a structure_share"
                if apart
                else "nothing public tells its things apart"
            )
            yield f"{said}: {why}. Which things a person has together is chance."
            continue
        persons = nodes[schema.protected_type.name] if schema.protected_type else 0
        width = least_columns(schema, relation, nodes)
        # Noise's largest eigenvalue grows with the width to 3/2: see :func:`columns.singled_out`.
        begin = math.ceil(width**1.5 * 2 * CLIP**2 * float(event.noise_multiplier) / WORTH)
        if persons < begin:
            yield (
                f"{said}: at this epsilon they begin at about {begin} persons, and there are {persons}. "
                "Which things a person has together is chance."
            )


def reads_of(schema: GraphSchema, relations: tuple[str, ...], params: ProfilesParams) -> Iterator[Read]:
    """List these relations' reads, in the order they are made."""
    for name in relations:
        relation = schema.edge_type(name)
        timed = relation.temporal and schema.steps > 1
        if gives_classes(schema, relation):
            yield Read(name, "classes", params.class_share)
            if timed:
                yield Read(name, "activity", params.activity_share)
            continue
        yield Read(name, "degrees", params.degree_share)
        if timed:
            yield Read(name, "activity", params.activity_share)
        yield Read(name, "totals", params.total_share)
        if timed:
            yield Read(name, "steps", params.step_share)
        if params.structure_share and told_apart(schema, relation):
            yield Read(name, "structure", params.structure_share)


def values_of(
    schema: GraphSchema, relations: tuple[str, ...], params: ProfilesParams, total: float
) -> Iterator[Read]:
    """List the reads of what edges carry. They have ``attribute_share`` of all, the others have ``total``."""
    names = [each for each in carrying(schema, relations) if params.attribute_share]
    # Solved for: this is ``attribute_share`` of itself and ``total`` together.
    share = total * params.attribute_share / (1 - params.attribute_share)
    for relation in names:
        own = share / len(names)
        numbers = 0.0 if relation.merged else NUMBERS_SHARE * own
        each = (own - numbers) / len(relation.attributes)
        for whats, part, times in (
            (RECORDS, numbers, int(numbers > 0)),
            (VALUES, each, len(relation.attributes)),
        ):
            for what, of_part in zip(whats, (HISTOGRAM_SHARE, 1 - HISTOGRAM_SHARE), strict=True):
                yield from [Read(relation.name, what, of_part * part)] * times


VALUES = "values", "values by thing"
RECORDS = "records", "records by thing"
"""Reads of an attribute, and of the number of an edge's records: of all things together, and of each."""
HISTOGRAM_SHARE = 0.3
"""Of what an attribute has: for values of all things together."""
SHARES = {
    "degrees": "degree_share",
    "activity": "activity_share",
    "totals": "total_share",
    "steps": "step_share",
    "structure": "structure_share",
    "classes": "class_share",
}
"""The parameter that says how much a read gets."""
NEEDED = {
    "degrees": "no relation lets a person have several things",
    "activity": "no relation has several steps",
    "totals": "no relation lets a person have several things",
    "steps": "no relation with several steps lets a person have several things",
    "structure": "no public column or relation tells the things of a relation apart",
    "classes": "no relation is functional from persons",
}


WITHOUT_DELTA = "what kinds of things persons prefer is read under Gaussian noise alone, which needs a delta"


def idle_of(
    schema: GraphSchema, relations: tuple[str, ...], params: ProfilesParams, *, pure: bool
) -> Iterator[Idle]:
    """Name the parameters that could change nothing for these relations. ``pure``: there is no delta."""
    every = params.model_copy(update={"structure_share": 1.0})
    made = {each.what for each in reads_of(schema, relations, every)}
    if pure:
        made -= {"structure"}
    for what, name in SHARES.items():
        if what not in made:
            yield Idle((name,), WITHOUT_DELTA if pure and what == "structure" else NEEDED[what])
        elif len(made) == 1:
            yield Idle((name,), "there is nothing else to share with")


def planned(method: str, public: PublicFacts, params: ProfilesParams) -> PrivacyPlan:
    """Plan one event on the whole graph for every read.

    Its noise's variance is about inverse to its share. Without a delta: discrete Laplace noise, and epsilon
    divided by the roots of shares. With one: Gaussian.

    Gaussian events of multipliers m_k cost together what one of multiplier m costs, 1/m^2 being the sum of
    the 1/m_k^2; m is the least that keeps to epsilon and delta, what is spent on other reads counted in.
    """
    reads = [
        each
        for each in reads_of(public.schema, public.edge_types, params)
        if public.delta_atto or each.what != "structure"
    ]
    reads += list(values_of(public.schema, public.edge_types, params, sum(each.share for each in reads)))
    if not public.delta_atto:
        return _pure(method, public, reads)
    total = sum(each.share for each in reads)
    one = dp_sgd.noise_multiplier(
        public.nano_epsilon, public.delta_atto, Fraction(1), 1, accountant=public.accountant
    )
    while True:
        # Variance is inverse to the share, so a multiplier goes with one over its root.
        events = [GaussianEvent(_thousandths(float(one) * math.sqrt(total / each.share))) for each in reads]
        allotments = [
            Allotment(WHOLE_GRAPH, None, event, each.purpose)
            for event, each in zip(events, reads, strict=True)
        ]
        plan = plan_of(method, public, allotments, public.delta_atto)
        beside = [Allotment(WHOLE_GRAPH, None, event, "beside") for event in besides(public)]
        together = replace(plan, allotments=(*plan.allotments, *beside))
        if (together.cost().nano_epsilon or 0) <= public.whole_nano_epsilon:
            return plan
        one += Fraction(max(1, int(one * GRAIN) // 5000), GRAIN)  # losses are counted on a grid


def _pure(method: str, public: PublicFacts, reads: list[Read]) -> PrivacyPlan:
    roots = [math.sqrt(each.share) for each in reads]
    # Laplace noise's variance goes with 1 / epsilon^2: epsilon by roots of the shares.
    costs = [int(public.nano_epsilon * root / math.fsum(roots)) for root in roots]
    if min(costs) < 1:
        raise errors.NotAccepted("epsilon is too small to be divided", field="epsilon")
    return plan_of(
        method,
        public,
        [
            Allotment(WHOLE_GRAPH, None, Pure(cost, "discrete laplace"), each.purpose)
            for cost, each in zip(costs, reads, strict=True)
        ],
    )


def of_values(plan: PrivacyPlan) -> PrivacyPlan:
    """Return the part of the plan that reads edge values."""
    purposes = {each.purpose for each in plan.allotments}
    return plan.only(*(each for each in purposes if each.split(" of ", 1)[0] in (*VALUES, *RECORDS)))


def noises(plan: PrivacyPlan) -> dict[str, Fraction | Pure]:
    """Return the noise of every read of a plan, by purpose. It is a multiplier, or a pure event."""
    return {
        each.purpose: each.event.noise_multiplier if isinstance(each.event, GaussianEvent) else each.event
        for each in plan.allotments
        if isinstance(each.event, GaussianEvent | Pure)
    }


COUNTS = {"degrees": "person_degrees", "activity": "person_activity", "classes": "person_classes"}
SUMS = {
    "totals": "thing_totals",
    "steps": "thing_totals_by_period",
    VALUES[0]: "value_totals",
    VALUES[1]: "value_totals_of_things",
}
"""What a read is called where its noise is predicted."""
GRID = 1.0001
"""Noise is drawn on a grid of so many steps of an edge that rounding its deviation up adds less than that."""


def planned_reads(plan: PrivacyPlan) -> list[PlannedRead]:
    """List the counting reads under Gaussian noise.

    Each has the most that its deviation can be. One person replaced moves a count of persons by sqrt(2) in
    L2, and a sum that clips persons at D edges by sqrt(2 D), given here for D = 1.
    """
    found = []
    for purpose, multiplier in noises(plan).items():
        if isinstance(multiplier, Pure):
            continue
        what, name = purpose.split(" of ", 1)
        query = COUNTS.get(what) or SUMS.get(what)
        if query is not None:
            found.append(PlannedRead(name, query, (), deviation=GRID * math.sqrt(2) * float(multiplier)))
    return found


def _thousandths(value: float) -> Fraction:
    return Fraction(math.ceil(value * GRAIN), GRAIN)
