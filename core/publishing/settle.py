"""What a request comes to: its method, parameters, formats and plan, from public facts alone.

The service settles a job so, and so does whoever makes a release without one: the plan's digest is the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import BaseModel

from core.errors import GraphveilError, InvalidInput, NotAccepted
from core.graphs.schema import GraphSchema
from core.methods import registry
from core.methods.base import Generator, PublicFacts, synthesised_by
from core.methods.choice import AUTO, Choice, choose, choose_in_parts
from core.methods.room import require_room
from core.privacy.accounting.plan import PrivacyPlan
from core.publishing.checks import checked_formats, keeps_to, params_of, released_schema, sharded


class Had(Protocol):
    """The methods that can be run where a release is to be made."""

    def __contains__(self, method: object) -> bool: ...

    def refusal(self, generator: Generator) -> GraphveilError:
        """Say what is missing for a method that cannot be run, and how to mend it."""
        ...


@dataclass(frozen=True)
class Settled:
    """``choice`` is None where the request names its method. ``released``: what the release declares."""

    choice: Choice | None
    generator: Generator
    params: BaseModel
    formats: tuple[str, ...]
    plan: PrivacyPlan
    released: GraphSchema

    @property
    def chosen_because(self) -> str | None:
        """Why ``auto`` chose the method; None where the request names it."""
        return None if self.choice is None else self.choice.reason


def settle(
    name: str,
    parameters: Mapping[str, Any],
    formats: Sequence[str],
    facts: PublicFacts,
    nodes: Mapping[str, int],
    allowed: Collection[str] | None = None,
    *,
    in_parts: bool = False,
    had: Had | None = None,
) -> Settled:
    """Settle the request; ``nodes`` are the sizes of the node universes by type.

    Raises as :func:`method_of`, and UnknownFormat, InvalidInput and NotAccepted, with the ``field`` to mend.
    """
    choice, generator, params = method_of(name, parameters, facts, nodes, allowed, in_parts=in_parts, had=had)
    released = released_schema(facts.schema, facts.edge_types, **synthesised_by(generator, params))
    wanted = checked_formats(formats, released)
    plan = generator.plan(params, facts) if choice is None else choice.plan
    check_cost(plan, facts)
    if choice is None:  # else it was asked before it was chosen
        require_room(generator, params, plan, facts.schema, nodes)
    return Settled(choice, generator, params, wanted, plan, released)


def check_cost(plan: PrivacyPlan, facts: PublicFacts) -> None:
    """Raise NotAccepted where the plan costs more than was asked for."""
    if not keeps_to(plan.cost(), facts.nano_epsilon, facts.delta_atto):
        raise NotAccepted("The method cannot keep to the epsilon and delta asked for.", field="epsilon")


def method_of(
    name: str,
    parameters: Mapping[str, Any],
    facts: PublicFacts,
    nodes: Mapping[str, int],
    allowed: Collection[str] | None = None,
    *,
    in_parts: bool = False,
    had: Had | None = None,
) -> tuple[Choice | None, Generator, BaseModel]:
    """Return the named method, or what ``auto`` stands for, and its parameters.

    Raises InvalidInput for parameters that are wrong, or given without a named method; UnknownMethod;
    NotAccepted where no method takes the request, of those that are ``allowed`` (None: every one), and with
    ``in_parts`` where the method cannot read edges in parts. Raises what ``had`` (None: every method) says of
    a named method that cannot be run; ``auto`` never chooses one.
    """
    choice = None
    if name == AUTO:
        if parameters:
            raise InvalidInput(
                "Parameters belong to a method: name the method, or leave them out with auto.",
                field="parameters",
            )
        if in_parts:
            choice = choose_in_parts(facts, nodes, allowed=allowed, had=had)
        else:
            choice = choose(facts, nodes, allowed=allowed, had=had)
        name, parameters = choice.method, choice.params
    generator = registry.get(name)
    if had is not None and name not in had:
        raise had.refusal(generator)
    params = params_of(generator, parameters)
    if in_parts:
        sharded(generator, params)
    return choice, generator, params
