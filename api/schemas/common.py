"""Shapes that several answers share."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Decimals = Annotated[
    str, Field(pattern=r"^-?[0-9]+(\.[0-9]+)?$", description="An exact decimal.", examples=["0.5"])
]
Identifier = Annotated[str, Field(max_length=64)]


class Answer(BaseModel):
    """Base of every answer: built from objects or mappings, never changed."""

    model_config = ConfigDict(frozen=True, from_attributes=True)
