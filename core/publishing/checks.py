"""What may be requested of a release, decided by public facts only. No NumPy here, and no data.

The service asks before it reserves anything. The child asks once more before it opens the graph, for another
version of the service may have reserved the job: a refusal then still costs nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from core.errors import InvalidInput, NotAccepted
from core.graphs import formats
from core.graphs.schema import Attribute, GraphSchema, NodeIds, Protection
from core.graphs.schema.node_bins import synthesised_in
from core.methods import registry
from core.methods._shared.composition.params import SHARES, methods_of
from core.methods.base import Method, Parameters, Sharding
from core.privacy.accounting import persons
from core.privacy.accounting.plan import Cost, GuaranteeKind
from core.privacy.units import RECORD_WISE, Unit

Params = TypeVar("Params", bound=BaseModel)

ALWAYS_WRITTEN = "parquet"
"""The format of a release's own tables: asking for it adds no file."""
SHARED_OUT = "shares"
"""The parameter that names every read's share of epsilon at once."""
ROUNDING = 1e-9


def checked_params(model: type[Params], parameters: Mapping[str, Any]) -> Params:
    """Validate the method's parameters, its shares written out.

    Raises InvalidInput with the dotted ``field`` of the first that is wrong.
    """
    try:
        return model.model_validate(spread(model, parameters))
    except ValidationError as error:
        # One at a time, without its input: a text that is shown repeats nothing of a request.
        wrong = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = ".".join(["parameters", *(str(part) for part in wrong["loc"])])
        raise InvalidInput(f"{field}: {wrong['msg']}", field=field) from None


def params_of(generator: Method, parameters: Mapping[str, Any]) -> BaseModel:
    """Validate the parameters of a method that is requested by name.

    Raises InvalidInput as :func:`checked_params`, and with a reason of its own where a method without a
    guarantee is to set epsilon aside for what edges or nodes carry.
    """
    share = next((each for each in SHARES if each in parameters), None)
    if share and share not in generator.Params.model_fields and generator.kinds == {GuaranteeKind.NONE}:
        raise InvalidInput(
            f"{generator.name} reads the raw graph and has no guarantee: there is no epsilon of which "
            f"{share} could be set aside, and it releases bare graphs. Leave it out, or name a method "
            "that has a guarantee.",
            field=f"parameters.{share}",
        )
    return checked_params(generator.Params, parameters)


def check_protects(schema: GraphSchema, unit: Unit, window: int | None) -> None:
    """Check that the unit can protect the schema. InvalidInput names the field of the schema where it
    cannot."""
    if unit.temporal and not schema.temporal:
        raise InvalidInput(
            f"the unit {unit} speaks of time: declare a time grid, or use the unit edge or node",
            field="graph_schema.time",
        )
    if not unit.takes(temporal=schema.temporal):
        raise InvalidInput(
            "the unit edge is for graphs without time; register the file anew under event, w-event, pair "
            "or node, or leave the time out",
            field="graph_schema.time",
        )
    if window is not None and window > schema.steps:
        raise InvalidInput(
            f"the window has {window} steps, but the time grid has {schema.steps}", field="window"
        )
    if all(edge_type.public for edge_type in schema.edge_types):
        raise InvalidInput(
            "every edge type is declared public: there is nothing to protect", field="graph_schema.edge_types"
        )
    for relation in schema.edge_types:
        if relation.records_apart and unit not in RECORD_WISE:
            raise InvalidInput(
                f"records of {relation.name!r} are apart, which the unit {unit} does not know; leave "
                "records_apart out, or use the unit edge or event",
                field="graph_schema.edge_types",
            )
    if (refused := persons.refusal(schema, unit)) is not None:
        raise InvalidInput(refused[0], field=f"graph_schema.{refused[1]}")


def protected_relations(schema: GraphSchema, wanted: Sequence[str] | None) -> tuple[str, ...]:
    """Return the wanted relations in declared order; by default every protected one.

    Raises NotAccepted and InvalidInput, as :func:`chosen`.
    """
    protected = tuple(relation.name for relation in schema.edge_types if not relation.public)
    if wanted is not None:
        return chosen(protected, wanted, "protected relation")
    if not protected:
        raise NotAccepted(
            "Every relation of this dataset is public; there is nothing to synthesise.", field="edge_types"
        )
    return protected


def chosen(names: Sequence[str], wanted: Sequence[str], what: str) -> tuple[str, ...]:
    """Return the wanted names. NotAccepted for one that is not there, InvalidInput for a pair."""
    for position, name in enumerate(wanted):
        if name not in names:
            raise NotAccepted(
                f"There is no {what} {name!r}; there are {', '.join(names) or 'none'}.",
                field=f"edge_types.{position}",
            )
    if len(set(wanted)) != len(wanted):
        raise InvalidInput("A relation is named twice.", field="edge_types")
    return tuple(name for name in names if name in wanted)


def released_schema(
    schema: GraphSchema,
    edge_types: Sequence[str],
    *,
    values: bool = False,
    node_values: bool = False,
    vectors: bool = False,
) -> GraphSchema:
    """Return the schema that the release declares. It has the requested and the public relations, and the
    public attributes.

    Edges of a public relation keep what they carry; those of a protected one carry it where the method
    synthesises ``values``, and else it is not declared. Protected attributes of nodes at the ends of the
    asked relations are declared, protected as they are, where it synthesises ``node_values``, those that are
    vectors where it synthesises ``vectors``. How many of a vector's numbers are not 0 is not declared any
    more: no method keeps that bound.

    Declared facts of a relation (``functional``, ``once``, ``edge_bound``) stay declared, as every method
    keeps them. What is declared of persons (``protected``, ``degree_bound``) is not: a release protects
    nobody any more, and no method keeps the bound. Of a collection the asked graphs are released, and the
    others are left out.
    """
    if schema.collection is not None:
        # All graphs of a collection declare the same.
        drawn = next(iter(_drawn(schema, edge_types, node_values, vectors).values()), ())
        graphs = schema.collection.released(set(edge_types), drawn, values=values)
        graphs = graphs.model_copy(update={"attributes": tuple(map(_unbounded, graphs.attributes))})
        return GraphSchema(collection=graphs, node_ids=schema.node_ids)
    kept = tuple(
        t if t.public or values else t.without_attributes()
        for t in schema.edge_types
        if t.public or t.name in edge_types
    )
    of_types = _drawn(schema, edge_types, node_values, vectors)
    kinds = tuple(
        kind.model_copy(
            update={
                "attributes": tuple(
                    _unbounded(a)
                    for a in kind.attributes
                    if a.protection is Protection.PUBLIC or a in of_types.get(kind.name, ())
                ),
                "protected": False,
                "degree_bound": None,
            }
        )
        for kind in schema.node_types
    )
    time = schema.time if any(t.temporal for t in kept) else None
    return GraphSchema(node_types=kinds, edge_types=kept, time=time, node_ids=schema.node_ids)


def _drawn(
    schema: GraphSchema, edge_types: Sequence[str], plain: bool, vectors: bool
) -> dict[str, tuple[Attribute, ...]]:
    """List the protected attributes of each node type that a release has."""
    return {
        kind: tuple(
            attribute for attribute in attributes if (vectors if attribute.length is not None else plain)
        )
        for kind, attributes in synthesised_in(schema, edge_types).items()
    }


def _unbounded(attribute: Attribute) -> Attribute:
    """Declare the same, but for how many numbers of a protected vector are not 0."""
    drawn = attribute.protection is Protection.PROTECTED and attribute.nonzero is not None
    return attribute.model_copy(update={"nonzero": None}) if drawn else attribute


def sharded(generator: Method, params: BaseModel | None = None) -> Sharding:
    """Return how the method reads edges in parts. It reads them with these parameters where they are given.

    Raises NotAccepted, which names those that can.
    """
    able = [(method.name, method.sharding) for method in registry.generators().values() if method.sharding]
    named = "; ".join(
        f"{name} with the parameters {json.dumps(dict(method.counted))}" for name, method in able
    )
    those = f"the edges of this dataset stay in parts, which are read by: {named or 'no installed method'}."
    if generator.sharding is None:
        raise NotAccepted(f"{generator.name} reads edges together, and {those}", field="method")
    if params is not None:
        try:
            generator.sharding.require(params)
        except NotAccepted as refusal:
            field = f"parameters.{refusal.members.get('field')}"
            raise NotAccepted(f"{refusal.message}: {those}", field=field) from None
    return generator.sharding


def check_size(method: str, params: Mapping[str, Any], schema: GraphSchema, released: GraphSchema) -> None:
    """Check that the release can have that size. NotAccepted, naming ``size``, unless it can be sampled at
    another number of nodes.

    ``released`` is what it declares: nothing in it may belong to single nodes of the original.
    """
    relations = tuple(declared.name for declared in released.edge_types)
    for name in methods_of(method, params, relations):
        if registry.get(name).resize is None:
            able = [
                declared.name for declared in registry.generators().values() if declared.resize is not None
            ]
            raise NotAccepted(
                f"{name} draws over the nodes that it was fitted to; at another number of them draw "
                f"{', '.join(able)}.",
                field="size",
            )
    carried = any(declared.attributes for declared in released.node_types) or any(
        declared.attributes for declared in released.edge_types
    )
    refused = (
        (schema.collection is not None, "a collection of graphs"),
        (len(released.node_types) > 1, "graphs of several node types"),
        (
            any(declared.public for declared in released.edge_types),
            "graphs with public relations, which are copied",
        ),
        (released.node_ids is NodeIds.PUBLIC, "nodes whose ids are public"),
        (carried, "what nodes or edges carry; leave it out with the parameter carry=false"),
    )
    for present, what in refused:
        if present:
            raise NotAccepted(f"Another number of nodes is not drawn of {what}.", field="size")


def checked_formats(wanted: Sequence[str], released: GraphSchema) -> tuple[str, ...]:
    """Return the formats to write besides a release's tables. UnknownFormat, NotAccepted, InvalidInput."""
    if len(set(wanted)) != len(wanted):
        raise InvalidInput("A format is named twice.", field="formats")
    extensions = set()
    for position, name in enumerate(wanted):
        if name == ALWAYS_WRITTEN:
            continue
        writer = formats.get(name)
        if reason := writer.refuses(released):
            raise NotAccepted(
                f"This graph cannot be written as {name}: {reason}", field=f"formats.{position}"
            )
        if writer.extensions[0] in extensions:
            raise InvalidInput("Two formats would write one file.", field=f"formats.{position}")
        extensions.add(writer.extensions[0])
    return tuple(name for name in wanted if name != ALWAYS_WRITTEN)


def keeps_to(cost: Cost, nano_epsilon: int, delta_atto: int) -> bool:
    """Say whether a plan costs no more than was requested."""
    return (cost.nano_epsilon or 0) <= nano_epsilon and cost.delta_atto <= delta_atto


def spread(model: type[Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Convert ``shares`` to each read's own parameter.

    A method's parameters hold a share for each of its reads but one, which has what the others leave. To name
    them all at once is another way to write the same parameters; only these are kept, hashed and reported.

    Raises InvalidInput where the method has no reads of that sort, a read is unknown or set twice, a share
    is no number from 0 to 1, the shares do not sum to 1, or nothing is left for the last read.
    """
    if SHARED_OUT not in parameters:
        return dict(parameters)
    reads = model.READS if issubclass(model, Parameters) else ()
    rest = {name: value for name, value in parameters.items() if name != SHARED_OUT}
    if not reads:
        raise _wrong_shares("the method does not divide epsilon by such shares; leave shares out")
    given = parameters[SHARED_OUT]
    if not isinstance(given, dict) or not all(_is_share(each) for each in given.values()):
        raise _wrong_shares("shares are numbers from 0 to 1 by the name of a read; name each once")
    unknown = sorted(set(given) - set(reads))
    if unknown:
        raise _wrong_shares(f"there is no read {unknown[0]!r}; the reads are {', '.join(reads)}")
    twice = sorted(name for name in reads[:-1] if _share_parameter(name) in parameters)
    if twice:
        raise _wrong_shares(f"{_share_parameter(twice[0])} is set beside shares; leave one of them out")
    total = math.fsum(given.values())
    # Decimal shares do not sum to 1 exactly in binary.
    if abs(total - 1) > ROUNDING:
        raise _wrong_shares(f"the shares sum to {total:.10g}; let them sum to 1")
    if not given.get(reads[-1], 0):
        raise _wrong_shares(f"nothing is left for {reads[-1]}; give it a share")
    # The last read has no parameter: it has what the others leave.
    return {**rest, **{_share_parameter(name): float(given.get(name, 0)) for name in reads[:-1]}}


def shares_of(params: Any) -> dict[str, float]:
    """Return every read's share, in the method's order. It is empty for a method without any."""
    reads = params.READS if isinstance(params, Parameters) else ()
    named = {name: float(getattr(params, _share_parameter(name))) for name in reads[:-1]}
    return {**named, reads[-1]: round(1 - math.fsum(named.values()), 12)} if reads else {}


def _share_parameter(read: str) -> str:
    return f"{read}_share"


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _wrong_shares(text: str) -> InvalidInput:
    return InvalidInput(f"parameters.{SHARED_OUT}: {text}.", field=f"parameters.{SHARED_OUT}")
