"""Policies and proposals as their readers see them; what a curator sends to change or decide them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from api.schemas.common import Answer, Reason


class PolicyRules(Answer):
    """What a dataset's curators let jobs ask for. Null is no limit."""

    methods: list[str] | None = Field(description="Methods that a job may use.")
    kinds: list[str] = Field(description="Guarantees that a release may carry.")
    max_epsilon_per_job: str | None = Field(description="Most epsilon of one job, or of a stream's window.")
    min_epsilon_per_job: str | None = Field(
        default=None,
        description="Least epsilon of one job, failed or not, or of a stream's window.",
    )
    approval_above_epsilon: str | None = Field(description="A job above it waits for a second person.")
    curator_report_readers: list[str] | None = Field(
        description="The curators who may read comparisons with the original."
    )
    project_required: bool = Field(description="Jobs name a project that has a quota.")
    team_required: bool = Field(description="Jobs come from a team that has a quota.")


class DatasetPolicy(Answer):
    """One version of a dataset's policy."""

    dataset_id: str
    version: int
    current: bool = Field(description="False for a version that another has replaced.")
    policy: PolicyRules
    unit: str = Field(description="The privacy unit of the account; it never changes.")
    window: int | None = Field(description="Its window, under w-event.")
    set_by: str = Field(description="The key that asked for it.")
    set_at: datetime
    reason: str
    proposal_id: str | None = Field(description="The proposal by which a second person allowed it.")


class Proposal(Answer):
    """A change that takes a second person, and what became of it."""

    id: str = Field(examples=["prop_01k8zv2v9h6t0h3r6b8mkx2n4e"])
    dataset_id: str
    kind: str = Field(description="grant: more capacity. policy: a policy that allows more.")
    state: str = Field(description="open, approved, rejected or withdrawn.")
    payload: dict[str, Any] = Field(
        description="A grant's epsilon, delta and quota; a policy, the version that it replaces, and the "
        "fields in which it allows more."
    )
    reason: str
    proposed_by: str = Field(description="The key.")
    person: str = Field(description="Whose key it is; another person decides.")
    created_at: datetime
    decided_by: str | None = Field(description="The key that ended it.")
    decided_person: str | None = Field(description="Whose key that is.")
    decided_at: datetime | None
    decision_reason: str | None


class Proposals(Answer):
    items: list[Proposal]
    next_cursor: str | None = Field(
        default=None, description="Send it as `cursor` for the next page; null on the last."
    )


class Decision(BaseModel):
    """What a second person says, and why."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reason: Reason = Field(description="It is kept with the decision.", examples=["agreed in the data board"])
