"""What a second person sends to decide."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from api.schemas.common import Reason


class Decision(BaseModel):
    """What a second person says, and why."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reason: Reason = Field(description="It is kept with the decision.", examples=["agreed in the data board"])
