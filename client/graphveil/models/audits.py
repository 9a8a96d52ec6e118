"""Audits, as callers see them. Figures are exact decimals, as everywhere."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from graphveil.models.base import Answer, NextCursor

TERMINAL = frozenset({"done", "failed"})


class AuditProgress(Answer):
    """How far the audit is: runs, in the stage `audit` or `control`."""

    stage: str = Field(examples=["control"])
    done: int
    total: int


class AuditControl(Answer):
    """The same mechanism with half the noise, judged against the same promise."""

    lower_bound: str = Field(description="Its epsilon is at least this.", examples=["1.83"])
    caught: bool = Field(
        description="Whether the audit saw the copy break the promise. If not, passing means little."
    )


class AuditResult(Answer):
    """What the runs showed."""

    epsilon: str = Field(description="The promise: what the method's plan costs, rounded up to 1e-9.")
    delta: str
    runs: int = Field(description="Runs on each of the two canary graphs.")
    confidence: str = Field(description="Of each lower bound.", examples=["0.999"])
    lower_bound: str = Field(description="The method's epsilon is at least this.", examples=["0.9312"])
    event: str = Field(description="What told the two graphs apart best.")
    passed: bool = Field(description="Whether the lower bound stays within the promise.")
    control: AuditControl
    verdict: str = Field(
        description="passed; failed: the promise is broken; inconclusive: the control was not caught."
    )


class Audit(Answer):
    """One audit of a method's promise, on public canary graphs. It costs no budget."""

    id: str = Field(examples=["aud_01k8zv2v9h6t0h3r6b8mkx2n4e"])
    method: str
    parameters: dict[str, Any] = Field(description="Defaults filled in.")
    unit: str
    window: int | None
    epsilon: str = Field(description="What was asked for, exact.", examples=["1"])
    delta: str
    runs: int
    advised_runs: int = Field(
        description="What the service chooses where none are named: with fewer, inconclusive is likely."
    )
    state: str = Field(description="queued, running, done or failed.")
    reason: str | None = Field(description="Why it failed, from an enumerated list.")
    progress: AuditProgress | None
    result: AuditResult | None = Field(description="Null until the audit is done.")
    requested_by: str = Field(description="The key that asked.")
    created_at: datetime
    finished_at: datetime | None


class Audits(Answer):
    items: list[Audit]
    next_cursor: NextCursor = None
