"""Proposals, as their readers see them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from graphveil.models.base import Answer, NextCursor


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
    next_cursor: NextCursor = None
