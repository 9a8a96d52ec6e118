"""What is sent to change an account. Amounts are exact as decimal strings."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from api.schemas.common import Reason, Sum


class Unblock(BaseModel):
    """Why a blocked account may take jobs again."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reason: Reason = Field(
        description="What was found; it enters the ledger.", examples=["two worker hosts were replaced"]
    )


class QuotaName(BaseModel):
    """Whose quota."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    scope: Literal["team", "project"]
    name: Annotated[str, Field(min_length=1, max_length=64)]


class Grant(BaseModel):
    """What is to be added to a capacity, and why."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    epsilon: Sum | None = Field(default=None, description="To be added; rounded down to 1e-9.")
    delta: Sum = Field(default="0", description="To be added; rounded down to 1e-18.")
    reason: Reason = Field(description="It enters the ledger.")
    quota: QuotaName | None = Field(default=None, description="Raise this quota; left out: the account.")


class NewQuota(BaseModel):
    """What a team or project may draw at most, and why."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    epsilon: Sum = Field(description="Rounded down to 1e-9.")
    delta: Sum = Field(default="0", description="Rounded down to 1e-18.")
    reason: Reason = Field(description="It enters the ledger.")


class Adjustment(BaseModel):
    """Spend that happened outside the service."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    epsilon: Sum = Field(description="Counted as spent; rounded up to 1e-9.")
    delta: Sum = Field(default="0", description="Counted as spent; rounded up to 1e-18.")
    reason: Reason = Field(description="It enters the ledger.")
    head: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = Field(
        default=None,
        description="`head` of the budget that you read: where the account has moved on since, nothing is "
        "done. It makes a repetition safe.",
    )
