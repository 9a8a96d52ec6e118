"""A structure for each relation, under one plan: the edges of each by the method that suits it.

Every relation is planned, fitted and drawn by its own method, as if it were alone, with the epsilon that its
cells have under the whole schema (:func:`core.methods._shared.composition.parts.facts_of`). What edges carry
is paid for once for all relations, and so are protected attributes of nodes: every node is dealt values by
its degrees in all relations, and each relation's edges meet by the same groups of nodes.

Proof, by unit. EDGE and EVENT: two neighbours differ in one cell (relation and step), fixed beforehand. Given
the answers so far, whatever reads other cells has one law under both; so the release costs what that cell
does, whichever method reads the others, and no cell spends more than epsilon (and delta, converted by cell:
:meth:`core.privacy.accounting.plan.PrivacyPlan.cost`). PAIR: a pair may lie in every cell; cells' costs add
up, and each relation has its cells' part. W_EVENT: an edge may change at each step of a window, in one
relation of a step; a step costs its dearest relation, relations without time one part more. So all timed
relations need one schedule: beside even steps, a key frame of another relation would cost more than epsilon,
which the plan's cost tells, and such a plan is refused. Structures with a delta are taken under EDGE and
EVENT alone. Values and rows: proofs of their stages (:mod:`core.methods._shared.values.stage`,
:mod:`core.methods._shared.node_values.stage`), which ask nothing of a structure but its paid model.
NODE: a person has edges in every relation; parts
follow one another on the whole graph, each at its part of epsilon, and their costs add up. One of them may
spend a delta: its noise is solved for with the others' pure epsilons beside it, and all is converted once.
There each structure pays for what its own edges carry; a person's row of protected attributes is part of the
person, and is paid for beside (:mod:`core.methods._shared.composition.persons`).
Everything after the fits is post-processing.

What to expect: each relation comes out as by its own method with the epsilon that its cells have; values and
rows take a quarter and a tenth of it where ``auto`` chose the shares. On ACM at epsilon 1 (7,167 authors,
whom they wrote with, and 4,019 papers with a value on each authorship) co-authorship keeps its transitivity
within 17 % and its mixing of fields within a total variation of .03, where one method for both relations
loses 98 % of the transitivity (docs/results.md).

``method: auto`` makes this of public facts (:mod:`core.methods.choice`); a map of relations to methods names
it by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from core import errors
from core.graphs.schema import GraphSchema
from core.late import late
from core.methods import registry
from core.methods._shared.composition.params import NAME, SHARES, ComposedParams
from core.methods._shared.composition.parts import (
    Part,
    facts_of,
    marked,
    parts_in,
    parts_of,
    plan_of_part,
    unmarked,
)
from core.methods._shared.frame.plan import plan_of
from core.methods._shared.frame.stages import staged
from core.methods._shared.node_values import share as node_share
from core.methods._shared.node_values.share import granted_of
from core.methods._shared.node_values.stage import NodeValueStage, vector_reads
from core.methods._shared.values.share import PURPOSE as VALUES_PURPOSE
from core.methods._shared.values.stage import VALUES
from core.methods.base import (
    FittedModel,
    GraphKinds,
    Method,
    Progress,
    PublicFacts,
    require_accepted,
)
from core.methods.room import require_room as require_room_of
from core.privacy.accounting.plan import GuaranteeKind, PlannedRead, PrivacyPlan
from core.privacy.units import EDGE_WISE, Unit

if TYPE_CHECKING:
    from core.privacy.session.private_graph import PrivateGraph

_labelled = late("core.methods._shared.composition.persons:labelled")


def plan(params: ComposedParams, public: PublicFacts) -> PrivacyPlan:
    """Plan every part by its own method, with its cells' epsilon; NotAccepted where one refuses."""
    require_accepted(EDGES, public)
    _require_named(params, public)
    plans, allotments = [], []
    parts = parts_of(params, public.schema, public.unit, public.edge_types)
    _require_alike(parts, public)
    for part in parts:
        with _named(part):
            _require_common(part)
            if public.tick is not None and part.generator.step is None:
                raise errors.NotAccepted(
                    f"{part.generator.name} does not publish live streams", field="method"
                )
            own = part.generator.plan(part.params, facts_of(public, part.relations))
            _require_metered(own)
        plans.append(own)
        allotments += [
            replace(each, purpose=marked(public.schema, part, each.purpose))
            if public.unit is Unit.NODE
            else each
            for each in own.allotments
        ]
    made = plan_of(NAME, public, allotments, max(plan.delta_atto for plan in plans))
    _require_within(made, plans, public)
    return made


def planned_reads(
    params: ComposedParams, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
) -> Sequence[PlannedRead]:
    """Return the reads of every relation's method. See :class:`Method`."""
    return [
        read
        for part in parts_in(params, schema, plan)
        for read in part.generator.planned_reads(part.params, plan_of_part(plan, schema, part), schema, nodes)
    ]


def require_room(
    params: ComposedParams, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
) -> None:
    """Check the reads of every relation's method; see :class:`Method`."""
    for part in parts_in(params, schema, plan):
        with _named(part):
            require_room_of(part.generator, part.params, plan_of_part(plan, schema, part), schema, nodes)


def true_shares(
    params: ComposedParams, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
) -> Mapping[str, tuple[float, float]]:
    """Compute them for relations that follow bits of pairs. Their method does so; see :class:`Method`."""
    found: dict[str, tuple[float, float]] = {}
    for part in parts_in(params, schema, plan):
        own = plan_of_part(plan, schema, part)
        found |= part.generator.true_shares(part.params, own, schema, nodes)
    return found


def cautions(
    params: ComposedParams, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
) -> Sequence[str]:
    """Return what every relation's method says beforehand; see :class:`Method`."""
    return [
        said
        for part in parts_in(params, schema, plan)
        for said in part.generator.cautions(part.params, plan_of_part(plan, schema, part), schema, nodes)
    ]


def _require_named(params: ComposedParams, public: PublicFacts) -> None:
    """Raise NotAccepted where shares or names stand where the unit does not let them."""
    of_structures = [
        name for name, each in params.structures.items() if any(map(each.parameters.get, SHARES))
    ]
    if public.unit is not Unit.NODE:
        if of_structures:
            raise errors.NotAccepted(
                f"shares for what edges and nodes carry belong to all relations together; set them beside "
                f"the structures, not for {of_structures[0]!r}",
                field="structures",
            )
        return
    if params.attribute_share:
        raise errors.NotAccepted(
            "under unit node each structure pays for what its edges carry; set the share in its parameters",
            field="attribute_share",
        )


def _require_alike(parts: Sequence[Part], public: PublicFacts) -> None:
    """Raise NotAccepted where parts differ in what has to be the same for all of them."""
    if public.tick is not None and len(parts) > 1:
        raise errors.NotAccepted(
            "the relations of a live stream share one schedule, however long it goes on: name one method for "
            "all of them, set alike",
            field="structures",
        )
    paying = {
        name: part.generator.carries(part.params)
        for part in parts
        for name in part.relations
        if public.schema.edge_type(name).attributes
    }
    if public.unit is Unit.NODE and len(set(paying.values())) > 1:
        bare = next(name for name, pays in paying.items() if not pays)
        raise errors.NotAccepted(
            f"what edges carry is released of all relations or of none, and {bare!r} sets nothing aside for "
            "it: give each of them an attribute_share, or leave all out",
            field="structures",
        )


def _require_within(plan: PrivacyPlan, plans: Sequence[PrivacyPlan], public: PublicFacts) -> None:
    """Raise NotAccepted for parts whose costs do not go together."""
    with_delta = sum(each.kind is not GuaranteeKind.PURE for each in plans)
    # Cells are apart under EDGE and EVENT, so that each may have a delta; elsewhere costs add up.
    most = {Unit.EDGE: len(plans), Unit.EVENT: len(plans), Unit.NODE: 1}.get(public.unit, 0)
    if with_delta > most:
        raise errors.NotAccepted(
            f"under unit {public.unit} at most {most} of the structures may spend a delta; name ones of pure "
            "epsilon",
            field="structures",
        )
    # By the plan's own cost: schedules that look alike may still put two dear steps into one window.
    if (plan.cost().nano_epsilon or 0) > public.nano_epsilon:
        raise errors.NotAccepted(
            "the structures of timed relations divide a window differently, so that its dearest steps add up "
            "to more than epsilon; name one method for all timed relations",
            field="structures",
        )


def _require_common(part: Part) -> None:
    if part.generator.name not in registry.common():
        raise errors.NotAccepted(
            "not every worker has it; name it as the method of the whole graph, or another one here",
            field="structures",
        )


def _require_metered(plan: PrivacyPlan) -> None:
    if plan.kind is GuaranteeKind.NONE:
        raise errors.NotAccepted(
            "with these parameters it reads the raw graph and has no guarantee; name it as the method of "
            "the whole graph, or choose parameters with a guarantee",
            field="structures",
        )


@contextmanager
def _named(part: Part) -> Iterator[None]:
    """Say of a refusal which relation and method it comes from."""
    try:
        yield
    except errors.NotAccepted as refusal:
        named = ", ".join(map(repr, part.relations))
        raise errors.NotAccepted(
            f"{named} by {part.generator.name}: {refusal.message}", field="structures"
        ) from None


class Groups(NodeValueStage):
    """Groups of attribute values, dealt once for all relations.

    They are handed to each relation's own model.
    """

    def planned_reads(self, plan: PrivacyPlan, schema: GraphSchema) -> Sequence[PlannedRead]:
        """List the tables of rows. Under unit node vectors alone: what others cost follows from how edges are
        read."""
        kind = schema.protected_type
        if plan.unit is not Unit.NODE or kind is None:
            return super().planned_reads(plan, schema)
        return [*vector_reads(kind, granted_of([each.event for each in plan.allotments], kind))]

    def paid(
        self,
        method: str,
        model: Any,
        graph: PrivateGraph,
        plan: PrivacyPlan,
        params: Any,
        progress: Progress,
    ) -> FittedModel:
        """Pay for rows of nodes. Under unit node these are persons' rows."""
        if plan.unit is not Unit.NODE:
            return super().paid(method, model, graph, plan, params, progress)
        found: FittedModel = _labelled(method, model, graph, plan, params, progress)
        return found


def plan_whole(params: ComposedParams, public: PublicFacts) -> PrivacyPlan:
    """Plan edges, and what they and nodes carry; NotAccepted where a structure does not mix by groups."""
    if STAGED.carries_nodes(params) and public.unit is not Unit.NODE:
        _require_mixing(params, public)
    return STAGED.plan(params, public)


def _require_mixing(params: ComposedParams, public: PublicFacts) -> None:
    """Ask the method of each relation along which values are linked to plan with such a share itself."""
    along = node_share.mixed_along(public.schema, public.edge_types)
    # Planned on trial, so that a method's own refusal is the answer.
    for part in parts_of(params, public.schema, public.unit, tuple(each.name for each in along)):
        share = {node_share.FIELD: params.node_attribute_share}
        with _named(part):
            if part.generator.mixing is None:
                raise errors.NotAccepted(
                    f"{part.generator.name} does not draw edges by protected attributes of nodes; name "
                    f"dcsbm, keyframe or anchored without evidence, or leave {node_share.FIELD} out",
                    field="structures",
                )
            facts = facts_of(public, part.relations)
            part.generator.plan(part.params.model_copy(update=share), facts)


def carries(params: ComposedParams) -> bool:
    """Tell whether edges carry what the schema declares. It is paid for together, or by each structure."""
    return STAGED.carries(params) or any(
        each.generator.carries(each.params) for each in params.structures.values()
    )


EDGES = Method(
    module=__name__,
    name=NAME,
    title="Composition of structures",
    summary=(
        "A method for each relation under one plan, with what edges carry and protected attributes of nodes "
        "paid for once. What auto makes where relations differ. Pure epsilon, or (epsilon, delta)."
    ),
    assurance="proven",
    Params=ComposedParams,
    accepts=GraphKinds(static=True, temporal=True, heterogeneous=True, directed=True, bipartite=True),
    units=EDGE_WISE | {Unit.NODE},
    kinds=frozenset({GuaranteeKind.PURE, GuaranteeKind.APPROXIMATE}),
    plan=plan,
    fit=late("core.methods._shared.composition.fit:fit"),
    step=late("core.methods._shared.composition.fit:step"),
    planned_reads=planned_reads,
    require_room=require_room,
    true_shares=true_shares,
    cautions=cautions,
    load=late("core.methods._shared.composition.model:load"),
    resize=late("core.methods._shared.composition.model:resized"),
)


def values_plan(plan: PrivacyPlan) -> PrivacyPlan:
    """Return the part of the plan that reads edge values. Under NODE it is that of every structure."""
    if plan.unit is not Unit.NODE:
        return VALUES.plan_of(plan)
    return plan.only(*{each.purpose for each in plan.allotments if unmarked(each.purpose) == VALUES_PURPOSE})


STAGED = staged(EDGES, VALUES, Groups(late("core.methods._shared.composition.model:MixingOfParts")))
GENERATOR = replace(STAGED, plan=plan_whole, carries=carries, values_plan=values_plan)
