"""What a promise is. It has the shape in which what breaks it is reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from sqlalchemy import text
from sqlalchemy.orm import Session


@dataclass(frozen=True)
class Finding:
    """One place in which a promise is broken. ``detail`` names ids and amounts, never data."""

    tenant: str
    subject: str
    detail: str

    def to_json(self) -> dict[str, str]:
        """As it is kept."""
        return {"tenant": self.tenant, "subject": self.subject, "detail": self.detail}


@dataclass(frozen=True)
class Found:
    """How many places there are, and the first of them."""

    total: int = 0
    findings: tuple[Finding, ...] = ()


class Promise(Protocol):
    """A promise, and the reading that checks it. It is one sentence that must be true at every moment."""

    @property
    def name(self) -> str:
        """Stable: a metric's label, and the key of the check's row."""

    @property
    def promise(self) -> str:
        """The sentence."""

    def check(self, session: Session, limit: int) -> Found:
        """Find what breaks the promise. There are ``limit`` places at most; it reads only, in the snapshot of
        the session."""


class SqlPromise:
    """A promise that one statement checks. It selects tenant, subject and detail of whatever breaks it."""

    name: ClassVar[str]
    promise: ClassVar[str]
    broken: ClassVar[str]
    parameters: ClassVar[dict[str, Any]] = {}

    def check(self, session: Session, limit: int) -> Found:
        """As :meth:`Promise.check`."""
        statement = text(
            f"SELECT tenant, subject, detail, count(*) OVER () FROM ({self.broken}) AS broken "
            "ORDER BY subject, detail LIMIT :found_limit"
        )
        rows = session.execute(statement, {**self.parameters, "found_limit": limit}).all()
        return found(rows, rows[0][3] if rows else 0)


def found(rows: Sequence[Any], total: int) -> Found:
    """Read findings from rows. These begin with tenant, subject, detail."""
    return Found(total, tuple(Finding(row[0] or "", row[1], row[2]) for row in rows))
