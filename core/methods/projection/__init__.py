"""Our own method for people and people: degrees, groups and triangles that hide all edges of one person.

The reads of one relation, each of which may use what was read before:
1. edges kept by projections at theta = 4, 16, 64, ... (L1 theta), until few are cut off and a larger theta
   keeps hardly more, or the next noise would hide the number. That is the mean degree, roughly.
2. how many nodes have at least j edges at a theta of one to four mean degrees, for every j up to theta (L1
   2 theta).
3. edges at the theta, of twelve mean degrees and more, at which noise and what is cut off are least.
Of an undirected relation without time also:
4. where a public attribute groups persons: edges inside each group (L1 theta, all groups together), and
   across groups (L1 theta), each of a projection of those edges alone.
5. triangles, of which no person counts in more than tau (L1 tau + 1), twice: roughly, then at the tau that
   suits what was found. Under a declared bound D all of them at once, where that is the less noise (L1
   D (D - 1) / 2). A number that may be noise alone is dropped.
Of a directed one, 1 to 3 are read of its double cover: theta arcs of a person go out at most and theta come
in, which it moves twice as far; tails of both sides are asked together. And the pairs that are linked both
ways, as an undirected graph (L1 theta).
Of a timed one, 1 to 3 are read of events of all steps in one list. And the edges of each period, a stretch of
steps, by a projection for each (L1 the sum of their thetas, or 2 D).
Where asked for (``attribute_share``), what edges of any relation carry: records of each class of values, by a
projection for each (L1 the sum of their thetas; or 2 D, times the records that an edge may have), twice:
roughly, then at thetas that suit what was found. Of an undirected relation without time and under a declared
bound also values between public groups (L1 2 D, times records).
The projections are undone: the laws of degrees are those that explain 1, 2 and 3 as projections of a graph
whose edges join ends at random (:mod:`core.methods.projection.law`); each side's law is fitted with the room
that the other's leaves. A graph is drawn by matching edge ends, group by group, with the degrees of that law,
and rewired, keeping degrees and totals between groups, until it has as many triangles as were read; where
none were seen, it has those of chance. With directions or time, ends are dealt out over steps by the numbers
read, and matched step by step, first those of mutual pairs; whoever has many arcs out has many in, the more
so the more arcs are mutual.

Guarantee: pure epsilon. Unit: node, one person: all of its edges, with what they carry, and inside a
composition its row of protected attributes, replaced by any others. Proof of the total:
which thetas, thresholds and taus are asked is a function of earlier noisy outputs and public facts, hence the
same for two neighbours once those are given; whichever reads are made, their costs add up to epsilon, so that
they are adaptive reads under a sum that is fixed. The reads' own proofs:
:mod:`core.privacy.mechanisms.projection`, :mod:`core.privacy.mechanisms.packing` and
:mod:`core.privacy.reads.bounded`. Keys of projections are fresh and independent of the graph. All else is
post-processing. Run times depend on the graph and are not published.

Edges may stay in parts, of relations that are not directed and without triangles: the same edges are kept
(:mod:`core.privacy.reads.kept_parts`).

What is not there: labels from ties, tables of edges between groups. A projected graph does not protect those,
though each of its nodes has few edges: whether an edge is kept can hang on a person far away, and then so may
the next edge, without end.

What to expect: degrees, the number of edges, groups and triangles of a graph of some thousand persons, at
epsilon 1. Single ties do not come through, and hubs beyond what theta reaches are drawn from a power law.
In time, a person's events are spread over steps by chance alone.
Constants were chosen while looking at Cora, LastFM Asia, Digg, Facebook and CollegeMsg.

Sources: projections, Day, Li, Lyu, SIGMOD 2016; packings, Kasiviswanathan, Nissim, Raskhodnikova, Smith, TCC
2013. Double covers, undoing the projection, totals inside groups and the whole are ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from core import errors
from core.graphs.schema import EdgeType, GraphSchema
from core.late import late
from core.methods._shared.frame.heeded import Idle, require_heeded
from core.methods._shared.frame.plan import divide, plan_of, require_parts
from core.methods._shared.values.share import FIELD, PURPOSE, divided, why_idle
from core.methods.base import GraphKinds, Method, PublicFacts, Sharding, require_accepted
from core.methods.projection.params import (
    COUNTED,
    HISTOGRAM,
    LEFT,
    MOST_TAKEN,
    NAME,
    PEOPLE_OF,
    ROUGHLY,
    ProjectionParams,
    between_groups,
    plain,
    require_counts,
)
from core.privacy.accounting.events import Pure, pure_nano_epsilon
from core.privacy.accounting.persons import acquaintance
from core.privacy.accounting.plan import WHOLE_GRAPH, Allotment, GuaranteeKind, PlannedRead, PrivacyPlan
from core.privacy.reads.public_groups import group_attribute
from core.privacy.units import Unit

LEAST_NANO_EPSILON = 1_000_000


def plan(params: ProjectionParams, public: PublicFacts) -> PrivacyPlan:
    """Grant the whole graph epsilon once: one person has edges everywhere.

    One relation inside the protected node type; others may stand beside it, and are left alone. Groups
    are a public attribute of categories. A parameter that could change nothing is refused.
    """
    if public.unit is Unit.NODE and len(public.edge_types) > 1:
        raise errors.NotAccepted(
            "projection takes one relation: ask for each in a job of its own", field="edge_types"
        )
    require_accepted(GENERATOR, public)
    relation, kind = acquaintance(public.schema, public.edge_types[0])
    require_heeded(params, _idle(params, relation, public.schema.steps))
    if plain(relation):
        grouped = group_attribute(kind, params.groups) is not None
        require_heeded(params, _idle_among_plain(params, grouped))
    if params.taken(plain(relation)) > MOST_TAKEN:
        raise errors.NotAccepted(LEFT, field="edge_share")
    if public.nano_epsilon < LEAST_NANO_EPSILON:
        raise errors.NotAccepted("epsilon is too small to be divided", field="epsilon")
    if idle := why_idle(public):
        require_heeded(params, [Idle((FIELD,), idle)])
    granted = [(public.nano_epsilon, PEOPLE_OF + public.edge_types[0])]
    if carries(params):
        spent = int(public.nano_epsilon * params.attribute_share)
        numbers, each = divided(relation, spent)
        require_parts(each if relation.merged else min(numbers, each), 1, FIELD)
        granted = [(public.nano_epsilon - spent, granted[0][1]), (spent, PURPOSE)]
    allotments = [
        Allotment(WHOLE_GRAPH, None, Pure(nano, "discrete laplace"), purpose) for nano, purpose in granted
    ]
    return plan_of(NAME, public, allotments)


def planned_reads(
    params: ProjectionParams, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
) -> list[PlannedRead]:
    """Return the tables of edge values, under a bound.

    It is declared; see :class:`Method`. A person moves them by what that allows, or by less. Other reads are
    left out: how far a person moves them follows from thresholds that are paid for.
    """
    spent = sum(pure_nano_epsilon(each.event) or 0 for each in plan.allotments if each.purpose == PURPOSE)
    if not spent:
        return []
    (name,) = (each.purpose.removeprefix(PEOPLE_OF) for each in plan.allotments if each.purpose != PURPOSE)
    relation, kind = acquaintance(schema, name)
    if kind.degree_bound is None:
        return []
    numbers, each = divided(relation, spent)
    person = 2 * kind.degree_bound
    records, reads = person * (relation.records_per_slot or 1), []
    for cost, moved, of in ((each, records, "value"), (numbers, person, "record")):
        if not cost:
            continue
        first, between = divide(cost, HISTOGRAM) if between_groups(kind, relation, params) else (cost, 0)
        reads.append(PlannedRead(name, f"{of}_histogram", (divide(first, ROUGHLY)[1],), moved=moved))
        if between:
            reads.append(PlannedRead(name, f"{of}s_by_classes", (between,), moved=moved))
    return reads


def carries(params: ProjectionParams) -> bool:
    """Tell whether edges carry what the schema declares."""
    return params.attribute_share > 0


def values_plan(plan: PrivacyPlan) -> PrivacyPlan:
    """Return the part of the plan that reads edge values."""
    return plan.only(PURPOSE)


def _idle(params: ProjectionParams, relation: EdgeType, steps: int) -> Iterable[Idle]:
    if not relation.directed:
        yield Idle(("mutual_share",), "the relation is not directed; mutual pairs are read of directed ones")
    if not relation.temporal or steps == 1:
        yield Idle(("step_share",), "the relation has one step; periods are read of timed ones")
    if not plain(relation):
        names = "groups", "group_share", *("triangle_share",) * (params.triangle_share > 0)  # 0 is so
        yield Idle(names, "groups and triangles are read of undirected relations without time alone")


def _idle_among_plain(params: ProjectionParams, grouped: bool) -> Iterable[Idle]:
    if not grouped:
        yield Idle(("group_share",), "there are no groups; a public attribute named by groups makes some")


GENERATOR = Method(
    module=__name__,
    name=NAME,
    title="Degrees, groups and triangles of people",
    summary=(
        "Keyed edge projections whose loss is undone, of both sides and of periods; totals inside public "
        "groups, and packed triangles: hides all edges of one person. Pure epsilon under unit node."
    ),
    assurance="proven",
    Params=ProjectionParams,
    accepts=GraphKinds(static=True, temporal=True, heterogeneous=True, directed=True, several=False),
    units=frozenset({Unit.NODE}),
    kinds=frozenset({GuaranteeKind.PURE}),
    plan=plan,
    planned_reads=planned_reads,
    fit=late("core.methods.projection.graph:fit_graph"),
    load=late("core.methods.projection.graph:load"),
    meets_by_rows=True,
    carries=carries,
    values_plan=values_plan,
    sharding=Sharding(
        COUNTED,
        require_counts,
        late("core.methods.projection.graph:fit_graph"),
        late("core.methods.projection.shards:laws_of_model"),
        late("core.methods._shared.shards.cells:draw_shard"),
    ),
)
