"""What every part of a schema is made of: names, and models that are closed and cannot change."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,62}$")]


class Frozen(BaseModel):
    """A part of a schema: an unknown field is refused, and none changes."""

    model_config = ConfigDict(frozen=True, extra="forbid")
