"""Evidence in plans of ``anchored``: requested and refused.

What a plan takes of its relations as evidence, and what it refuses. Public facts only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from core import errors
from core.graphs.schema import GraphSchema
from core.methods._shared.relations.budget import (
    evidence_of,
    is_static,
    shares,
    static_shares,
    targets_once,
)
from core.methods._shared.relations.params import AnchoredParams
from core.methods._shared.slots.evidence import MAX_MATERIALISED, additions
from core.methods.anchored.allotted import granted
from core.privacy.accounting.plan import PlannedRead, PrivacyPlan
from core.privacy.queries import Shape
from core.privacy.units import edges_of_unit


def lazy_relations(
    plan: PrivacyPlan, schema: GraphSchema, counts: Mapping[str, int], params: AnchoredParams
) -> frozenset[str]:
    """Choose the relations whose evidence is evaluated lazily. Public facts only; O(cells).

    Those with the fewest expected additions are materialised, as long as all of them together stay within
    ``evidence.MAX_MATERIALISED``. ``counts``: the sizes of the node universes.
    """
    added: dict[str, int] = {}
    for name, grant in granted(plan).items():
        relation = schema.edge_type(name)
        shape = Shape(relation, counts[relation.source], counts[relation.target])
        times = edges_of_unit(plan.unit, relation)
        evidence = evidence_of(shape, grant.nano_epsilon, times, params)
        if evidence and not is_static(shape, params):
            added[name] = additions(shape, evidence, multiplicity=times) * len(grant.steps)
    if params.evidence == "lazy":
        return frozenset(added)
    room, lazy = MAX_MATERIALISED, set()
    # By name where as many are added, so that plan and fit choose alike.
    for name, more in sorted(added.items(), key=lambda each: (each[1], each[0])):
        room -= more
        if room < 0:
            lazy.add(name)
    return frozenset(lazy)


def evidence_asked(
    plan: PrivacyPlan, schema: GraphSchema, counts: Mapping[str, int], params: AnchoredParams
) -> dict[str, int]:
    """Compute the evidence budget of one slot, by relation.

    It is what its bit has, in nano-epsilon; relations that ask for none are left out. ``counts``: the sizes
    of the node universes. O(relations).
    """
    found = {}
    for name, grant in granted(plan).items():
        relation = schema.edge_type(name)
        shape = Shape(relation, counts[relation.source], counts[relation.target])
        times = edges_of_unit(plan.unit, relation)
        found[name] = evidence_of(shape, grant.nano_epsilon, times, params) // times
    return {name: nano for name, nano in found.items() if nano}


def require_heeded(
    plan: PrivacyPlan, schema: GraphSchema, counts: Mapping[str, int], params: AnchoredParams
) -> None:
    """Raise NotAccepted where a parameter could change nothing.

    It was set, and could change nothing in any relation; the field to mend is named. Public facts only;
    ``counts``: the sizes of the node universes. O(relations).
    """
    grants = granted(plan)
    free = {name for name in grants if not targets_once(schema.edge_type(name))}
    evidence = evidence_asked(plan, schema, counts, params)
    if params.degree_share not in (None, 1.0) and (params.evidence == "none" or not free):
        why = "evidence=none" if free else "a functional relation with time"
        raise errors.NotAccepted(
            f"{why} leaves degrees everything; leave degree_share out", field="degree_share"
        )
    if params.evidence in ("lazy", "materialised") and not evidence:
        raise errors.NotAccepted(
            "no relation asks for evidence at this epsilon, so that there is none to keep "
            f"{params.evidence}; a degree_share below 1 asks for it all the same",
            field="evidence",
        )
    if params.tail_share != AnchoredParams().tail_share and not _has_tails(grants, schema, params):
        why = "tail_share has no effect: no relation is undirected; leave it out"
        raise errors.NotAccepted(why, field="tail_share")


def _has_tails(names: Iterable[str], schema: GraphSchema, params: AnchoredParams) -> bool:
    """Tell whether some relation could buy degree tails: an undirected one, where degrees follow a law."""
    return params.deconvolve and any(
        schema.edge_type(name).homogeneous and not schema.edge_type(name).directed for name in names
    )


def planned_reads(
    params: AnchoredParams, plan: PrivacyPlan, schema: GraphSchema, counts: Mapping[str, int]
) -> list[PlannedRead]:
    """List each step's least payment for edges and degrees.

    That is what every step of a relation pays for its number of edges and its degrees at least. Degrees of
    the side that gets less; of an undirected relation without what tails would cost. Public facts only;
    ``counts``: the sizes of the node universes. O(relations).
    """
    reads = []
    for name, grant in granted(plan).items():
        relation = schema.edge_type(name)
        shape = Shape(relation, counts[relation.source], counts[relation.target])
        times = edges_of_unit(plan.unit, relation)
        if is_static(shape, params):
            columns = {"degrees": static_shares(shape, grant.nano_epsilon, times, params).columns}
        else:
            paid = shares(shape, grant.nano_epsilon, times, params)
            sides = (paid.source,) if shape.undirected else (paid.source, paid.target)
            columns = {"edge_count": paid.count, "degrees": min(sides)}
        reads += [PlannedRead(name, query, (cost,), len(grant.steps)) for query, cost in columns.items()]
    return reads


def require_kept(
    params: AnchoredParams, plan: PrivacyPlan, schema: GraphSchema, counts: Mapping[str, int]
) -> None:
    """Raise NotAccepted where a parameter could not be kept to, or would change nothing."""
    require_heeded(plan, schema, counts, params)
    lazy = lazy_relations(plan, schema, counts, params) if params.evidence == "materialised" else ()
    if lazy:
        raise errors.NotAccepted(
            f"at this epsilon too many pairs of {', '.join(sorted(lazy))} would be reported to be kept; "
            "evidence=lazy keeps a key in their place",
            field="evidence",
        )
