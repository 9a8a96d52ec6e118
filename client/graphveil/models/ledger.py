"""Accounts and ledger entries, as their readers see them.

Amounts are exact: decimal strings, or integers in the unit that they name.
"""

from __future__ import annotations

from datetime import date, datetime

from pydantic import Field

from graphveil.models.base import Answer, NextCursor


class Amount(Answer):
    """One amount of budget, as exact decimals and as the integers that the ledger keeps."""

    epsilon: str = Field(description="Exact decimal.", examples=["0.5"])
    delta: str = Field(description="Exact decimal.", examples=["0"])
    nano_epsilon: int = Field(description="The same in 1e-9.", examples=[500_000_000])
    delta_atto: int = Field(description="The same in 1e-18.", examples=[0])


class StepSpend(Answer):
    """Spend by step of a w-event account; columns of equal length, 1000 steps at most."""

    steps: tuple[int, ...]
    charged_nano_epsilon: tuple[int, ...]
    reserved_nano_epsilon: tuple[int, ...]
    complete: bool = Field(
        description="False where steps with spend are left out: ask for them with first_step."
    )


class Pace(Answer):
    """What an account spends a day, in the mean of its last days, and when nothing will be left of it."""

    days: int = Field(description="Of how many days (UTC), today included: seven, or since it was opened.")
    epsilon_per_day: str = Field(description="Exact decimal.", examples=["0.5"])
    ends_on: date | None = Field(
        description="The day that ends it at this pace; null: nothing is spent or left, or in ten years."
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
    pace: Pace | None = Field(
        default=None, description="How fast it is spent; null of a quota, a w-event account, a past moment."
    )
    blocked: bool = Field(description="True after too many give-backs in a row; a curator resets it.")
    exposed: bool = Field(
        description="True once a graph was opened without a guarantee; no epsilon can be claimed."
    )
    entries: int = Field(description="How many ledger entries explain these figures.")
    head: str = Field(description="Hash of the last entry (hex): quote it to pin this statement.")


class Quotas(Answer):
    items: list[Budget]


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
    next_cursor: NextCursor = None


class Violation(Answer):
    """One invariant that does not hold."""

    account_id: str = Field(description="The account, or the quota below it.")
    invariant: str
    detail: str


class Verification(Answer):
    """One account and the quotas below it, recomputed from their first entries."""

    account_id: str
    quotas: int = Field(description="How many quotas were verified with it.")
    intact: bool = Field(description="True when every invariant of the account holds.")
    entries: int = Field(description="How many entries were read.")
    head: str = Field(description="Hash of the account's last entry (hex).")
    violations: int = Field(description="How many were found.")
    findings: list[Violation] = Field(description="The first of them.")
