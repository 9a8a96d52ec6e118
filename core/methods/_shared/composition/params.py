"""Parameters of a composition: which method draws the edges of which relation. Public facts only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from core.errors import NotAccepted, UnknownMethod
from core.graphs.schema import EdgeType, GraphSchema
from core.methods import registry
from core.methods._shared.node_values import share as node_share
from core.methods._shared.node_values.share import NodeValueParameters
from core.methods._shared.values import share as value_share
from core.methods._shared.values.share import ValueParameters
from core.methods.base import Method
from core.privacy.units import Unit

NAME = "composed"
REST = "*"
"""In place of a relation's name: every relation that is not named."""
SHARES = (value_share.FIELD, node_share.FIELD)
"""Parameters that set a share of epsilon aside for what edges carry, and for what nodes do: of a composition,
and of none of its structures."""


class StructureChoice(BaseModel):
    """The method that draws a relation's edges, and how it is set."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    method: str = Field(min_length=1, max_length=64, description="A method's name.")
    parameters: dict[str, Any] = Field(default_factory=dict, description="As the method's JSON Schema says.")

    @property
    def generator(self) -> Method:
        """The method of that name; raises UnknownMethod."""
        return registry.get(self.method)

    @cached_property
    def params(self) -> Any:
        """The method's parameters, all of them."""
        return self.generator.Params.model_validate(self.parameters)


class ComposedParams(ValueParameters, NodeValueParameters):
    """What a caller may set. All of it is public and enters the report."""

    structures: Mapping[str, StructureChoice] = Field(
        default_factory=dict,
        description=(
            "By a relation's name the method that draws its edges, with its parameters; `*` stands for every "
            "relation that is not named. Others are drawn by anchored, undirected ones under w-event by "
            "keyframe; under unit node by projection where both ends are persons, and by profiles where one "
            "is."
        ),
    )

    @classmethod
    def in_full(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        structures = {
            name: {**each, "parameters": registry.get(each["method"]).Params.in_full(each["parameters"])}
            for name, each in given["structures"].items()
        }
        return {**super().in_full(given), "structures": structures}

    @field_validator("structures")
    @classmethod
    def _written_out(cls, given: Mapping[str, StructureChoice]) -> dict[str, StructureChoice]:
        """Write every structure's parameters out, so that later defaults change no stored job."""
        return {name: _whole(name, choice) for name, choice in given.items()}

    def structure(self, relation: EdgeType, unit: Unit) -> StructureChoice:
        """Return the structure of that relation."""
        usual = "anchored"
        if unit is Unit.NODE:
            usual = "projection" if relation.homogeneous else "profiles"
        elif unit is Unit.W_EVENT and relation.temporal and relation.homogeneous and not relation.directed:
            usual = "keyframe"
        named = self.structures.get(relation.name) or self.structures.get(REST)
        return named or _whole(relation.name, StructureChoice(method=usual))


def written_out(params: ComposedParams, schema: GraphSchema, unit: Unit, edge_types: Sequence[str]) -> Any:
    """Return the parameters with the structure of every relation by its own name, and none for ``*``.

    So nothing of a stored job follows from a default. Raises NotAccepted for a name that is none of them.
    """
    for name in params.structures:
        require_asked_for(name, edge_types, "parameters.structures")
    structures = {name: params.structure(schema.edge_type(name), unit) for name in edge_types}
    return params.model_copy(update={"structures": structures})


def require_asked_for(name: str, edge_types: Iterable[str], field: str) -> None:
    """Raise NotAccepted for a structure whose name is no relation of the request."""
    if name not in (*edge_types, REST):
        raise NotAccepted(
            f"{name!r} is no relation that is asked for; there are {', '.join(edge_types)}, and {REST} "
            "for the rest",
            field=field,
        )


def _whole(name: str, choice: StructureChoice) -> StructureChoice:
    try:
        generator = choice.generator
    except UnknownMethod as error:
        raise ValueError(f"{name}: {error.message}") from None
    if choice.method == NAME:
        raise ValueError(f"{name}: a composition is no part of another; name the method of each relation")
    params = generator.Params.model_validate(choice.parameters)
    return StructureChoice(method=choice.method, parameters=params.model_dump(mode="json"))


def methods_of(method: str, params: Mapping[str, Any], edge_types: Iterable[str]) -> tuple[str, ...]:
    """List the methods behind a job's of these relations: its own, or those of its structures.

    ``params``: as :func:`written_out`; a composition itself stands for a relation that is not named there.
    """
    if method != NAME:
        return (method,)
    found = [params["structures"].get(each, {"method": NAME}) for each in edge_types]
    return tuple(sorted({each["method"] for each in found}))
