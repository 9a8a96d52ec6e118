"""The budget of protected node attributes, and its plan. Edges and rows spend it. Public facts only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from pydantic import Field

from core import errors
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType
from core.graphs.schema.node_bins import moved_by, synthesised, synthesised_in, vectors
from core.methods._shared.frame.plan import divide, require_parts, together_nano_epsilon
from core.methods._shared.frame.stages import spent_on
from core.methods.base import Parameters, PublicFacts
from core.privacy.accounting import dp_sgd
from core.privacy.accounting.events import NANO, Event, GaussianEvent, Pure, pure_nano_epsilon
from core.privacy.accounting.plan import COUNTED_ROWS, WHOLE_GRAPH, Allotment, PrivacyPlan, rows_of
from core.privacy.units import Unit, charged_together
from graphveil.models.reports import ROWS

PURPOSE = COUNTED_ROWS
MECHANISM, OF_A_VECTOR = "discrete_laplace/node_attributes", "discrete_laplace/node_vectors"
FIELD = "node_attribute_share"
VECTORS = 0.5
"""Of what a row may spend, where its type has other attributes too: what vectors have."""
LEAST_VARIANCE, MOST_VARIANCE = 2.0**-18, 2.0**46
"""Gaussian noise between these has a grid: :func:`core.privacy.mechanisms.aggregation.scale_of`."""
ROWS_SHARE = 0.6
"""Of the share, where a unit pays for rows and edges together: what rows have."""
TABLES, TABLES_OF_SEVERAL = 0.3, 0.5
"""Shares of the rows' epsilon for nodes by value, of one attribute and of several; mixing has the rest."""
SUMMED = (Unit.W_EVENT, Unit.PAIR)
"""Units that pay for rows and edges together, each in cells of its own."""


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
            "is less; beside vectors alone edges keep all under edge and event. 0: protected attributes are "
            "not released."
        ),
    )


def carrying(schema: GraphSchema, edge_types: tuple[str, ...]) -> tuple[NodeType, ...]:
    """List end types of ``edge_types`` with attributes to synthesise."""
    return tuple(schema.node_type(name) for name in synthesised_in(schema, edge_types))


def mixed_along(schema: GraphSchema, edge_types: tuple[str, ...]) -> tuple[EdgeType, ...]:
    """List the relations that link values at their ends.

    They are among ``edge_types``; one end at least has some, and not vectors alone. Not a relation between
    two types that gives each source one target: its edges do not exchange their ends.
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
    """List the relations with nodes of the type at an end."""
    return tuple(each for each in relations if kind in (each.source, each.target))


def why_idle(public: PublicFacts) -> str | None:
    """Say why no share of epsilon could change anything. None where it does."""
    if carrying(public.schema, public.edge_types):
        return None
    return (
        "the nodes have no protected attribute with declared categories or bounds (of a vector the length "
        "too); the schema may declare some"
    )


def require_synthesised(public: PublicFacts) -> None:
    """Raise NotAccepted where no node attributes are synthesised with edges."""
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


def given_up(public: PublicFacts, share: float) -> int:
    """Compute what edges leave for nodes' attributes, in nano-epsilon. Nothing where rows cost them nothing.

    Under EDGE and EVENT rows are cells of their own, and a relation pays only for who meets whom: where no
    values are linked along any, as of vectors alone, edges keep all.
    """
    linked = public.unit in (Unit.NODE, *SUMMED) or mixed_along(public.schema, public.edge_types)
    return spent_on(public, share) if linked else 0


def allotments(
    public: PublicFacts, nano_epsilon: int, structure: Sequence[Allotment] = ()
) -> list[Allotment]:
    """List the reads of protected node attributes.

    A unit of edges may spend ``nano_epsilon`` on them. ``structure``: what the plan has already. Under NODE a
    row is part of the person, whose reads all name the whole graph and add up.

    Under EDGE and EVENT a plan costs what its dearest cell does, as neighbours differ in one edge or in one
    row: every cell of the relations of a type that has some pays all of it, and the type's rows may cost all
    of epsilon. Under W_EVENT and PAIR a plan adds the rows' cells to those of edges: rows have ROWS_SHARE of
    ``nano_epsilon``, all of it where no values are linked (each type a part of it under PAIR, which adds up
    theirs too), and what is left is divided over the steps of a window or over all cells of a pair, whose
    parts of one relation are charged to its first cell, as one event. Vectors have their part of what a row
    may spend: in addition to the rest where a delta is given and Gaussian noise is less, else inside it. What
    that noise is converted with is all that a unit pays for: under EDGE and EVENT a row's other reads, under
    PAIR and NODE the whole plan. Under W_EVENT there is no delta, as its accounts are of pure epsilon.
    """
    kinds = carrying(public.schema, public.edge_types)
    if public.unit is Unit.NODE:
        attributes = sum(len(each) for each in synthesised_in(public.schema, public.edge_types).values())
        require_parts(nano_epsilon, attributes + len(public.edge_types), FIELD)
        events = _events_of_rows(public, kinds, nano_epsilon, _paid(public, structure))[kinds[0].name]
        return [Allotment(WHOLE_GRAPH, None, event, PURPOSE) for event in events]
    linked = mixed_along(public.schema, public.edge_types)
    row, edges = public.nano_epsilon, nano_epsilon
    if public.unit in SUMMED:
        # Linked values are read along edges too, which must have something of it; else rows have all.
        rows = int(nano_epsilon * ROWS_SHARE) if linked else nano_epsilon
        row = max(1, rows // (len(kinds) if public.unit is Unit.PAIR else 1))
        edges = nano_epsilon - rows
    facts, added = replace(public, nano_epsilon=edges), []
    for each in linked:
        of_edges = Pure(together_nano_epsilon(facts, each.name), MECHANISM)
        steps = charged_together(public.unit, public.schema.steps_of(each.name))
        added += [Allotment(each.name, step, of_edges, PURPOSE) for step in steps]
    found = _events_of_rows(public, kinds, row, _paid(public, (*structure, *added)))
    of_rows = [
        Allotment(rows_of(name), None, event, PURPOSE) for name, events in found.items() for event in events
    ]
    return of_rows + added


def _paid(public: PublicFacts, allotted: Iterable[Allotment]) -> tuple[Event, ...]:
    """List what a unit pays for beside rows, where all of a plan adds up."""
    beside = public.beside_nano_epsilon
    return (*(each.event for each in allotted), *((Pure(beside, "beside"),) if beside else ()))


def _events_of_rows(
    public: PublicFacts, kinds: Sequence[NodeType], row: int, paid: tuple[Event, ...]
) -> dict[str, list[Pure | GaussianEvent]]:
    """List what rows of each type pay, of ``row`` nano-epsilon each.

    It is one event, and vectors' Gaussian noise apart where that is less than Laplace noise of the same part.
    ``paid``: by the same unit for all else. Proof: noise is solved for so that all of a unit's events,
    converted once, keep to its epsilon and delta; a later type's with those of the earlier ones.
    """
    found: dict[str, list[Pure | GaussianEvent]] = {each.name: [Pure(row, MECHANISM)] for each in kinds}
    if not public.delta_atto or public.unit is Unit.W_EVENT:
        return found
    for kind in kinds:
        own, others = vectors(kind), [Pure(row - int(row * VECTORS), MECHANISM)] if synthesised(kind) else []
        if not own:
            continue
        together: tuple[Event, ...] = tuple(others)
        whole = row
        # Under these a person's reads add up, so that noise is solved for beside all that is paid already.
        if public.unit in (Unit.PAIR, Unit.NODE):
            rest = [event for name, events in found.items() if name != kind.name for event in events]
            together, whole = (*paid, *rest, *others), public.whole_nano_epsilon
        multiplier = _multiplier(public, whole, len(own), together)
        each = row * (VECTORS if others else 1) / len(own) / NANO
        if multiplier is not None and all(_less(vector, multiplier, each) for vector in own):
            found[kind.name] = [*others, *[GaussianEvent(multiplier)] * len(own)]
    return found


def _multiplier(
    public: PublicFacts, nano_epsilon: int, count: int, besides: tuple[Event, ...]
) -> Fraction | None:
    """Find the least noise of so many reads beside other events. None where no noise will do."""
    pure = sum(pure_nano_epsilon(each) or 0 for each in besides)
    rest = [each for each in besides if pure_nano_epsilon(each) is None]
    whole = (Pure(pure, "beside"),) if pure else ()
    try:
        return dp_sgd.noise_multiplier(
            nano_epsilon, public.delta_atto, Fraction(1), count, (*whole, *rest), public.accountant
        )
    except errors.NotAccepted:
        return None


def _less(vector: Attribute, multiplier: Fraction, epsilon: float) -> bool:
    """Tell whether Gaussian noise has a grid, and less variance than Laplace noise of that epsilon."""
    moved = moved_by(vector)
    # Gaussian noise goes with the root of what a row moves (L2), Laplace noise with all of it (L1).
    gaussian, laplace = float(multiplier**2) * moved, 2 * (moved / epsilon) ** 2
    return gaussian < laplace and LEAST_VARIANCE < gaussian < MOST_VARIANCE


Noise = Pure | Fraction
"""What discrete Laplace noise may cost, or a multiplier of Gaussian noise."""


class Granted(NamedTuple):
    """What rows of a type may spend.

    That is nano-epsilon on its attributes, and the noise of each of its vectors.
    """

    nano_epsilon: int
    vectors: tuple[Noise, ...]


def granted(plan: PrivacyPlan, schema: GraphSchema) -> tuple[dict[str, Granted], dict[str, int]]:
    """Return a plan's budget for node attributes.

    It is of rows of each node type, and of every cell of each relation.
    """
    rows: dict[str, list[Event]] = {}
    edges: dict[str, int] = {}
    for each in plan.allotments:
        if each.edge_type.startswith(ROWS):
            rows.setdefault(each.edge_type.removeprefix(ROWS), []).append(each.event)
        elif isinstance(each.event, Pure):
            edges[each.edge_type] = each.event.nano_epsilon
    return {name: granted_of(events, schema.node_type(name)) for name, events in rows.items()}, edges


def granted_of(events: Sequence[Event], kind: NodeType) -> Granted:
    """Return what rows of a type may spend, of the events that a plan grants them."""
    pure = sum(pure_nano_epsilon(each) or 0 for each in events)
    noises = tuple(each.noise_multiplier for each in events if isinstance(each, GaussianEvent))
    return Granted(pure, noises) if noises else divided(pure, kind)


def divided(nano_epsilon: int, kind: NodeType) -> Granted:
    """Divide a type's epsilon between vectors and other attributes. It is pure, and of its rows."""
    count = len(vectors(kind))
    if not count:
        return Granted(nano_epsilon, ())
    share = VECTORS if synthesised(kind) else 1
    *each, rest = divide(nano_epsilon, *[share / count] * (count if share < 1 else count - 1))
    costs, left = (each, rest) if share < 1 else ([*each, rest], 0)
    return Granted(left, tuple(Pure(cost, OF_A_VECTOR) for cost in costs))
