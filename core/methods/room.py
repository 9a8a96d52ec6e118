"""Whether a plan's reads fit what may be read.

It is decided from public facts, before anything is reserved. The limits are those that the reads themselves
ask (:mod:`core.privacy.limits`), so that what plans also fits. A read that every fit makes is looked up among
the planned ones; what follows from a paid answer, at its largest, is said by the method (``require_room``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.graphs.schema import GraphSchema
from core.methods.base import Method
from core.privacy import limits
from core.privacy.accounting.plan import GuaranteeKind, PlannedRead, PrivacyPlan

OF_NODES = frozenset({"degrees", "sorted_degrees", "group_degrees"})
"""Reads that return a value for each node at least."""
FEWER = "; declare fewer nodes, or choose a method that reads no value for each of them"


def require_room(
    method: Method,
    params: Any,
    plan: PrivacyPlan,
    schema: GraphSchema,
    nodes: Mapping[str, int],
    *,
    in_parts: bool = False,
) -> None:
    """Raise NotAccepted where a read would be refused.

    A read of the plan is, by its size or sensitivity; the field to mend is named. ``nodes``: the sizes of the
    universes; ``in_parts``: degrees come in blocks then. O(relations and what the plan lists).
    """
    if plan.kind is GuaranteeKind.NONE:
        return
    for read in method.planned_reads(params, plan, schema, nodes):
        _require_read(read, schema, nodes, in_parts)
    method.require_room(params, plan, schema, nodes)


def require_nodes(
    schema: GraphSchema, relation: str, nodes: Mapping[str, int], each: int = 1, *, in_parts: bool = False
) -> None:
    """Raise NotAccepted where a side has too many values.

    ``each`` values for every node of it are more than a read may return.
    """
    declared = schema.edge_type(relation)
    most = max(nodes[declared.source], nodes[declared.target])
    what, field = f"a read of {relation!r}", "schema.node_types"
    limits.check_values(most * each, what, field=field, mend=FEWER, counted=in_parts)


def require_groups(relation: str, groups: int) -> None:
    """Raise NotAccepted where groups make too many counts.

    Edges between so many groups are more counts than a read may return.
    """
    limits.check_values(
        groups * (groups + 1) // 2,
        f"a table of {groups} groups of {relation!r}",
        field="parameters",
        mend="; ask for fewer groups",
    )


def _require_read(read: PlannedRead, schema: GraphSchema, nodes: Mapping[str, int], in_parts: bool) -> None:
    if read.query in OF_NODES and any(each.name == read.edge_type for each in schema.edge_types):
        require_nodes(schema, read.edge_type, nodes, in_parts=in_parts)
    if read.moved is not None:
        limits.check_sensitivity(
            read.moved,
            f"the read {read.query} of {read.edge_type!r}",
            field=f"schema.edge_types.{read.edge_type}",
            mend="; declare a smaller degree_bound or records_per_slot, or leave attribute_share out",
        )
