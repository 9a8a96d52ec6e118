"""Proposals: changes that take a second person of the tenant."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, CreatedAt


class ProposalKind(StrEnum):
    """GRANT: a larger capacity of an account or quota. POLICY: a policy that allows more than the present."""

    GRANT = "grant"
    POLICY = "policy"


class ProposalState(StrEnum):
    """OPEN -> APPROVED | REJECTED by a second person, or WITHDRAWN by the first."""

    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"


class Proposal(CreatedAt, Base):
    """What is asked for (``payload``), why, by whom, and what a second person said.

    ``proposed_by`` and ``decided_by`` are keys; ``person`` and ``decided_person`` are whose they are.
    """

    __tablename__ = "proposals"
    __table_args__ = (Index("ix_proposals_dataset", "dataset_id", "created_at"),)

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    tenant: Mapped[str] = mapped_column(String(64))
    kind: Mapped[str] = mapped_column(String(16))
    dataset_id: Mapped[str] = mapped_column(ForeignKey("datasets.id", ondelete="RESTRICT"))
    payload: Mapped[dict[str, Any]] = mapped_column(JSONB)
    reason: Mapped[str] = mapped_column(String(256))
    proposed_by: Mapped[str] = mapped_column(String(128))
    person: Mapped[str] = mapped_column(String(128))
    state: Mapped[str] = mapped_column(String(16), default=ProposalState.OPEN)
    decided_by: Mapped[str | None] = mapped_column(String(128), default=None)
    decided_person: Mapped[str | None] = mapped_column(String(128), default=None)
    decided_at: Mapped[datetime | None] = mapped_column(default=None)
    decision_reason: Mapped[str | None] = mapped_column(String(256), default=None)
