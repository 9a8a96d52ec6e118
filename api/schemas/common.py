"""Shapes that several answers share."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr

Sum = Annotated[StrictStr | StrictInt | StrictFloat, Field(examples=["0.5"])]
"""An amount that a caller names: exact as a decimal string."""


EXPOSED = (
    "True once a job without a guarantee has opened a graph of the dataset's account: no epsilon can be "
    "claimed for the dataset as a whole any more, whatever single releases promise."
)


def _said(value: str) -> str:
    if not value.strip():
        raise ValueError("say something")
    return value


Reason = Annotated[
    str, Field(min_length=1, max_length=256, pattern=r"^[^\x00-\x1f]+$"), AfterValidator(_said)
]
Identifier = Annotated[str, Field(max_length=64)]


class Answer(BaseModel):
    """Base of every answer: built from objects or mappings, never changed."""

    model_config = ConfigDict(frozen=True, from_attributes=True)
