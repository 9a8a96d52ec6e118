"""The verifier's latest findings on the ledger. Its watchers see them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from graphveil.models.base import Answer

Verdict = Literal["intact", "violated", "stale"]
VERDICT = "`intact`: kept, lately. `violated`: broken. `stale`: not checked for three polls."


class Finding(Answer):
    """One place in which a promise is broken: ids and amounts, never data."""

    subject: str = Field(description="The account, job, reservation or table.")
    detail: str


class PromiseHealth(Answer):
    """One promise as the verifier last found it."""

    invariant: str = Field(description="Stable name; the label of its metrics.", examples=["balances_fold"])
    promise: str = Field(description="What must be true at every moment.")
    status: Verdict = Field(description=VERDICT)
    checked_at: datetime | None = Field(description="By PostgreSQL's clock; null before the first check.")
    age_seconds: float | None = Field(description="How long ago that was.")
    violations: int | None = Field(description="How many places break it, in all tenants.")
    failing_since: datetime | None = Field(description="When it was first found so, without a break.")
    findings: list[Finding] = Field(description="The first places that are the caller's tenant's.")


class LedgerHealth(Answer):
    """Every promise of the ledger, and the worst of them."""

    status: Verdict = Field(description=VERDICT)
    promises: list[PromiseHealth]
