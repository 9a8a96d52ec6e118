"""The columns that every leased row shares. Here is too what a kind of work calls its states."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from sqlalchemy import Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from core.outbox.models import Topic

Row = TypeVar("Row", bound=Any)


class Leased:
    """Work that one worker at a time may hold.

    ``attempt`` is the fencing token: every later update names it, and an update that matches no row means
    that the lease was lost.
    """

    attempt: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    lease_expires_at: Mapped[datetime | None] = mapped_column(default=None)
    leased_by: Mapped[str | None] = mapped_column(String(128), default=None)

    def let_go(self) -> None:
        """End the lease. ``attempt`` stays, so that updates of the old holder match nothing."""
        self.leased_by = self.lease_expires_at = None


@dataclass(frozen=True)
class Kind(Generic[Row]):
    """One kind of leased work. It has the table of its rows, and which of their states mean what.

    ``claimable``: a worker may take it, first the state in which rows wait, then others whose lease may have
    run out. ``running``: a worker holds it. ``oldest_first``: the column by which waiting rows are ordered.
    ``topic``: of the messages that announce it; None where a process looks for itself.
    """

    model: type[Row]
    claimable: tuple[str, ...]
    running: str
    topic: Topic | None = None
    oldest_first: str = "created_at"

    @property
    def queued(self) -> str:
        """The state in which rows wait for a worker."""
        return self.claimable[0]
