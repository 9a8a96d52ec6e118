"""Accounts and ledger entries. Amounts are exact: decimal strings, or integers in the unit that they name."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from api.schemas.common import Answer, Reason, Sum


class Amount(Answer):
    """One amount of budget, as exact decimals and as the integers that the ledger keeps."""

    epsilon: str = Field(description="Exact decimal.", examples=["0.5"])
    delta: str = Field(description="Exact decimal.", examples=["0"])
    nano_epsilon: int = Field(description="The same in 1e-9.", examples=[500_000_000])
    delta_atto: int = Field(description="The same in 1e-18.", examples=[0])


class StepSpend(Answer):
    """Spend by step of a w-event account; columns of equal length, 1000 steps at most."""

    steps: list[int]
    charged_nano_epsilon: list[int]
    reserved_nano_epsilon: list[int]
    complete: bool = Field(
        description="False where steps with spend are left out: ask for them with first_step."
    )


class Budget(Answer):
    """One account at one moment. remaining = capacity - charged - reserved.

    Under w-event the figures are those of the fullest window. Under the Rényi filter they are the curve
    converted to epsilon, so that an unused account shows less than its capacity: converting has a price.
    """

    account_id: str
    domain: str = Field(description="The protection domain that shares this budget.")
    scope: str = Field(default="domain", description="domain; team or project for a quota of its account.")
    scope_name: str | None = Field(default=None, description="Whose quota it is; null for the account.")
    parent_id: str | None = Field(default=None, description="The account that the quota is of.")
    as_of: datetime | None = Field(default=None, description="The moment it tells; null: now.")
    unit: str
    window: int | None
    filter: str = Field(description="How charges add up: basic or renyi.")
    capacity: Amount
    charged: Amount = Field(description="Spent by releases, and by failures after a read.")
    reserved: Amount = Field(description="Set aside for jobs under way.")
    remaining: Amount = Field(description="What a new job may cost.")
    tightest_window: tuple[int, int] | None = Field(description="First and last step of the fullest window.")
    steps: StepSpend | None
    blocked: bool = Field(description="True after too many give-backs in a row; a curator resets it.")
    exposed: bool = Field(
        description="True once a graph was opened without a guarantee; no epsilon can be claimed."
    )
    entries: int = Field(description="How many ledger entries explain these figures.")
    head: str = Field(description="Hash of the last entry (hex): quote it to pin this statement.")


class Entry(Answer):
    """One immutable, hash-chained line of an account."""

    sequence: int
    id: str
    kind: str = Field(
        description="grant, reserve, charge, forfeit, release, expire, adjust, derive or expose."
    )
    reservation_id: str | None
    job_id: str | None
    amounts: dict[str, int] = Field(description="By dimension: nano-epsilon, delta in 1e-18, nano-RDP.")
    digests: dict[str, str] = Field(description="SHA-256 of each released file, by name.")
    reason: str
    actor: str = Field(description="The key, or the part of the service, that caused it.")
    approver: str | None = Field(default=None, description="The second person's key; grants only.")
    created_at: datetime
    expires_at: datetime | None
    previous_hash: str
    hash: str


class LedgerPage(Answer):
    items: list[Entry]
    next_cursor: str | None = Field(
        default=None, description="Send it as `cursor` for the next page; null on the last."
    )


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


class Quotas(Answer):
    items: list[Budget]
