"""What plans and reports say of a method: which true edges it may repeat, which values it synthesises."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from core.graphs.schema import GraphSchema, NodeType, Protection
from core.graphs.schema.node_bins import synthesised_in
from core.methods._shared.aims import AIMS
from core.methods.base import Method
from core.privacy.accounting.events import NANO
from core.privacy.accounting.plan import Allotment, GuaranteeKind, PrivacyPlan, rows_of
from core.privacy.units import Unit
from core.publishing.spec import JobSpec
from core.reports.base import Notice
from core.reports.good_for import good_for
from core.reports.notices import EVERY_GRAPH, MOST_NAMES, lasting_relations, values_left_out, what_edges_carry
from graphveil.amounts import format_delta
from graphveil.models.reports import ROWS

MOST_RELATIONS = 8
"""So many relations are named, those with the largest shares."""


def planned_notices(
    generator: Method,
    params: Any,
    plan: PrivacyPlan,
    schema: GraphSchema,
    nodes: Mapping[str, int],
    spec: JobSpec,
) -> tuple[Notice, ...]:
    """List what a dry run says before epsilon is spent. It follows from the plan and public facts alone.

    ``nodes``: the sizes of the node universes.
    """
    release = spec.release
    unit, edge_types = release.unit, release.edge_types
    synthesised = edge_types if generator.carries(params) else ()
    return (
        *lasting_relations(schema, unit, release.window, edge_types),
        *relations_left_out(schema, unit, edge_types),
        *things_without_delta(schema, unit, edge_types, release.delta_atto),
        *values_left_out(schema, edge_types, synthesised=synthesised),
        *usable_for(release.chosen_because, params, plan, schema, edge_types, nodes),
        *cautions(generator, params, plan, schema, nodes),
        *true_edge_notices(generator, params, plan, schema, nodes),
        *value_notices(generator, params, plan, schema, edge_types),
    )


def relations_left_out(schema: GraphSchema, unit: Unit, edge_types: Sequence[str]) -> tuple[Notice, ...]:
    """Say which relations a release leaves out. They are a person's, under unit node; often nothing.

    ``edge_types``: those that it has. Follows from the schema and the request.
    """
    names = [each.name for each in schema.edge_types if not each.public and each.name not in edge_types]
    if unit is not Unit.NODE or not names:
        return ()
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    text = (
        f"Persons have edges in relations that were not asked for: {', '.join(names[:MOST_NAMES])}{more}. "
        "Nothing of these is read or released, and the guarantee hides them with all else of a person. A job "
        "of their own releases them; what both jobs cost adds up."
    )
    return (Notice(code="relations_left_out", text=text),)


def things_without_delta(
    schema: GraphSchema, unit: Unit, edge_types: Sequence[str], delta_atto: int
) -> tuple[Notice, ...]:
    """Say what releases without delta lose. Persons and things lose it under unit node; often nothing."""
    things = [name for name in edge_types if not schema.edge_type(name).homogeneous]
    if unit is not Unit.NODE or delta_atto or not things:
        return ()
    named = ", ".join(things[:MOST_NAMES])
    return (
        Notice(
            code="things_without_delta",
            text=f"Without a delta noise in what is read of {named} grows with a person's edges, not with "
            "their root: twice to four times the epsilon tells as much as a delta of 1e-6 would. A budget "
            "with a delta has it by default, at most 1 over ten times the number of persons.",
        ),
    )


def true_edge_notices(
    generator: Method, params: Any, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
) -> tuple[Notice, ...]:
    """State the expected share of true edges. It is that among those released, by relation; nothing for other
    methods.

    A function of the plan and public facts: equal for every graph of these sizes. ``nodes``: the sizes of
    the node universes.
    """
    shares = generator.true_shares(params, plan, schema, nodes)
    if not shares:
        return ()
    # By share, then name: equal plans have equal texts.
    largest = sorted(shares, key=lambda name: (-shares[name][1], name))[:MOST_RELATIONS]
    named = "; ".join(f"{name} {_percent(*shares[name])}" for name in largest)
    more = len(shares) - len(largest)
    rest = f"; {more} more relations at most as many" if more else ""
    return (
        Notice(
            code="true_edges",
            text="Noisy bits of single pairs are followed, so that released edges may be true ones. Expected "
            f"share of true edges among those released: {named}{rest}. By epsilon, the numbers of nodes and "
            "the declared bound on edges, or a guess of them; the more unequal degrees are, the more.",
        ),
    )


def usable_for(
    chosen_because: str | None,
    params: Any,
    plan: PrivacyPlan,
    schema: GraphSchema,
    edge_types: Sequence[str],
    nodes: Mapping[str, int],
) -> tuple[Notice, ...]:
    """Say which jobs a release is good for. It was measured of what ``auto`` chooses for the shape."""
    spent = plan.cost().nano_epsilon
    if chosen_because is None or spent is None or getattr(params, "preset", None) in AIMS:
        return ()
    return good_for(schema, plan.unit, edge_types, nodes, spent)


def cautions(
    generator: Method, params: Any, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
) -> tuple[Notice, ...]:
    """Say what the release will not tell, from the plan and public facts; often nothing."""
    said = generator.cautions(params, plan, schema, nodes)
    return tuple(Notice(code="not_told", text=text) for text in said)


def _percent(low: float, high: float) -> str:
    least, most = f"{low:.0%}", f"{high:.0%}"
    return least if least == most else f"{least} to {most}"


def value_notices(
    generator: Method,
    params: Any,
    plan: PrivacyPlan,
    schema: GraphSchema,
    edge_types: Container[str],
    *,
    snapshot: bool = False,
) -> tuple[Notice, ...]:
    """Say what the release's edges and nodes carry. It is said what covers a value by itself; often nothing.

    A function of the plan, the relations asked for and the public schema. ``snapshot``: the plan is that of
    one step of a live stream, each of which spends the same on values.
    """
    return (
        *_of_edges(generator, params, plan, schema, edge_types, snapshot),
        *_of_nodes(generator, params, plan, schema, edge_types),
    )


def _of_edges(
    generator: Method,
    params: Any,
    plan: PrivacyPlan,
    schema: GraphSchema,
    edge_types: Container[str],
    snapshot: bool,
) -> tuple[Notice, ...]:
    if not generator.carries(params):
        return ()
    drawn = [each for each in schema.edge_types if each.name in edge_types and each.attributes]
    carried = "; ".join(what_edges_carry(schema, drawn))
    if plan.unit is Unit.NODE:
        covered = "all edges of a node together with what they carry, also where that alone is another. "
    else:
        steps = (plan.window or 1) if snapshot else 1
        # A changed value is an edge that goes and another that comes: twice what is spent on values.
        twice = 2 * steps * Decimal(generator.values_plan(plan).cost().nano_epsilon or 0) / NANO
        what = "one record of an edge, or an" if plan.apart else "an"
        covered = (
            f"{what} edge together with what it carries. Where only what the edges of one unit carry is "
            f"another, both are covered at epsilon {twice.normalize():f}, twice what was spent on it. "
        )
    return (
        Notice(
            code="edge_values_synthesised",
            text=f"What edges carry is synthesised: {carried}. Epsilon covers {covered}Attributes of one "
            "relation are drawn each by itself: how they go together is not kept.",
        ),
    )


def _of_nodes(
    generator: Method, params: Any, plan: PrivacyPlan, schema: GraphSchema, edge_types: Container[str]
) -> tuple[Notice, ...]:
    if not generator.carries_nodes(params):
        return ()
    own = generator.node_values_plan(plan)
    bounded = plan.kind is not GuaranteeKind.NONE
    covered = _cost_of_rows(own) if bounded else "Nothing covers a node's row of them. "
    relations = [each.name for each in schema.edge_types if each.name in edge_types]
    by_cell = bounded and plan.unit is not Unit.NODE
    drawn = {
        name: tuple(each for each in found if each.length is None or generator.carries_vectors(params))
        for name, found in synthesised_in(schema, relations).items()
        if not by_cell or (rows_of(name), None) in own.cells
    }
    kinds: Sequence[NodeType] = schema.node_types
    if schema.collection is not None:  # all graphs have the same
        drawn, kinds = (
            {EVERY_GRAPH: next(iter(drawn.values()))},
            [kinds[0].model_copy(update={"name": EVERY_GRAPH})],
        )
    names = "; ".join(f"{', '.join(each.name for each in found)} of {kind}" for kind, found in drawn.items())
    left = [
        f"{each.name} of {kind.name}"
        for kind in kinds
        for each in kind.attributes
        if each.protection is not Protection.PUBLIC and each not in drawn.get(kind.name, ())
    ]
    out = f" Not part of this release: {', '.join(left)}." if left else ""
    return (
        Notice(
            code="node_values_synthesised",
            text=f"Protected attributes of nodes are synthesised together with the edges: {names}. {covered}"
            f"Every node has a value, also where the original's has none.{out}",
        ),
    )


def _cost_of_rows(own: PrivacyPlan) -> str:
    """Say at which epsilon a node's row is covered, by the part of the plan that reads node attributes."""
    if own.unit is Unit.NODE:
        return (
            "A person's row of them is part of the person: it is covered together with all of its edges. The "
            "first attribute is the one by which persons meet, where no public one groups them; others go "
            "with it. "
        )
    rows: dict[str, list[Allotment]] = {}
    for each in own.allotments:
        rows.setdefault(each.edge_type if each.edge_type.startswith(ROWS) else "", []).append(each)
    of_edges = rows.pop("", [])
    costs = [replace(own, allotments=tuple(of_type)).cost() for of_type in rows.values()]
    # The dearest type decides: a neighbour differs in one row.
    of_row = max(each.nano_epsilon or 0 for each in costs)
    of_unit = replace(own, allotments=tuple(of_edges)).cost().nano_epsilon if of_edges else 0
    atto = max(each.delta_atto for each in costs)
    delta = f" and delta {format_delta(atto)}" if atto else ""
    row, edge = ((Decimal(nano or 0) / NANO).normalize() for nano in (of_row, of_unit))
    unit = "an edge" if own.unit in (Unit.EDGE, Unit.EVENT) else "a unit of edges"
    return (
        f"A node's row of them, replaced by any other while all edges stay, is covered at epsilon "
        f"{row:f}{delta}. "
        f"Of the epsilon of {unit} at most {edge:f} says which values are linked. The first attribute of a "
        "type is the one by which nodes meet; others go with it. "
    )
