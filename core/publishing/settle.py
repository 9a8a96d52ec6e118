"""What a request comes to. It has its method, parameters, formats and plan, from public facts only.

The service settles a job so, and so does whoever makes a release without one: the plan's digest is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import BaseModel, ValidationError

from core.errors import GraphveilError, InvalidInput, NotAccepted
from core.graphs.schema import GraphSchema
from core.methods import registry
from core.methods._shared.composition.params import NAME as COMPOSED
from core.methods._shared.composition.params import (
    SHARES,
    ComposedParams,
    StructureChoice,
    require_asked_for,
    written_out,
)
from core.methods.base import Method, PublicFacts
from core.methods.choice import AUTO, Carry, Choice, Request, choose, choose_in_parts
from core.methods.room import require_room
from core.privacy.accounting.plan import ATTO, PrivacyPlan
from core.privacy.units import Unit
from core.publishing.checks import (
    checked_formats,
    checked_params,
    keeps_to,
    params_of,
    released_schema,
    sharded,
)

Structures = Mapping[str, str | StructureChoice | Mapping[str, Any]]
AskedMethod = str | Structures
"""A method's name, AUTO, or by relation either of them, or a method with its parameters; REST: all others."""

USUAL_DELTA_ATTO = 10**12
"""A millionth."""


class Had(Protocol):
    """The methods that can be run here. A release is to be made here."""

    def __contains__(self, method: object) -> bool: ...

    def refusal(self, generator: Method) -> GraphveilError:
        """Say what a method lacks to be run. It says how to mend it, too."""
        ...


@dataclass(frozen=True)
class Settled:
    """``choice`` is None where the request names its method. ``released``: what the release declares."""

    choice: Choice | None
    generator: Method
    params: BaseModel
    formats: tuple[str, ...]
    plan: PrivacyPlan
    released: GraphSchema

    @property
    def chosen_because(self) -> str | None:
        """Why ``auto`` chose the method; None where the request names it."""
        return None if self.choice is None else self.choice.reason


def settle(
    name: AskedMethod,
    parameters: Mapping[str, Any],
    formats: Sequence[str],
    facts: PublicFacts,
    nodes: Mapping[str, int],
    allowed: Collection[str] | None = None,
    *,
    in_parts: bool = False,
    had: Had | None = None,
) -> Settled:
    """Settle the request. ``nodes`` are the sizes of the node universes by type.

    Raises as :func:`method_of`, and UnknownFormat, InvalidInput and NotAccepted, with the ``field`` to mend.
    """
    choice, generator, params = method_of(name, parameters, facts, nodes, allowed, in_parts=in_parts, had=had)
    released = released_schema(facts.schema, facts.edge_types, **generator.synthesised(params))
    wanted = checked_formats(formats, released)
    plan = generator.plan(params, facts) if choice is None else choice.plan
    check_cost(plan, facts)
    if choice is None:  # else it was asked before it was chosen
        require_room(generator, params, plan, facts.schema, nodes, in_parts=in_parts)
    return Settled(choice, generator, params, wanted, plan, released)


def usual_delta(
    schema: GraphSchema,
    unit: Unit,
    edge_types: Sequence[str],
    nodes: Mapping[str, int],
    most_atto: int,
    left_atto: Callable[[], int] | None = None,
) -> int:
    """Return the delta of a release that names none. In atto it is that of persons and things, and none of
    others.

    A millionth, at most 1 over ten times the number of persons, and ``most_atto``: what the budget has in
    all. None where less than that is left (``left_atto``, asked only where it matters): the release is then
    of pure epsilon. Of relations of persons, and of edges, it would change the noise of vectors alone, which
    a caller may name it for. Public facts and the account's balance alone.
    """
    person = schema.protected_type
    things = [name for name in edge_types if not schema.edge_type(name).homogeneous]
    if unit is not Unit.NODE or person is None or not things:
        return 0
    # Well below one over the number of persons: at that a delta could give one of them away.
    usual = min(USUAL_DELTA_ATTO, ATTO // (10 * max(1, nodes[person.name])), most_atto)
    return 0 if usual and left_atto is not None and usual > left_atto() else usual


def check_known(name: AskedMethod) -> None:
    """Raise UnknownMethod unless every method that is named is installed."""
    for each in (name,) if isinstance(name, str) else name.values():
        method = _structure(each, "method").method
        if method != AUTO:
            registry.get(method)


def check_cost(plan: PrivacyPlan, facts: PublicFacts) -> None:
    """Raise NotAccepted where the plan costs more than was requested."""
    if not keeps_to(plan.cost(), facts.nano_epsilon, facts.delta_atto):
        raise NotAccepted("The method cannot keep to the epsilon and delta asked for.", field="epsilon")


def method_of(
    name: AskedMethod,
    parameters: Mapping[str, Any],
    facts: PublicFacts,
    nodes: Mapping[str, int],
    allowed: Collection[str] | None = None,
    *,
    in_parts: bool = False,
    had: Had | None = None,
) -> tuple[Choice | None, Method, BaseModel]:
    """Return the requested method and its parameters. It is the named one, or what ``auto`` or a map of
    relations stands for.

    Raises InvalidInput for parameters that are wrong; UnknownMethod; NotAccepted where no method takes the
    request, of those that are ``allowed`` (None: every one), and with ``in_parts`` where the method cannot
    read edges in parts. Raises what ``had`` (None: every method) says of a named method that cannot be run;
    ``auto`` never chooses one.
    """
    choice = None
    if name == AUTO or not isinstance(name, str):
        unknown = sorted(set(parameters) - set(Carry.model_fields))
        if unknown:
            raise InvalidInput(
                f"{unknown[0]} is a method's: name the method. With auto, and with a map of relations, "
                f"parameters are {', '.join(Carry.model_fields)}.",
                field=f"parameters.{unknown[0]}",
            )
        shares = checked_params(Carry, parameters)
        if in_parts:
            if parameters or name != AUTO:
                raise NotAccepted(
                    "The edges of this dataset stay in parts, which one method reads: leave parameters and "
                    "structures of relations out.",
                    field="parameters" if parameters else "method",
                )
            choice = choose_in_parts(facts, nodes, allowed=allowed, had=had)
        else:
            named = {} if isinstance(name, str) else structures_of(name, facts)
            request = Request(allowed, named, shares.values, shares.rows, had, shares.aim)
            choice = choose(facts, nodes, request)
        name, parameters = choice.method, choice.params
    generator = registry.get(name)
    if had is not None and name not in had:
        raise had.refusal(generator)
    params = params_of(generator, parameters)
    # Written out now, so that a later default changes nothing of a stored job.
    if isinstance(params, ComposedParams):
        params = written_out(params, facts.schema, facts.unit, facts.edge_types)
    if in_parts:
        sharded(generator, params)
    return choice, generator, params


def structures_of(requested: Structures, facts: PublicFacts) -> dict[str, StructureChoice]:
    """Read a map of relations to methods. UnknownMethod, InvalidInput and NotAccepted come with the
    ``field``."""
    found = {}
    for relation, each in requested.items():
        field = f"method.{relation}"
        require_asked_for(relation, facts.edge_types, field)
        choice = _structure(each, field)
        if choice.method != AUTO:
            if choice.method == COMPOSED:
                raise InvalidInput("A composition is no part of another: name a method.", field=field)
            own = next((each for each in SHARES if choice.parameters.get(each)), None)
            if own is not None:
                raise InvalidInput(
                    f"{own} belongs to all relations together: set it in parameters.",
                    field=f"{field}.parameters.{own}",
                )
            params_of(choice.generator, choice.parameters)
        elif choice.parameters:
            raise InvalidInput("Parameters belong to a method: name it in place of auto.", field=field)
        found[relation] = choice
    return found


def _structure(requested: str | StructureChoice | Mapping[str, Any], field: str) -> StructureChoice:
    try:
        return StructureChoice.model_validate(
            {"method": requested} if isinstance(requested, str) else requested
        )
    except ValidationError:
        raise InvalidInput(
            f'{field}: give a method\'s name, or {{"method": NAME, "parameters": {{...}}}}.', field=field
        ) from None
