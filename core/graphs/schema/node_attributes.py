"""What a node table's column may hold. It says how it is protected, too."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from core.graphs.schema.edge_attributes import (
    MAX_CUTS,
    Categories,
    Number,
    categories_problem,
    range_problem,
)
from core.graphs.schema.names import Frozen, Name

MAX_LENGTH = 2**14
"""Most numbers that a declared vector has."""


class Protection(StrEnum):
    """How an attribute may be used: known to all, protected by a method that says so, or never read."""

    PUBLIC = "public"
    PROTECTED = "protected"
    WITHHELD = "withheld"


class AttributeKind(StrEnum):
    NUMBER = "number"
    CATEGORY = "category"
    VECTOR = "vector"


class Attribute(Frozen):
    """One column of a node table, with its protection.

    ``categories`` of a category, or ``bounds`` (both included) of a number, declare what a value may be: a
    method that synthesises protected attributes needs them. Another value is refused, or with ``clip``
    set to the nearer bound; a missing one is neither. ``cuts`` divide the range into bins. A vector declares
    ``length``, how many numbers it has, together with the ``bounds`` that all of them share, and may declare
    ``nonzero``, how many of them are not 0 at most. All six are written only where they are declared.
    """

    name: Name
    kind: AttributeKind = AttributeKind.CATEGORY
    protection: Protection = Protection.WITHHELD
    label: bool = Field(default=False, description="True for the class label of node classification.")
    categories: Categories | None = None
    bounds: tuple[Number, Number] | None = None
    cuts: Annotated[tuple[Number, ...], Field(max_length=MAX_CUTS)] = ()
    clip: bool = False
    length: Annotated[int, Field(ge=1, le=MAX_LENGTH)] | None = None
    nonzero: Annotated[int, Field(ge=1, le=MAX_LENGTH)] | None = None

    @model_serializer(mode="wrap")
    def _compact(self, write: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]  # so that it keeps its JSON Schema
        written: dict[str, Any] = write(self)
        for name in ("categories", "bounds", "cuts", "clip", "length", "nonzero"):
            if not written.get(name):
                written.pop(name, None)
        return written

    @model_validator(mode="after")
    def _of_its_kind(self) -> Self:
        what = f"node attribute {self.name!r}"
        if self.categories is not None and self.kind is not AttributeKind.CATEGORY:
            raise ValueError(f"{what}: only a category declares categories")
        if self.bounds is not None and self.kind is AttributeKind.CATEGORY:
            raise ValueError(f"{what}: only a number or a vector declares bounds")
        if self.bounds is None and (self.cuts or self.clip):
            raise ValueError(f"{what}: cuts and clip are declared with bounds")
        self._length_of_a_vector(what)
        problem = categories_problem(self.categories) or range_problem(self.bounds, self.cuts)
        if problem:
            raise ValueError(f"{what} {problem}")
        return self

    def _length_of_a_vector(self, what: str) -> None:
        if self.kind is AttributeKind.VECTOR:
            if (self.bounds is None) != (self.length is None):
                raise ValueError(f"{what}: a vector declares bounds and length together")
        elif self.length is not None:
            raise ValueError(f"{what}: only a vector declares length")
        if self.nonzero is None:
            return
        if self.bounds is None or self.length is None or self.nonzero > self.length:
            raise ValueError(f"{what}: nonzero is declared with the length of a vector, and is at most that")
        if not self.bounds[0] <= 0 <= self.bounds[1]:
            raise ValueError(f"{what}: nonzero is declared where 0 is within the bounds")
