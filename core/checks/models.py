"""The last result of every invariant's check."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Float, Integer, String
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base


class InvariantCheck(Base):
    """One invariant: when it was last checked, how long that took, what was found (ids and amounts only)."""

    __tablename__ = "invariant_checks"

    invariant: Mapped[str] = mapped_column(String(64), primary_key=True)
    checked_at: Mapped[datetime] = mapped_column()
    seconds: Mapped[float] = mapped_column(Float)
    violations: Mapped[int] = mapped_column(Integer)
    findings: Mapped[list[dict[str, Any]]] = mapped_column(JSONB)
    failing_since: Mapped[datetime | None] = mapped_column(default=None)
