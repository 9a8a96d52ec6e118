"""Shapes that several requests share."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, StrictFloat, StrictInt, StrictStr

Sum = Annotated[StrictStr | StrictInt | StrictFloat, Field(examples=["0.5"])]
"""An amount that a caller names: exact as a decimal string."""


def _said(value: str) -> str:
    if not value.strip():
        raise ValueError("say something")
    return value


Reason = Annotated[
    str, Field(min_length=1, max_length=256, pattern=r"^[^\x00-\x1f]+$"), AfterValidator(_said)
]
