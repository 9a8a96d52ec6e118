"""No restore of a backup has made the ledger forget, and signed heads leave often enough to tell."""

from __future__ import annotations

from sqlalchemy.orm import Session

from core.workflows.common.context import Services
from core.workflows.ledger import head_exports
from core.workflows.ledger.invariants.base import Finding, Found


class RestoredWhole:
    """L6 and L15: the ledger is whole after a restore. It costs O(accounts), and one or two objects read from
    the store."""

    name = "restored_whole"
    promise = "Every account holds at least what the newest signed heads outside the database know of it."

    def __init__(self, services: Services) -> None:
        self._services = services

    def check(self, session: Session, limit: int) -> Found:
        """As :meth:`core.workflows.ledger.invariants.base.Promise.check`."""
        total = 0
        findings: list[Finding] = []
        for finding in head_exports.compare(self._services, session):
            total += 1
            if total <= limit:
                findings.append(finding)
        return Found(total, tuple(findings))


class HeadsAreExported:
    """L15: heads are exported often enough. Without a young document a restore of the database could forget
    unseen. O(accounts)."""

    name = "heads_exported"
    promise = "Where heads are signed, the newest document outside the database is young enough."

    def __init__(self, services: Services) -> None:
        self._services = services

    def check(self, session: Session, limit: int) -> Found:
        """As :meth:`core.workflows.ledger.invariants.base.Promise.check`."""
        findings = tuple(head_exports.overdue(self._services, session))
        return Found(len(findings), findings[:limit])
