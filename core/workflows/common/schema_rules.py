"""What a schema must satisfy beyond its own consistency. These are the service's limits and the account's
terms."""

from __future__ import annotations

from collections.abc import Iterable

from core.errors import InvalidInput
from core.graphs.schema import GraphSchema
from core.graphs.schema.partable import OF_PAIRS, require_partable, require_referable
from core.ledger.kinds import Filter
from core.privacy.units import Unit
from core.publishing.checks import check_protects
from core.settings import Settings


def check_terms(unit: Unit, window: int | None, filter: Filter, delta_atto: int, settings: Settings) -> None:
    """Check that unit, window, filter and delta fit. InvalidInput naming the field otherwise."""
    if (unit is Unit.W_EVENT) != (window is not None):
        raise InvalidInput(
            "the unit w-event needs a window (a number of steps); no other unit takes one", field="window"
        )
    if window is not None and not 1 <= window <= settings.max_steps:
        raise InvalidInput(f"a window has 1 to {settings.max_steps} steps", field="window")
    if unit is Unit.W_EVENT and filter is not Filter.BASIC:
        raise InvalidInput("the unit w-event needs the filter basic", field="filter")
    if filter is Filter.RENYI and delta_atto == 0:
        raise InvalidInput("the filter renyi needs a delta above zero, for example 1e-6", field="delta")


def check_partable(schema: GraphSchema | None, unit: Unit) -> None:
    """Check that edges of the schema's graphs can stay in parts, under the unit. InvalidInput otherwise."""
    if schema is None:
        raise InvalidInput(
            "declare the graph_schema of a dataset in parts: none is proposed of edges that stay in parts",
            field="graph_schema",
        )
    try:
        require_partable(schema)
        if unit is Unit.PAIR and any(each.temporal and each.attributes for each in schema.edge_types):
            raise ValueError(OF_PAIRS)
    except ValueError as error:
        mend = "leave in_parts out, or declare such a schema"
        raise InvalidInput(f"{error}; {mend}", field="in_parts") from None


def check_referable(schema: GraphSchema) -> None:
    """Check that edges of the schema's graphs can be counted where they lie. InvalidInput otherwise."""
    try:
        require_referable(schema)
    except ValueError as error:
        raise InvalidInput(f"{error}; upload the edges", field="format") from None


def check_schema(schema: GraphSchema, unit: Unit, window: int | None, settings: Settings) -> None:
    """Check the schema against unit, window and limits. InvalidInput naming the field otherwise."""
    if len(schema.edge_types) > settings.max_edge_types:
        what = "relations" if schema.collection is None else "graphs"
        raise InvalidInput(
            f"the schema has {len(schema.edge_types)} {what}; at most {settings.max_edge_types} are taken",
            field="graph_schema.edge_types"
            if schema.collection is None
            else "graph_schema.collection.graphs",
        )
    declared = sum(node_type.count or 0 for node_type in schema.node_types)
    if declared > settings.max_nodes:
        raise InvalidInput(
            f"{declared} nodes are declared; at most {settings.max_nodes} are taken",
            field="graph_schema.node_types",
        )
    if schema.steps > settings.max_steps:
        raise InvalidInput(
            f"the time grid has {schema.steps} steps, of at most {settings.max_steps}; widen the steps",
            field="graph_schema.time.count",
        )
    protected = [edge_type.name for edge_type in schema.edge_types if not edge_type.public]
    check_cells(schema, protected, settings, field="graph_schema.edge_types")
    check_protects(schema, unit, window)


RELATION_CELLS = 20  # predictions of one relation take the time of so many cells, about


def check_cells(
    schema: GraphSchema, edge_types: Iterable[str], settings: Settings, *, field: str, plans: int = 1
) -> None:
    """Check that the relations have few enough cells. There are no more than the plans of one request may
    list together; InvalidInput naming ``field`` otherwise.

    A cell is a relation, or one snapshot of a relation with time. Nothing is listed to count them. Of several
    plans a relation counts RELATION_CELLS more, as what each plan predicts of it is computed.
    """
    names = list(edge_types)
    timed = sum(schema.edge_type(name).temporal for name in names)
    cells = timed * schema.steps + len(names) - timed
    weight = cells + RELATION_CELLS * len(names)
    if plans > 1 and weight * plans > settings.max_cells:
        raise InvalidInput(
            f"{plans} plans of {len(names)} relations and {cells} cells each weigh {plans * weight}, a "
            f"relation as {RELATION_CELLS} cells more, of at most {settings.max_cells}; plan them one by "
            "one, or name fewer relations",
            field=field,
        )
    if cells > settings.max_cells:
        raise InvalidInput(
            f"{timed} relations with {schema.steps} steps each, and {len(names) - timed} without time, are "
            f"{cells} cells to plan, of at most {settings.max_cells}; widen the steps, or name fewer of them",
            field=field,
        )
