"""What edges and rows spend on protected node attributes, and the plan that it makes. Public facts only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from pydantic import Field

from core import errors
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.graphs.schema.node_bins import moved_by, synthesised, synthesised_in, vectors
from core.methods._shared.frame.plan import divide, require_parts, together_nano_epsilon
from core.methods.base import Parameters, PublicFacts
from core.privacy.accounting import dp_sgd
from core.privacy.accounting.events import NANO, GaussianEvent, Pure
from core.privacy.accounting.plan import WHOLE_GRAPH, Allotment, PrivacyPlan, rows_of
from core.privacy.units import Unit, charged_together
from graphveil.models.reports import ROWS

PURPOSE = "protected node attributes"
MECHANISM, OF_A_VECTOR = "discrete_laplace/node_attributes", "discrete_laplace/node_vectors"
FIELD = "node_attribute_share"
VECTORS = 0.5
"""Of what a row may spend, where its type has other attributes too: what vectors have."""
LEAST_VARIANCE, MOST_VARIANCE = 2.0**-18, 2.0**46
"""Gaussian noise between these has a grid: :func:`core.privacy.mechanisms.aggregation.scale_of`."""
ROWS_SHARE = 0.6
"""Of the share, where a unit pays for rows and edges together: what rows have."""


class NodeValueParameters(Parameters):
    """Parameters of a method that synthesises protected node attributes together with edges."""

    node_attribute_share: float = Field(
        default=0,
        ge=0,
        le=0.5,
        description=(
            "Share of an edge's epsilon for which values of protected node attributes are linked with which; "
            "0.1 is usually enough. A node's row of attributes is a unit of its own, and may cost all of "
            "epsilon beside the edges; under w-event and pair, where both add up, it has three fifths of the "
            "share. Under unit node a person's row is part of the person, and the share is what both cost. "
            "Vectors have half of what a row may spend, under Gaussian noise where there is a delta and that "
            "is less. 0: protected attributes are not released."
        ),
    )


def carrying(schema: GraphSchema, edge_types: tuple[str, ...]) -> tuple[NodeType, ...]:
    """List the node types at the ends of ``edge_types`` that have attributes to synthesise."""
    return tuple(schema.node_type(name) for name in synthesised_in(schema, edge_types))


def mixed_along(schema: GraphSchema, edge_types: tuple[str, ...]) -> tuple[EdgeType, ...]:
    """List the relations among ``edge_types`` by whose ends values are linked: one end at least has some, and
    not vectors alone.

    Not a relation between two types that gives each source one target: its edges do not exchange their ends.
    """
    kinds = {kind.name for kind in carrying(schema, edge_types) if synthesised(kind)}
    return tuple(
        each
        for each in schema.edge_types
        if each.name in edge_types
        and kinds & {each.source, each.target}
        and (each.homogeneous or not each.functional)
    )


def at_ends_of(relations: Iterable[EdgeType], kind: str) -> tuple[EdgeType, ...]:
    """List those of the relations that have nodes of the type at an end."""
    return tuple(each for each in relations if kind in (each.source, each.target))


def why_idle(public: PublicFacts) -> str | None:
    """Say why no share of epsilon could change anything; None where it does."""
    if carrying(public.schema, public.edge_types):
        return None
    return (
        "the nodes have no protected attribute with declared categories or bounds (of a vector the length "
        "too); the schema may declare some"
    )


def require_synthesised(public: PublicFacts) -> None:
    """Raise NotAccepted for graphs whose node attributes are not synthesised together with edges."""
    if public.tick is not None:
        raise errors.NotAccepted(
            "snapshots of a live stream are released without protected node attributes: a node has the same "
            "row in every step, and each would take a part of what the row may cost; publish the finished "
            f"graph, or leave {FIELD} out",
            field=FIELD,
        )
    if public.unit is Unit.NODE:
        _require_of_persons(public)
        return
    along = mixed_along(public.schema, public.edge_types)
    for kind in carrying(public.schema, public.edge_types):
        if synthesised(kind) and not at_ends_of(along, kind.name):
            raise errors.NotAccepted(
                f"protected attributes of {kind.name!r} are synthesised along relations that do not give "
                f"each source one target, and none of that type is asked for; leave {FIELD} out",
                field=FIELD,
            )


def _require_of_persons(public: PublicFacts) -> None:
    for kind in carrying(public.schema, public.edge_types):
        if not kind.protected:
            raise errors.NotAccepted(
                f"the unit node hides persons, and protected attributes of {kind.name!r} are no part of one: "
                f"declare them public, withhold them, or leave {FIELD} out",
                field=FIELD,
            )


def allotments(public: PublicFacts, nano_epsilon: int) -> list[Allotment]:
    """List what is read of protected node attributes, where a unit of edges may spend ``nano_epsilon`` on it.

    Under NODE a row is part of the person, whose reads all name the whole graph and add up: one allotment.

    Under EDGE and EVENT a plan costs what its dearest cell does, as neighbours differ in one edge or in one
    row: every cell of the relations of a type that has some pays all of it, and the type's rows may cost all
    of epsilon. Under W_EVENT and PAIR a plan adds the rows' cells to those of edges: rows have
    ROWS_SHARE of ``nano_epsilon`` (each type a part of it under PAIR, which adds up theirs too), and what is
    left is divided over the steps of a window or over all cells of a pair, whose parts of one relation are
    charged to its first cell, as one event. Vectors have their part of what a row may spend: beside the rest
    under EDGE and EVENT, where a delta is given and Gaussian noise is less, else inside it.
    """
    if public.unit is Unit.NODE:
        attributes = sum(len(each) for each in synthesised_in(public.schema, public.edge_types).values())
        require_parts(nano_epsilon, attributes + len(public.edge_types), FIELD)
        return [Allotment(WHOLE_GRAPH, None, Pure(nano_epsilon, MECHANISM), PURPOSE)]
    kinds = carrying(public.schema, public.edge_types)
    row, edges = public.nano_epsilon, nano_epsilon
    if public.unit in (Unit.W_EVENT, Unit.PAIR):
        rows = int(nano_epsilon * ROWS_SHARE)
        row = max(1, rows // (len(kinds) if public.unit is Unit.PAIR else 1))
        edges = nano_epsilon - rows
    facts, added = replace(public, nano_epsilon=edges), []
    for kind in kinds:
        for event in _events_of_rows(public, kind, row):
            added.append(Allotment(rows_of(kind.name), None, event, PURPOSE))
    for each in mixed_along(public.schema, public.edge_types):
        of_edges = Pure(together_nano_epsilon(facts, each.name), MECHANISM)
        steps = charged_together(public.unit, public.schema.steps_of(each.name))
        added += [Allotment(each.name, step, of_edges, PURPOSE) for step in steps]
    return added


def _events_of_rows(public: PublicFacts, kind: NodeType, row: int) -> list[Pure | GaussianEvent]:
    """List what a row of the type pays, of ``row`` nano-epsilon: all of it, and vectors' Gaussian noise apart
    where that is less than Laplace noise of the same part."""
    own, whole = vectors(kind), [Pure(row, MECHANISM)]
    if not own or not public.delta_atto or public.unit not in (Unit.EDGE, Unit.EVENT):
        return [*whole]
    others = [Pure(row - int(row * VECTORS), MECHANISM)] if synthesised(kind) else []
    try:
        multiplier = dp_sgd.noise_multiplier(
            row, public.delta_atto, Fraction(1), len(own), tuple(others), public.accountant
        )
    except errors.NotAccepted:
        return [*whole]
    each = row * (VECTORS if others else 1) / len(own) / NANO
    for vector in own:
        moved = moved_by(vector)
        gaussian, laplace = float(multiplier**2) * moved, 2 * (moved / each) ** 2
        if laplace <= gaussian or not LEAST_VARIANCE < gaussian < MOST_VARIANCE:
            return [*whole]
    return [*others, *[GaussianEvent(multiplier)] * len(own)]


Noise = Pure | Fraction
"""What discrete Laplace noise may cost, or a multiplier of Gaussian noise."""


class Granted(NamedTuple):
    """What rows of a type may spend: nano-epsilon on its attributes, and the noise of each of its vectors."""

    nano_epsilon: int
    vectors: tuple[Noise, ...]


def granted(plan: PrivacyPlan, schema: GraphSchema) -> tuple[dict[str, Granted], dict[str, int]]:
    """Return what rows of each node type, and every cell of each relation, may spend of a plan for this."""
    rows: dict[str, int] = {}
    edges: dict[str, int] = {}
    multipliers: dict[str, list[Fraction]] = {}
    for each in plan.allotments:
        name = each.edge_type.removeprefix(ROWS)
        if isinstance(each.event, GaussianEvent):
            multipliers.setdefault(name, []).append(each.event.noise_multiplier)
            rows.setdefault(name, 0)
        elif isinstance(each.event, Pure):
            (rows if each.edge_type.startswith(ROWS) else edges)[name] = each.event.nano_epsilon
    return {
        name: Granted(nano, tuple(multipliers[name]))
        if name in multipliers
        else divided(nano, schema.node_type(name))
        for name, nano in rows.items()
    }, edges


def divided(nano_epsilon: int, kind: NodeType) -> Granted:
    """Divide pure epsilon of a type's rows between its vectors and its other attributes."""
    count = len(vectors(kind))
    if not count:
        return Granted(nano_epsilon, ())
    share = VECTORS if synthesised(kind) else 1
    *each, rest = divide(nano_epsilon, *[share / count] * (count if share < 1 else count - 1))
    costs, left = (each, rest) if share < 1 else ([*each, rest], 0)
    return Granted(left, tuple(Pure(cost, OF_A_VECTOR) for cost in costs))
